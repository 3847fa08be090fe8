//! The roles to which a gate escalates, as they are recorded with a flight (spec GATE-15).
//!
//! Which roles may stand in a chain, and how a turn goes through it, is `holdpoint_planfile`'s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{AgentName, RoleId},
    org::Plane,
};

/// The most roles to which a gate escalates: each waits for the gate's whole timeout.
pub const ESCALATIONS_MAX: usize = 8;

/// One role to which a gate escalates. A file names the role only; the rest is what the org chart of the flight's day says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    /// The role.
    pub role: RoleId,
    /// The people who have it, where it is a role of people. Of a gate for people empty: any person of the fleet; of another
    /// gate: agents get the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<AgentName>,
    /// `build`: its agents make work, as builders do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<Plane>,
}

impl From<RoleId> for Escalation {
    fn from(role: RoleId) -> Self {
        Self { role, people: Vec::new(), plane: None }
    }
}
