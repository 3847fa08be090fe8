//! Commits: reading what they are, and making one that everybody makes alike.

use super::Mirror;
use crate::error::Error;
use crate::git::unexpected;
use crate::oid::Oid;

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
    /// The tree of a commit.
    ///
    /// # Errors
    /// [`Error::NoSuchObject`].
    pub async fn tree_of(&self, commit: &Oid) -> Result<Oid, Error> {
        let tree = self.commit_header(commit, "tree").await?.into_iter().next();
        tree.ok_or_else(|| unexpected("cat-file", b"a commit without a tree"))
    }

    /// The parents of a commit, first parent first.
    ///
    /// # Errors
    /// [`Error::NoSuchObject`].
    pub async fn parents(&self, commit: &Oid) -> Result<Vec<Oid>, Error> {
        self.commit_header(commit, "parent").await
    }

    /// The values of one header of a commit, as the commit object itself has them.
    async fn commit_header(&self, commit: &Oid, name: &str) -> Result<Vec<Oid>, Error> {
        let output = self.git("cat-file").arg("commit").arg(commit).run().await?;
        if output.code != Some(0) {
            return Err(Error::NoSuchObject { kind: "commit", oid: commit.clone() });
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let headers = text.lines().take_while(|line| !line.is_empty());
        let values = headers.filter_map(|line| line.split_once(' ')).filter(|(key, _)| *key == name);
        values.map(|(_, oid)| oid.parse().map_err(|_| unexpected("cat-file", oid.as_bytes()))).collect()
    }

    /// Makes the commit with this tree on this parent. The same arguments give the same id everywhere.
    ///
    /// # Errors
    /// The parent or the tree is not here; the name is empty.
    pub async fn commit_on(&self, parent: &Oid, tree: &Oid, meta: &CommitMeta) -> Result<Oid, Error> {
        let date = format!("@{} +0000", meta.epoch_seconds);
        let mut git = self.git("commit-tree").arg(tree).arg("-p").arg(parent).args(["-F", "-"]);
        for role in ["AUTHOR", "COMMITTER"] {
            git = git.env(&format!("GIT_{role}_NAME"), &meta.name);
            git = git.env(&format!("GIT_{role}_EMAIL"), &meta.email);
            git = git.env(&format!("GIT_{role}_DATE"), &date);
        }
        git.stdin(meta.message.clone().into_bytes()).oid().await
    }
}
