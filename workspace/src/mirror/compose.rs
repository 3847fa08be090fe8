//! Trees put together from the entries of others, by index plumbing alone: no file is written or followed.

use super::Mirror;
use crate::error::WorkspaceError;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::scratch::Scratch;
use crate::tree::EntryMode;

/// What a path has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAs {
    /// Its mode.
    pub mode: EntryMode,
    /// Its blob, which has to be in the mirror (or the linked commit).
    pub oid: ObjectId,
}

/// A path, and what it has to be; `None`: not there.
pub type Replacement = (RepoPath, Option<FileAs>);

impl Mirror {
    /// The tree `on` with these paths replaced. A file in the way of a replacement's folder, or the other way round, goes.
    ///
    /// # Errors
    /// The tree or a blob is not here.
    pub async fn compose_tree(&self, on: &ObjectId, replacements: &[Replacement]) -> Result<ObjectId, WorkspaceError> {
        let scratch = self.scratch()?;
        scratch.git("read-tree").arg(on).long().run_ok().await?;
        update_index(&scratch, replacements).await?;
        write_tree(&scratch).await
    }

    /// Stores bytes as a blob, for [`Mirror::compose_tree`].
    ///
    /// # Errors
    /// Git fails.
    pub async fn write_blob(&self, bytes: Vec<u8>) -> Result<ObjectId, WorkspaceError> {
        let scratch = self.scratch()?;
        scratch.git("hash-object").args(["-w", "--no-filters", "--stdin"]).stdin(bytes).oid().await
    }
}

/// Applies the replacements to the scratch index, removals first: a path that goes must not take one that comes along.
pub(super) async fn update_index(scratch: &Scratch, replacements: &[Replacement]) -> Result<(), WorkspaceError> {
    let zero = ObjectId::zero(scratch.objects().format);
    let mut lines = Vec::new();
    let (removed, written): (Vec<_>, Vec<_>) = replacements.iter().partition(|(_, file)| file.is_none());
    for (path, file) in removed.into_iter().chain(written) {
        let (mode, oid) = file.as_ref().map_or(("0", &zero), |file| (file.mode.octal(), &file.oid));
        lines.extend(format!("{mode} {oid}\t").bytes());
        lines.extend(path.as_bytes());
        lines.push(0);
    }
    let git = scratch.git("update-index").args(["-z", "--replace", "--index-info"]);
    git.stdin(lines).long().run_ok().await?;
    Ok(())
}

/// The scratch index as a tree.
pub(super) async fn write_tree(scratch: &Scratch) -> Result<ObjectId, WorkspaceError> {
    scratch.git("write-tree").long().oid().await
}
