//! What the files of a fresh clone look like from outside, so that those nobody touched need not be read again when the
//! agent is done.
//!
//! The kernel sets the time of a change; an agent cannot. And if it could: the tree that is made of its files counts,
//! so an agent that hides a change has not made it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::WorkspaceError;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry};

/// A file that was written this shortly before it is looked at might be written again within the same tick of the file
/// system's clock, and look the same. Ticks are 10 ms at most.
const TICK: Duration = Duration::from_millis(20);

/// What the kernel says of a file, apart from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the file changed so long before `now` that a later change shows.
    fn settled(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.changed;
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u64::try_from(nanos)) else { return false };
        let changed = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos);
        now.duration_since(changed).is_ok_and(|age| age > TICK)
    }
}

/// Files by their path, as they were, and the ids of their bytes.
#[derive(Debug, Default)]
pub(in crate::mirror) struct Remembered {
    files: HashMap<RepoPath, (Stamp, ObjectId)>,
}

impl Remembered {
    /// Looks at the files that were just written.
    pub(super) async fn of(dir: &Path, entries: Arc<Vec<TreeEntry>>) -> Result<Self, WorkspaceError> {
        let root = dir.to_owned();
        let looked = tokio::task::spawn_blocking(move || {
            let now = SystemTime::now();
            let files = entries.iter().filter(|entry| entry.mode != EntryMode::Gitlink).filter_map(|entry| {
                let stamp = Stamp::of(&root.join(entry.path.as_path()).symlink_metadata().ok()?);
                stamp.settled(now).then(|| (entry.path.clone(), (stamp, entry.oid.clone())))
            });
            Self { files: files.collect() }
        });
        looked.await.map_err(|error| WorkspaceError::io("look through", dir)(std::io::Error::other(error)))
    }

    /// The id of a file's bytes, if it is the file that it was.
    pub(in crate::mirror) fn id_of(&self, path: &RepoPath, metadata: &std::fs::Metadata) -> Option<&ObjectId> {
        let (stamp, oid) = self.files.get(path)?;
        (*stamp == Stamp::of(metadata)).then_some(oid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_a_moment_ago_is_not_trusted() {
        let changed = Duration::new(1_700_000_000, 500);
        let stamp = Stamp { device: 1, inode: 2, bytes: 3, modified: (0, 0), changed: (1_700_000_000, 500) };
        let at = |later: Duration| UNIX_EPOCH + changed + later;
        assert!(!stamp.settled(at(Duration::ZERO)) && !stamp.settled(at(TICK)));
        assert!(stamp.settled(at(TICK + Duration::from_millis(1))));
        assert!(!stamp.settled(UNIX_EPOCH), "a clock that was set back proves nothing");
    }
}
