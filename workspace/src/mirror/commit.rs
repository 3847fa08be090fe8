//! Commits: reading what they are, and making one that everybody makes alike.

use holdpoint_sandbox::ToolError;

use super::Mirror;
use crate::error::{InputRefusal, WorkspaceError};
use crate::git::unexpected;
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

/// What a commit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents, first parent first.
    pub parents: Vec<ObjectId>,
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
        git.stdin(meta.message.clone().into_bytes()).oid().await
    }
}

/// The first headers of a commit object, read as git reads them: the tree, then parents. Another one ends them, so that a
/// commit has no parents for us that it does not have for git.
fn parse_commit(text: &str) -> Result<Commit, WorkspaceError> {
    let mut lines = text.lines();
    let oid = |value: &str| value.parse::<ObjectId>().map_err(|_| unexpected("cat-file", value.as_bytes()));
    let tree = lines.next().and_then(|line| line.strip_prefix("tree "));
    let tree = oid(tree.ok_or_else(|| unexpected("cat-file", b"a commit without a tree"))?)?;
    let parents = lines.map_while(|line| line.strip_prefix("parent ")).map(oid).collect::<Result<_, _>>()?;
    Ok(Commit { tree, parents })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_headers_name_a_tree_and_parents() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let text = format!("tree {a}\nparent {b}\nparent {c}\nauthor A <a@b> 1 +0000\n\ntree {b}\nparent {a}\n");
        let commit = parse_commit(&text).unwrap();
        let parents: Vec<&str> = commit.parents.iter().map(ObjectId::as_str).collect();
        assert_eq!((commit.tree.as_str(), parents), (a.as_str(), vec![b.as_str(), c.as_str()]));
        let late = format!("tree {a}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\nparent {b}\n\nx\n");
        assert_eq!(parse_commit(&late).unwrap().parents, []);
        assert!(parse_commit(&format!("parent {b}\ntree {a}\n")).is_err());
        assert!(parse_commit("tree nonsense\n").is_err() && parse_commit("").is_err());
    }
}
