//! `cargo xtask soak`: builds what the long runs need, and runs them. They are listed in `tests/src/soak.rs`.

use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE, agents};

/// The part that flies real coding agents, which have to be downloaded.
const AGENTS: &str = "agents";

/// Runs `holdpoint-soak` with these arguments.
pub(crate) fn run(layout: &Layout, arguments: &[String]) -> anyhow::Result<()> {
    let tools = tools::prepare(layout)?;
    process::run(&mut process::cargo(&layout.root, &["build", "--workspace", "--bins", "--locked"]), "")?;
    let mut command = process::command(layout.target.join("debug/holdpoint-soak"), &[], &layout.root);
    command.args(arguments).env(SERVER_VARIABLE, &tools.nats_server);
    // Only who names the part gets the download.
    if arguments.iter().any(|argument| argument == AGENTS) {
        command.envs(agents::find_or_get(layout)?);
    }
    process::run(&mut command, "").map(drop)
}
