//! Requests and answers of the micro service `holdpoint` (contract, "Subjects for external agents").
//!
//! Endpoints are the last token of `hp.v1.api.<endpoint>`; payloads are JSON.

mod inbox;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use inbox::{Inbox, InboxItem, InboxKind, InboxPlace, InboxQuery};

use crate::{
    Digest, Timestamp,
    artifact::{ActCode, Clarified},
    facts::{BundleRef, Oid},
    ids::{FlightId, RoleId, TurnId, WaypointId},
    journal::{Death, Fleet, Sequence},
    plan::Plan,
    refusal::{RefusalAction, RefusalCode},
    view::FlightStatus,
    workflow::WorkflowSpec,
};

/// Endpoint of [`Submit`].
pub const SUBMIT: &str = "submit";
/// Endpoint of [`StatusQuery`].
pub const STATUS: &str = "status";
/// Endpoint of [`FlightsQuery`].
pub const FLIGHTS: &str = "flights";
/// Endpoint of [`HistoryQuery`].
pub const HISTORY: &str = "history";
/// Endpoint of [`ArtifactQuery`].
pub const ARTIFACT: &str = "artifact";
/// Endpoint of [`CutQuery`](crate::export::CutQuery): what an export begins with.
pub const EXPORT: &str = "export";
/// Endpoint of [`MessageQuery`](crate::export::MessageQuery): messages of a flight as they are stored.
pub const MESSAGES: &str = "messages";
/// Endpoint of [`AttestQuery`](crate::attestation::AttestQuery): a signed statement on landed work.
pub const ATTEST: &str = "attest";
/// Endpoint of [`DeadQuery`].
pub const DEAD: &str = "dead";
/// Endpoint of [`ActQuery`].
pub const ACT: &str = "act";
/// Endpoint of [`InboxQuery`].
pub const INBOX: &str = "inbox";
/// Endpoint of [`Progress`].
pub const PROGRESS: &str = "progress";

/// Begins a flight. Sent again with the same id, it answers as if it had been sent once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submit {
    /// The flight's id, made by the submitter.
    pub flight: FlightId,
    /// The plan.
    pub plan: Plan,
    /// The commit it starts from.
    pub base: Oid,
    /// What brings that commit.
    pub snapshot: BundleRef,
    /// The covenant's path in the repository.
    pub covenant: String,
    /// The fleet that flies it.
    pub fleet: Fleet,
    /// Workflows that the plan names and that are not built in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<WorkflowSpec>,
}

/// Asks how a flight stands, a page at a time; the answer is a `FlightView`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusQuery {
    /// The flight.
    pub flight: FlightId,
    /// The page behind this waypoint: `next` of the page before. Absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<WaypointId>,
}

impl StatusQuery {
    /// Asks for the first page.
    #[must_use]
    pub fn first(flight: FlightId) -> Self {
        Self { flight, after: None }
    }
}

/// Asks for all flights, a page at a time; the answer is [`Flights`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlightsQuery {
    /// The page behind this flight: `next` of the page before. Absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FlightId>,
}

/// A page of all flights, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flights {
    /// One line each.
    pub flights: Vec<FlightLine>,
    /// There are more: ask again with this as `after`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<FlightId>,
}

/// One flight in the answer of `flights`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlightLine {
    /// The flight.
    pub flight: FlightId,
    /// The plan's name.
    pub plan: String,
    /// When it was submitted.
    pub submitted_at: Timestamp,
    /// How it stands.
    pub status: FlightStatus,
    /// Whether a person paused it. Absent: nobody did, or an earlier orchestrator answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// Asks for all artifacts and decisions of a waypoint, in order; the answer is a [`History`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryQuery {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// Goes on from there: [`History::next`] of the page before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<StreamPlace>,
}

/// Artifacts and journal entries of a waypoint, oldest first, as many as fit into a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// One line each.
    pub lines: Vec<HistoryLine>,
    /// Where the next page goes on, by stream; absent: that was all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Vec<StreamPlace>>,
}

/// Up to where a stream was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlace {
    /// The stream.
    pub stream: String,
    /// The last of its messages that was read.
    pub sequence: Sequence,
}

/// One artifact or journal entry of a waypoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    /// When the broker stored it.
    pub at: Timestamp,
    /// `turn`, `decided`, `landed`, `build_plan`, `build_artifact`, `verification_plan`, …
    pub kind: String,
    /// How `holdpoint artifact` finds it: `STREAM/SEQUENCE`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The artifact or entry itself.
    pub artifact: serde_json::Value,
    /// What became of it; absent where nothing has yet, and for what ends no turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// What became of a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A final handoff that a journal entry answers.
    Taken,
    /// A final handoff that came too late, or second: its turn was answered, or reopened, without it.
    Conflict,
    /// A journal entry that no orchestrator signed: nothing heeds it.
    Unsigned,
}

/// Asks for one artifact by `STREAM/SEQUENCE`; the answer is a [`FoundArtifact`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactQuery {
    /// The reference.
    #[serde(rename = "ref")]
    pub reference: String,
}

/// One artifact or journal entry, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundArtifact {
    /// It.
    #[serde(flatten)]
    pub line: HistoryLine,
    /// The flight that its subject names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<FlightId>,
    /// The waypoint that its subject names; absent: it concerns the whole flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waypoint: Option<WaypointId>,
}

/// Asks which turns are dead, a page at a time; the answer is [`DeadTurns`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadQuery {
    /// Of this flight; `None`: of all.
    pub flight: Option<FlightId>,
    /// The page behind this place in the journal: `next` of the page before. Absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sequence>,
}

/// A page of turns that are given up, and that nobody had tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadTurns {
    /// One line each, oldest first.
    pub turns: Vec<DeadTurn>,
    /// There may be more: ask again with this as `after`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Sequence>,
}

/// A turn that is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadTurn {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The turn.
    pub turn: TurnId,
    /// Whose it was.
    pub role: RoleId,
    /// Since when.
    pub since: Timestamp,
    /// Who died of it.
    pub deaths: Vec<Death>,
    /// How often it was reopened because no agent answered.
    pub overdue: u32,
}

/// Asks what became of an act that was stored; the answer is an [`ActStanding`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActQuery {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint; `None`: the act concerns the whole flight.
    pub waypoint: Option<WaypointId>,
    /// Where the act stands in the stream of people's acts.
    pub sequence: Sequence,
}

/// What became of an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum ActStanding {
    /// No orchestrator has looked at it yet: ask again.
    Pending,
    /// A journal entry names it as its cause.
    Taken,
    /// It changed nothing.
    Refused(ActRefused),
}

/// Why an act changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActRefused {
    /// As a word for programs.
    pub code: ActCode,
    /// What happened instead, for people.
    pub message: String,
    /// What to do now.
    pub hint: String,
    /// Facts that belong to the code.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

/// What an agent says every few seconds while it holds a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The turn.
    pub turn: TurnId,
    /// Which delivery of it, from 1; 0: it does not have the turn, and only asks whether that is open.
    pub delivery: u32,
    /// What it is doing, one line.
    pub note: Option<String>,
    /// Why it gives the turn back: a failure that is not the work's. One line.
    #[serde(default)]
    pub trouble: Option<String>,
    /// How many answers to questions of this turn it has: it gets the others.
    #[serde(default)]
    pub answers: u32,
    /// It wants an answer by everything that is journalled by now: it waits for an answer, or others had the turn
    /// before.
    #[serde(default)]
    pub newest: bool,
}

/// Whether the turn is still wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ProgressAnswer {
    /// Go on.
    Continue(Going),
    /// End the work; nothing that is handed off counts any more.
    Stop {
        /// Why.
        reason: String,
        /// The turn is open still, for another agent of the role: give the delivery back instead of acknowledging it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        give_back: bool,
    },
}

/// What is published on `hp.v1.progress.<role>.<agent>`: the answer to a plan that asked ([`crate::headers::PROGRESS`]).
///
/// It is not signed. Only its sender and the orchestrators know the nonce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressNotice {
    /// The turn that was planned for.
    pub turn: TurnId,
    /// As the plan's header has it.
    pub nonce: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: ProgressAnswer,
}

/// What the holder of an open turn hears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Going {
    /// Answers to questions of this turn that it does not have, oldest first. A bounded part of them: it asks again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<GivenAnswer>,
    /// How many questions of this waypoint may still wait in their turn; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions_left: Option<u32>,
}

/// An answer that was given while its turn stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenAnswer {
    /// The question, by the digest of its words.
    pub words: Digest,
    /// The question and its answer.
    pub answer: Clarified,
}

/// What is published on `hp.v1.refused.<role>.<agent>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedHandoff {
    /// The message id of the refused handoff, as it came.
    pub message_id: Option<String>,
    /// Where it is stored: `STREAM/SEQUENCE`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// What is wrong, as a word for programs.
    pub code: RefusalCode,
    /// What is wrong with it, for people.
    pub error: String,
    /// What the sender does now.
    pub action: RefusalAction,
    /// How its author fixes it.
    pub hint: String,
    /// Whether the handoff only says that it is this agent's: no key of the agent's has signed it, and any agent of its role
    /// may have sent it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
    /// Of a completion: what is wrong with what, for programs, with a valid example in its `message` (GATE-22).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

impl RefusedHandoff {
    /// A refusal of an agent's own handoff, with what follows from its code.
    #[must_use]
    pub fn new(message_id: Option<String>, reference: String, code: RefusalCode, error: String) -> Self {
        let (action, hint) = (code.action(), code.hint().to_owned());
        Self { message_id, reference, code, error, action, hint, claimed: false, details: None }
    }
}
