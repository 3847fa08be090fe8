//! `cargo xtask images`: the images of the fleet, with the program built on the host.
//!
//! The images below `deploy/Dockerfile` are used where they are there, else pulled, else made: the base with
//! debootstrap, the broker from the server that `cargo xtask tools` finds. So it works without a registry.

mod engine;
mod upstream;

use std::path::PathBuf;

use anyhow::Context as _;

use crate::files::copy;
use crate::layout::Layout;
use crate::process;
use crate::tools::{self, Tools};

pub(crate) use engine::Engine;

/// The targets of the Dockerfile that become images, in the order of their layers.
const TARGETS: [&str; 5] = ["keys", "orchestrator", "agent", "otlp-sink", "broker"];
/// What the images are called before the target's name, as in `compose.yaml`.
const FAMILY: &str = "holdpoint";
/// What of `deploy/` the Dockerfile copies.
const DEPLOYED: [&str; 7] = [
    "deploy/Dockerfile",
    "deploy/keys.sh",
    "deploy/broker.sh",
    "deploy/broker-health.sh",
    "deploy/broker-revive.sh",
    "deploy/config/nats.conf",
    "deploy/config/nats-cluster.conf",
];

/// Which build of the program goes into the images.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// For use: tag `latest`.
    Release,
    /// For tests: tag `debug`, so that it replaces no image in use.
    Debug,
}

impl Build {
    fn tag(self) -> &'static str {
        match self {
            Self::Release => "latest",
            Self::Debug => "debug",
        }
    }

    /// How cargo makes the program. For tests, as `cargo xtask test` has made it already.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["build", "--package", "holdpoint-cli", "--locked", "--release"],
            Self::Debug => &["build", "--workspace", "--bins", "--tests", "--locked"],
        }
    }

    fn program(self, layout: &Layout) -> PathBuf {
        match self {
            Self::Release => layout.target.join("release/holdpoint"),
            Self::Debug => layout.holdpoint(),
        }
    }
}

/// Builds all images.
pub(crate) fn run(layout: &Layout, build: Build) -> anyhow::Result<()> {
    let engine = Engine::find(layout)?.context(
        "no Docker engine answers: start it, or let DOCKER_HOST name one (`docker version` has to show a server)",
    )?;
    bases(layout, &engine, &tools::prepare(layout)?)?;
    program(layout, build)?;
    assemble(layout, &engine, build)?;
    if build == Build::Release {
        upstream::traces(layout, &engine)?;
        println!("\n`docker compose up` starts the fleet; docs/deploy.md says what can be changed.");
    }
    Ok(())
}

/// Puts the images together, of a program that [`program`] has made and on images that are there.
pub(crate) fn assemble(layout: &Layout, engine: &Engine, build: Build) -> anyhow::Result<()> {
    let context = context(layout, build);
    for file in DEPLOYED {
        copy(&layout.root.join(file), &context.join(file))?;
    }
    let names = upstream::Names::read(layout)?;
    for target in TARGETS {
        let image = format!("{FAMILY}/{target}:{}", build.tag());
        println!("image        {image}");
        engine.build(&context, target, &image, &names)?;
    }
    Ok(())
}

/// Finds or makes the images below ours.
pub(crate) fn bases(layout: &Layout, engine: &Engine, tools: &Tools) -> anyhow::Result<()> {
    let names = upstream::Names::read(layout)?;
    upstream::base(layout, engine, &names.base)?;
    upstream::nats(layout, engine, &names.nats, &tools.nats_server)
}

/// Where an image's files are gathered.
fn context(layout: &Layout, build: Build) -> PathBuf {
    layout.target.join("images").join(build.tag())
}

/// Puts the program into the build context, without its debug information.
pub(crate) fn program(layout: &Layout, build: Build) -> anyhow::Result<()> {
    let context = context(layout, build);
    println!("\n== the program, built on this machine");
    process::run(&mut process::cargo(&layout.root, build.arguments()), "")?;
    let kept = context.join("prebuilt/holdpoint");
    copy(&build.program(layout), &kept)?;
    let kept_text = kept.to_string_lossy();
    if !process::succeeds(&mut process::command("strip", &["--strip-debug", &kept_text], &context)) {
        println!("note: there is no `strip` (Debian: apt-get install binutils), so the images are larger than need be");
    }
    Ok(())
}
