//! `cargo xtask screenshots`: the pictures in the documentation, taken of a real flight in a real browser. What is to be seen is in
//! `tests/src/bin/holdpoint-screenshots.rs`.

use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE};

/// Where the documentation has its pictures.
const FOLDER: &str = "docs/images";

/// Builds the program and takes all pictures.
pub(crate) fn run(layout: &Layout) -> anyhow::Result<()> {
    let tools = tools::prepare(layout)?;
    tools::browser(layout)?;
    process::run(&mut process::cargo(&layout.root, &["build", "--workspace", "--bins", "--locked"]), "")?;
    let mut command = process::command(layout.target.join("debug/holdpoint-screenshots"), &[FOLDER], &layout.root);
    process::run(command.env(SERVER_VARIABLE, &tools.nats_server), "").map(drop)
}
