//! What differs between two trees. A rename is a deletion and an addition: both paths are touched.

use std::cmp::Ordering;

use holdpoint_sandbox::ToolError;

use super::Mirror;
use crate::error::{InputRefusal, WorkspaceError};
use crate::git::unexpected;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry, ascii, tree_path};

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
        if let (Some(from), Some(to)) = (self.inner.cache.list(from), self.inner.cache.list(to)) {
            return Ok(compare(&from, &to));
        }
        let git = self.git("diff-tree").args(["-r", "-z", "--raw", "--no-abbrev", "--no-renames"]);
        let listing = git.args(["--no-ext-diff", "--no-textconv"]).arg(from).arg(to).long();
        let listing = complete(listing.run_ok().await)?;
        parse_raw(&listing)
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

    /// Both, by one process.
    ///
    /// # Errors
    /// As [`Mirror::diff`].
    pub async fn diff_with_summary(
        &self,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<(Vec<Change>, DiffStat), WorkspaceError> {
        let git = self.git("diff-tree").args(["-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames"]);
        let listing = git.args(["--no-ext-diff", "--no-textconv"]).arg(from).arg(to).long();
        let listing = complete(listing.run_ok().await)?;
        let (raw, numstat) = listing.split_at(raw_len(&listing));
        Ok((parse_raw(raw)?, parse_numstat(numstat)?))
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

/// The length of what `--raw` wrote in front of `--numstat`: pairs of a line that begins with a colon, and a path.
fn raw_len(listing: &[u8]) -> usize {
    let mut len = 0;
    while listing.get(len) == Some(&b':') {
        let pair = listing[len..].split_inclusive(|byte| *byte == 0).take(2).map(<[u8]>::len);
        len += pair.sum::<usize>();
    }
    len
}

/// `:<old mode> <new mode> <old oid> <new oid> <status>` and the path, both ended by NUL.
fn parse_raw(listing: &[u8]) -> Result<Vec<Change>, WorkspaceError> {
    let mut fields = listing.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(facts) = fields.next() {
        let odd = || unexpected("diff-tree", facts);
        let path = tree_path(fields.next().ok_or_else(odd)?)?;
        let change = parse_change(facts, path).ok_or_else(odd)?;
        // Ancient trees have modes that every newer tree writes as a plain file's: that is no change.
        if change.old != change.new {
            changes.push(change);
        }
    }
    Ok(changes)
}

fn parse_change(facts: &[u8], path: RepoPath) -> Option<Change> {
    let mut facts = ascii(facts)?.strip_prefix(':')?.split(' ');
    let (old_mode, new_mode) = (facts.next()?, facts.next()?);
    let (old_oid, new_oid) = (facts.next()?, facts.next()?);
    let status = match facts.next()? {
        "A" => DiffStatus::Added,
        "M" => DiffStatus::Modified,
        "D" => DiffStatus::Deleted,
        "T" => DiffStatus::TypeChanged,
        _ => return None,
    };
    let (old, new) = (side(old_mode, old_oid)?, side(new_mode, new_oid)?);
    Some(Change { path, status, old, new })
}

/// One side of a change; the inner `None` for a path that is not there.
fn side(mode: &str, oid: &str) -> Option<Option<(EntryMode, ObjectId)>> {
    if mode == "000000" {
        return Some(None);
    }
    Some(Some((EntryMode::from_octal(mode.as_bytes())?, oid.parse().ok()?)))
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
    fn raw_lines_give_both_sides() {
        let (a, z) = ("a".repeat(40), "0".repeat(40));
        let listing = format!(":000000 120000 {z} {a} A\0new\nlink\0:160000 000000 {a} {z} D\0sub\0");
        let changes = parse_raw(listing.as_bytes()).unwrap();
        assert!(changes[0].is_symlink() && changes[0].old.is_none() && changes[0].status == DiffStatus::Added);
        assert!(changes[1].is_gitlink() && changes[1].new.is_none() && changes[1].status == DiffStatus::Deleted);
        assert!(parse_raw(b":nonsense\0path\0").is_err() && parse_raw(b":no path\0").is_err());
    }

    #[test]
    fn a_plain_file_recorded_in_the_ancient_way_is_no_change() {
        let a = "a".repeat(40);
        assert!(parse_raw(format!(":100664 100644 {a} {a} M\0old\0").as_bytes()).unwrap().is_empty());
    }

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
    fn both_listings_are_told_apart_whatever_a_path_is_called() {
        let a = "a".repeat(40);
        let raw = format!(":100644 100644 {a} {a} M\0:3\t1\tx\0");
        for (before, behind) in
            [(raw.as_str(), "3\t1\t:3\t1\tx\0"), ("", "-\t-\tbin\0"), (&raw, ""), ("", ""), (":cut", "")]
        {
            assert_eq!(raw_len(format!("{before}{behind}").as_bytes()), before.len(), "{before:?} {behind:?}");
        }
    }

    #[test]
    fn binary_files_count_without_lines() {
        let summary = parse_numstat(b"3\t1\ta\tb\0-\t-\tbin\0").unwrap();
        assert_eq!(summary, DiffStat { files: 2, insertions: 3, deletions: 1, binary_files: 1 });
        assert!(parse_numstat(b"three\t1\ta\0").is_err());
    }
}
