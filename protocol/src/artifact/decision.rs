//! `OrchestratorDecision` (FLY-13).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{artifact::artifact, ids::ArtifactId, reason::ReasonCode, state::Status};

/// What becomes of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It stands (FLY-26).
    Accept,
    /// Another turn, from the last handed-off tree (FLY-27).
    Rework,
    /// Another turn, from the base (FLY-28).
    Rollback,
    /// A person decides (FLY-29).
    Escalate,
}

impl fmt::Display for Disposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept => "accept",
            Self::Rework => "rework",
            Self::Rollback => "rollback",
            Self::Escalate => "escalate",
        })
    }
}

/// A change of a waypoint's status that a decision applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusMutation {
    /// Before.
    pub from: Status,
    /// After.
    pub to: Status,
}

artifact! {
    /// What the orchestrator decided, and why (FLY-13). `source_refs` is what it answers; never empty (FLY-I8).
    OrchestratorDecision(OrchestratorDecisionBody) = "orchestrator_decision" {
        /// What becomes of the work.
        disposition: Disposition,
        /// Why.
        reason_code: ReasonCode,
        /// The status change, if one was applied.
        status: Option<StatusMutation>,
        /// What a person can do, where nothing is done automatically (FLY-I4).
        remediation: Option<String>,
        /// The artifacts that it rests on, newest first: what it answers, and what the gates came to before it since the work
        /// was last made. Earlier versions did not record them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<ArtifactId>,
    }
}
