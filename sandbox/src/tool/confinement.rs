//! What a trusted tool may use while it reads what others made. Pure data and paths; nothing here runs anything.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::layout::{DEVICES, Rules};
use crate::lookup;

/// What of the system every tool needs: programs and libraries.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix"];
/// Files that libraries look at when a program starts or asks who runs it; none holds a secret.
const SYSTEM_FILES: [&str; 4] = ["/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/nsswitch.conf", "/etc/passwd"];

/// The limits of a trusted tool whose input is not trusted: a parser that a hostile file could exhaust or take over.
///
/// Memory, processor time and file sizes are limited by the kernel for each process; how many confined tools run at once
/// is limited for the whole of this process. The tool makes no sockets, and reaches no files but the system's programs
/// and what is named here (on a kernel with Landlock).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Trees and files it may read, besides the system's programs and libraries.
    pub read: Vec<PathBuf>,
    /// Trees it may also change.
    pub write: Vec<PathBuf>,
    /// Bytes of address space, per process.
    pub memory_bytes: u64,
    /// Processor time, per process; counted in whole seconds, at least one.
    pub cpu: Duration,
    /// Bytes of the biggest file it may write.
    pub file_bytes: u64,
}

/// Which limit a confined tool went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Confinement::cpu`], in seconds.
    ProcessorTime(u64),
    /// [`Confinement::file_bytes`].
    FileSize(u64),
    /// Twice the time that [`Tool::timeout`](super::Tool::timeout) gives.
    WallTime(Duration),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ProcessorTime(seconds) => write!(f, "{seconds} s of processor time"),
            Self::FileSize(bytes) => write!(f, "{bytes} bytes in one file"),
            Self::WallTime(time) => write!(f, "{time:?} of wall time"),
        }
    }
}

impl Confinement {
    pub(super) fn cpu_seconds(&self) -> u64 {
        self.cpu.as_secs().max(1)
    }

    /// For Landlock: what is named here, the system, and where `program` is installed.
    pub(super) fn rules(&self, program: &OsStr) -> Rules {
        let mut read: Vec<PathBuf> = SYSTEM.iter().chain(&SYSTEM_FILES).map(PathBuf::from).collect();
        read.extend(installed_in(program));
        read.extend(self.read.iter().cloned());
        let devices = DEVICES.iter().map(PathBuf::from).collect();
        Rules { list: Vec::new(), read, devices, write: self.write.clone() }
    }
}

/// The folders that a program and its libraries are in, where that is none of the system's own. Of `…/bin/program` it is
/// the folder above `bin`, unless that is the caller's home.
fn installed_in(program: &OsStr) -> BTreeSet<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| super::DEFAULT_PATH.into());
    let home = std::env::var_os("HOME");
    let Some(named) = lookup::find(program, &path) else { return BTreeSet::new() };
    let real = named.canonicalize().ok();
    let files = [Some(named), real];
    files.iter().flatten().filter_map(|file| install_root(file, home.as_ref())).collect()
}

fn install_root(file: &Path, home: Option<&OsString>) -> Option<PathBuf> {
    if SYSTEM.iter().any(|tree| file.starts_with(tree)) {
        return None;
    }
    let folder = file.parent()?;
    let above = folder.parent().filter(|_| folder.ends_with("bin"));
    let is_too_much = |above: &&Path| above.parent().is_none() || home.is_some_and(|home| Path::new(home) == *above);
    Some(above.filter(|above| !is_too_much(above)).unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_outside_the_system_brings_its_own_installation_and_no_home() {
        let home = OsString::from("/home/u");
        for (file, root) in [
            ("/usr/bin/git", None),
            ("/home/linuxbrew/.linuxbrew/bin/git", Some("/home/linuxbrew/.linuxbrew")),
            ("/home/u/.local/bin/git", Some("/home/u/.local")),
            ("/home/u/bin/git", Some("/home/u/bin")),
            ("/bin2/git", Some("/bin2")),
            ("/srv/tools/git", Some("/srv/tools")),
        ] {
            assert_eq!(install_root(Path::new(file), Some(&home)), root.map(PathBuf::from), "{file}");
        }
    }
}
