//! actionlint, which checks the workflows of `.github/`: built by go from the modules that `xtask/actionlint` names with their digests.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use super::go;
use crate::files;
use crate::layout::Layout;
use crate::process;

/// The module that names the program.
const MODULE: &str = "xtask/actionlint";
const PACKAGE: &str = "github.com/rhysd/actionlint/cmd/actionlint";
/// Its folder below `target/tools`; a copy of the module's file there says of which version the program is.
const NAME: &str = "actionlint";
const DONE: &str = "go.mod";
const REMEDY: &str =
    "The test of the workflows needs actionlint, which is built of Go modules: it needs a way to a proxy of them.";

/// The program; it is built where it is missing.
///
/// # Errors
/// It cannot be had here; what to do.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let module = layout.root.join(MODULE);
    let wanted = fs::read(module.join(DONE)).with_context(|| format!("failed to read {}", module.display()))?;
    let folder = layout.tools().join(NAME);
    let program = folder.join(NAME);
    if fs::read(folder.join(DONE)).is_ok_and(|text| text == wanted) {
        return Ok(program);
    }
    println!("actionlint   none of the version in {MODULE} here: building one with go");
    files::create(&folder)?;
    let go = go::find_or_get(layout)?.join("bin/go");
    let output = program.to_string_lossy();
    let mut build = process::command(go, &["build", "-mod=readonly", "-o", &output, PACKAGE], &module);
    process::output(build.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", ""), REMEDY)?;
    // Last: a program that was left half built is built again.
    files::write(&folder.join(DONE), wanted)?;
    Ok(program)
}
