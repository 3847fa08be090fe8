//! Commits: reading what they are, and making one that everybody makes alike.

use gix_object::Kind;

use super::Mirror;
use crate::commit::{Commit, CommitMeta, written};
use crate::error::WorkspaceError;
use crate::objects::Odb;
use crate::oid::ObjectId;

impl Mirror {
    /// What a commit names.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`]; [`InputRefusal::CommitTooLarge`](crate::InputRefusal::CommitTooLarge).
    pub async fn commit(&self, commit: &ObjectId) -> Result<Commit, WorkspaceError> {
        if let Some(known) = self.inner.cache.commit(commit) {
            return Ok(known);
        }
        let id = commit.clone();
        let found = self.inner.objects.with(move |odb| odb.commit(&id)).await?;
        let no_commit = || WorkspaceError::NoSuchObject { kind: "commit", oid: commit.clone() };
        let found = found.ok_or_else(no_commit)?;
        self.inner.cache.keep_commit(commit, &found);
        Ok(found)
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`].
    pub async fn tree_of(&self, commit: &ObjectId) -> Result<ObjectId, WorkspaceError> {
        Ok(self.commit(commit).await?.tree)
    }

    /// The parents of a commit, first parent first.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`].
    pub async fn parents(&self, commit: &ObjectId) -> Result<Vec<ObjectId>, WorkspaceError> {
        Ok(self.commit(commit).await?.parents)
    }

    /// Makes the commit with this tree on this parent. The same arguments give the same id everywhere.
    ///
    /// # Errors
    /// The parent or the tree is not here; [`WorkspaceError::NoCommit`].
    pub async fn commit_on(
        &self,
        parent: &ObjectId,
        tree: &ObjectId,
        meta: &CommitMeta,
    ) -> Result<ObjectId, WorkspaceError> {
        let bytes = written(parent, tree, meta)?;
        let (on, of) = (parent.clone(), tree.clone());
        let make = move |odb: &Odb| {
            for (kind, oid) in [(Kind::Commit, on), (Kind::Tree, of)] {
                if !odb.is(kind, &oid)? {
                    let kind = if kind == Kind::Commit { "commit" } else { "tree" };
                    return Err(WorkspaceError::NoSuchObject { kind, oid });
                }
            }
            odb.write(Kind::Commit, &bytes)
        };
        let made = self.inner.objects.with(make).await?;
        self.inner.cache.keep_commit(&made, &Commit { tree: tree.clone(), parents: vec![parent.clone()] });
        Ok(made)
    }
}
