//! The Python that the agents in `examples/external-agents/python` run in, and the checks of the verifier's tests: a virtual
//! environment with what they name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::layout::Layout;
use crate::process;

/// What the agents and the tests need, with versions.
const REQUIREMENTS: [&str; 2] =
    ["examples/external-agents/python/requirements.txt", "verifier-agent/tests/requirements.txt"];
/// A copy of them in the environment says that the environment is whole, and for which versions.
const DONE: &str = "requirements.txt";

/// The Python of the examples' agents and of the verifier's tests.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let remedy = "The example agents need python3 with venv and pip (Debian: apt-get install python3-venv python3-pip) and a \
                  way to the Python package index.";
    environment(layout, "python", "python3", &REQUIREMENTS, remedy)
}

/// The Python of an environment with exactly these packages; it is made by `maker` where there is none, or one of other versions.
pub(super) fn environment(
    layout: &Layout,
    name: &str,
    maker: &str,
    files: &[&str],
    remedy: &str,
) -> anyhow::Result<PathBuf> {
    let wanted: Vec<PathBuf> = files.iter().map(|file| layout.root.join(file)).collect();
    let mut wanted_text = Vec::new();
    for file in &wanted {
        wanted_text.extend(fs::read(file).with_context(|| format!("failed to read {}", file.display()))?);
    }
    let folder = layout.tools().join(name);
    let program = folder.join("bin/python");
    let done = folder.join(DONE);
    if program.exists() && fs::read(&done).is_ok_and(|text| text == wanted_text) {
        return Ok(program);
    }
    println!("{name:<12} making an environment with pip");
    let folder_text = folder.to_string_lossy();
    let make = ["-m", "venv", "--clear", folder_text.as_ref()];
    process::output(&mut process::command(maker, &make, &layout.root), remedy)?;
    let texts: Vec<_> = wanted.iter().map(|file| file.to_string_lossy()).collect();
    let requirements: Vec<&str> = texts.iter().flat_map(|file| ["--requirement", file.as_ref()]).collect();
    install(layout, &program, &requirements, remedy)?;
    // Last: an environment that was left half made is made again.
    fs::write(&done, wanted_text).with_context(|| format!("failed to write {}", done.display()))?;
    Ok(program)
}

/// Has the pip of this Python install wheels by requirements that name every package; nothing is built.
pub(super) fn install(layout: &Layout, python: &Path, arguments: &[&str], remedy: &str) -> anyhow::Result<()> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
    let mut command = process::command(python, &[&pip, arguments].concat(), &layout.root);
    process::output(&mut command, remedy).map(drop)
}
