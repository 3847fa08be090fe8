//! The folders of turns: one per turn, gone when the turn is over, also after a crash. All turns of a waypoint have the same
//! path: programs know their conversations by the folder they were in.
//!
//! ```text
//! <dir>/lock            held as long as the process lives
//! <dir>/<flight>~<waypoint>
//!             /clone    what the program edits
//!             /scratch  its TMPDIR
//!             /settings its own settings, copied; where it has any
//!             /input    what it gets, as files; read-only to it
//!             /line     where it asks while it runs; read-only to it
//!             /own      the harness's: captured output, bundle; out of the program's reach
//! ```

use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_sandbox::tree::spread;

use holdpoint_runtime::put_away::put_away;

/// Only this user may look into the folders.
const PRIVATE: u32 = 0o700;
/// How long a predecessor may take to be gone. Programs that it was just starting hold its lock for a moment longer.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
/// The pause between two looks.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Why folders cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentFolderError {
    /// Another process works in it.
    #[error("{} is in use by another agent: every agent needs a state folder of its own", dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// The file system refuses.
    #[error("cannot use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl AgentFolderError {
    /// Whether the disk is full, which passes: the folder itself is right.
    #[must_use]
    pub fn lacks_room(&self) -> bool {
        matches!(self, Self::Io { source, .. } if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&source.kind()))
    }
}

/// Where the folders of turns are. One process has it at a time.
#[derive(Debug)]
pub struct TurnFolders {
    dir: PathBuf,
    _lock: File,
}

/// The folders of one turn. They are removed when this is dropped.
#[derive(Debug)]
pub struct TurnFolder {
    root: PathBuf,
}

impl TurnFolders {
    /// Takes the folder, which is made where it does not exist, and removes what a crash left in it.
    ///
    /// # Errors
    /// [`AgentFolderError`].
    pub async fn open(dir: &Path) -> Result<Self, AgentFolderError> {
        Self::open_within(dir, LOCK_PATIENCE).await
    }

    async fn open_within(dir: &Path, patience: Duration) -> Result<Self, AgentFolderError> {
        make(dir)?;
        spread(dir);
        let dir = dir.canonicalize().map_err(io_error(dir))?;
        let path = dir.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(io_error(&path))?;
        let deadline = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => tokio::time::sleep(LOCK_PAUSE).await,
                Err(TryLockError::WouldBlock) => return Err(AgentFolderError::InUse { dir }),
                Err(TryLockError::Error(source)) => return Err(AgentFolderError::Io { path, source }),
            }
        }
        for entry in std::fs::read_dir(&dir).map_err(io_error(&dir))? {
            let entry = entry.map_err(io_error(&dir))?.path();
            if entry.is_dir()
                && !entry.is_symlink()
                && let Err(error) = put_away(&entry)
            {
                tracing::warn!(dir = %entry.display(), %error, "cannot put away what an earlier process left");
            }
        }
        Ok(Self { dir, _lock: lock })
    }

    /// Folders for trying something out, as a turn has them.
    ///
    /// # Errors
    /// [`AgentFolderError::Io`].
    pub fn trial(&self) -> Result<TurnFolder, AgentFolderError> {
        self.create_named("trial")
    }

    /// Makes the folders of a turn about this waypoint; what an earlier one left is removed first.
    ///
    /// # Errors
    /// [`AgentFolderError::Io`].
    pub fn create(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<TurnFolder, AgentFolderError> {
        self.create_named(&format!("{flight}~{waypoint}"))
    }

    fn create_named(&self, name: &str) -> Result<TurnFolder, AgentFolderError> {
        let root = self.dir.join(name);
        put_away(&root).map_err(io_error(&root))?;
        let folder = TurnFolder { root };
        for dir in [folder.scratch(), folder.input(), folder.own()] {
            make(&dir)?;
        }
        Ok(folder)
    }
}

impl TurnFolder {
    /// What the program edits. Not there until it is cloned.
    #[must_use]
    pub fn clone_dir(&self) -> PathBuf {
        self.root.join("clone")
    }

    /// The program's folder for temporary files.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Where the program's own settings go. Not there until they are laid out.
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings")
    }

    /// What the program gets, as files.
    #[must_use]
    pub fn input(&self) -> PathBuf {
        self.root.join("input")
    }

    /// Where it asks, in the first run (0) or a later one: each has a folder of its own. Not there until the line is opened.
    #[must_use]
    pub fn line(&self, run: u32) -> PathBuf {
        if run == 0 { self.root.join("line") } else { self.root.join(format!("line-{run}")) }
    }

    /// The harness's own files.
    #[must_use]
    pub fn own(&self) -> PathBuf {
        self.root.join("own")
    }
}

impl Drop for TurnFolder {
    fn drop(&mut self) {
        if let Err(error) = put_away(&self.root) {
            // The next start removes it.
            tracing::warn!(dir = %self.root.display(), %error, "cannot put a turn's folder away");
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> AgentFolderError {
    let path = path.to_owned();
    move |source| AgentFolderError::Io { path, source }
}

fn make(dir: &Path) -> Result<(), AgentFolderError> {
    DirBuilder::new().recursive(true).mode(PRIVATE).create(dir).map_err(io_error(dir))
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    fn create(folders: &TurnFolders) -> TurnFolder {
        folders.create(&"f1".parse().unwrap(), &"w1".parse().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_turns_folder_goes_with_it_whatever_was_done_to_it() {
        let temp = tempfile::tempdir().unwrap();
        let folders = TurnFolders::open(&temp.path().join("turns")).await.unwrap();
        let folder = create(&folders);
        let locked = folder.scratch().join("a/b");
        std::fs::create_dir_all(&locked).unwrap();
        std::fs::write(locked.join("file"), "x").unwrap();
        std::fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
        let root = folder.input().parent().unwrap().to_owned();
        drop(folder);
        assert!(!root.exists());
        let deadline = Instant::now() + Duration::from_secs(30);
        while std::fs::read_dir(root.parent().unwrap()).unwrap().count() > 1 {
            assert!(Instant::now() < deadline, "more is left than the lock");
            tokio::time::sleep(LOCK_PAUSE).await;
        }
    }

    #[tokio::test]
    async fn what_a_crash_left_is_removed_at_start() {
        let temp = tempfile::tempdir().unwrap();
        let folders = TurnFolders::open(temp.path()).await.unwrap();
        let folder = create(&folders);
        let root = folder.input().parent().unwrap().to_owned();
        std::mem::forget(folder);
        drop(folders);
        TurnFolders::open(temp.path()).await.unwrap();
        assert!(!root.exists());
    }

    #[test]
    fn only_a_full_disk_is_a_lack_of_room() {
        let error = |kind: io::ErrorKind| AgentFolderError::Io { path: PathBuf::from("turns"), source: kind.into() };
        assert!(error(io::ErrorKind::StorageFull).lacks_room() && error(io::ErrorKind::QuotaExceeded).lacks_room());
        assert!(!error(io::ErrorKind::PermissionDenied).lacks_room());
        assert!(!AgentFolderError::InUse { dir: PathBuf::from("turns") }.lacks_room());
    }

    #[tokio::test]
    async fn two_agents_do_not_share_a_folder() {
        let temp = tempfile::tempdir().unwrap();
        let _first = TurnFolders::open(temp.path()).await.unwrap();
        let second = TurnFolders::open_within(temp.path(), 2 * LOCK_PAUSE).await;
        assert!(matches!(second, Err(AgentFolderError::InUse { .. })));
    }
}
