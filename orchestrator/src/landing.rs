//! Making landing commits and merges, and bringing them into the blob stream (FLY-39).
//!
//! A landing commit is made with journal dates, so that any orchestrator makes the same one. Whether to land or to merge
//! is the core's decision.

use bytes::Bytes;
use holdpoint_bus::blobs;
use holdpoint_core::engine::{Commit, Merge};
use holdpoint_protocol::{
    Digest, Timestamp,
    facts::{BlobRef, BundleRef, Oid},
    ids::{AgentName, FlightId, RoleId, WaypointId, role},
};
use holdpoint_runtime::{
    mirror::{MirrorError, from_wire, to_wire},
    path_rules::{self, JudgeError, RuleTexts},
};
use holdpoint_workspace::{CommitMeta, Error as GitError, HANDOFF_REF, Landing, Merge as GitMerge, Mirror};

use crate::shell::Shell;

/// The author of every commit that Holdpoint makes.
const AUTHOR: (&str, &str) = ("Holdpoint", "holdpoint@localhost");
/// Colliding paths that a builder is told of.
const PATHS_TOLD_MAX: usize = 50;

/// An accepted commit, to be landed or merged.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) flight: FlightId,
    pub(crate) waypoint: WaypointId,
    pub(crate) title: String,
    pub(crate) at: Timestamp,
    pub(crate) report: Digest,
    /// The role and agent that made it.
    pub(crate) maker: (RoleId, AgentName),
    /// The accepted commit, its base, and what brings both and the head.
    pub(crate) commit: Oid,
    pub(crate) tree: Oid,
    pub(crate) base: Oid,
    pub(crate) head: Oid,
    pub(crate) head_tree: Oid,
    pub(crate) bundles: Vec<BundleRef>,
    pub(crate) rules: RuleTexts,
}

/// Why a landing could not be made. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandingError {
    /// A blob is missing or wrong, or the disk is full.
    #[error("cannot fetch what is to land")]
    Mirror(#[source] MirrorError),
    /// Git failed.
    #[error("cannot make the landing commit")]
    Git(#[source] GitError),
    /// The merged diff could not be judged.
    #[error("cannot judge the merge")]
    Judge(#[source] JudgeError),
    /// The bundle could not be stored.
    #[error("cannot store the landing bundle")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Makes the landing commit: the verified tree on the head, with trailers.
pub(crate) async fn land(shell: &Shell, accepted: &Accepted) -> Result<Commit, LandingError> {
    let mirror = fetch(shell, accepted).await?;
    let message = format!(
        "{}: {}\n\nHoldpoint-Flight: {}\nHoldpoint-Waypoint: {}\nHoldpoint-Report: {}\nCo-authored-by: {} {} <{}@localhost>\n",
        accepted.waypoint,
        accepted.title,
        accepted.flight,
        accepted.waypoint,
        accepted.report,
        accepted.maker.0,
        accepted.maker.1,
        accepted.maker.1,
    );
    commit_on_head(shell, &mirror, accepted, &from_wire(&accepted.tree), message).await
}

/// Merges the accepted commit with the head.
pub(crate) async fn merge(shell: &Shell, accepted: &Accepted) -> Result<Merge, LandingError> {
    let mirror = fetch(shell, accepted).await?;
    let (base, tip, work) = (from_wire(&accepted.base), from_wire(&accepted.head), from_wire(&accepted.commit));
    let merged = mirror.merge_tree(Landing { base: &base, tip: &tip, work: &work }).await.map_err(LandingError::Git)?;
    match merged {
        GitMerge::Conflict(paths) => {
            let shown: Vec<String> = paths.iter().take(PATHS_TOLD_MAX).map(ToString::to_string).collect();
            let note = format!(
                "your accepted change could not be merged with what landed meanwhile; both changed: {}. \
                 You start from what landed: make your change again on top of it.",
                shown.join(", ")
            );
            Ok(Merge::Conflict { notes: vec![note] })
        }
        GitMerge::Clean(tree) => {
            let message = format!("{}: {} (merged)\n", accepted.waypoint, accepted.title);
            let commit = commit_on_head(shell, &mirror, accepted, &tree, message).await?;
            let head_tree = from_wire(&accepted.head_tree);
            let judged = path_rules::judge(&mirror, &head_tree, &tree, &accepted.rules).await;
            Ok(Merge::Clean { commit, violations: judged.map_err(LandingError::Judge)?.judgement.violations })
        }
    }
}

async fn fetch(shell: &Shell, accepted: &Accepted) -> Result<Mirror, LandingError> {
    shell.mirrors.ensure(&shell.bus, &accepted.flight, &accepted.bundles).await.map_err(LandingError::Mirror)
}

async fn commit_on_head(
    shell: &Shell,
    mirror: &Mirror,
    accepted: &Accepted,
    tree: &holdpoint_workspace::Oid,
    message: String,
) -> Result<Commit, LandingError> {
    let head = from_wire(&accepted.head);
    let meta = CommitMeta {
        name: AUTHOR.0.to_owned(),
        email: AUTHOR.1.to_owned(),
        epoch_seconds: u64::try_from(accepted.at.as_seconds()).unwrap_or(0),
        message,
    };
    let commit = mirror.commit_on(&head, tree, &meta).await.map_err(LandingError::Git)?;
    let store = |source: Box<dyn std::error::Error + Send + Sync>| LandingError::Store(source);
    let dir = tempfile::tempdir().map_err(|e| store(e.into()))?;
    let path = dir.path().join("landing.bundle");
    mirror.thin_bundle(&head, &commit, HANDOFF_REF, &path).await.map_err(LandingError::Git)?;
    let bytes = Bytes::from(tokio::fs::read(&path).await.map_err(|e| store(e.into()))?);
    let len = bytes.len() as u64;
    let role = role::id(role::ORCHESTRATOR);
    let digest = blobs::put(&shell.bus, &role, bytes).await.map_err(|e| store(e.into()))?;
    let commit = to_wire(&commit);
    let blob = BlobRef { role, digest, bytes: len };
    Ok(Commit { tree: to_wire(tree), bundle: BundleRef { blob, tip: commit.clone() }, commit })
}
