//! The tools that `cargo xtask dist` makes packages with: maturin and wheel, and Zig for programs that an old glibc can run.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use super::{python, wheel};
use crate::files;
use crate::layout::Layout;

const REQUIREMENTS: [&str; 1] = ["xtask/dist.txt"];
const REMEDY: &str = "Packages are made with python3, venv and pip (Debian: apt-get install python3-venv python3-pip), and need a way to the Python \
     package index.";

/// Zig's requirements; a copy in its folder says that the folder is whole.
const ZIG: &str = "xtask/zig.txt";
const ZIG_DONE: &str = "zig.txt";
const ZIG_REMEDY: &str =
    "Zig comes from the Python package index, for Linux on x86-64 and AArch64, and needs python3 with pip.";

/// The Python of an environment that has maturin and wheel.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    python::environment(layout, "packaging", "python3", &REQUIREMENTS, REMEDY)
}

/// Zig's program.
pub(super) fn zig(layout: &Layout) -> anyhow::Result<PathBuf> {
    let requirements = layout.root.join(ZIG);
    let wanted = fs::read(&requirements).with_context(|| format!("failed to read {}", requirements.display()))?;
    let folder = layout.tools().join("zig");
    let program = folder.join("ziglang/zig");
    if fs::read(folder.join(ZIG_DONE)).is_ok_and(|text| text == wanted) {
        return Ok(program);
    }
    println!("zig          none of the version in {ZIG} here: getting one with pip (100 MB)");
    files::remove(&folder)?;
    wheel::installed(&requirements, &folder, &[], ZIG_REMEDY)?;
    // Last: a folder that was left half made is made again.
    files::write(&folder.join(ZIG_DONE), wanted)?;
    Ok(program)
}
