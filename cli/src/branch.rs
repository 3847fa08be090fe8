//! The branch `holdpoint/<flight>` in the user's repository: looked at before a flight, written after it; and those of attempts.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_engine::flight;
use holdpoint_protocol::{
    facts::{BlobRef, BundleRef},
    ids::FlightId,
    view::FlightView,
};
use holdpoint_runtime::mirror::from_wire;
use holdpoint_workspace::{BranchState, BranchUpdate, CommitStanding, HANDOFF_REF, ObjectId, UserRepo, WorkspaceError};
use tokio::time::Instant;

use crate::{archive::Unpacked, client::Client, failure::Failure, output, people::works::AttemptWork, temporary};

/// How long a broker may not know what the rest of its cluster has stored.
const BEHIND_MAX: Duration = Duration::from_secs(30);
/// The pause before it is asked again.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a branch may be moved by others while it is written.
const MOVED_MAX: u32 = 5;

/// Refuses a branch that could not be written later.
///
/// A branch that is there is let through: whether the flight's head will be ahead of it is not known yet.
pub(crate) async fn check(repo: &UserRepo, id: &FlightId) -> Result<(), Failure> {
    tip(repo, &flight::branch(id)).await.map(drop)
}

/// Refuses a branch that is not on the flight's way, as far as the flight has come: nothing could be written to it in
/// the end.
pub(crate) async fn check_fits(repo: &UserRepo, flight: &FlightView) -> Result<(), Failure> {
    let tip = tip(repo, &flight.branch).await?;
    if let Some(note) = left_behind(repo, flight).await? {
        output::err(&note);
    }
    let Some(tip) = tip else { return Ok(()) };
    let landed = flight.landings.iter().map(|landing| &landing.tip).chain([&flight.head]);
    let known = landed.map(from_wire).any(|landed| landed == tip);
    if known || repo.is_ancestor(&tip, &from_wire(&flight.base)).await? {
        return Ok(());
    }
    Err(WorkspaceError::BranchDiverged { branch: flight.branch.clone(), tip, new: from_wire(&flight.head) }.into())
}

/// Where the branch is, if it may be written.
async fn tip(repo: &UserRepo, branch: &str) -> Result<Option<holdpoint_workspace::ObjectId>, Failure> {
    let branch = branch.to_owned();
    match repo.branch_state(&branch).await? {
        BranchState::Absent => Ok(None),
        BranchState::At(oid) => Ok(Some(oid)),
        BranchState::CheckedOut { worktree, .. } => Err(WorkspaceError::BranchCheckedOut { branch, worktree }.into()),
        BranchState::Unusable { reason } => Err(WorkspaceError::BranchUnusable { branch, reason }.into()),
    }
}

/// What to say where the commit that a flight began from was amended or rebased away meanwhile; `None`: it was not. Refuses one that
/// is gone, as nothing can be written on it.
pub(crate) async fn left_behind(repo: &UserRepo, flight: &FlightView) -> Result<Option<String>, Failure> {
    let base = from_wire(&flight.base);
    let own = flight::branch(&flight.flight);
    let all_own = own.strip_suffix(flight.flight.as_str()).unwrap_or(&own);
    match repo.standing(&base, all_own).await? {
        CommitStanding::InHistory => Ok(None),
        CommitStanding::LeftBehind => Ok(Some(format!(
            "note: no branch has the commit {base} in its history any more, on which the flight {} stands: it was amended or \
             rebased; `git rebase --onto HEAD {base} {}` brings the work to where you are",
            flight.flight, flight.branch
        ))),
        CommitStanding::Gone => {
            let message = format!(
                "the commit {base}, on which the flight {} stands, is not in the repository any more: it was amended or \
                 rebased, and git has removed it",
                flight.flight
            );
            let hint = "fetch it from another clone (`git fetch OTHER COMMIT`), then `holdpoint fetch FLIGHT` writes the branch";
            Err(Failure::usage("base_gone", message, hint))
        }
    }
}

/// Creates the branch or moves it forward to the flight's head. Several commands may do that at once.
pub(crate) async fn write(client: &Client, repo: &UserRepo, flight: &FlightView) -> Result<(), Failure> {
    let _at = holdpoint_faults::at(holdpoint_faults::Step::WriteBranch);
    left_behind(repo, flight).await?;
    let dir = temporary::folder()?;
    let bundles = async |old: Option<&ObjectId>| fetch(client, flight, old, dir.path()).await;
    forward(repo, &flight.branch, &from_wire(&flight.head), bundles).await
}

/// Creates the branch of an attempt's work. One that is there already and has commits of its own is left alone.
pub(crate) async fn write_attempt(
    client: &Client,
    repo: &UserRepo,
    branch: &str,
    work: &AttemptWork,
) -> Result<(), Failure> {
    let dir = temporary::folder()?;
    // The snapshot is of this repository.
    let bundles =
        async |_: Option<&ObjectId>| get_all(client, work.bundles.get(1..).unwrap_or_default(), dir.path()).await;
    forward(repo, branch, &from_wire(&work.commit), bundles).await
}

/// The same from a file.
pub(crate) async fn write_from(repo: &UserRepo, work: &Unpacked) -> Result<(), Failure> {
    forward(repo, &work.branch, &from_wire(&work.head), async |_| Ok(work.bundles.clone())).await
}

/// Brings the branch to `head` by the bundles that it needs from where it is.
async fn forward(
    repo: &UserRepo,
    branch: &str,
    head: &ObjectId,
    needed: impl AsyncFn(Option<&ObjectId>) -> Result<Vec<PathBuf>, Failure>,
) -> Result<(), Failure> {
    let mut moved = 0;
    loop {
        let update = BranchUpdate { ref_name: HANDOFF_REF, branch, new: head };
        let result: Result<(), NotWritten> =
            repo.import_branch(update, async |old| needed(old).await.map_err(NotWritten::Bundles)).await;
        match result {
            // Another command wrote what had landed a moment ago; a user's own commits are refused in the next round.
            Err(NotWritten::Git(WorkspaceError::BranchMoved { .. })) if moved < MOVED_MAX => moved += 1,
            Err(NotWritten::Git(error)) => return Err(error.into()),
            Err(NotWritten::Bundles(failure)) => return Err(failure),
            Ok(()) => return Ok(()),
        }
    }
}

/// Why a branch was not written.
#[derive(Debug)]
enum NotWritten {
    Bundles(Failure),
    Git(WorkspaceError),
}

impl From<WorkspaceError> for NotWritten {
    fn from(error: WorkspaceError) -> Self {
        Self::Git(error)
    }
}

/// What brings the head to a repository that has `have`: what landed after it, or, where that is more or `have` is no
/// landing of the flight, the few bundles that bring all of it.
fn missing<'a>(flight: &'a FlightView, have: Option<&ObjectId>) -> &'a [BundleRef] {
    let known = flight.landings.iter().position(|landing| have == Some(&from_wire(&landing.tip)));
    let after = flight.landings.get(known.map_or(0, |known| known + 1)..).unwrap_or_default();
    let all = &flight.brought_by;
    if all.is_empty() || after.len() <= all.len() { after } else { all }
}

/// Gets what is [`missing`].
async fn fetch(
    client: &Client,
    flight: &FlightView,
    have: Option<&ObjectId>,
    dir: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    get_all(client, missing(flight, have), dir).await
}

/// Gets bundles, as files in this folder.
async fn get_all(client: &Client, bundles: &[BundleRef], dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for (number, bundle) in bundles.iter().enumerate() {
        let path = dir.join(format!("{number}.bundle"));
        get(client, &bundle.blob, &path).await?;
        files.push(path);
    }
    Ok(files)
}

/// Gets a blob that is there, because a landing names it. A broker that has just come back to its cluster may not know yet.
async fn get(client: &Client, blob: &BlobRef, path: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + BEHIND_MAX;
    let roles = std::slice::from_ref(&blob.role);
    loop {
        match blobs::get_to_file(client.bus(), blob.digest, roles, blob.bytes, path).await {
            Err(BlobError::NotFound { .. }) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            got => return Ok(got?),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn oid(digit: char) -> ObjectId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    /// A flight with three landings, of which the last one's bundle brings all.
    fn flight(brought_by: &[char]) -> FlightView {
        let bundle = |tip: &char| {
            let blob = json!({"role": "orchestrator", "digest": format!("sha256:{}", "0".repeat(64)), "bytes": 1});
            json!({"blob": blob, "tip": tip.to_string().repeat(40)})
        };
        let bundles = |tips: &[char]| tips.iter().map(bundle).collect::<Vec<_>>();
        let view = json!({
            "flight": "p-00000000", "plan": "p", "status": "accepted", "base": "a".repeat(40), "branch": "holdpoint/p",
            "head": "d".repeat(40), "waypoints": [], "landings": bundles(&['b', 'c', 'd']),
            "brought_by": bundles(brought_by),
        });
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn the_shorter_way_to_the_head_is_taken() {
        let tips = |flight: &FlightView, have: Option<char>| {
            let missing = missing(flight, have.map(oid).as_ref());
            missing.iter().map(|bundle| bundle.tip.as_str().chars().next().unwrap()).collect::<String>()
        };
        let wide = flight(&['d']);
        let found = [None, Some('f'), Some('b'), Some('c'), Some('d')].map(|have| tips(&wide, have));
        assert_eq!(found, ["d", "d", "d", "d", ""]);
        let found = [None, Some('b'), Some('d')].map(|have| tips(&flight(&[]), have));
        assert_eq!(found, ["bcd", "cd", ""], "one that an earlier orchestrator answered");
    }
}
