//! What a build and its tests need besides Rust: git, a nats-server, a Python for the example agents, go, Compose, Prometheus, what
//! checks manifests of Kubernetes and workflows of GitHub, what makes packages, and a browser.

mod actionlint;
mod agents;
mod browser;
mod compose;
mod go;
mod kubernetes;
mod nextest;
mod packaging;
mod prometheus;
mod python;
mod server;
mod version;
mod wheel;

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::layout::Layout;
use crate::process;
use crate::tools::version::Version;

/// `git merge-tree --write-tree` came with it.
const GIT_OLDEST: Version = Version(2, 38, 0);

/// The environment variable that names the nats-server that tests and the product start.
pub(crate) const SERVER_VARIABLE: &str = "HOLDPOINT_NATS_SERVER";

/// Held by the process that gets tools.
const LOCK: &str = "lock";

/// What was found.
pub(crate) struct Tools {
    /// Absolute path of a nats-server of an accepted version.
    pub(crate) nats_server: PathBuf,
    /// The folder to add to `PATH`, so that `cargo nextest` runs; `None` where it cannot be had, and where it was not asked for.
    pub(crate) nextest: Option<PathBuf>,
}

/// Holds the folder of tools: another process that gets tools waits until this is dropped.
fn lock(layout: &Layout) -> anyhow::Result<File> {
    let folder = layout.tools();
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let path = folder.join(LOCK);
    let file = File::create(&path).with_context(|| format!("failed to create {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("tools        another process is getting them: waiting for it");
        file.lock().with_context(|| format!("failed to lock {}", path.display()))?;
    }
    Ok(file)
}

/// Checks git, finds or gets a nats-server and the example agents' Python, and prints what it found.
pub(crate) fn prepare(layout: &Layout) -> anyhow::Result<Tools> {
    let _lock = lock(layout)?;
    product(layout)
}

/// The same, and what tests alone need: go, Compose and cargo-nextest.
pub(crate) fn prepare_for_tests(layout: &Layout) -> anyhow::Result<Tools> {
    let _lock = lock(layout)?;
    let mut tools = product(layout)?;
    println!("go           {}", go::find_or_get(layout)?.join("first/go").display());
    // The tests of containers use another one, or say that there is none.
    shown("compose", compose::find_or_get(layout));
    shown("packaging", packaging::find_or_get(layout));
    shown("actionlint", actionlint::find_or_get(layout));
    match nextest::find_or_get(layout) {
        Ok(folder) => tools.nextest = Some(folder),
        Err(error) => println!("nextest      {error:#}\n             `cargo test` runs the tests instead"),
    }
    Ok(tools)
}

/// A browser, for the pictures in the documentation.
pub(crate) fn browser(layout: &Layout) -> anyhow::Result<PathBuf> {
    let _lock = lock(layout)?;
    browser::find_or_get(layout)
}

/// The Python of an environment with what makes wheels.
pub(crate) fn packaging(layout: &Layout) -> anyhow::Result<PathBuf> {
    let _lock = lock(layout)?;
    packaging::find_or_get(layout)
}

/// Zig, which links for an older glibc than the machine's.
pub(crate) fn zig(layout: &Layout) -> anyhow::Result<PathBuf> {
    let _lock = lock(layout)?;
    packaging::zig(layout)
}

/// The programs of coding agents.
pub(crate) fn agents(layout: &Layout) -> anyhow::Result<Vec<anyhow::Result<(&'static str, PathBuf)>>> {
    let _lock = lock(layout)?;
    Ok(agents::find_or_get(layout))
}

fn product(layout: &Layout) -> anyhow::Result<Tools> {
    let git = git_version(layout)?;
    println!("git          {git}");
    let (nats_server, version) = server::find_or_get(layout)?;
    println!("nats-server  {version}  {}", nats_server.display());
    println!("python       {}", python::find_or_get(layout)?.display());
    // The tests that need one of these say so.
    shown("prometheus", prometheus::find_or_get(layout).map(|folder| folder.join("prometheus")));
    shown("kubernetes", kubernetes::find_or_get(layout));
    shown("browser", browser::find_or_get(layout).map(|folder| folder.join("chromium")));
    Ok(Tools { nats_server, nextest: None })
}

/// Prints where a tool is that can be done without, or why it cannot be had.
fn shown(name: &str, found: anyhow::Result<PathBuf>) {
    match found {
        Ok(path) => println!("{name:<12} {}", path.display()),
        Err(error) => println!("{name:<12} {error:#}"),
    }
}

fn git_version(layout: &Layout) -> anyhow::Result<Version> {
    let remedy = format!("Holdpoint needs git {GIT_OLDEST} or newer: install it (Debian: apt-get install git).");
    let words = process::output(&mut process::command("git", &["--version"], &layout.root), &remedy)?;
    match Version::find_in(&words) {
        Some(version) if version >= GIT_OLDEST => Ok(version),
        Some(version) => bail!("git {version} is too old\n{remedy}"),
        None => bail!("`git --version` answered {words:?}, which holds no version\n{remedy}"),
    }
}
