//! Visits of gates, as far as a state names them (GATE-8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::{
    Timestamp,
    ids::{AgentName, ArtifactId, GateId, RoleId},
};

/// One visit of a gate (GATE-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVisit {
    /// The gate.
    pub gate: GateId,
    /// The role that had the turn.
    pub role: RoleId,
    /// Who completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// When it was entered.
    pub entered: Timestamp,
    /// When it was left; `None` while it is open.
    pub exited: Option<Timestamp>,
    /// How it was left.
    pub outcome: Option<Outcome>,
    /// The handoff or act that left it; `None` where nobody handed anything off. Earlier versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
}

/// How often work came to a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateEntries {
    /// The gate.
    pub gate: GateId,
    /// How often.
    pub count: u32,
}

/// Visits of gates that a state does not name any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierVisits {
    /// How many.
    pub count: u32,
    /// When the first of them began.
    pub since: Timestamp,
}
