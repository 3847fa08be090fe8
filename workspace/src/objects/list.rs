//! Listing a tree with everything below it.

use gix_object::{Kind, TreeRefIter};

use super::{Odb, from_gix, kind_of_hash, to_gix, unreadable};
use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::{InputLimits, LISTING_OUTPUT_BYTES};
use crate::oid::ObjectId;
use crate::tree::{EntryMode, TreeEntry, tree_path};

/// Bytes that an entry or a folder takes besides its path, or nearly so: what stops a bomb of empty folders.
const ENTRY_BYTES: usize = 128;

/// An entry of a tree that was not looked at yet. Its path is from the root.
struct Pending {
    path: Vec<u8>,
    mode: gix_object::tree::EntryMode,
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
        let mut listing = Listing { odb: self, limits, entries: Vec::new(), pending: Vec::new(), bytes: 0 };
        listing.unfold(&root, b"")?;
        while let Some(next) = listing.pending.pop() {
            match EntryMode::of(next.mode.kind()) {
                None => listing.unfold(&next.oid, &next.path)?,
                Some(mode) => listing.entry(next, mode)?,
            }
        }
        Ok(listing.entries)
    }
}

impl Listing<'_> {
    /// Puts what is in a tree before everything that is pending.
    fn unfold(&mut self, tree: &gix_hash::oid, path: &[u8]) -> Result<(), WorkspaceError> {
        self.odb.in_time()?;
        let dir = &self.odb.objects.dir;
        let bytes = self.odb.contents(tree)?;
        self.count(ENTRY_BYTES)?;
        let from = self.pending.len();
        for entry in TreeRefIter::from_bytes(&bytes, kind_of_hash(self.odb.objects.format)) {
            let entry = entry.map_err(|error| unreadable(dir, error))?;
            let path: Vec<u8> =
                if path.is_empty() { entry.filename.to_vec() } else { [path, b"/", entry.filename].concat() };
            self.count(path.len().saturating_add(ENTRY_BYTES))?;
            self.pending.push(Pending { path, mode: entry.mode, oid: entry.oid.to_owned() });
        }
        if let Some(new) = self.pending.get_mut(from..) {
            new.reverse();
        }
        Ok(())
    }

    fn entry(&mut self, found: Pending, mode: EntryMode) -> Result<(), WorkspaceError> {
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

    fn too_many(&self) -> WorkspaceError {
        InputRefusal::TooManyEntries { max: self.limits.tree_entries }.into()
    }
}
