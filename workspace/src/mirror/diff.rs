//! What differs between two trees. A rename is a deletion and an addition: both paths are touched.

use std::cmp::Ordering;

use holdpoint_sandbox::ToolError;

use super::Mirror;
use crate::error::{InputRefusal, WorkspaceError};
use crate::git::unexpected;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry, ascii};

/// One path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// What happened to it.
    pub status: DiffStatus,
    /// What it was; `None` for an added one.
    pub old: Option<(EntryMode, ObjectId)>,
    /// What it is; `None` for a deleted one.
    pub new: Option<(EntryMode, ObjectId)>,
}

impl Change {
    /// Whether the path is a symbolic link on either side.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.touches(EntryMode::Symlink)
    }

    /// Whether the path is a submodule link on either side.
    #[must_use]
    pub fn is_gitlink(&self) -> bool {
        self.touches(EntryMode::Gitlink)
    }

    fn touches(&self, mode: EntryMode) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(|(found, _)| *found == mode)
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStatus {
    /// It was not there.
    Added,
    /// Its content or its right to be executed changed.
    Modified,
    /// It is no longer there.
    Deleted,
    /// A file became a link, or the like.
    TypeChanged,
}

/// A difference in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffStat {
    /// Paths that differ.
    pub files: u64,
    /// Lines added, in files that are text.
    pub insertions: u64,
    /// Lines removed, in files that are text.
    pub deletions: u64,
    /// Paths among `files` that are not text and count no lines.
    pub binary_files: u64,
}

impl Mirror {
    /// Every path that differs between two trees (or commits' trees), in git's order.
    ///
    /// # Errors
    /// A tree is not here; a path cannot be one of a working tree ([`WorkspaceError::Refused`]).
    pub async fn diff(&self, from: &ObjectId, to: &ObjectId) -> Result<Vec<Change>, WorkspaceError> {
        Ok(compare(&self.list_tree(from).await?, &self.list_tree(to).await?))
    }

    /// The difference between two trees (or commits' trees) in figures.
    ///
    /// # Errors
    /// A tree is not here.
    pub async fn diff_summary(&self, from: &ObjectId, to: &ObjectId) -> Result<DiffStat, WorkspaceError> {
        let git = self.git("diff-tree").args(["-r", "-z", "--numstat", "--no-renames"]);
        let listing = git.args(["--no-ext-diff", "--no-textconv"]).arg(from).arg(to).long();
        let listing = complete(listing.run_ok().await)?;
        parse_numstat(&listing)
    }
}

impl Mirror {
    /// The difference between two trees (or commits' trees) as a patch for people; `None` where it has more than `cap` bytes.
    /// Files that are not text are only named in it.
    ///
    /// # Errors
    /// A tree is not here.
    pub async fn patch(&self, from: &ObjectId, to: &ObjectId, cap: usize) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let git =
            self.git("diff-tree").args(["-r", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"]);
        match git.arg(from).arg(to).long().output_cap(cap).run_ok().await {
            Err(WorkspaceError::Git { source: ToolError::OutputLimit { .. }, .. }) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// What differs between two listings, both in git's order: by the bytes of the whole path.
fn compare(from: &[TreeEntry], to: &[TreeEntry]) -> Vec<Change> {
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    let mut changes = Vec::new();
    loop {
        let order = match (from.peek(), to.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path.as_bytes().cmp(new.path.as_bytes()),
        };
        let old = if order.is_le() { from.next() } else { None };
        let new = if order.is_ge() { to.next() } else { None };
        changes.extend(change(old, new));
    }
}

/// What happened to the path of these entries, if anything did.
fn change(old: Option<&TreeEntry>, new: Option<&TreeEntry>) -> Option<Change> {
    let side = |entry: &TreeEntry| (entry.mode, entry.oid.clone());
    let status = match (old, new) {
        (Some(old), Some(new)) if (old.mode, &old.oid) == (new.mode, &new.oid) => return None,
        (Some(old), Some(new)) if old.mode.kind() == new.mode.kind() => DiffStatus::Modified,
        (Some(_), Some(_)) => DiffStatus::TypeChanged,
        (None, Some(_)) => DiffStatus::Added,
        (Some(_), None) => DiffStatus::Deleted,
        (None, None) => return None,
    };
    let path = old.or(new)?.path.clone();
    Some(Change { path, status, old: old.map(side), new: new.map(side) })
}

/// A listing to its end. One that is longer than those of the largest trees is the fault of their maker.
fn complete(listing: Result<Vec<u8>, WorkspaceError>) -> Result<Vec<u8>, WorkspaceError> {
    match listing {
        Err(WorkspaceError::Git { command, source: ToolError::OutputLimit { limit, .. } }) => {
            Err(InputRefusal::OverLimit { command, limit: format!("{limit} bytes of output") }.into())
        }
        other => other,
    }
}

/// `<added>\t<removed>\t<path>`, ended by NUL; `-` for files that are not text.
fn parse_numstat(listing: &[u8]) -> Result<DiffStat, WorkspaceError> {
    let mut summary = DiffStat::default();
    for record in listing.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let odd = || unexpected("diff-tree", record);
        let mut fields = record.splitn(3, |byte| *byte == b'\t').map(ascii);
        let (added, removed) = (fields.next().flatten().ok_or_else(odd)?, fields.next().flatten().ok_or_else(odd)?);
        summary.files += 1;
        if (added, removed) == ("-", "-") {
            summary.binary_files += 1;
        } else {
            summary.insertions += added.parse::<u64>().map_err(|_| odd())?;
            summary.deletions += removed.parse::<u64>().map_err(|_| odd())?;
        }
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_is_too_long_is_the_fault_of_the_trees() {
        let program = || "git".to_owned();
        let cut = WorkspaceError::Git {
            command: "diff-tree",
            source: ToolError::OutputLimit { program: program(), limit: 7 },
        };
        assert!(complete(Err(cut)).unwrap_err().is_refusal());
        let gone = WorkspaceError::Git { command: "diff-tree", source: ToolError::NotFound { program: program() } };
        assert!(!complete(Err(gone)).unwrap_err().is_refusal());
    }

    #[test]
    fn binary_files_count_without_lines() {
        let summary = parse_numstat(b"3\t1\ta\tb\0-\t-\tbin\0").unwrap();
        assert_eq!(summary, DiffStat { files: 2, insertions: 3, deletions: 1, binary_files: 1 });
        assert!(parse_numstat(b"three\t1\ta\0").is_err());
    }
}
