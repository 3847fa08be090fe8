//! Paths under a filter (`filter=NAME` in attributes: Git LFS, git-crypt, nbstripout). A filter is a program of the user's
//! machine, and what others made is never given to it. So such a path is taken only as the filter stores it.

use std::collections::{HashMap, HashSet};

use super::Mirror;
use super::attributes::attribute_files;
use crate::error::{InputRefusal, WorkspaceError};
use crate::lfs;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry};

/// A path under a filter, what it is, and the filter's name.
type Filtered = (RepoPath, ObjectId, String);

impl Mirror {
    /// Refuses a tree (or commit) whose paths under a filter are not stored as that filter leaves them. The attributes of the base and
    /// of the work both count, so that no work takes a path out of its filter. Content that the base stores under the filter is stored
    /// well, also under another name; so are Git LFS pointers, and empty files, of which a filter leaves nothing.
    ///
    /// # Errors
    /// [`InputRefusal::Unfiltered`]; a tree is not here; git fails.
    pub async fn check_filters(&self, base: &ObjectId, work: &ObjectId) -> Result<(), WorkspaceError> {
        let paths = self.unfiltered(base, work).await?;
        if paths.is_empty() { Ok(()) } else { Err(InputRefusal::Unfiltered { paths }.into()) }
    }

    /// The paths for which [`Mirror::check_filters`] refuses the work, with the filter that each is under.
    async fn unfiltered(&self, base: &ObjectId, work: &ObjectId) -> Result<Vec<(RepoPath, String)>, WorkspaceError> {
        let (before, after) = (self.list_tree(base).await?, self.list_tree(work).await?);
        let changed = changed(&before, &after);
        let mut said = self.filters(&before, changed.keys().copied()).await?;
        if !attribute_files(&before).eq(attribute_files(&after)) {
            said.extend(self.filters(&after, changed.keys().copied()).await?);
        }
        let named = said.into_iter().filter_map(|(path, filter)| {
            let oid = (*changed.get(&path)?).clone();
            Some((path, oid, filter))
        });
        let named: Vec<Filtered> = named.collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let mut bad = self.inner.objects.with(move |odb| unrecognised(odb, named)).await?;
        let stored = self.stored_under_filters(&before, bad.iter().map(|(_, oid, _)| oid).collect()).await?;
        bad.retain(|(_, oid, filter)| !stored.contains(&(oid.clone(), filter.clone())));
        bad.sort_by(|one, other| one.0.cmp(&other.0));
        bad.dedup_by(|one, other| one.0 == other.0);
        Ok(bad.into_iter().map(|(path, _, filter)| (path, filter)).collect())
    }

    /// Which of these contents the base stores under which filters.
    async fn stored_under_filters(
        &self,
        base: &[TreeEntry],
        contents: HashSet<&ObjectId>,
    ) -> Result<HashSet<(ObjectId, String)>, WorkspaceError> {
        let same = files(base).filter(|entry| contents.contains(&entry.oid));
        let same: HashMap<&RepoPath, &ObjectId> = same.map(|entry| (&entry.path, &entry.oid)).collect();
        let filters = self.filters(base, same.keys().copied()).await?;
        Ok(filters.into_iter().filter_map(|(path, filter)| Some(((*same.get(&path)?).clone(), filter))).collect())
    }
}

/// Those that do not show by themselves that they are stored well.
fn unrecognised(odb: &Odb, named: Vec<Filtered>) -> Result<Vec<Filtered>, WorkspaceError> {
    let mut bad = Vec::new();
    for (path, oid, filter) in named {
        let well = match odb.blob(&oid, lfs::POINTER_BYTES_MAX) {
            Ok(bytes) => bytes.is_empty() || (filter == lfs::FILTER && lfs::is_pointer(&bytes)),
            Err(WorkspaceError::BlobOverCap { .. }) => false,
            Err(error) => return Err(error),
        };
        if !well {
            bad.push((path, oid, filter));
        }
    }
    Ok(bad)
}

/// Files of `after` whose content is not the one that they have in `before`.
fn changed<'a>(before: &[TreeEntry], after: &'a [TreeEntry]) -> HashMap<&'a RepoPath, &'a ObjectId> {
    let known: HashSet<(&RepoPath, &ObjectId)> = files(before).map(|entry| (&entry.path, &entry.oid)).collect();
    let new = files(after).filter(|entry| !known.contains(&(&entry.path, &entry.oid)));
    new.map(|entry| (&entry.path, &entry.oid)).collect()
}

fn files(tree: &[TreeEntry]) -> impl Iterator<Item = &TreeEntry> {
    tree.iter().filter(|entry| matches!(entry.mode, EntryMode::File | EntryMode::Executable))
}
