//! The folders of turns: one per turn, gone when the turn is over. Of one that was interrupted, by a crash or because it was given
//! back, the clone stays for the next delivery. All turns of a waypoint have the same path: programs know their conversations by
//! the folder they were in.
//!
//! ```text
//! <dir>/lock            held as long as the process lives
//! <dir>/used-<turn>     what the runs of a turn used up
//! <dir>/<flight>~<waypoint>
//!             /begun    what the turn starts from: its clone is whole
//!             /turn     the turn, for who hands over what an interrupted delivery of it left
//!             /left     the clone of a delivery that was interrupted; `left.from` says what it started from
//!             /handed-over    it is known to others
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
    time::{Duration, Instant, SystemTime},
};

use holdpoint_protocol::{
    ids::{FlightId, TurnId, WaypointId},
    turn::Turn,
};
use holdpoint_runtime::put_away::{GONE, put_away};
use holdpoint_sandbox::tree::spread;
use serde::{Deserialize, Serialize};

use crate::ledger::TurnLedger;

/// Names in a turn's folder.
const BEGUN: &str = "begun";
const CLONE: &str = "clone";
const LEFT: &str = "left";
const LEFT_FROM: &str = "left.from";
const TURN: &str = "turn";
const HANDED_OVER: &str = "handed-over";
const OWN: &str = "own";
/// Only this user may look into the folders.
const PRIVATE: u32 = 0o700;
/// How long a predecessor may take to be gone. Programs that it was just starting hold its lock for a moment longer.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
/// Clones of interrupted deliveries that are kept: the others may be of turns that were done elsewhere.
const LEFT_MAX: usize = 4;
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

/// A delivery of a turn, as it is noted next to its clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LeftBehind {
    /// The turn.
    pub(crate) turn: Turn,
    /// The entry that opened it.
    pub(crate) turn_ref: String,
    /// Which delivery.
    pub(crate) delivery: u32,
}

/// The folders of one turn. They are removed when this is dropped, but for the clone of a turn that [began](TurnFolder::begin)
/// and is not [over](TurnFolder::over).
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
            if entry.is_dir() && !entry.is_symlink() {
                leave(&entry);
            }
        }
        Ok(Self { dir, _lock: lock })
    }

    /// Where they are.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the runs of a turn used up so far.
    pub(crate) fn ledger(&self, turn: &TurnId) -> TurnLedger {
        TurnLedger::of(&self.dir, turn)
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

    /// As [`TurnFolders::create`], but for the clone of a delivery that started from the same and was interrupted.
    ///
    /// # Errors
    /// [`AgentFolderError::Io`].
    pub fn create_again(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
        begins_with: &str,
    ) -> Result<TurnFolder, AgentFolderError> {
        let name = format!("{flight}~{waypoint}");
        let from = std::fs::read_to_string(self.dir.join(&name).join(LEFT_FROM));
        let folder = if from.is_ok_and(|from| from == begins_with) {
            self.make_named(&name)?
        } else {
            self.create_named(&name)?
        };
        self.prune();
        Ok(folder)
    }

    /// The turns of which an interrupted delivery left files here that nobody else knows, oldest first, with where they are.
    pub(crate) fn left_behind(&self) -> Vec<(LeftBehind, PathBuf)> {
        let mut left: Vec<_> = self.interrupted().filter(|(_, root)| !root.join(HANDED_OVER).exists()).collect();
        left.sort();
        let read = |root: &Path| serde_json::from_slice(&std::fs::read(root.join(TURN)).ok()?).ok();
        left.into_iter().filter_map(|(_, root)| Some((read(&root)?, root.join(LEFT)))).collect()
    }

    /// What an interrupted delivery left is known to others.
    pub(crate) fn handed_over(&self, LeftBehind { turn, .. }: &LeftBehind) -> Result<(), AgentFolderError> {
        let file = self.dir.join(format!("{}~{}", turn.flight, turn.waypoint)).join(HANDED_OVER);
        std::fs::write(&file, "").map_err(io_error(&file))
    }

    /// Folders with the clone of an interrupted delivery, each with the time of that.
    fn interrupted(&self) -> impl Iterator<Item = (SystemTime, PathBuf)> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let is_gone = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(GONE);
        let left = entries.filter(move |entry| !is_gone(entry)).map(|entry| entry.path());
        // One that has more than that is of a turn that is at work.
        let left = left.filter(|root| !root.join(OWN).exists());
        left.filter_map(|root| Some((root.join(LEFT).metadata().ok()?.modified().ok()?, root)))
    }

    /// Removes clones of interrupted deliveries but the newest.
    fn prune(&self) {
        let mut left: Vec<_> = self.interrupted().collect();
        left.sort();
        let surplus = left.len().saturating_sub(LEFT_MAX);
        for (_, root) in left.into_iter().take(surplus) {
            remove(&root);
        }
    }

    fn create_named(&self, name: &str) -> Result<TurnFolder, AgentFolderError> {
        let root = self.dir.join(name);
        put_away(&root).map_err(io_error(&root))?;
        self.make_named(name)
    }

    fn make_named(&self, name: &str) -> Result<TurnFolder, AgentFolderError> {
        let folder = TurnFolder { root: self.dir.join(name) };
        for dir in [folder.scratch(), folder.input(), folder.own()] {
            make(&dir)?;
        }
        Ok(folder)
    }
}

impl TurnFolder {
    /// The program begins to work in the clone, with this to start from.
    ///
    /// # Errors
    /// [`AgentFolderError::Io`].
    pub fn begin(&self, begins_with: &str) -> Result<(), AgentFolderError> {
        let file = self.root.join(BEGUN);
        std::fs::write(&file, begins_with).map_err(io_error(&file))
    }

    /// Notes the turn, for who hands over what an interrupted delivery of it leaves.
    pub(crate) fn note(&self, turn: &LeftBehind) -> Result<(), AgentFolderError> {
        let file = self.root.join(TURN);
        let written = serde_json::to_vec(turn).map_err(io::Error::from).and_then(|turn| std::fs::write(&file, turn));
        written.map_err(io_error(&file))
    }

    /// What is in the clone is known to others: nothing of it has to stay.
    pub fn over(&self) {
        for name in [BEGUN, LEFT_FROM] {
            match std::fs::remove_file(self.root.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, "a turn that is over may be taken for an interrupted one");
                }
                _ => {}
            }
        }
    }

    /// The clone of a delivery that started from the same and was interrupted.
    #[must_use]
    pub fn left(&self) -> Option<PathBuf> {
        Some(self.root.join(LEFT)).filter(|left| left.is_dir())
    }

    /// What the program edits. Not there until it is cloned.
    #[must_use]
    pub fn clone_dir(&self) -> PathBuf {
        self.root.join(CLONE)
    }

    /// The program's folder for temporary files.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Where the program writes the document of its gate.
    #[must_use]
    pub fn document(&self) -> PathBuf {
        self.scratch().join("document.md")
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
        self.root.join(OWN)
    }
}

impl Drop for TurnFolder {
    fn drop(&mut self) {
        leave(&self.root);
    }
}

/// Removes the folder of a turn, but for the clone of one that was interrupted. A crash in between costs that clone.
fn leave(root: &Path) {
    let (clone, left) = (root.join(CLONE), root.join(LEFT));
    if root.join(BEGUN).is_file() && clone.is_dir() {
        remove(&left);
        let _ = std::fs::remove_file(root.join(HANDED_OVER));
        let kept =
            std::fs::rename(&clone, &left).and_then(|()| std::fs::rename(root.join(BEGUN), root.join(LEFT_FROM)));
        if let Err(error) = kept {
            tracing::warn!(dir = %clone.display(), %error, "cannot keep the files of an interrupted turn");
        }
    }
    if !left.is_dir() || !root.join(LEFT_FROM).is_file() {
        return remove(root);
    }
    let parts = std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    parts.filter(|part| part.is_dir() && *part != left).for_each(|part| remove(&part));
}

fn remove(dir: &Path) {
    if let Err(error) = put_away(dir) {
        // The next start removes it.
        tracing::warn!(dir = %dir.display(), %error, "cannot put a turn's folder away");
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
mod tests;
