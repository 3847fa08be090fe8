//! A repository of ours with one commit and no files: what a flight stands on where there is nothing to change.

use std::path::Path;

use super::UserRepo;
use crate::{error::WorkspaceError, git::Git};

/// The branch of its one commit.
const BRANCH: &str = "refs/heads/main";
/// What the commit says, and who made it. The same everywhere, so that its id is.
const MESSAGE: &str = "No repository\n";
const NAME: &str = "Holdpoint";
const EMAIL: &str = "holdpoint@localhost";
const DATE: &str = "@0 +0000";

impl UserRepo {
    /// The repository without files in `dir`, made if it is not there. Making it again changes nothing.
    ///
    /// # Errors
    /// The folder cannot be made or written, or git is missing or too old.
    pub async fn empty(dir: &Path) -> Result<Self, WorkspaceError> {
        if let Some(there) = Self::at(dir).await {
            return Ok(there);
        }
        let io = |source| WorkspaceError::Io { action: "make", path: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(io)?;
        let init = Git::new("init").args(["--quiet", "--bare", "--template=", "--initial-branch=main"]);
        init.arg("--object-format=sha1").arg(dir).run_ok().await?;
        let tree = Git::new("mktree").git_dir(dir).stdin(Vec::new()).oid().await?;
        let mut commit = Git::new("commit-tree").git_dir(dir).arg(&tree).args(["-F", "-"]);
        for role in ["AUTHOR", "COMMITTER"] {
            commit = commit.env(&format!("GIT_{role}_NAME"), NAME).env(&format!("GIT_{role}_EMAIL"), EMAIL);
            commit = commit.env(&format!("GIT_{role}_DATE"), DATE);
        }
        let commit = commit.stdin(MESSAGE.into()).oid().await?;
        Git::new("update-ref").git_dir(dir).arg(BRANCH).arg(&commit).run_ok().await?;
        Self::at(dir).await.ok_or_else(|| WorkspaceError::NotARepository { dir: dir.to_owned() })
    }

    /// The repository whose git directory this folder is. It may be within another one: one that is not whole is none.
    async fn at(dir: &Path) -> Option<Self> {
        let real = dir.canonicalize().ok()?;
        Self::open(dir).await.ok().filter(|found| found.git_dir == real)
    }
}
