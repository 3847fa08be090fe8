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
        self.count("--ignored=no", b"").await
    }

    /// How many paths of the working tree git ignores; folders count once.
    ///
    /// # Errors
    /// As [`UserRepo::uncommitted`].
    pub async fn ignored(&self) -> Result<usize, WorkspaceError> {
        self.count("--ignored=traditional", b"!! ").await
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

    /// How many entries of a status begin so.
    async fn count(&self, ignored: &str, start: &[u8]) -> Result<usize, WorkspaceError> {
        let options = ["--porcelain", "-z", "--no-renames", "--untracked-files=normal", ignored];
        let status = self.git("status").args(options).env("GIT_OPTIONAL_LOCKS", "0").timeout(PATIENCE);
        let listing = status.output_cap(crate::limits::LISTING_OUTPUT_BYTES).run_ok().await?;
        Ok(listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty() && entry.starts_with(start)).count())
    }
}
