//! The envelope in which an agent's program hands its result to its harness (RETRY-1), and what `data` holds, per component.
//!
//! It never travels over the broker: a harness reads it from what a program prints. Fields may be added in a minor version.
//! What a field of the source's payloads became is in docs/protocol.md.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    artifact::Confidence,
    facts::Verdict,
    ids::{CriterionId, WaypointId},
    reason::BlockReason,
    state::Outcome,
    version::SchemaVersion,
};

/// The version of envelopes that this build reads; any minor version of it is read.
pub const ENVELOPE_VERSION: SchemaVersion = SchemaVersion { major: 1, minor: 0 };

/// What a program hands to its harness (RETRY-1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffEnvelope {
    /// The version of the envelope; 1.0 where it is not said.
    #[serde(default = "version")]
    pub version: SchemaVersion,
    /// Who hands over: `agent`, or the role of the turn; a judge says `judge`, `verifier` or `code_review`, and the one
    /// who completes a gate may say `supervisor`.
    pub component: String,
    /// The conversation it comes from. A claim: a harness reads the session from the program's own stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it was written, ISO 8601. A claim: nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// What came of it.
    pub status: EnvelopeStatus,
    /// The result itself, by component.
    pub data: BTreeMap<String, serde_json::Value>,
    /// How often it was asked for.
    #[serde(default)]
    pub metadata: EnvelopeMetadata,
}

/// What came of a program's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeStatus {
    /// It is done, and may be judged.
    Success,
    /// It cannot be done: the turn fails (RETRY-1b).
    Failure,
    /// It is not done yet: the program is asked to go on (RETRY-1b).
    Partial,
}

/// How often an envelope was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeMetadata {
    /// Retries before it, from 0. A claim: the harness counts itself.
    #[serde(default)]
    pub retry_count: u32,
    /// What was wrong with the ones before.
    #[serde(default)]
    pub previous_errors: Vec<String>,
}

/// `data` of a program that makes work: builder, repair agent, and roles with `plane: build`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkData {
    /// The waypoint.
    pub task_id: WaypointId,
    /// Whether the work is ready to be judged. False fails the turn whatever `status` says.
    pub success: bool,
    /// Whether the program came to its own end, and did not stop early.
    pub completed_normally: bool,
    /// What is left to do, in words.
    pub todos: Vec<String>,
    /// What was done, in one or two sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// How sure it is of its work: a word or a share of 1 (FLY-I7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Criteria that it says it met; claims only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<WorkClaim>,
    /// Whether it called for help. What its stream says overrules it (RETRY-11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_help: Option<bool>,
}

/// A criterion that a program says it met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkClaim {
    /// The criterion.
    pub criterion: CriterionId,
    /// Why it is met.
    #[serde(default)]
    pub claim: String,
}

/// `data` of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeData {
    /// What it says of the criterion.
    pub verdict: Verdict,
    /// What shows it. A `pass` needs some.
    pub evidence: Vec<String>,
    /// What it could not settle.
    pub doubts: Vec<String>,
    /// What it found, in words: shown with the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<String>,
    /// Further doubts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues_found: Vec<String>,
}

/// `data` of a program that completes a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionData {
    /// What the turn comes to; or `action`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The same in the words of a supervisor: `execute` and `complete` mean `complete`, `review` means `needs_review`,
    /// `error` means `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// One or two sentences; `reason` is read as well.
    #[serde(alias = "reason")]
    pub summary: String,
    /// What has to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// What kind of obstacle it is, where the outcome is `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<BlockReason>,
    /// What else the next agent to get the work has to know; or `rejectionNotes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

const fn version() -> SchemaVersion {
    ENVELOPE_VERSION
}
