//! The branch `holdpoint/<flight>` in the user's repository: looked at before a flight, written after it.

use holdpoint_bus::blobs;
use holdpoint_core::flight;
use holdpoint_protocol::{ids::FlightId, view::FlightView};
use holdpoint_runtime::mirror::from_wire;
use holdpoint_workspace::{BranchState, BranchUpdate, Error, HANDOFF_REF, UserRepo};

use crate::{client::Client, failure::Failure};

/// Refuses a branch that could not be written later.
///
/// A branch that is there is let through: whether the flight's head will be ahead of it is not known yet.
pub(crate) async fn check(repo: &UserRepo, id: &FlightId) -> Result<(), Failure> {
    tip(repo, &flight::branch(id)).await.map(drop)
}

/// Where the branch is, if it may be written.
async fn tip(repo: &UserRepo, branch: &str) -> Result<Option<holdpoint_workspace::Oid>, Failure> {
    let branch = branch.to_owned();
    match repo.branch_state(&branch).await? {
        BranchState::Absent => Ok(None),
        BranchState::At(oid) => Ok(Some(oid)),
        BranchState::CheckedOut { worktree, .. } => Err(Error::BranchCheckedOut { branch, worktree }.into()),
        BranchState::Unusable { reason } => Err(Error::BranchUnusable { branch, reason }.into()),
    }
}

/// Creates the branch or moves it forward to the flight's head.
pub(crate) async fn write(client: &Client, repo: &UserRepo, flight: &FlightView) -> Result<(), Failure> {
    let old = tip(repo, &flight.branch).await?;
    let head = from_wire(&flight.head);
    if old.as_ref() == Some(&head) {
        return Ok(());
    }
    let dir = tempfile::tempdir().map_err(|error| {
        Failure::environment("temporary_folder", format!("cannot make a temporary folder: {error}"), "look at TMPDIR")
    })?;
    let mut bundles = Vec::new();
    for (number, bundle) in flight.landings.iter().enumerate() {
        let path = dir.path().join(format!("{number}.bundle"));
        let roles = std::slice::from_ref(&bundle.blob.role);
        blobs::get_to_file(client.bus(), bundle.blob.digest, roles, bundle.blob.bytes, &path).await?;
        bundles.push(path);
    }
    let update = BranchUpdate {
        bundles: &bundles,
        ref_name: HANDOFF_REF,
        branch: &flight.branch,
        expected_old: old.as_ref(),
        new: &head,
    };
    Ok(repo.import_branch(update).await?)
}
