//! Listing a tree with everything below it.

use std::time::Duration;

use gix_object::Kind;
use rustix::time::{ClockId, clock_gettime};

use super::{Odb, from_gix, to_gix, tree};
use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::{InputLimits, LISTING_OUTPUT_BYTES};
use crate::oid::ObjectId;
use crate::tree::{EntryMode, TreeEntry, tree_path};

/// Bytes that an entry or a folder takes besides its path, or nearly so: what stops a bomb of empty folders.
const ENTRY_BYTES: usize = 128;
/// Processor time that a listing may take: the largest trees take seconds.
const READING_MAX: Duration = Duration::from_secs(60);

/// An entry of a tree that was not looked at yet. Its path is from the root.
struct Pending {
    path: Vec<u8>,
    /// `None` for a folder.
    mode: Option<EntryMode>,
    oid: gix_hash::ObjectId,
}

/// What was found so far, and how much more may be.
struct Listing<'a> {
    odb: &'a Odb,
    limits: &'a InputLimits,
    entries: Vec<TreeEntry>,
    /// Those behind what was listed, the next one last.
    pending: Vec<Pending>,
    bytes: usize,
    /// The thread's processor time at which it has taken too long.
    until: Duration,
}

impl Odb {
    /// All entries of a tree or a commit's tree, folders not counted, sorted as git sorts them.
    ///
    /// # Errors
    /// No tree or commit has this id, or it leads to a blob that is not there; more than the limits allow.
    pub(crate) fn list(&self, tree: &ObjectId, limits: &InputLimits) -> Result<Vec<TreeEntry>, WorkspaceError> {
        let no_tree = || WorkspaceError::NoSuchObject { kind: "tree", oid: tree.clone() };
        let root = match self.commit(tree)? {
            Some(commit) => to_gix(&commit.tree)?,
            None => to_gix(tree)?,
        };
        if self.header_of(&root)?.is_none_or(|(kind, _)| kind != Kind::Tree) {
            return Err(no_tree());
        }
        let mut listing = Listing {
            odb: self,
            limits,
            entries: Vec::new(),
            pending: Vec::new(),
            bytes: 0,
            until: cpu_time() + READING_MAX,
        };
        listing.unfold(&root, b"")?;
        while let Some(next) = listing.pending.pop() {
            match next.mode {
                None => listing.unfold(&next.oid, &next.path)?,
                Some(mode) => listing.entry(next, mode)?,
            }
        }
        Ok(listing.entries)
    }
}

/// What this thread has used so far.
fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or_default(), u32::try_from(used.tv_nsec).unwrap_or_default())
}

impl Listing<'_> {
    /// Puts what is in a tree before everything that is pending.
    fn unfold(&mut self, tree: &gix_hash::oid, path: &[u8]) -> Result<(), WorkspaceError> {
        self.in_time()?;
        let bytes = self.odb.contents(tree)?;
        self.count(ENTRY_BYTES)?;
        let (from, mut rest) = (self.pending.len(), &bytes[..]);
        while !rest.is_empty() {
            let odd = || InputRefusal::BrokenObjects { detail: format!("the tree {tree} has an entry that is none") };
            let entry = tree::next(&mut rest, self.odb.objects.format.bytes()).ok_or_else(odd)?;
            let path: Vec<u8> = if path.is_empty() { entry.name.to_vec() } else { [path, b"/", entry.name].concat() };
            self.count(path.len().saturating_add(ENTRY_BYTES))?;
            self.pending.push(Pending {
                path,
                mode: entry.mode,
                oid: gix_hash::ObjectId::from_bytes_or_panic(entry.id),
            });
        }
        if let Some(new) = self.pending.get_mut(from..) {
            new.reverse();
        }
        Ok(())
    }

    fn entry(&mut self, found: Pending, mode: EntryMode) -> Result<(), WorkspaceError> {
        self.in_time()?;
        if self.entries.len() >= self.limits.tree_entries {
            return Err(self.too_many());
        }
        let oid = from_gix(&found.oid)?;
        let bytes = match mode {
            EntryMode::Gitlink => None,
            _ => match self.odb.header_of(&found.oid)? {
                Some((Kind::Blob, bytes)) => Some(bytes),
                _ => return Err(WorkspaceError::NoSuchObject { kind: "blob", oid }),
            },
        };
        self.entries.push(TreeEntry { path: tree_path(&found.path)?, mode, oid, bytes });
        Ok(())
    }

    /// Everything that is listed or was pending counts: a bomb of nested trees has few objects and endless entries.
    fn count(&mut self, bytes: usize) -> Result<(), WorkspaceError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > LISTING_OUTPUT_BYTES { Err(self.too_many()) } else { Ok(()) }
    }

    /// Asked between objects: a single one takes as long as it takes, which its bytes bound.
    fn in_time(&self) -> Result<(), WorkspaceError> {
        if cpu_time() < self.until {
            return Ok(());
        }
        let limit = format!("{} s of processor time", READING_MAX.as_secs());
        Err(InputRefusal::OverLimit { command: "ls-tree", limit }.into())
    }

    fn too_many(&self) -> WorkspaceError {
        InputRefusal::TooManyEntries { max: self.limits.tree_entries }.into()
    }
}
