//! Making landing commits and merges, and bringing them into the blob stream (FLY-39).
//!
//! A landing commit is made with journal dates, so that any orchestrator makes the same one. Whether to land or to merge
//! is the engine's decision.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use holdpoint_bus::blobs;
use holdpoint_engine::waypoint::{Behind, BundledCommit, MergeResult, Merged};
use holdpoint_faults::Step;
use holdpoint_protocol::{
    Digest, Timestamp,
    facts::{BlobRef, BundleRef, Oid},
    ids::{AgentName, FlightId, RoleId, WaypointId, role},
    plan::Waypoint,
};
use holdpoint_runtime::{
    handed_commit::AUTHOR,
    mirror::{MirrorError, from_wire, to_wire, wire_path},
    path_rules::{self, JudgeError, JudgedDiff, RuleTexts},
    telemetry::ErrorChain,
};
use holdpoint_sandbox::TemporaryFolder;
use holdpoint_text::commit;
use holdpoint_workspace::{
    Change, CommitMeta, HANDOFF_REF, Landing as GitLanding, Merge, Mirror, ObjectId, RepoPath, WorkspaceError,
};

use crate::shell::Shell;

/// Objects in a bundle that brings more than its own landing, at most: what it saves is requests, what it costs is room.
const WIDE_BUNDLE_BYTES_MAX: u64 = 4 << 20;
/// Colliding paths that a builder hears of.
const PATHS_TOLD_MAX: usize = 50;
/// Landings that are searched for colliding paths, the newest ones: each costs a call of git.
const LANDINGS_SEARCHED_MAX: usize = 64;

/// Work on its way to the branch, to be merged or landed.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) flight: FlightId,
    pub(crate) planned: Box<Waypoint>,
    pub(crate) at: Timestamp,
    /// The report by which it is accepted, if it is.
    pub(crate) report: Option<Digest>,
    /// The role and agent that made it.
    pub(crate) maker: (RoleId, AgentName),
    /// Its commit, the base of that, and what brings both and the head.
    pub(crate) commit: Oid,
    pub(crate) tree: Oid,
    /// What it was verified on, where that is a commit that stood for the head.
    pub(crate) verified_on: Option<Oid>,
    pub(crate) base: Oid,
    pub(crate) base_tree: Oid,
    pub(crate) head: Oid,
    pub(crate) head_tree: Oid,
    /// The commits that the bundle of this landing may build on to bring others, too, the widest first.
    pub(crate) wide: Vec<Oid>,
    pub(crate) bundles: Vec<BundleRef>,
    /// What landed since the work was made.
    pub(crate) landed: Vec<LandedTree>,
    pub(crate) rules: RuleTexts,
}

/// A landing commit.
#[derive(Debug)]
pub(crate) struct Landing {
    pub(crate) commit: BundledCommit,
    pub(crate) report: Digest,
    /// What its bundle builds on, if that is not the head.
    pub(crate) bundle_on: Option<Oid>,
}

/// What one landing made of which tree.
#[derive(Debug, Clone)]
pub(crate) struct LandedTree {
    pub(crate) waypoint: WaypointId,
    pub(crate) before: Oid,
    pub(crate) after: Oid,
}

/// The end of the queue.
#[derive(Debug)]
pub(crate) struct Onto {
    /// The waypoints in it.
    pub(crate) waypoints: Vec<WaypointId>,
    /// The tree of the last one, and what brings it.
    pub(crate) tree: Oid,
    pub(crate) bundle: BundleRef,
}

/// What merging work with the queue came to.
#[derive(Debug)]
pub(crate) enum Stacking {
    /// One commit behind it; or it turned out that it does not even fit on the head, or that the head has it all.
    Merged(Box<Merged>),
    /// It fits on the head only.
    MergesAlone,
}

/// What work is merged with.
struct Tip {
    commit: ObjectId,
    tree: ObjectId,
}

/// Why a landing could not be made. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandingError {
    /// No report accepts it.
    #[error("no report accepts what is to land")]
    NotAccepted,
    /// A blob is missing or wrong, or the disk is full.
    #[error("cannot fetch what is to land")]
    Mirror(#[source] MirrorError),
    /// Git failed.
    #[error("cannot make the landing commit")]
    Git(#[source] WorkspaceError),
    /// The merged diff could not be judged.
    #[error("cannot judge the merge")]
    Judge(#[source] JudgeError),
    /// The bundle could not be stored.
    #[error("cannot store the landing bundle")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Makes the landing commit: the verified tree on the head, with trailers.
pub(crate) async fn land(shell: &Shell, accepted: &Accepted) -> Result<Landing, LandingError> {
    let report = accepted.report.ok_or(LandingError::NotAccepted)?;
    let _at = holdpoint_faults::at(Step::MakeLanding);
    let mirror = fetch(shell, accepted).await?;
    let Accepted { flight, planned, maker: (role, agent), .. } = accepted;
    let message = commit::landing(flight, planned, report, (role, agent));
    let tree = from_wire(&accepted.tree);
    let commit = commit_on(&mirror, accepted, &from_wire(&accepted.head), &tree, message).await?;
    for on in &accepted.wide {
        match pack_wide(&mirror, on, &commit).await {
            Ok(Some(wide)) => {
                let commit = store(shell, wide, &commit, &tree).await?;
                return Ok(Landing { commit, report, bundle_on: Some(on.clone()) });
            }
            Ok(None) => {}
            // Without it everything works, with more requests.
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "cannot make a bundle of several landings"),
        }
    }
    let bundle = pack(&mirror, &accepted.head, &commit).await?;
    Ok(Landing { commit: store(shell, bundle, &commit, &tree).await?, report, bundle_on: None })
}

/// Merges work with the head.
pub(crate) async fn merge(shell: &Shell, accepted: &Accepted) -> Result<Merged, LandingError> {
    let _at = holdpoint_faults::at(Step::MakeMerge);
    let merged = |merge| Merged { work: accepted.commit.clone(), head: accepted.head.clone(), behind: None, merge };
    if accepted.base == accepted.head {
        return Ok(merged(MergeResult::AsItIs));
    }
    let mirror = fetch(shell, accepted).await?;
    let merge = merge_with(shell, &mirror, accepted, &on_head(accepted)).await?;
    Ok(merged(merge))
}

/// Merges work with the end of the queue, on a commit that stands for the landing that makes it. What does not
/// fit there may not fit on the head either.
pub(crate) async fn stack(shell: &Shell, accepted: &Accepted, onto: &Onto) -> Result<Stacking, LandingError> {
    let _at = holdpoint_faults::at(Step::MakeMerge);
    let mut bundles = accepted.bundles.clone();
    bundles.push(onto.bundle.clone());
    let mirror = shell.mirrors.ensure(&shell.bus, &accepted.flight, &bundles).await.map_err(LandingError::Mirror)?;
    let tree = from_wire(&onto.tree);
    let names: Vec<&str> = onto.waypoints.iter().map(|waypoint| waypoint.as_str()).collect();
    let message = format!("in front of {}: {}\n", accepted.planned.id, names.join(", "));
    let commit = commit_on(&mirror, accepted, &from_wire(&accepted.head), &tree, message).await?;
    let tip = Tip { commit, tree };
    let merge = merge_with(shell, &mirror, accepted, &tip).await?;
    let merged = |merge, behind| Merged { work: accepted.commit.clone(), head: accepted.head.clone(), behind, merge };
    if let MergeResult::Clean { .. } = merge {
        let (commit, tree) = (to_wire(&tip.commit), onto.tree.clone());
        let behind = Behind { waypoints: onto.waypoints.clone(), commit, tree };
        return Ok(Stacking::Merged(Box::new(merged(merge, Some(behind)))));
    }
    if accepted.base == accepted.head {
        return Ok(Stacking::MergesAlone);
    }
    Ok(match merge_with(shell, &mirror, accepted, &on_head(accepted)).await? {
        MergeResult::Clean { .. } => Stacking::MergesAlone,
        merge => Stacking::Merged(Box::new(merged(merge, None))),
    })
}

fn on_head(accepted: &Accepted) -> Tip {
    Tip { commit: from_wire(&accepted.head), tree: from_wire(&accepted.head_tree) }
}

/// Merges the accepted commit with a commit on the head.
async fn merge_with(
    shell: &Shell,
    mirror: &Mirror,
    accepted: &Accepted,
    tip: &Tip,
) -> Result<MergeResult, LandingError> {
    let (base, work) = (from_wire(&accepted.base), from_wire(&accepted.commit));
    let landing = GitLanding { base: &base, tip: &tip.commit, work: &work };
    match mirror.merge_tree(landing).await.map_err(LandingError::Git)? {
        Merge::Conflict(paths) => conflict(mirror, accepted, &paths).await,
        Merge::Clean(tree) if tree == tip.tree => Ok(MergeResult::Contained),
        Merge::Clean(tree) => {
            let message = commit::merge(&accepted.planned.id, &accepted.planned.title);
            let commit = commit_on(mirror, accepted, &tip.commit, &tree, message).await?;
            let bundle = pack(mirror, &accepted.head, &commit).await?;
            let commit = store(shell, bundle, &commit, &tree).await?;
            let judged = path_rules::judge(mirror, &tip.tree, &tree, &accepted.rules).await;
            let JudgedDiff { changes, judgement, .. } = judged.map_err(LandingError::Judge)?;
            let same_diff = same_diff(mirror, accepted, &changes).await?;
            Ok(MergeResult::Clean { commit, violations: judgement.violations, same_diff })
        }
    }
}

/// Whether the merge changes exactly what the work changed: the same paths, from and to the same contents.
async fn same_diff(mirror: &Mirror, accepted: &Accepted, merge: &[Change]) -> Result<bool, LandingError> {
    let (base, work) = (from_wire(&accepted.base_tree), from_wire(&accepted.tree));
    Ok(mirror.diff(&base, &work).await.map_err(LandingError::Git)? == merge)
}

/// The colliding paths, and who of those that landed meanwhile changed which of them.
async fn conflict(mirror: &Mirror, accepted: &Accepted, colliding: &[RepoPath]) -> Result<MergeResult, LandingError> {
    let paths: Vec<String> = colliding.iter().take(PATHS_TOLD_MAX).map(wire_path).collect();
    let told: BTreeSet<&String> = paths.iter().collect();
    let mut changed_by = BTreeMap::new();
    for landed in accepted.landed.iter().rev().take(LANDINGS_SEARCHED_MAX) {
        let (before, after) = (from_wire(&landed.before), from_wire(&landed.after));
        let changes = mirror.diff(&before, &after).await.map_err(LandingError::Git)?;
        let changed = changes.iter().map(|change| wire_path(&change.path)).filter(|path| told.contains(path));
        let changed: Vec<String> = changed.collect();
        if !changed.is_empty() {
            changed_by.insert(landed.waypoint.clone(), changed);
        }
    }
    let paths_more = u32::try_from(colliding.len() - paths.len()).unwrap_or(u32::MAX);
    Ok(MergeResult::Conflict { paths, paths_more, changed_by })
}

async fn fetch(shell: &Shell, accepted: &Accepted) -> Result<Mirror, LandingError> {
    shell.mirrors.ensure(&shell.bus, &accepted.flight, &accepted.bundles).await.map_err(LandingError::Mirror)
}

/// Makes a commit of this tree on a commit.
async fn commit_on(
    mirror: &Mirror,
    accepted: &Accepted,
    parent: &ObjectId,
    tree: &ObjectId,
    message: String,
) -> Result<ObjectId, LandingError> {
    let meta = CommitMeta {
        name: AUTHOR.0.to_owned(),
        email: AUTHOR.1.to_owned(),
        epoch_seconds: u64::try_from(accepted.at.as_seconds()).unwrap_or(0),
        message,
    };
    mirror.commit_on(parent, tree, &meta).await.map_err(LandingError::Git)
}

/// What brings a commit to those who have `on`.
pub(crate) async fn pack(mirror: &Mirror, on: &Oid, commit: &ObjectId) -> Result<Bytes, LandingError> {
    let store = |error: std::io::Error| LandingError::Store(error.into());
    let dir = TemporaryFolder::new().map_err(store)?;
    let path = dir.path().join("landing.bundle");
    mirror.thin_bundle(&from_wire(on), commit, HANDOFF_REF, &path).await.map_err(LandingError::Git)?;
    tokio::fs::read(&path).await.map(Bytes::from).map_err(store)
}

/// As [`pack`], unless it would be too long.
async fn pack_wide(mirror: &Mirror, on: &Oid, commit: &ObjectId) -> Result<Option<Bytes>, LandingError> {
    let bytes = mirror.bytes_between(&from_wire(on), commit).await.map_err(LandingError::Git)?;
    if bytes > WIDE_BUNDLE_BYTES_MAX {
        return Ok(None);
    }
    pack(mirror, on, commit).await.map(Some)
}

/// Stores a bundle, and names the commit with it.
pub(crate) async fn store(
    shell: &Shell,
    bundle: Bytes,
    commit: &ObjectId,
    tree: &ObjectId,
) -> Result<BundledCommit, LandingError> {
    let (role, bytes) = (role::id(role::ORCHESTRATOR), bundle.len() as u64);
    let digest = blobs::put(&shell.bus, &role, bundle).await.map_err(|error| LandingError::Store(error.into()))?;
    let (commit, blob) = (to_wire(commit), BlobRef { role, digest, bytes });
    Ok(BundledCommit { tree: to_wire(tree), bundle: BundleRef { blob, tip: commit.clone(), index: None }, commit })
}
