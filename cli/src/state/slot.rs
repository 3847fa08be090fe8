//! Numbered places of processes: each has a folder that outlives a run, so that mirrors and caches are used again.

use std::{fs, io, path::PathBuf};

use holdpoint_sandbox::ProcessId;

use super::{Lock, StateDir, unusable, write_private};
use crate::failure::Failure;

/// The folders that have places.
const FOLDERS: [&str; 2] = ["orchestrator", "agents"];
/// What the files end with that say which process works in a place.
const ENDING: &str = "process";

/// A place that is ours until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    /// From 1; the lowest that was free.
    pub(crate) number: u32,
    /// The folder.
    pub(crate) dir: PathBuf,
    lock: Lock,
}

impl Slot {
    /// Takes the first free place called `name` in the folder `below`.
    pub(crate) fn take(state: &StateDir, below: &str, name: &str) -> Result<Self, Failure> {
        let folder = state.folder(below)?;
        let mut number = 1;
        loop {
            let lock = Lock::try_exclusive(&folder.join(format!("{name}-{number}.lock")))?;
            if let Some(lock) = lock
                && !still_used(&lock)?
            {
                let dir = state.folder(&format!("{below}/{name}-{number}"))?;
                return Ok(Self { number, dir, lock });
            }
            number += 1;
        }
    }

    /// Whether a process works in any place of this state folder.
    pub(crate) fn any_used(state: &StateDir) -> bool {
        let files = FOLDERS.iter().flat_map(|below| fs::read_dir(state.path(below)).into_iter().flatten().flatten());
        let mut processes =
            files.map(|file| file.path()).filter(|file| file.extension().is_some_and(|end| end == ENDING));
        processes.any(|file| fs::read(file).is_ok_and(|bytes| is_alive(&bytes)))
    }

    /// Notes who works in it. A process that outlives the command that started it keeps its place as long as it lives.
    pub(crate) fn used_by(&self, process: Option<ProcessId>) -> Result<(), Failure> {
        let text = process.map(|process| serde_json::to_vec(&process).expect("two numbers")).unwrap_or_default();
        write_private(&self.process_file(), &text)
    }

    fn process_file(&self) -> PathBuf {
        self.lock.path().with_extension(ENDING)
    }
}

fn still_used(lock: &Lock) -> Result<bool, Failure> {
    let path = lock.path().with_extension(ENDING);
    match fs::read(&path) {
        Ok(bytes) => Ok(is_alive(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(unusable("read", &path, &source)),
    }
}

fn is_alive(process: &[u8]) -> bool {
    serde_json::from_slice::<ProcessId>(process).is_ok_and(|process| process.alive())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Home;

    fn state(dir: &tempfile::TempDir) -> StateDir {
        StateDir { root: dir.path().to_owned(), dir: dir.path().join("r"), home: Home::of(dir.path()).unwrap() }
    }

    #[test]
    fn places_are_used_again_when_they_are_free() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(&dir);
        let one = Slot::take(&state, "agents", "builder").unwrap();
        let two = Slot::take(&state, "agents", "builder").unwrap();
        assert_eq!((one.number, two.number), (1, 2));
        drop(one);
        assert_eq!(Slot::take(&state, "agents", "builder").unwrap().number, 1);
    }

    #[test]
    fn the_place_of_a_process_that_lives_on_is_not_given_away() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(&dir);
        let one = Slot::take(&state, "agents", "builder").unwrap();
        assert!(!Slot::any_used(&state));
        one.used_by(ProcessId::current()).unwrap();
        assert!(Slot::any_used(&state));
        drop(one);
        let two = Slot::take(&state, "agents", "builder").unwrap();
        assert_eq!(two.number, 2);
    }
}
