//! Prometheus and its promtool, with which the alerts and the dashboard are tested. Nothing else needs them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::layout::Layout;
use crate::process;

/// What tests start, from `target/tools`.
const PROGRAMS: [&str; 2] = ["prometheus", "promtool"];
/// The package of Debian that has both, some 20 MB.
const PACKAGE: &str = "prometheus";
const REMEDY: &str = "The tests of alerts and dashboard need `prometheus` and `promtool` in target/tools. They come from Debian's \
                      package (apt-get update, then try again); elsewhere, put them there yourself.";

/// The folder that has both; they are put there where they are not, from `PATH` or from Debian's package.
///
/// # Errors
/// They cannot be had here; what to do.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    let folder = layout.tools();
    if PROGRAMS.iter().all(|program| folder.join(program).is_file()) {
        return Ok(folder);
    }
    let scratch = folder.join("download-prometheus");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).with_context(|| format!("failed to remove {}", scratch.display()))?;
    }
    fs::create_dir_all(&scratch).with_context(|| format!("failed to create {}", scratch.display()))?;
    println!("prometheus   none here: getting Debian's package");
    // apt checks what it gets by the archive's signatures; nothing of it is installed or run.
    process::output(&mut process::command("apt-get", &["download", "--quiet", PACKAGE], &scratch), REMEDY)?;
    let package = fs::read_dir(&scratch)?.flatten().map(|entry| entry.path());
    let package = package.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.with_context(|| format!("apt-get ended well but left no package\n{REMEDY}"))?;
    let from = package.to_string_lossy();
    process::output(&mut process::command("dpkg-deb", &["-x", from.as_ref(), "unpacked"], &scratch), REMEDY)?;
    for program in PROGRAMS {
        let unpacked = scratch.join("unpacked/usr/bin").join(program);
        fs::set_permissions(&unpacked, fs::Permissions::from_mode(0o755)).context("failed to make it executable")?;
        // A rename, so that a run that is killed here leaves no half program behind.
        fs::rename(&unpacked, folder.join(program)).with_context(|| format!("failed to put {program} into place"))?;
    }
    fs::remove_dir_all(&scratch).with_context(|| format!("failed to remove {}", scratch.display()))?;
    Ok(folder)
}
