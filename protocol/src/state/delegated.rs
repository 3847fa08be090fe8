//! A waypoint whose children do the work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, ids::GateId, journal::Cause};

/// A waypoint whose children do the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delegated {
    /// The gate.
    pub gate: GateId,
    /// Since when.
    pub since: Timestamp,
    /// The handoff that proposes them.
    pub proposal: Cause,
    /// Which generation of children it waits for, from 1.
    pub generation: u32,
}
