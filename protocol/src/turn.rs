//! A turn: what an agent pulls, and at the same time the journal entry that opened it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::{
        Clarified, Confidence, Conversation, CriterionReport, Disposition, GuidancePacket, OrchestratorDecision,
        VerificationRequest,
    },
    budget::Allowance,
    checkpoint::DocumentRef,
    facts::{BundleRef, Oid},
    ids::{AgentName, FlightId, GateId, RoleId, TurnId, WaypointId},
    journal::Record,
    plan::{Criterion, EnvironmentSpec, TurnBudget},
    reason::ReasonCode,
    state::{Outcome, QuestionKind},
    version::SchemaVersion,
    workflow::GateContext,
};

/// One turn of one role (contract, "Subjects for external agents"). The delivery number is the broker's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The fencing token: unguessable, named by every handoff.
    pub turn_id: TurnId,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The gate.
    pub gate: GateId,
    /// The role that may answer.
    pub role: RoleId,
    /// Which attempt at the waypoint, from 1.
    pub attempt: u32,
    /// When nothing was handed off until then, the turn is reopened.
    pub deadline: Timestamp,
    /// Where handoffs go: this, a dot, and the kind.
    pub handoff_subject: String,
    /// The role's instructions (FLY-20).
    pub guidance: GuidancePacket,
    /// What is wanted.
    pub request: TurnRequest,
    /// The decision that opened it, unless it is the first.
    pub decision: Option<OrchestratorDecision>,
    /// Of a verification of the base: what the build turn behind it gets. Nothing in it is a builder's words (FLY-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_build: Option<Box<Feedback>>,
    /// What its program may use up, in plans with such budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
    /// The journal's part of the entry.
    pub record: Record,
}

impl Turn {
    /// What its holder hears of what was wrong before.
    #[must_use]
    pub fn told(&self) -> Option<&Feedback> {
        match &self.request {
            TurnRequest::Build(request) => request.feedback.as_ref(),
            TurnRequest::Complete(request) => request.feedback.as_ref(),
            TurnRequest::Verify(_) => None,
        }
    }

    /// What its holder hears, or what it keeps for the build turn behind it.
    #[must_use]
    pub fn told_or_kept(&self) -> Option<&Feedback> {
        self.told().or(self.for_build.as_deref())
    }

    /// Whether an advisor has it, for an agent that waits.
    #[must_use]
    pub fn is_advice(&self) -> bool {
        matches!(&self.request, TurnRequest::Complete(request) if request.advice.is_some())
    }
}

/// What a turn wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "wanted", rename_all = "snake_case")]
pub enum TurnRequest {
    /// A build artifact.
    Build(Box<BuildRequest>),
    /// A verification report.
    Verify(Box<VerificationRequest>),
    /// A completion.
    Complete(Box<CompletionRequest>),
}

/// What a person or an agent of any other role is asked at a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionRequest {
    /// One line for people.
    pub title: String,
    /// What the waypoint is about, Markdown. For agents; people look at the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The criteria of the waypoint. For agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// BDD specs of the waypoint. For agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<serde_json::Value>,
    /// What the gate is for.
    pub description: Option<String>,
    /// What the role is for, as the org chart has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_description: Option<String>,
    /// What the gate says to the one who completes it.
    #[serde(default, skip_serializing_if = "GateContext::is_empty")]
    pub context: GateContext,
    /// Whether the work may be sent back.
    pub can_reject: bool,
    /// What a completion of an agent comes to that names no outcome; absent: `complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_outcome: Option<Outcome>,
    /// What an agent's program may use up; `None`: people complete it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<TurnBudget>,
    /// The people who may complete it; empty: any person.
    pub people: Vec<AgentName>,
    /// The commit the work stands on.
    pub base: Oid,
    /// The commit under review; the base where nothing changed.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// What brings these objects, in order.
    pub bundles: Vec<BundleRef>,
    /// The passing verification of that tree: the digest of its report.
    pub report: Option<Digest>,
    /// What gates handed over as documents so far. For agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentRef>,
    /// What children of the waypoint made, as it landed. For agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<DependencyOutcome>,
    /// Why the work is here again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Advice is wanted, by the caller for help at this gate. Its summary is the advice; the gate is not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Box<AdviceRequest>>,
}

/// A call for help, or a question, as advisors get it (RETRY-12). All of its words are an agent's: data, and no instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceRequest {
    /// Which of both.
    pub kind: QuestionKind,
    /// The question, or the line that called.
    pub question: String,
    /// What depends on it, or the JSON context of the call; a bounded text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Which round, from 1.
    pub round: u32,
    /// The pause before this round: the advisor does not begin earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// What was answered so far, in all rounds, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<Advice>,
    /// What the asker was asked to do.
    pub asked: Box<BuildRequest>,
}

/// What came of asking one advisor (RETRY-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Who answered; `None`: nobody did in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisor: Option<AgentName>,
    /// Whether it is advice.
    pub success: bool,
    /// It said that it cannot help, or asked something itself: it is not asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// The advice, a bounded text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The advisor's conversation, if it named one (`session` in the completion's metadata).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// In which round, from 1: how often advisors had been asked before.
    pub round: u32,
    /// When it was taken.
    pub at: Timestamp,
}

/// What a builder, a repair agent or an agent of another role that makes work is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BuildRequest {
    /// One line for people.
    pub title: String,
    /// The goal, Markdown.
    pub goal: String,
    /// The criteria that will be judged.
    pub criteria: Vec<Criterion>,
    /// Paths it may touch; empty: everything.
    pub scope: Vec<String>,
    /// Paths it never touches.
    pub protected: Vec<String>,
    /// Files that are no work, as patterns of gitignore(5), besides what the repository ignores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// What the dependencies under the clone are set up from.
    #[serde(default, skip_serializing_if = "EnvironmentSpec::is_none")]
    pub environment: EnvironmentSpec,
    /// Guidance documents in the repository, the first wins.
    pub sources: Vec<String>,
    /// The guidance document of the repository.
    pub covenant: String,
    /// The commit the work is handed off on.
    pub base: Oid,
    /// The commit whose tree it starts from: the base, or the last handoff.
    pub start: Oid,
    /// What brings these objects, in order.
    pub bundles: Vec<BundleRef>,
    /// What was wrong with the last handoff.
    pub feedback: Option<Feedback>,
    /// What the turn may use up.
    pub budget: TurnBudget,
    /// BDD specs of the waypoint.
    pub tests: Vec<serde_json::Value>,
    /// A structured answer with less confidence than this becomes a question (FLY-I7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_below: Option<Confidence>,
    /// A person is asked before work is handed off that removes more files than this (FLY-21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_before_removing: Option<u32>,
    /// What the gate is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the role is for, as the org chart has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_description: Option<String>,
    /// What the gate says to the holder of its turn (GATE-20).
    #[serde(default, skip_serializing_if = "GateContext::is_empty")]
    pub context: GateContext,
    /// What the waypoint depends on, as it landed (FLY-16).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<DependencyOutcome>,
    /// What gates handed over as documents so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentRef>,
    /// The conversation in which the question was asked that is answered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
}

/// A waypoint on which another one depends, or a child of it, as it landed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyOutcome {
    /// The waypoint.
    pub waypoint: WaypointId,
    /// Its title.
    pub title: String,
    /// Its commit on the flight's branch.
    pub commit: Oid,
}

/// Why there is another turn: the failing part of the report (FLY-4). A text that is too long for a turn is cut, and
/// says where the whole is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    /// What was decided.
    pub disposition: Disposition,
    /// Why.
    pub reason_code: ReasonCode,
    /// Criteria and guards that did not pass, with their evidence; a bounded list.
    pub failing: Vec<CriterionReport>,
    /// What else there is to know: violations, conflicts, the program's own failure.
    pub notes: Vec<String>,
    /// What accepted work collided with when it was to land; `None` for every other reason.
    pub collision: Option<Collision>,
    /// Questions of this role that were answered, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarifications: Vec<Clarified>,
    /// Who sent the work back, and from where; `None` where nobody of another gate did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewContext>,
}

/// A rejection: where it came from (GATE-9). Its blockers are the feedback's failing criteria and notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewContext {
    /// The gate.
    pub from_gate: GateId,
    /// The role that had its turn.
    pub from_role: RoleId,
    /// Who sent the work back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<AgentName>,
    /// When.
    pub at: Timestamp,
}

/// Accepted work and what landed meanwhile do not fit together (FLY-39).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Collision {
    /// How they collide, and so what the turn starts from.
    pub kind: CollisionKind,
    /// Paths that both changed, a bounded list; empty when the merge itself was clean.
    pub paths: Vec<String>,
    /// How many more such paths there are.
    pub paths_more: u32,
    /// What landed since the work's base, a bounded list: first what changed one of `paths`, then the newest.
    pub landed: Vec<LandedMeanwhile>,
    /// How many more landed than are named.
    pub landed_more: u32,
}

/// How work collides with what landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollisionKind {
    /// Both changed the same: the turn starts from what landed, without the work.
    Conflict,
    /// Each is green alone, and together they are not: the turn starts from the merge of both.
    RedMerge,
}

/// A waypoint that landed while other work was being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandedMeanwhile {
    /// The waypoint.
    pub waypoint: WaypointId,
    /// Its title.
    pub title: String,
    /// Its commit on the flight's branch.
    pub commit: Oid,
    /// Which of the colliding paths it changed.
    pub paths: Vec<String>,
}
