//! Naming a process so that a recycled number is never mistaken for it.
//!
//! A pid alone may belong to another process by the time it is read back from a file. With the start time it does not.
//! Between the look and the signal a number could still be recycled; the kernel hands numbers out in turn, so that
//! window would need a whole round of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// Fields of `/proc/<pid>/stat` after the command name, counted from the state (proc(5) field 3).
const STATE_FIELD: usize = 0;
const START_TIME_FIELD: usize = 19;

/// One process of this boot: its number and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// The number, positive.
    pub pid: i32,
    /// When it started, in clock ticks after boot.
    pub start_time: u64,
}

impl ProcessId {
    /// The process that has this number now; `None` when there is none, or only its remains wait to be reaped.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let (state, start_time) = read_stat(pid)?;
        (state != 'Z' && state != 'X').then_some(())?;
        Some(Self { pid: i32::try_from(pid).ok()?, start_time })
    }

    /// This process.
    #[must_use]
    pub fn current() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Every process that was started with `argument` as one of its arguments.
    #[must_use]
    pub fn all_with_argument(argument: &OsStr) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let started_so = |pid: &u32| {
            let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).skip(1).any(|word| word == argument.as_bytes())
        };
        pids.filter(started_so).filter_map(Self::of).collect()
    }

    /// Whether this very process still runs.
    #[must_use]
    pub fn alive(&self) -> bool {
        u32::try_from(self.pid).ok().and_then(Self::of).as_ref() == Some(self)
    }

    /// Asks it to end (SIGTERM). `Ok(false)`: it has ended already.
    ///
    /// # Errors
    /// The process is another user's.
    pub fn terminate(&self) -> Result<bool, std::io::Error> {
        self.signal(Signal::SIGTERM)
    }

    /// Asks it to read its configuration again (SIGHUP). `Ok(false)`: it has ended already.
    ///
    /// # Errors
    /// The process is another user's.
    pub fn reload(&self) -> Result<bool, std::io::Error> {
        self.signal(Signal::SIGHUP)
    }

    /// Ends it (SIGKILL). `Ok(false)`: it has ended already.
    ///
    /// # Errors
    /// The process is another user's.
    pub fn kill(&self) -> Result<bool, std::io::Error> {
        self.signal(Signal::SIGKILL)
    }

    fn signal(&self, signal: Signal) -> Result<bool, std::io::Error> {
        if !self.alive() {
            return Ok(false);
        }
        match kill(Pid::from_raw(self.pid), signal) {
            Ok(()) => Ok(true),
            Err(Errno::ESRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// State letter and start time of a process.
fn read_stat(pid: u32) -> Option<(char, u64)> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The command name is in parentheses and may hold anything, also blanks and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let state = fields.get(STATE_FIELD)?.chars().next()?;
    Some((state, fields.get(START_TIME_FIELD)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive() {
        assert!(ProcessId::current().unwrap().alive());
    }

    #[test]
    fn recycled_number_is_another_process() {
        let mut other = ProcessId::current().unwrap();
        other.start_time += 1;
        assert!(!other.alive());
        assert!(!other.kill().unwrap());
    }

    #[test]
    fn a_process_is_found_by_a_whole_argument() {
        let mut child = std::process::Command::new("sleep").arg("98.7654321").spawn().unwrap();
        // A starter goes on a moment before the new program's arguments can be read.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut found = Vec::new();
        while found.is_empty() && std::time::Instant::now() < deadline {
            found = ProcessId::all_with_argument(OsStr::new("98.7654321"));
        }
        let part = ProcessId::all_with_argument(OsStr::new("98.765432"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.iter().map(|p| p.pid).collect::<Vec<_>>(), [i32::try_from(child.id()).unwrap()]);
        assert!(part.is_empty());
    }

    #[test]
    fn remains_of_a_process_are_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while ProcessId::of(pid).is_some() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
