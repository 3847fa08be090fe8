//! The repository that flights of a benchmark start from: one commit, one file. Git is not measured.

use std::path::Path;

use holdpoint_bus::{Bus, blobs};
use holdpoint_protocol::{
    Digest,
    facts::{BlobRef, BundleRef},
    ids::role,
};
use holdpoint_runtime::mirror::to_wire;
use holdpoint_sandbox::Tool;
use holdpoint_workspace::UserRepo;

use crate::{BenchError, error::Doing as _};

/// What `git fast-import` makes the repository of.
const HISTORY: &[u8] = b"commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 6\nbegin\n\
                         M 100644 inline README\ndata 6\nhello\n\n";

/// The snapshot's file.
const BUNDLE: &str = "snapshot.bundle";

/// Makes the repository in `dir` and stores its snapshot.
pub(crate) async fn snapshot(dir: &Path, operator: &Bus) -> Result<BundleRef, BenchError> {
    let repo = dir.join("repository");
    std::fs::create_dir(&repo).map_err(|source| BenchError::Io { path: repo.clone(), source })?;
    git(&repo, &["init", "--quiet", "--initial-branch=main"], b"").await?;
    git(&repo, &["fast-import", "--quiet"], HISTORY).await?;
    const ACTION: &str = "make the snapshot of a repository";
    let made = async {
        let repo = UserRepo::open(&repo).await?;
        let base = repo.resolve("main").await?;
        let bundle = repo.snapshot(&base, &dir.join(BUNDLE)).await?;
        Ok::<_, holdpoint_workspace::WorkspaceError>((to_wire(&base), bundle))
    };
    let (tip, bundle) = made.await.doing(ACTION)?;
    let digest = store(dir, operator).await?;
    Ok(BundleRef { blob: BlobRef { role: role::id(role::OPERATOR), digest, bytes: bundle.bytes }, tip, index: None })
}

/// Stores the snapshot that was made in `dir`, as every command does before it submits a flight.
pub(crate) async fn store(dir: &Path, operator: &Bus) -> Result<Digest, BenchError> {
    let stored = blobs::put_file(operator, &role::id(role::OPERATOR), &dir.join(BUNDLE)).await;
    stored.doing("store the snapshot of a repository")
}

async fn git(dir: &Path, args: &[&str], stdin: &[u8]) -> Result<(), BenchError> {
    const ACTION: &str = "make a repository with git";
    let tool = Tool::new("git").args(args).dir(dir).stdin(stdin).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = tool.run().await.doing(ACTION)?;
    if output.success() {
        return Ok(());
    }
    Err(BenchError::failed(ACTION, String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
