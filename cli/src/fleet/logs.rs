//! Logs of local fleets are bounded: the length of each, and how many commands have theirs kept.
//!
//! A log is cut while its process writes to it: each line goes to the file's end, wherever that is (`O_APPEND`). A line that is written
//! at this very moment may be lost.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::state::StateDir;

/// The most bytes of a log: beyond them it goes on from nothing, and what it had is kept once under another name.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// Commands whose logs are kept, the latest ones, and those of any that runs.
const COMMANDS_MAX: usize = 100;
/// How often the logs of a fleet that runs are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The logs of one command's fleet, its broker's among them.
#[derive(Debug)]
pub(super) struct Logs {
    folder: PathBuf,
    broker: PathBuf,
    next: Instant,
}

impl Logs {
    pub(super) fn of(state: &StateDir, run: &str) -> Self {
        let (folder, broker) = (state.path(&format!("logs/{run}")), state.path("broker/nats.log"));
        Self { folder, broker, next: Instant::now() }
    }

    /// Cuts those that are too long. To be called often.
    pub(super) fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + LOOK_EVERY;
        let own = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = own.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        for log in logs.chain([self.broker.clone()]) {
            if let Err(error) = cut(&log, LOG_BYTES_MAX) {
                tracing::debug!(%error, log = %log.display(), "a log could not be cut");
            }
        }
    }
}

/// Has a log that is longer go on from nothing.
fn cut(log: &Path, most: u64) -> io::Result<()> {
    match fs::metadata(log) {
        Ok(known) if known.len() > most => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut before = log.as_os_str().to_owned();
    before.push(".1");
    let kept = fs::copy(log, before);
    // Also where there is no room for a copy.
    fs::OpenOptions::new().write(true).open(log)?.set_len(0)?;
    kept.map(drop)
}

/// Removes the logs of the oldest commands.
pub(super) fn prune(state: &StateDir) {
    let runs = |run: &str| state.path(&format!("processes/{run}")).exists();
    prune_in(&state.path("logs"), COMMANDS_MAX, runs);
}

fn prune_in(logs: &Path, most: usize, runs: impl Fn(&str) -> bool) {
    let changed =
        |entry: &fs::DirEntry| entry.metadata().and_then(|known| known.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let folders = fs::read_dir(logs).into_iter().flatten().flatten();
    let mut folders: Vec<_> = folders.map(|entry| (changed(&entry), entry)).collect();
    folders.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
    for (_, folder) in folders.into_iter().skip(most) {
        if !folder.file_name().to_str().is_some_and(&runs)
            && let Err(error) = fs::remove_dir_all(folder.path())
        {
            tracing::debug!(%error, folder = %folder.path().display(), "old logs could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_log_that_is_too_long_goes_on_from_nothing_under_its_writers_hands() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("x.log");
        let mut writer = fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        writer.write_all(b"12345678").unwrap();
        cut(&log, 8).unwrap();
        assert_eq!(fs::read(&log).unwrap(), b"12345678", "it may be as long");
        writer.write_all(b"9").unwrap();
        cut(&log, 8).unwrap();
        writer.write_all(b"after").unwrap();
        assert_eq!(
            (fs::read(&log).unwrap(), fs::read(dir.path().join("x.log.1")).unwrap()),
            (b"after".to_vec(), b"123456789".to_vec())
        );
        cut(&dir.path().join("none.log"), 8).unwrap();
    }

    #[test]
    fn the_latest_commands_keep_their_logs_and_those_that_run() {
        let dir = tempfile::tempdir().unwrap();
        for (age, name) in ["newest", "newer", "old", "oldest-runs", "oldest"].iter().enumerate() {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("x.log"), "").unwrap();
            let at = SystemTime::now() - Duration::from_secs(60 * (age as u64 + 1));
            fs::File::open(&folder).unwrap().set_modified(at).unwrap();
        }
        prune_in(dir.path(), 2, |run| run == "oldest-runs");
        let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["newer", "newest", "oldest-runs"]);
        prune_in(&dir.path().join("none"), 2, |_| false);
    }
}
