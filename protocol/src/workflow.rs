//! Declared workflows, as they are recorded with a flight.
//!
//! Whether gates make a workflow, and where an outcome leads, is `holdpoint_core::gates`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    ids::{AgentName, GateId, RoleId},
    time::Millis,
};

/// A workflow as declared: an ordered list of gates (spec GATE-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowSpec {
    /// Its name, by which plans and waypoints choose it.
    pub name: String,
    /// What it is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The gates, in order.
    pub gates: Vec<GateSpec>,
}

/// A gate as declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateSpec {
    /// Unique in the workflow.
    pub id: GateId,
    /// Which role has the turn there.
    pub role: RoleId,
    /// What the gate is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether that role may send work back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_reject: bool,
    /// Whether only a person may complete it (GATE-16).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_human: bool,
    /// The people who may complete it; empty: any person of the fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<AgentName>,
    /// How long a turn of this gate may take before it is held for a person's intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

/// A workflow in a flight's submission: what the flight is flown by, whatever is declared later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedWorkflow {
    /// The digest of the workflow's JSON form: shows drift between declarations.
    pub digest: Digest,
    /// The workflow.
    pub workflow: WorkflowSpec,
}

impl From<WorkflowSpec> for RecordedWorkflow {
    fn from(workflow: WorkflowSpec) -> Self {
        let json = serde_json::to_vec(&workflow).expect("plain data with string keys has a JSON form");
        Self { digest: Digest::of(&json), workflow }
    }
}

/// What the name of every person begins with (GATE-2).
pub const HUMAN_PREFIX: &str = "human-";

/// Whether a key of this name is a person's.
#[must_use]
pub fn is_human(name: &AgentName) -> bool {
    name.as_str().len() > HUMAN_PREFIX.len() && name.as_str().starts_with(HUMAN_PREFIX)
}
