//! The yardstick: plain git, on one disk, with nobody to protect from anybody.

use std::path::Path;

use super::{PlainMs, create, edit, git, timed};
use crate::BenchError;

/// Clone and checkout, commit, fetch, and a second checkout.
pub(super) async fn round(repo: &Path, dir: &Path, files: u32) -> Result<PlainMs, BenchError> {
    create(dir)?;
    let (clone, second) = (dir.join("clone"), dir.join("second"));
    let text = |path: &Path| path.display().to_string();
    let args = ["clone", "--quiet", "--no-hardlinks", &text(repo), &text(&clone)];
    let ((), clone_ms) = timed(async { git(dir, &args).await.map(drop) }).await?;
    edit(&clone, files, 0)?;
    let commit = async {
        git(&clone, &["add", "--all"]).await?;
        git(&clone, &["commit", "--quiet", "--message", "work"]).await.map(drop)
    };
    let ((), commit_ms) = timed(commit).await?;
    let fetch = async { git(repo, &["fetch", "--quiet", &text(&clone), "main:refs/bench/work"]).await.map(drop) };
    let ((), fetch_ms) = timed(fetch).await?;
    let args = ["worktree", "add", "--quiet", "--detach", &text(&second), "refs/bench/work"];
    let ((), checkout_ms) = timed(async { git(repo, &args).await.map(drop) }).await?;
    git(repo, &["worktree", "remove", "--force", &text(&second)]).await?;
    git(repo, &["update-ref", "-d", "refs/bench/work"]).await?;
    Ok(PlainMs::new(clone_ms, commit_ms, fetch_ms, checkout_ms))
}
