//! Limits that the kernel keeps.

use std::fs::DirEntry;
use std::os::unix::fs::MetadataExt;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::geteuid;

use super::Failure;
use crate::wire::{Rlimits, Step};

/// The kernel refuses a lower limit of process numbers.
const PROCESS_NUMBERS_MIN: u64 = 301;
/// From this kernel on, the limit of process numbers belongs to the namespace. Before, writing it would change the machine's.
const NAMESPACED_SINCE: (u32, u32) = (6, 14);
/// Field of `/proc/<pid>/stat` after the command name, counted from the state (proc(5) field 3).
const THREADS_FIELD: usize = 17;
const PROCESS_NUMBERS: &str = "/proc/sys/kernel/pid_max";
const KERNEL_RELEASE: &str = "/proc/sys/kernel/osrelease";

fn limit_is_namespaced() -> bool {
    std::fs::read_to_string(KERNEL_RELEASE)
        .ok()
        .and_then(|release| parse(&release))
        .is_some_and(|v| v >= NAMESPACED_SINCE)
}

fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Limits the processes of the namespace that this process is the first of. `false`: that is not possible here (an
/// older kernel, or a container that has the setting read-only); it is no required property.
pub(super) fn limit_processes_of_namespace(limits: &Rlimits) -> bool {
    let Some(processes) = limits.processes.filter(|_| limit_is_namespaced()) else { return false };
    std::fs::write(PROCESS_NUMBERS, processes.max(PROCESS_NUMBERS_MIN).to_string()).is_ok()
}

/// Limits this process and what it starts. `own_users`: processes are counted in a user namespace of their own. Without,
/// the kernel counts all that its user runs, so that much is added to what it may have. Root is not bound by it.
pub(super) fn limit(limits: &Rlimits, own_users: bool) -> Result<(), Failure> {
    // A core file would be the program's memory in a place of the machine's choice.
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_FSIZE, limits.file_size_bytes)?;
    set(Resource::RLIMIT_NOFILE, limits.open_files)?;
    if let Some(processes) = limits.processes {
        let others = if own_users { 0 } else { processes_of_user() };
        set(Resource::RLIMIT_NPROC, processes.saturating_add(others))?;
    }
    if let Some(bytes) = limits.address_space_bytes {
        set(Resource::RLIMIT_AS, bytes)?;
    }
    Ok(())
}

/// Whether a limit of processes holds for this process at all: the kernel excepts root, also where it looks like another
/// user. Tries it, and leaves the limit too low for anything else.
pub(super) fn processes_are_bound() -> bool {
    setrlimit(Resource::RLIMIT_NPROC, 0, 0).is_ok() && std::thread::Builder::new().spawn(|| {}).is_err()
}

/// Processes and threads that this process's user runs on the whole machine.
fn processes_of_user() -> u64 {
    let user = geteuid().as_raw();
    let own = |entry: &DirEntry| entry.metadata().is_ok_and(|found| found.uid() == user);
    let threads = |entry: DirEntry| -> Option<u64> {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(THREADS_FIELD)?.parse().ok()
    };
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    entries.flatten().filter(own).filter_map(threads).sum()
}

/// Never raises what we were given ourselves.
fn set(resource: Resource, value: u64) -> Result<(), Failure> {
    let at = |error: nix::Error| Failure::new(Step::Limits, format!("{resource:?}: {error}"));
    let (_, hard) = getrlimit(resource).map_err(at)?;
    let value = value.min(hard);
    setrlimit(resource, value, value).map_err(at)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn kernel_release_is_read_with_its_suffix() {
        assert_eq!(parse("6.18.44-fc-v669\n"), Some((6, 18)));
        assert_eq!(parse("5.4"), Some((5, 4)));
        assert_eq!(parse("six"), None);
    }
}
