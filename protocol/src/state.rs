//! The compact, prose-free state of a waypoint, as it rides in every entry of its journal.
//!
//! How it changes is `holdpoint_core::engine`; here are only its words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    artifact::{Disposition, Verb, VerificationPurpose},
    facts::{BundleRef, CriterionResult, Oid, Violation},
    ids::{AgentName, ArtifactId, GateId, RoleId, TurnId},
    journal::Cause,
    reason::ReasonCode,
};

/// The public status of a waypoint (contract, "With `--json`").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun, or its dependencies are not complete.
    Pending,
    /// A turn is open, or its accepted work waits to land.
    Running,
    /// For an answer or an approval.
    Waiting,
    /// Accepted and landed.
    Complete,
    /// For a person's intervention.
    Blocked,
    /// Its attempts or budget are used up.
    Failed,
    /// A person ended it.
    Cancelled,
}

/// Where a waypoint is. Durable, so an enum with the data of each phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// No entry yet.
    Pending,
    /// A turn is open.
    InTurn(OpenTurn),
    /// Accepted; what landed is in the flight's journal.
    Accepted {
        /// When: the date of its landing commit.
        at: Timestamp,
        /// The accepting report's reference (`Holdpoint-Report`); `None` where no gate of the workflow verifies.
        report: Option<crate::Digest>,
    },
    /// A question is open. No agent holds anything; an answer opens the turn again.
    Waiting(Question),
    /// Blocked, failed or dead: a person can have it tried again where it is held.
    Held(Held),
    /// A person ended it. Nothing follows.
    Cancelled,
}

/// An open question: a reference, never its words (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The turn in which it was asked, which the answer opens again.
    pub turn: OpenTurn,
    /// The handoff that asks.
    pub asked: Cause,
    /// A question, or a call for help.
    pub kind: QuestionKind,
    /// Since when.
    pub since: Timestamp,
    /// When it is held for want of an answer; `None`: never.
    pub deadline: Option<Timestamp>,
}

/// What kind of question waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A `clarification_request`.
    Clarification,
    /// A `help_request`.
    Help,
}

/// Work that only a person can have tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// `blocked` or `failed`.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Where it goes on.
    pub resume: Resume,
}

/// Where held work goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "where", rename_all = "snake_case")]
pub enum Resume {
    /// It has not begun.
    Beginning,
    /// This very turn, whose agents died or did not answer, opens again.
    Turn(OpenTurn),
    /// A new turn of this gate opens.
    Gate {
        /// The gate.
        gate: GateId,
        /// What the turn is for.
        purpose: Purpose,
    },
    /// It is accepted, and lands.
    Landing {
        /// When it was accepted.
        at: Timestamp,
        /// The accepting report's reference; `None` where no gate verifies.
        report: Option<crate::Digest>,
    },
}

/// What an open turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A build or repair turn.
    Build,
    /// A verifier's turn.
    Verify(VerificationPurpose),
    /// A turn of any other role, or of a person: an outcome with a summary.
    Complete,
}

/// The turn a waypoint waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTurn {
    /// The fencing token.
    pub turn: TurnId,
    /// Which role may answer it.
    pub role: RoleId,
    /// The gate it belongs to.
    pub gate: GateId,
    /// What it is for.
    pub purpose: Purpose,
    /// Only a person can answer it: it waits, and no agent pulls it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub people: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it is opened anew if nothing was handed off.
    pub deadline: Timestamp,
    /// Questions that its agents asked and wait for while it stays open, oldest first, a bounded list. Only the last may be
    /// open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<TurnQuestion>,
}

/// A question that waits in its turn: a reference, never its words (FLY-18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnQuestion {
    /// The handoff that asks.
    pub asked: Cause,
    /// Tells it from other questions: the digest of its words.
    pub words: crate::Digest,
    /// Since when.
    pub since: Timestamp,
    /// How long its asker waits, by the asker's clock. Then the question ends the turn.
    pub until: Timestamp,
    /// What became of it.
    pub standing: QuestionStanding,
}

/// What became of a question that waits in its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum QuestionStanding {
    /// It is open.
    Open,
    /// It was answered.
    Answered {
        /// The act of a person; `None`: the plan's `answers` did.
        by: Option<Cause>,
    },
    /// Another question took its place.
    Withdrawn,
}

impl OpenTurn {
    /// The question that waits for an answer.
    #[must_use]
    pub fn asking(&self) -> Option<&TurnQuestion> {
        self.questions.last().filter(|question| question.standing == QuestionStanding::Open)
    }
}

/// Work that was handed off: one commit on the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The commit; `None` when nothing changed.
    pub commit: Option<Oid>,
    /// Its tree.
    pub tree: Oid,
    /// What brings it, on top of the base's bundles.
    pub bundle: Option<BundleRef>,
    /// Broken path rules, as the orchestrator computed them from the objects.
    pub violations: Vec<Violation>,
    /// Which role made it: `builder` or `repair`.
    pub role: RoleId,
    /// Which agent of that role.
    pub agent: AgentName,
    /// The base it was handed off on, once it was merged with a newer head; `None` for work as it was handed off.
    pub made_on: Option<Oid>,
}

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

/// What a gate's turn came to (GATE-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// On to the next gate.
    Complete,
    /// Back to the first gate.
    NeedsReview,
    /// Hold for a person.
    Blocked,
    /// The engine passed over it.
    Skip,
}

/// How the last decision went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastDecision {
    /// Its artifact id.
    pub id: ArtifactId,
    /// What became of the work.
    pub disposition: Disposition,
    /// Why.
    pub reason_code: ReasonCode,
    /// What a person can do.
    pub remediation: Option<String>,
}

/// What is used up. Each bound counts for itself (spec README, "how many retries").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Decided build and repair turns.
    pub attempts: u32,
    /// Reworks and rollbacks.
    pub reworks: u32,
    /// Landing conflicts.
    pub conflicts: u32,
    /// Times the open turn was opened anew after its deadline.
    pub redeliveries: u32,
    /// Questions and calls for help, answered or not.
    #[serde(default)]
    pub clarifications: u32,
    /// Reworks that people granted on top of the plan's.
    #[serde(default)]
    pub granted: u32,
}

impl Counters {
    /// How often work was sent back: reworks, rollbacks, landing conflicts. Every decision that sends work back makes it
    /// one more; so does work that is merged a second time, without a decision.
    #[must_use]
    pub fn sent_back(&self) -> u32 {
        self.reworks.saturating_add(self.conflicts)
    }
}

/// The state of a waypoint: the fold of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaypointState {
    /// Where it is.
    pub phase: Phase,
    /// The commit its work stands on; `None` before the first turn.
    pub base: Option<Oid>,
    /// What was last handed off on that base.
    pub work: Option<Work>,
    /// What is used up.
    pub counters: Counters,
    /// How the last decision went.
    pub decision: Option<LastDecision>,
    /// The last verdicts.
    pub criteria: Vec<CriterionResult>,
    /// The last verdicts on guards.
    pub guards: Vec<CriterionResult>,
    /// Whether a harness that is not Holdpoint's made the receipt behind these verdicts, by the key that signed the report
    /// and whatever it says of itself; `None` before the first verdicts. Earlier versions did not record it: foreign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_receipt: Option<bool>,
    /// The last visits of gates, oldest first, a bounded list. All of them are in the journal, each in its own entries.
    pub history: Vec<GateVisit>,
    /// How often each gate was entered since a person last had the work tried again; counted where the workflow bounds it
    /// (GATE-18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<GateEntries>,
    /// The visits before those of `history`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_visits: Option<EarlierVisits>,
    /// The final handoff that was last taken: its redelivery is no conflict.
    pub answered: Option<Answered>,
    /// The passing verification of what would land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Every gate has let this work's diff through: after a clean merge it is verified, and not approved again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleared: bool,
    /// A landing conflict opened the build turn that is under way or under review: it is no attempt (FLY-29).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_conflict: bool,
    /// Constraints that people set: they hold for every later turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// The act of a person that was last taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<Acted>,
}

/// A passing verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The report's reference: the digest of its payload.
    pub report: crate::Digest,
    /// The tree that passed.
    pub tree: Oid,
    /// The base it stands on.
    pub base: Oid,
}

/// An act that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    /// Who.
    pub by: AgentName,
    /// What was done.
    pub verb: Verb,
    /// When it was taken.
    pub at: Timestamp,
    /// The digest of the act as sent: its redelivery is recognised.
    pub digest: crate::Digest,
}

/// A final handoff that won its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The turn it answered.
    pub turn: TurnId,
    /// The digest of its payload as sent.
    pub digest: crate::Digest,
}

impl WaypointState {
    /// When its first gate was entered.
    #[must_use]
    pub fn begun_at(&self) -> Option<Timestamp> {
        let first = || self.history.first().map(|visit| visit.entered);
        self.earlier_visits.map(|earlier| earlier.since).or_else(first)
    }
}

impl Default for WaypointState {
    fn default() -> Self {
        Self {
            phase: Phase::Pending,
            base: None,
            work: None,
            counters: Counters::default(),
            decision: None,
            criteria: Vec::new(),
            guards: Vec::new(),
            foreign_receipt: None,
            history: Vec::new(),
            entries: Vec::new(),
            earlier_visits: None,
            answered: None,
            verified: None,
            cleared: false,
            after_conflict: false,
            constraints: Vec::new(),
            acted: None,
        }
    }
}
