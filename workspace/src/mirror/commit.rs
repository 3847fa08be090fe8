//! Commits: reading what they are, and making one that everybody makes alike.

use holdpoint_sandbox::ToolError;

use super::Mirror;
use crate::commit::{Commit, parse_commit};
use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::SHORT_OUTPUT_BYTES;
use crate::oid::ObjectId;

/// Who made a commit, when, and why. The author is the committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMeta {
    /// The author's name; not empty.
    pub name: String,
    /// The author's mail address.
    pub email: String,
    /// Seconds since 1970, UTC.
    pub epoch_seconds: u64,
    /// The message, trailers included; taken as it is, with a newline at its end.
    pub message: String,
}

impl Mirror {
    /// What a commit names.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchObject`]; [`InputRefusal::CommitTooLarge`].
    pub async fn commit(&self, commit: &ObjectId) -> Result<Commit, WorkspaceError> {
        if let Some(known) = self.inner.cache.commit(commit) {
            return Ok(known);
        }
        let output = match self.git("cat-file").arg("commit").arg(commit).run().await {
            Err(WorkspaceError::Git { source: ToolError::OutputLimit { .. }, .. }) => {
                let max = SHORT_OUTPUT_BYTES;
                return Err(InputRefusal::CommitTooLarge { oid: commit.clone(), max }.into());
            }
            output => output?,
        };
        if output.code != Some(0) {
            return Err(WorkspaceError::NoSuchObject { kind: "commit", oid: commit.clone() });
        }
        let found = parse_commit(&String::from_utf8_lossy(&output.stdout))?;
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
    /// The parent or the tree is not here; the name is empty.
    pub async fn commit_on(
        &self,
        parent: &ObjectId,
        tree: &ObjectId,
        meta: &CommitMeta,
    ) -> Result<ObjectId, WorkspaceError> {
        let date = format!("@{} +0000", meta.epoch_seconds);
        let mut git = self.git("commit-tree").arg(tree).arg("-p").arg(parent).args(["-F", "-"]);
        for role in ["AUTHOR", "COMMITTER"] {
            git = git.env(&format!("GIT_{role}_NAME"), &meta.name);
            git = git.env(&format!("GIT_{role}_EMAIL"), &meta.email);
            git = git.env(&format!("GIT_{role}_DATE"), &date);
        }
        let made = git.stdin(meta.message.clone().into_bytes()).oid().await?;
        self.inner.cache.keep_commit(&made, &Commit { tree: tree.clone(), parents: vec![parent.clone()] });
        Ok(made)
    }
}
