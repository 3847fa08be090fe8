//! What our images are built on: taken from where it is, and made here where it cannot be had.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::files::{copy, remove};
use crate::layout::Layout;
use crate::process;

use super::engine::Engine;

/// The Debian release of the base image.
const RELEASE: &str = "bookworm";
/// What of a fresh system no image needs.
const NOT_NEEDED: [&str; 5] =
    ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"];
/// The variable of `compose.yaml` that says what collects traces.
const TRACES_VARIABLE: &str = "HOLDPOINT_TRACES_IMAGE";
/// What stands in for Jaeger.
const SINK: &str = "holdpoint/otlp-sink:latest";

/// The names of the images, as `deploy/Dockerfile` has them.
pub(crate) struct Names {
    pub(super) base: String,
    pub(super) nats: String,
}

impl Names {
    pub(super) fn read(layout: &Layout) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(layout.root.join("deploy/Dockerfile")).context("failed to read the Dockerfile")?;
        let default = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(&format!("ARG {name}=")));
            found.map(str::to_owned).with_context(|| format!("the Dockerfile has no default for {name}"))
        };
        Ok(Self { base: default("BASE_IMAGE")?, nats: default("NATS_IMAGE")? })
    }
}

/// The base: a small Debian.
pub(super) fn base(layout: &Layout, engine: &Engine, image: &str) -> anyhow::Result<()> {
    if engine.has_or_pulls(image) {
        return Ok(());
    }
    println!("\n== {image} cannot be pulled here: making it with debootstrap, which takes a minute");
    let place = layout.target.join("images/base");
    remove(&place)?;
    fs::create_dir_all(&place).with_context(|| format!("failed to create {}", place.display()))?;
    let system = place.join("system").to_string_lossy().into_owned();
    let remedy = format!(
        "It has to run as root (Debian: apt-get install debootstrap). Without it: let BASE_IMAGE in deploy/Dockerfile\n\
         name an image of Debian {RELEASE} that this engine has."
    );
    install_debootstrap(&place)?;
    let arguments = ["--variant=minbase", RELEASE, &system];
    process::output(&mut process::command("debootstrap", &arguments, &place), &remedy)?;
    for folder in NOT_NEEDED {
        let folder = Path::new(&system).join(folder);
        remove(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    }
    let archive = place.join("system.tar");
    let archive_text = archive.to_string_lossy();
    let arguments = ["--numeric-owner", "--create", "--file", &archive_text, "--directory", &system, "."];
    process::output(&mut process::command("tar", &arguments, &place), "")?;
    engine.import(&archive, image)?;
    remove(&place)
}

/// Gets debootstrap where it is missing and Debian's installer is there; else the remedy of the next step says what to do.
fn install_debootstrap(place: &Path) -> anyhow::Result<()> {
    if process::succeeds(&mut process::command("debootstrap", &["--version"], place)) {
        return Ok(());
    }
    for arguments in [["update", "--quiet", "--quiet"].as_slice(), &["install", "--quiet", "--yes", "debootstrap"]] {
        let mut installer = process::command("apt-get", arguments, place);
        process::output(&mut installer, "As root, or with debootstrap installed, it goes on.")?;
    }
    Ok(())
}

/// The broker's program in an image of its own, as the project publishes it.
pub(super) fn nats(layout: &Layout, engine: &Engine, image: &str, server: &Path) -> anyhow::Result<()> {
    if engine.has_or_pulls(image) {
        return Ok(());
    }
    println!("\n== {image} cannot be pulled here: making it from {}", server.display());
    let place = layout.target.join("images/nats");
    copy(server, &place.join("nats-server"))?;
    fs::write(place.join("Dockerfile"), "FROM scratch\nCOPY nats-server /nats-server\n")
        .with_context(|| format!("failed to write below {}", place.display()))?;
    engine.build_folder(&place, image)
}

/// Lets compose start our sink where there is no Jaeger, and says so.
pub(super) fn traces(layout: &Layout, engine: &Engine) -> anyhow::Result<()> {
    let compose = fs::read_to_string(layout.root.join("compose.yaml")).context("failed to read compose.yaml")?;
    let opening = format!("{TRACES_VARIABLE}:-");
    let image = compose.split_once(&opening).and_then(|(_, rest)| rest.split_once('}')).map(|(image, _)| image);
    let image = image.context("compose.yaml does not say which image collects traces")?;
    if engine.has_or_pulls(image) {
        return Ok(());
    }
    let file = layout.root.join(".env");
    let settings = match fs::read_to_string(&file) {
        Ok(settings) => settings,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => bail!("failed to read {}: {error}", file.display()),
    };
    if !settings.lines().any(|line| line.starts_with(TRACES_VARIABLE)) {
        let settings = format!("{settings}{TRACES_VARIABLE}={SINK}\n");
        fs::write(&file, settings).with_context(|| format!("failed to write {}", file.display()))?;
    }
    println!("\nnote: {image} cannot be pulled here, so the fleet's traces go to {SINK} (see .env)");
    Ok(())
}
