//! One call that completes a gate, and one that shows what is wanted there (GATE-21): endpoints of the micro service
//! `holdpoint` that agents call as well as people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{FlightId, TurnId, WaypointId},
    state::Outcome,
    turn::Turn,
};

/// Endpoint of [`CompleteCall`].
pub const COMPLETE: &str = "complete";
/// Endpoint of [`TaskQuery`].
pub const TASK: &str = "task";

/// A completion as its sender would publish it: an orchestrator stores it as it is, and answers with what was decided
/// ([`CompleteAnswer`]). The same call again has the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompleteCall {
    /// The handoff's subject: the turn's `handoff_subject`, a dot, `completion`; of a person, that of its acts on the waypoint.
    pub subject: String,
    /// The artifact `completion` as JSON, byte for byte as it is signed.
    pub artifact: String,
    /// The signature by the sender's key over the subject, a line feed and the artifact, as `Hp-Signature` has it.
    pub signature: String,
}

/// What became of a completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum CompleteAnswer {
    /// A journal entry names it as its cause.
    Taken(CompletionTaken),
    /// It changed nothing.
    Refused(CompletionRefused),
}

/// A completion that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionTaken {
    /// Where it is stored: `STREAM/SEQUENCE`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The outcome that it names; absent where it leaves that to the workflow's default, and of a turn that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What could be better: `{"warning": CODE, "message": …, …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<serde_json::Value>,
}

/// Why a completion changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionRefused {
    /// Where it is stored: `STREAM/SEQUENCE`. Empty: it was not, because no turn was open that its sender's role answers.
    #[serde(rename = "ref")]
    pub reference: String,
    /// As a word for programs: that of a refused handoff, of a person's that of a refused act.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do now.
    pub hint: String,
    /// Of a completion that says too little, or what its gate does not take: `{"error": CODE, "message": …, "example": …, …}`
    /// (GATE-22).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// Asks what is wanted on a waypoint; the answer is a [`TaskAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskQuery {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The open turn that the calling agent planned for. Without it people get the waypoint's task; agents have to name a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "shows", rename_all = "snake_case")]
pub enum TaskAnswer {
    /// To the agent that holds it.
    Turn {
        /// The turn, as its entry has it, with what was answered in it since.
        turn: Box<Turn>,
    },
    /// To people.
    Task {
        /// The waypoint, as `holdpoint task --json` prints it.
        task: serde_json::Value,
    },
}
