//! What a gate proposes: waypoints that are added to the flight as children of the one that is planned (SDLC-2).
//!
//! They are data. Whether they are sound, and what they are called once they are added, is `holdpoint_planfile::proposal`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ids::WaypointId,
    plan::{Criterion, Priority},
    time::Millis,
};

/// Waypoints of one proposal, at most.
pub const PROPOSED_MAX: usize = 64;
/// Criteria of all waypoints of one proposal together, at most: they are added in one message.
pub const PROPOSED_CRITERIA_MAX: usize = 512;
/// Reworks of a proposed waypoint, where its proposal does not say.
pub const PROPOSED_REWORKS: u32 = 3;

/// Waypoints that an agent proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProposal {
    /// In their order.
    pub waypoints: Vec<ProposedWaypoint>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedWaypoint {
    /// Unique in the proposal. The flight gives the waypoint another name.
    pub key: WaypointId,
    /// One line for people.
    pub title: String,
    /// The instructions for its maker, Markdown.
    pub goal: String,
    /// What must be shown.
    pub criteria: Vec<Criterion>,
    /// Globs of paths it may touch; empty: those of the waypoint that is planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Keys of waypoints of the same proposal that must be complete first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<WaypointId>,
    /// Default medium.
    #[serde(default)]
    pub priority: Priority,
    /// How long the work takes, as its planner thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Millis>,
    /// How often it may be sent back. Default 3: the fourth rejection is a person's.
    #[serde(default = "reworks")]
    pub max_reworks: u32,
}

fn reworks() -> u32 {
    PROPOSED_REWORKS
}

/// What a proposal has to fit into. A workflow declares that a gate proposes; a turn says what the flight has room for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalBounds {
    /// Waypoints at most.
    #[serde(default = "most", skip_serializing_if = "is_most")]
    pub waypoints: u32,
    /// Globs that cover the scope of each; empty: everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Every criterion needs a check: nobody judges by reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
}

const MOST: u32 = PROPOSED_MAX as u32;

fn most() -> u32 {
    MOST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_most(waypoints: &u32) -> bool {
    *waypoints == MOST
}

impl Default for ProposalBounds {
    fn default() -> Self {
        Self { waypoints: MOST, scope: Vec::new(), checked: false }
    }
}
