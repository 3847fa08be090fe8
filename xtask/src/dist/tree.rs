//! The archive: the program with completions, manual pages, licences and the README, in one folder.

use std::path::{Path, PathBuf};

use super::{Program, VERSION, triple};
use crate::files;
use crate::layout::Layout;
use crate::process;

/// The shells, and how a script of each is called.
pub(super) const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "holdpoint.bash"), ("zsh", "_holdpoint"), ("fish", "holdpoint.fish")];
/// What users get as it is.
pub(super) const TEXTS: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Puts the folder together below `scratch`.
pub(super) fn gather(layout: &Layout, program: &Program, scratch: &Path) -> anyhow::Result<PathBuf> {
    let tree = scratch.join(format!("holdpoint-{VERSION}-{}", triple()));
    let holdpoint = tree.join("holdpoint");
    files::copy(&program.path, &holdpoint)?;
    for text in TEXTS {
        files::copy(&layout.root.join(text), &tree.join(text))?;
    }
    let said = |arguments: &[&str]| process::output(&mut process::command(&holdpoint, arguments, &tree), "");
    files::create(&tree.join("completions"))?;
    for (shell, name) in COMPLETIONS {
        files::write(&tree.join("completions").join(name), said(&["completion", shell])? + "\n")?;
    }
    said(&["man", "man"])?;
    Ok(tree)
}

/// Packs the folder, always in the same order and owned by nobody in particular.
pub(super) fn archive(tree: &Path, place: &Path) -> anyhow::Result<()> {
    let name = tree.file_name().unwrap_or_default().to_string_lossy();
    let archive = place.join(format!("{name}.tar.gz"));
    let (archive, above) = (archive.to_string_lossy(), tree.parent().unwrap_or(tree));
    let owner = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner"];
    let arguments = [&["--create", "--gzip", "--file", &archive], &owner[..], &[&name]].concat();
    process::output(&mut process::command("tar", &arguments, above), "").map(drop)
}
