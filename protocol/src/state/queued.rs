//! Work on its way to the branch: it waits in the queue, or is integrated behind other work (FLY-39).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OpenTurn, Purpose, Work};
use crate::{
    Timestamp,
    facts::Oid,
    ids::{GateId, WaypointId},
    journal::Cause,
};

/// Work that waits for a verifier's turn until it is integrated, or for the fate of what it was integrated behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queued {
    /// The gate whose verifier gets it.
    pub gate: GateId,
    /// What that turn is for.
    pub purpose: Purpose,
    /// Since when it has its place in the queue.
    pub since: Timestamp,
    /// A report by which it is not accepted, on work behind other work that has not landed. It counts once that has landed, and is
    /// void if that leaves the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<KeptReport>>,
}

/// A report that does not count yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptReport {
    /// The turn that it answers.
    pub turn: OpenTurn,
    /// The report.
    pub report: Cause,
}

/// Work that is integrated behind other work, none of which has landed. Its `base` is a commit that stands for the landing in
/// front of it; it lands on any commit with the same tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stacked {
    /// The commit of the flight's branch that the queue stands on: its bundles, and the work's, bring the merge.
    pub on: Oid,
    /// Which waypoints are to land before it, in this order.
    pub behind: Vec<WaypointId>,
    /// The tree of the last of them, and of the base: what the work is verified on.
    pub base_tree: Oid,
    /// Since when it has its place in the queue.
    pub since: Timestamp,
    /// The work as it was before.
    pub alone: Alone,
}

/// Work as it was before it was integrated behind other work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// The base it stands on, a commit of the flight's branch.
    pub base: Oid,
    /// The work.
    pub work: Work,
}
