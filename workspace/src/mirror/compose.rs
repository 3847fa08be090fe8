//! Trees put together from the entries of others: no file is read or followed.

use gix_object::Kind;

use super::Mirror;
use crate::error::WorkspaceError;
use crate::oid::ObjectId;
use crate::path::RepoPath;
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
        let (on, replacements) = (self.list_tree(on).await?, replacements.to_vec());
        self.inner.objects.at_length(move |odb| odb.edit(&on, &replacements)).await
    }

    /// Stores bytes as a blob, for [`Mirror::compose_tree`].
    ///
    /// # Errors
    /// The mirror cannot be written.
    pub async fn write_blob(&self, bytes: Vec<u8>) -> Result<ObjectId, WorkspaceError> {
        self.inner.objects.with(move |odb| odb.write(Kind::Blob, &bytes)).await
    }
}
