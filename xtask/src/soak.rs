//! `cargo xtask soak`: builds what the long runs need, and runs them. They are listed in `tests/src/soak.rs`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::images::{self, Build};
use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE};

/// The part that flies real coding agents, which have to be downloaded.
const AGENTS: &str = "agents";
/// The part that upgrades a fleet of an earlier build, which has to be built.
const UPGRADE: &str = "upgrade";
/// Names the program of that build.
const FORMER: &str = "HOLDPOINT_FORMER";
/// That build: the first whose fleets every later one takes over while they run.
const FORMER_COMMIT: &str = "3f51b4f094dc39d5129349360055abb7b05dc7cc";

/// The part that flies in a cluster: in one of its own, which wants images of this build, unless one is named.
const KUBERNETES: &str = "kubernetes";
const KUBECONFIG: &str = "HOLDPOINT_KUBECONFIG";

/// Runs `holdpoint-soak` with these arguments.
pub(crate) fn run(layout: &Layout, arguments: &[String]) -> anyhow::Result<()> {
    let tools = tools::prepare(layout)?;
    process::run(&mut process::cargo(&layout.root, &["build", "--workspace", "--bins", "--locked"]), "")?;
    let soak = |flags: &[&str]| {
        let mut command = process::command(layout.target.join("debug/holdpoint-soak"), flags, &layout.root);
        command.args(arguments);
        command
    };
    let chosen = process::output(&mut soak(&["--list"]), "")?;
    let mut command = soak(&[]);
    command.env(SERVER_VARIABLE, &tools.nats_server);
    if chosen.lines().any(|part| part == AGENTS) {
        tools::agents(layout)?.into_iter().for_each(|got| set(&mut command, got));
    }
    if chosen.lines().any(|part| part == UPGRADE) && std::env::var_os(FORMER).is_none() {
        set(&mut command, former(layout).map(|program| (FORMER, program)));
    }
    if chosen.lines().any(|part| part == KUBERNETES)
        && std::env::var_os(KUBECONFIG).is_none()
        && let Err(error) = images::run(layout, Build::Debug)
    {
        eprintln!("warning: {error:#}");
    }
    process::run(&mut command, "").map(drop)
}

/// Tells the run where a program is. Without it the part that needs it fails, and the others run.
fn set(command: &mut Command, got: anyhow::Result<(&str, PathBuf)>) {
    match got {
        Ok((variable, program)) => drop(command.env(variable, program)),
        Err(error) => eprintln!("warning: {error:#}"),
    }
}

/// The program of the earlier build, in a work tree of its own.
fn former(layout: &Layout) -> anyhow::Result<PathBuf> {
    let tree = layout.target.join("former").join(FORMER_COMMIT);
    if !tree.join("Cargo.toml").is_file() {
        let shown = tree.to_str().context("the path of the target folder is not UTF-8")?;
        let add = ["worktree", "add", "--force", "--detach", shown, FORMER_COMMIT];
        process::run(&mut process::command("git", &add, &layout.root), "a shallow clone does not have that commit")?;
    }
    let mut build = process::cargo(&tree, &["build", "--package", "holdpoint-cli", "--bin", "holdpoint", "--locked"]);
    let target = tree.join("target");
    process::run(build.env("CARGO_TARGET_DIR", &target), "")?;
    Ok(target.join("debug/holdpoint"))
}
