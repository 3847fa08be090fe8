//! What of a working tree is in no commit: agents and checks do not see it.

use std::time::Duration;

use super::UserRepo;
use crate::{ObjectId, error::WorkspaceError, git::unexpected};

/// How long git may look: nothing depends on the answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl UserRepo {
    /// How many paths of the working tree in the user's current folder differ from its `HEAD`; untracked folders count
    /// once, and ignored files not at all. Nothing is written, not even the index.
    ///
    /// # Errors
    /// Git fails, or takes too long.
    pub async fn uncommitted(&self) -> Result<usize, WorkspaceError> {
        Ok(entries(&self.status("--ignored=no").await?).count())
    }

    /// How many paths of the working tree git ignores; folders count once.
    ///
    /// # Errors
    /// As [`UserRepo::uncommitted`].
    pub async fn ignored(&self) -> Result<usize, WorkspaceError> {
        Ok(self.ignored_paths().await?.len())
    }

    /// The paths of the working tree that git ignores, from its root; folders that are ignored as a whole end with `/`.
    ///
    /// # Errors
    /// As [`UserRepo::uncommitted`].
    pub async fn ignored_paths(&self) -> Result<Vec<String>, WorkspaceError> {
        let listing = self.status("--ignored=traditional").await?;
        let ignored = entries(&listing).filter_map(|entry| entry.strip_prefix(b"!! "));
        Ok(ignored.filter_map(|path| std::str::from_utf8(path).ok().map(str::to_owned)).collect())
    }

    /// How many commits there are besides the history of this one: of `HEAD`, branches, tags and stashes.
    ///
    /// # Errors
    /// Git fails, as where it does not have the commit, or takes too long.
    pub async fn commits_beyond(&self, commit: &ObjectId) -> Result<usize, WorkspaceError> {
        let git = self.git("rev-list").args(["--count", "--all", "HEAD"]).arg(format!("^{commit}")).timeout(PATIENCE);
        let counted = git.run_ok().await?;
        let count = std::str::from_utf8(&counted).ok().and_then(|text| text.trim_end().parse().ok());
        count.ok_or_else(|| unexpected("rev-list", &counted))
    }

    async fn status(&self, ignored: &str) -> Result<Vec<u8>, WorkspaceError> {
        let options = ["--porcelain", "-z", "--no-renames", "--untracked-files=normal", ignored];
        let status = self.git("status").args(options).env("GIT_OPTIONAL_LOCKS", "0").timeout(PATIENCE);
        status.output_cap(crate::limits::LISTING_OUTPUT_BYTES).run_ok().await
    }
}

fn entries(status: &[u8]) -> impl Iterator<Item = &[u8]> {
    status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}
