//! What an agent says of itself every few seconds. Nothing is decided by it: it is for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, RoleId, TurnId};

/// What an agent says of itself on `hp.v1.presence.<role>.<agent>`, every ten seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// Its role.
    pub role: RoleId,
    /// Its name.
    pub agent: AgentName,
    /// Its process, on its machine.
    pub pid: u32,
    /// The turn it holds.
    pub turn: Option<TurnId>,
    /// Which delivery of that turn, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<u32>,
    /// The version of its harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
