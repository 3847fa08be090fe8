//! Checkpoints: what has to hold of what is handed off at a gate (DOC-1 to DOC-7).
//!
//! They are data. How one is established, and what follows from all of them, is `holdpoint_planfile::checkpoints`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::BlobRef,
    ids::{CriterionId, GateId},
    plan::Check,
    proposal::{PlanProposal, ProposalBounds},
    words::words,
};

/// Checkpoints of one gate, at most.
pub const CHECKPOINTS_MAX: usize = 32;
/// How often a program is asked again for the sake of checkpoints, where its gate does not say (DOC-6).
pub const CHECKPOINT_RETRIES_DEFAULT: u32 = 3;
/// The most that a gate may say.
pub const CHECKPOINT_RETRIES_MAX: u32 = 10;
/// The score that a gate with `checks` waits for, where it does not say (SDLC-3).
pub const THRESHOLD_DEFAULT: u8 = 80;
/// The highest score.
pub const SCORE_MAX: u8 = 100;
/// Programs that one command needs, at most.
pub const NEEDS_MAX: usize = 8;

/// What a gate demands of what is handed off there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateDemands {
    /// The document that is handed over; absent: none has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentSpec>,
    /// The gate proposes waypoints, which fit into these bounds; absent: it proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposes: Option<ProposalBounds>,
    /// What has to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointSpec>,
    /// How often a program is asked again in its turn; absent: [`CHECKPOINT_RETRIES_DEFAULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_retries: Option<u32>,
    /// The plan's `checks` have to hold as well: `checks: auto`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_checks: bool,
    /// The score that the gate waits for, of 100; absent: its required checkpoints alone decide (SDLC-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u8>,
}

impl GateDemands {
    /// Whether nothing is demanded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let asks = self.document.is_some() || self.proposes.is_some() || self.plan_checks;
        self.checkpoints.is_empty() && !asks
    }

    /// How often a program is asked again in its turn.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.checkpoint_retries.unwrap_or(CHECKPOINT_RETRIES_DEFAULT)
    }
}

/// The document of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSpec {
    /// The headings that it has, each with text below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
}

/// One checkpoint as declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointSpec {
    /// Unique in the gate.
    pub name: CriterionId,
    /// How it is established; absent: the agent says so.
    #[serde(flatten)]
    pub rule: Option<CheckpointRule>,
    /// Whether the gate waits for it.
    #[serde(default = "required", skip_serializing_if = "is_required")]
    pub required: bool,
}

fn required() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_required(required: &bool) -> bool {
    *required
}

/// How a checkpoint is established without the agent's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckpointRule {
    /// The document has this heading, with text below it.
    Section(String),
    /// The document matches this regular expression.
    Matches(String),
    /// The document does not match this regular expression.
    Lacks(String),
    /// The work touches a path of this kind.
    Touches(TouchedPaths),
    /// The plan's guard of this id is green; where the plan has none, the agent says so.
    Guard(CriterionId),
    /// A command ends well on the work.
    Command(CheckpointCommand),
    /// The verifier's report shows this.
    Report(ReportPart),
    /// What is proposed keeps this rule.
    Proposal(ProposalRule),
}

/// What of a verifier's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportPart {
    /// Every criterion is shown.
    Criteria,
    /// Every guard is.
    Guards,
    /// It has no doubt that blocks.
    NoBlockingDoubts,
    /// Every criterion without a check is shown, by the word of a judge; nobody tried where no judge had one to judge.
    Review,
    /// The work is one commit on its base.
    OneCommit,
}

impl ReportPart {
    /// Each with its word in files.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("criteria", Self::Criteria),
        ("guards", Self::Guards),
        ("no_blocking_doubts", Self::NoBlockingDoubts),
        ("review", Self::Review),
        ("one_commit", Self::OneCommit),
    ];
}

/// A rule for what is proposed (SDLC-1, gate 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalRule {
    /// Each waypoint is estimated at less than an hour.
    Atomic,
    /// Each dependency is a waypoint of the proposal, and none waits for itself.
    Acyclic,
    /// Each waypoint may be sent back.
    Retries,
}

impl ProposalRule {
    /// Each with its word in files.
    pub const WORDS: [(&'static str, Self); 3] =
        [("atomic", Self::Atomic), ("acyclic", Self::Acyclic), ("retries", Self::Retries)];
}

/// Which paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TouchedPaths {
    /// Those of a kind.
    Kind(PathKind),
    /// Those that match a glob.
    Globs(Vec<String>),
}

/// A kind of paths that holds for all projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Files of tests.
    Tests,
    /// Files for readers.
    Docs,
}

/// A command of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointCommand {
    /// The command, and how its end is read.
    pub check: Check,
    /// What has to be there for it. Where one is missing nobody tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NeededTool>,
}

/// A program that a command needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeededTool {
    /// What people know it by.
    pub tool: String,
    /// A line for `sh -c` that ends with 0 where it is there.
    pub probe: String,
}

/// What came of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointResult {
    /// Which.
    pub name: CriterionId,
    /// How it was established.
    pub by: EstablishedBy,
    /// What came of it.
    pub status: CheckpointStatus,
    /// Why; a bounded text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How a checkpoint was established (DOC-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstablishedBy {
    /// The document or the work was looked at.
    Predicate,
    /// A command was run.
    Command,
    /// The agent says so.
    Statement,
}

words! {
    /// What came of a checkpoint (DOC-4).
    CheckpointStatus {
        /// It holds.
        Pass = "pass",
        /// It does not hold.
        Fail = "fail",
        /// Nobody tried.
        Skip = "skip",
    }
}

/// What came of the checkpoints of a gate at which work is judged, or at which it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCheckpoints {
    /// The gate.
    pub gate: GateId,
    /// Of 100, where the gate waits for a score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    /// Each of its checkpoints, in its order. Only of one that nobody tried it says why.
    pub checkpoints: Vec<CheckpointResult>,
}

/// What an agent says of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointStatement {
    /// Which.
    pub name: CriterionId,
    /// What it says of it.
    pub status: CheckpointStatus,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A document that is handed over at a gate, with what holds of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateDocument {
    /// Its Markdown, without front matter; at most [`DOCUMENT_BYTES_MAX`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The waypoints that it proposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<PlanProposal>,
    /// What came of the gate's checkpoints, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointResult>,
    /// How often its maker was asked again for the sake of checkpoints.
    #[serde(default)]
    pub retry_count: u32,
    /// Why it was asked the last time, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// The document that was last handed over at a gate, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentRef {
    /// The gate.
    pub gate: GateId,
    /// Its Markdown, which the orchestrator stored as a blob of its own role.
    pub blob: BlobRef,
    /// The handoff that brought it, as `STREAM/SEQUENCE`.
    pub from: String,
}

/// Bytes of a document: it is in one message with the rest of its handoff.
pub const DOCUMENT_BYTES_MAX: usize = 128 << 10;
