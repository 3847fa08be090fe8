//! What an entry of a waypoint was decided on, as far as no journal and no handoff shows it: a repeated decision goes by this.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::{BundleRef, Oid, Violation},
    ids::{CriterionId, TurnId, WaypointId},
};

/// What an entry was decided on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Basis {
    /// How many entries of the flight's own journal its writer had read.
    pub read: u32,
    /// The open turn that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What happened.
    pub what: Happened,
}

/// What happened to a waypoint. No words of anybody are in it (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "happened", rename_all = "snake_case")]
pub enum Happened {
    /// A handoff was taken for what it says.
    Handed,
    /// A handoff was taken with work, as git found it.
    Work {
        /// The commit; `None` when nothing changed, or nothing that can be used is there.
        commit: Option<BundledCommit>,
        /// Broken path rules.
        violations: Vec<Violation>,
    },
    /// A handoff was taken with work that cannot be used.
    Unusable,
    /// A report was taken.
    Reported {
        /// The checkpoints of its gate on touched paths that hold, as git says.
        touched: Vec<CriterionId>,
    },
    /// Its dependencies were complete, or a branch of its fork had no turn yet.
    Opened,
    /// Its children were complete.
    Gathered,
    /// Its parent did not want it any more.
    Recalled,
    /// Nothing was handed off in time on its turn.
    DeadlinePassed,
    /// The open question got no answer in time.
    AnswerOverdue,
    /// The votes of its fork decided.
    Joined,
    /// Its work was integrated with what goes before it to the branch.
    Integrated(Box<Merged>),
    /// Its landing failed again and again.
    LandingFailed,
    /// The flight's budget was used up.
    BudgetExhausted,
    /// What would have followed was larger than a message may be.
    TooLarge,
}

/// A commit with what brings it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundledCommit {
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The bundle.
    pub bundle: BundleRef,
}

/// Work was merged with a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Its commit.
    pub work: Oid,
    /// The head it was merged with. Either may be outdated by the time of the decision.
    pub head: Oid,
    /// The works of the queue on that head that it was merged with as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// What came of it.
    pub merge: MergeResult,
}

/// What work is integrated with, where that is more than the head: the queue up to an entry of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// The waypoints of the queue up to there, in the order in which they land.
    pub waypoints: Vec<WaypointId>,
    /// A commit with the tree of the last of them, on the head.
    pub commit: Oid,
    /// That tree.
    pub tree: Oid,
}

/// What merging work with the head came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "came_to", rename_all = "snake_case")]
pub enum MergeResult {
    /// One commit on the head.
    Clean {
        /// The merged commit.
        commit: BundledCommit,
        /// Broken path rules of the merged diff.
        violations: Vec<Violation>,
        /// It changes exactly what the work changed: the same files, from and to the same contents.
        same_diff: bool,
    },
    /// The head has all that the work changed: nothing is left to land.
    Contained,
    /// The work stands on the head as it was handed off.
    AsItIs,
    /// Both changed the same.
    Conflict {
        /// The paths, a bounded list.
        paths: Vec<String>,
        /// How many more there are.
        paths_more: u32,
        /// Which of `paths` each waypoint changed that landed since the work's base.
        changed_by: BTreeMap<WaypointId, Vec<String>>,
    },
}
