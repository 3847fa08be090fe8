//! A change that was made elsewhere, taken out of a user's repository: a branch, or a patch.

use std::path::Path;

use super::UserRepo;
use crate::bundle::{self, Bundle, SNAPSHOT_REF};
use crate::error::WorkspaceError;
use crate::git::{Git, unexpected};
use crate::oid::ObjectId;
use crate::scratch::Scratch;

/// Who the commits of a change are by: their ids follow from their trees alone.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "Holdpoint"),
    ("GIT_AUTHOR_EMAIL", "holdpoint@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "Holdpoint"),
    ("GIT_COMMITTER_EMAIL", "holdpoint@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// Where a change is.
#[derive(Debug, Clone, Copy)]
pub enum ChangeSource<'a> {
    /// The tree of a commit.
    Commit(&'a ObjectId),
    /// A patch of the base, as `git diff` or `git format-patch` writes it.
    Patch(&'a [u8]),
}

impl UserRepo {
    /// The newest commit that both have in their history; `None` where there is none, or a shallow clone left it out.
    ///
    /// # Errors
    /// Git fails.
    pub async fn merge_base(&self, one: &ObjectId, other: &ObjectId) -> Result<Option<ObjectId>, WorkspaceError> {
        let output = self.git("merge-base").arg(one).arg(other).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().filter(|_| output.code == Some(0)).and_then(|line| line.parse().ok()))
    }

    /// Writes a change as a bundle with the one ref [`SNAPSHOT_REF`]: a commit with the tree of `base` and no history, and on it one
    /// with the tree of the change. A change that changes nothing is the first of them. Shallow clones will do.
    ///
    /// # Errors
    /// [`WorkspaceError::PatchRefused`] for a patch that does not apply to the base; an object is not there; git fails; `out` cannot
    /// be written.
    pub async fn change(
        &self,
        base: &ObjectId,
        source: ChangeSource<'_>,
        out: &Path,
    ) -> Result<Bundle, WorkspaceError> {
        let scratch = Scratch::apart_from(&self.objects)?;
        let before = tree_of(&scratch, base).await?;
        let after = match source {
            ChangeSource::Commit(commit) => tree_of(&scratch, commit).await?,
            ChangeSource::Patch(patch) => patched(&scratch, &before, patch).await?,
        };
        let on = commit(&scratch, &before, None).await?;
        let tip = if before == after { on } else { commit(&scratch, &after, Some(&on)).await? };
        bundle::write(&scratch, SNAPSHOT_REF, &tip, None, out).await
    }
}

async fn tree_of(scratch: &Scratch, commit: &ObjectId) -> Result<ObjectId, WorkspaceError> {
    answered("rev-parse", scratch.git("rev-parse").arg("--verify").arg(format!("{commit}^{{tree}}"))).await
}

async fn commit(scratch: &Scratch, tree: &ObjectId, parent: Option<&ObjectId>) -> Result<ObjectId, WorkspaceError> {
    let git = scratch.git("commit-tree").arg(tree).args(["-m", "a change to be judged"]);
    let git = parent.into_iter().fold(git, |git, parent| git.arg("-p").arg(parent));
    answered("commit-tree", IDENTITY.into_iter().fold(git, |git, (name, value)| git.env(name, value))).await
}

/// The tree with a patch applied to it.
async fn patched(scratch: &Scratch, tree: &ObjectId, patch: &[u8]) -> Result<ObjectId, WorkspaceError> {
    scratch.git("read-tree").arg(tree).run_ok().await?;
    // Where nothing is checked out nothing can be written outside of it.
    let apply = scratch.git("apply").args(["--cached", "--whitespace=nowarn", "-"]).stdin(patch.to_vec());
    let output = apply.long().run().await?;
    if output.code != Some(0) {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(WorkspaceError::PatchRefused { words });
    }
    answered("write-tree", scratch.git("write-tree")).await
}

/// The object that a call names.
async fn answered(command: &'static str, git: Git) -> Result<ObjectId, WorkspaceError> {
    let answer = git.run_ok().await?;
    String::from_utf8_lossy(&answer).trim_end().parse().map_err(|_| unexpected(command, &answer))
}
