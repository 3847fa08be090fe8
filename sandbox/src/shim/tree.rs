//! Ending everything a program started, and being sure of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

/// How long the kernel may take to end what was killed (a process in an uninterruptible wait takes its time).
const END_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Reaps process 1 of a namespace. The kernel lets that happen only after all other processes in it have ended.
pub(super) fn reap(init: Pid) -> bool {
    let start = Instant::now();
    loop {
        match waitpid(init, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
            Ok(_) | Err(_) => return true,
        }
        if start.elapsed() > END_LIMIT {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills all descendants until none is left. Orphans are ours because we are their subreaper.
pub(super) fn end_descendants() -> bool {
    let start = Instant::now();
    loop {
        let found = freeze();
        for pid in found {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        loop {
            match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return true,
                Ok(WaitStatus::StillAlive) | Err(_) => break,
                Ok(_) => {}
            }
        }
        if start.elapsed() > END_LIMIT {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Stops all descendants, so that none can fork away while they are killed.
fn freeze() -> BTreeSet<i32> {
    let mut seen = BTreeSet::new();
    let start = Instant::now();
    loop {
        let new: Vec<i32> = descendants().into_iter().filter(|pid| !seen.contains(pid)).collect();
        if new.is_empty() || start.elapsed() > END_LIMIT {
            return seen;
        }
        for pid in new {
            let _ = kill(Pid::from_raw(pid), Signal::SIGSTOP);
            seen.insert(pid);
        }
    }
}

/// All processes that this one started, and those that they did.
pub(super) fn descendants() -> BTreeSet<i32> {
    let parents = parents();
    let mut found = BTreeSet::from([getpid().as_raw()]);
    loop {
        let before = found.len();
        found.extend(
            parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if found.len() == before {
            found.remove(&getpid().as_raw());
            return found;
        }
    }
}

/// All processes with their parents.
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| parent_of(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn parent_of(pid: i32) -> Option<(i32, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses: the state, then the parent.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, parent))
}
