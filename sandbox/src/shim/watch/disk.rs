//! Disk space that a tree has used up: of files changed since its start, in the folders that it may write.
//!
//! Times of change cannot be set, so they show what is its own without a look at all before the start. A file that was
//! there and is changed counts as a whole. Besides its budget, a nearly full disk ends a program: that holds
//! however it hides what it writes.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use nix::dir::{Dir, OwningIter};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

use super::held::BLOCK;
use crate::room::{floor, space};

/// The clock of file times runs in steps of at most this.
const CLOCK_STEP: Duration = Duration::from_millis(20);
/// How long one look may take; a sweep of a big tree goes on in the next.
const SLICE: Duration = Duration::from_millis(20);
/// Pause between two sweeps.
const PAUSE: Duration = Duration::from_millis(250);
/// What a file takes up at least, also an empty one: its name and its record.
const ENTRY_BYTES: u64 = 4 << 10;
/// Folders below each other that are looked into. Each level keeps two files open.
const DEPTH_MAX: usize = 200;
/// What is known of the disk.
pub(super) struct Disk {
    roots: Vec<PathBuf>,
    devices: BTreeSet<u64>,
    /// Roots on disks that were not nearly full at the start, with what counts as nearly full there.
    floors: Vec<(PathBuf, u64)>,
    budget_bytes: u64,
    /// Seconds and nanoseconds; changes from here on are the program's.
    since: (i64, i64),
    sweep: Option<Sweep>,
    next: Instant,
}

/// A look at all roots that is under way.
#[derive(Default)]
struct Sweep {
    roots: Vec<PathBuf>,
    folders: Vec<Folder>,
    bytes: u64,
    /// Files with several names, which count once.
    linked: BTreeSet<(u64, u64)>,
}

/// A folder and what is left to look at in it.
struct Folder {
    file: OwnedFd,
    entries: OwningIter,
}

impl Disk {
    /// Begins to watch these folders and files.
    pub(super) fn new(roots: Vec<PathBuf>, budget_bytes: u64) -> Self {
        let since = SystemTime::now().checked_sub(CLOCK_STEP).unwrap_or(SystemTime::UNIX_EPOCH);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let since = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()));
        let devices = roots.iter().filter_map(|root| Some(root.metadata().ok()?.dev())).collect();
        let floors = roots.iter().filter_map(|root| {
            let (free, size) = space(root)?;
            let floor = floor(size);
            (free > floor).then(|| (root.clone(), floor))
        });
        let floors = floors.collect();
        Self { roots, devices, floors, budget_bytes, since, sweep: None, next: Instant::now() + PAUSE }
    }

    /// The devices that the folders are on.
    pub(super) fn devices(&self) -> &BTreeSet<u64> {
        &self.devices
    }

    /// Whether the next look is the first of a sweep.
    pub(super) fn begins_a_sweep(&self) -> bool {
        self.sweep.is_none() && Instant::now() >= self.next
    }

    /// Looks on. `held`: bytes that have no name any more.
    pub(super) fn exceeds(&mut self, held: u64) -> bool {
        if held > self.budget_bytes || self.nearly_full() {
            return true;
        }
        let start = Instant::now();
        if start < self.next {
            return false;
        }
        let mut sweep = self.sweep.take().unwrap_or_else(|| Sweep { roots: self.roots.clone(), ..Sweep::default() });
        while start.elapsed() < SLICE {
            if !sweep.step(self.since) {
                self.next = Instant::now() + PAUSE;
                return sweep.bytes.saturating_add(held) > self.budget_bytes;
            }
        }
        let over = sweep.bytes.saturating_add(held) > self.budget_bytes;
        self.sweep = Some(sweep);
        over
    }

    fn nearly_full(&self) -> bool {
        self.floors.iter().any(|(root, floor)| space(root).is_some_and(|(free, _)| free < *floor))
    }
}

const FOLDER: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

impl Sweep {
    /// Takes the next entry. `false`: there is none.
    fn step(&mut self, since: (i64, i64)) -> bool {
        let Some(folder) = self.folders.last_mut() else {
            let Some(root) = self.roots.pop() else { return false };
            if let Ok(found) = nix::sys::stat::lstat(&root) {
                self.count(&found, since);
            }
            self.folders.extend(open(&root, FOLDER, Mode::empty()).and_then(Folder::of));
            return true;
        };
        let entry = match folder.entries.next() {
            Some(Ok(entry)) => entry,
            Some(Err(Errno::EINTR)) => return true,
            Some(Err(_)) | None => {
                self.folders.pop();
                return true;
            }
        };
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            return true;
        }
        // What went meanwhile, or is closed to us, counts nothing.
        let Ok(found) = fstatat(folder.file.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW) else { return true };
        let inner = if is_folder(&found) { openat(&folder.file, name, FOLDER, Mode::empty()).ok() } else { None };
        self.count(&found, since);
        if self.folders.len() < DEPTH_MAX {
            self.folders.extend(inner.and_then(|file| Folder::of(file).ok()));
        }
        true
    }

    fn count(&mut self, found: &FileStat, since: (i64, i64)) {
        if (found.st_ctime, found.st_ctime_nsec) < since {
            return;
        }
        let several_names = found.st_nlink > 1 && !is_folder(found);
        if several_names && !self.linked.insert((found.st_dev, found.st_ino)) {
            return;
        }
        let bytes = u64::try_from(found.st_blocks).unwrap_or_default() * BLOCK;
        self.bytes = self.bytes.saturating_add(bytes.max(ENTRY_BYTES));
    }
}

impl Folder {
    fn of(file: OwnedFd) -> nix::Result<Self> {
        let entries = Dir::from_fd(file.try_clone().map_err(|_| Errno::EMFILE)?)?.into_iter();
        Ok(Self { file, entries })
    }
}

fn is_folder(found: &FileStat) -> bool {
    SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFDIR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swept(root: &std::path::Path, since: (i64, i64)) -> u64 {
        let mut sweep = Sweep { roots: vec![root.to_owned()], ..Sweep::default() };
        while sweep.step(since) {}
        sweep.bytes
    }

    #[test]
    fn changed_files_count_once_with_all_their_names() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("a/b")).unwrap();
        std::fs::write(temp.path().join("a/b/big"), vec![1; 100_000]).unwrap();
        let once = swept(temp.path(), (0, 0));
        assert!((100_000..150_000).contains(&once), "{once}");
        std::fs::hard_link(temp.path().join("a/b/big"), temp.path().join("again")).unwrap();
        assert_eq!(swept(temp.path(), (0, 0)), once);
        assert_eq!(swept(temp.path(), (i64::MAX, 0)), 0);
    }

    #[test]
    fn empty_files_and_links_count_their_entries_and_links_are_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let empty = swept(temp.path(), (0, 0));
        std::fs::write(temp.path().join("empty"), "").unwrap();
        std::os::unix::fs::symlink("/usr", temp.path().join("link")).unwrap();
        assert_eq!(swept(temp.path(), (0, 0)), empty + 2 * ENTRY_BYTES);
    }

    #[test]
    fn folders_deeper_than_can_be_held_open_end_no_sweep() {
        let temp = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 10).collect();
        std::fs::create_dir_all(temp.path().join(deep)).unwrap();
        let levels = u64::try_from(DEPTH_MAX).unwrap() * ENTRY_BYTES;
        assert!(swept(temp.path(), (0, 0)) >= levels);
    }
}
