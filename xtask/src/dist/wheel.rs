//! The wheel: `pyproject.toml` says what it is, maturin makes it.

use std::path::Path;

use super::{Program, VERSION, machine_glibc, triple};
use crate::files;
use crate::layout::Layout;
use crate::process;
use crate::tools;

/// The glibc that programs are linked for where Zig is there: the oldest that Rust's own library runs with.
const GLIBC: &str = "2.17";

/// Compiles the program and makes its wheel.
pub(super) fn build(layout: &Layout, place: &Path) -> anyhow::Result<Program> {
    let maturin = tools::packaging(layout)?.with_file_name("maturin");
    let arguments = ["build", "--target", &triple(), "--out", &place.to_string_lossy()];
    let mut command = process::without_cargo(process::command(maturin, &arguments, &layout.root));
    let glibc = match tools::zig(layout) {
        Ok(zig) => {
            let tag = format!("manylinux_{}", GLIBC.replace('.', "_"));
            command.args(["--zig", "--compatibility", &tag]).env("CARGO_ZIGBUILD_ZIG_PATH", zig);
            GLIBC.to_owned()
        }
        Err(error) => {
            println!("zig          {error:#}\n             without it the program needs the glibc of this machine");
            machine_glibc(&layout.root)?
        }
    };
    process::run(&mut command, "")?;
    Ok(Program { path: layout.target.join(triple()).join("packaged/holdpoint"), glibc })
}

/// Makes the same wheel of the debug build, which tests have compiled already.
pub(super) fn pack(layout: &Layout, place: &Path, scratch: &Path) -> anyhow::Result<Program> {
    let python = tools::packaging(layout)?;
    let folder = scratch.join("wheel");
    let program = folder.join(format!("holdpoint-{VERSION}.data/scripts/holdpoint"));
    files::copy(&layout.holdpoint(), &program)?;
    let path = program.to_string_lossy();
    process::output(&mut process::command("strip", &[&path], &layout.root), "Debian: apt-get install binutils")?;
    let folder = folder.to_string_lossy();
    let metadata = ["pep517", "write-dist-info", "--metadata-directory", &folder];
    let maturin = python.with_file_name("maturin");
    process::output(&mut process::without_cargo(process::command(maturin, &metadata, &layout.root)), "")?;
    let pack = ["-m", "wheel", "pack", &folder, "--dest-dir", &place.to_string_lossy()];
    process::output(&mut process::command(python, &pack, &layout.root), "")?;
    Ok(Program { path: program.clone(), glibc: machine_glibc(&layout.root)? })
}
