//! `cargo xtask dist`: what installs Holdpoint without a compiler. One build of the program becomes a wheel, an archive and a Debian
//! package.

mod debian;
mod tree;
mod wheel;

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::files;
use crate::images::Build;
use crate::layout::Layout;
use crate::process;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A build of the program, without symbols.
struct Program {
    path: PathBuf,
    /// The oldest glibc that runs it.
    glibc: String,
}

/// Makes all packages.
pub(crate) fn run(layout: &Layout, build: Build) -> anyhow::Result<()> {
    let place = layout.target.join(match build {
        Build::Release => "dist",
        Build::Debug => "dist-debug",
    });
    files::remove(&place)?;
    let scratch = place.join("scratch");
    files::create(&scratch)?;
    println!("\n== wheel");
    let program = match build {
        Build::Release => wheel::build(layout, &place)?,
        Build::Debug => wheel::pack(layout, &place, &scratch)?,
    };
    println!("\n== archive");
    let tree = tree::gather(layout, &program, &scratch)?;
    tree::archive(&tree, &place)?;
    println!("\n== Debian package");
    if let Err(error) = debian::package(&tree, &program, &place, &scratch) {
        println!("note: {error:#}");
    }
    files::remove(&scratch)?;
    report(&program, &place)
}

/// The platform, as Rust names it.
fn triple() -> String {
    format!("{ARCH}-unknown-linux-gnu")
}

/// The glibc of this machine, which a program that its own linker links needs.
fn machine_glibc(directory: &Path) -> anyhow::Result<String> {
    let words = process::output(&mut process::command("getconf", &["GNU_LIBC_VERSION"], directory), "")?;
    words.split_whitespace().last().map(str::to_owned).context("getconf names no glibc")
}

fn report(program: &Program, place: &Path) -> anyhow::Result<()> {
    println!("\n{} (glibc {} or newer)", place.display(), program.glibc);
    let mut made = files::entries(place)?;
    made.sort();
    for path in made {
        let bytes = path.metadata().with_context(|| format!("failed to read {}", path.display()))?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("{:>6.1} MB  {name}", bytes as f64 / 1e6);
    }
    Ok(())
}
