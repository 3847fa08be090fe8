//! What each kind of entry says, besides turns ([`crate::turn`]) and retirements ([`crate::retire`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Record;
use crate::{
    Digest,
    artifact::{Clarified, OrchestratorDecision, Verb},
    budget::{Amounts, Limits, Raise},
    checkpoint::DocumentRef,
    facts::{BundleRef, Oid},
    ids::{AgentName, FlightId, PoolId, RoleId, TurnId, WaypointId},
    plan::{Plan, Waypoint},
    time::Millis,
    turn::Feedback,
    version::SchemaVersion,
    workflow::RecordedWorkflow,
};

/// What the fleet that flies a flight can do, recorded at submission (spec README).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Which agents take its turns.
    pub pool: PoolId,
    /// Re-opened build turns go to role `repair`.
    pub repair: bool,
    /// Criteria without a check have a judge.
    pub judge: bool,
    /// How many agents of the role `advisor` are asked in a round of advice; 0: calls for help go to people.
    #[serde(default, skip_serializing_if = "is_none_asked")]
    pub advisors: u32,
    /// How many waypoints are open at once; `None`: as many as are ready.
    pub parallel: Option<u32>,
    /// How long a turn may wait for an agent, besides the time its work may take.
    pub queue_grace: Millis,
    /// How long the program of a build turn may run where the plan does not say.
    pub build_wall: Millis,
    /// How many deaths of its agents, and how many overdue openings, make a turn dead; 0: none.
    #[serde(default = "dead_after_default")]
    pub dead_after: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none_asked(advisors: &u32) -> bool {
    *advisors == 0
}

/// Deaths that make a turn dead where nobody says otherwise.
pub const DEAD_AFTER: u32 = 3;

fn dead_after_default() -> u32 {
    DEAD_AFTER
}

/// The first entry of a flight's journal: everything it is flown by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The flight.
    pub flight: FlightId,
    /// The operator whose request it was; `None` in entries from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    /// The plan.
    pub plan: Plan,
    /// The commit it starts from.
    pub base: Oid,
    /// The tree of that commit.
    pub base_tree: Oid,
    /// What brings that commit.
    pub snapshot: BundleRef,
    /// The covenant's path in the repository.
    pub covenant: String,
    /// The digest of the covenant's text as on the base.
    pub covenant_version: Digest,
    /// The fleet.
    pub fleet: Fleet,
    /// The workflows of its waypoints, as they were declared that day.
    pub workflows: Vec<RecordedWorkflow>,
    /// The journal's part.
    pub record: Record,
}

/// An accepted waypoint stands on the flight's branch. The order of these is the order of the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Landed {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The verified tree.
    pub tree: Oid,
    /// The landing commit.
    pub commit: Oid,
    /// Its parent: the head before it.
    pub parent: Oid,
    /// What brings it, on top of the parent or of `bundle_on`.
    pub bundle: BundleRef,
    /// An older commit of the branch that the bundle builds on: it brings everything since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_on: Option<Oid>,
    /// The digest of the accepting report.
    pub report: Digest,
    /// The commit that the report's commit stands on, where that is not the parent: one with the parent's tree, which stood for
    /// the landing in front before that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_on: Option<Oid>,
    /// The journal's part.
    pub record: Record,
}

/// A decision that opens no turn: accepted, waiting, held or cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The decision.
    pub decision: OrchestratorDecision,
    /// What the next build turn gets if a person has the work tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Box<Feedback>>,
    /// The journal's part.
    pub record: Record,
}

/// A person steered the whole flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// What was done: `pause`, `resume`, `cancel`, `reconfigure` or `budget`.
    pub verb: Verb,
    /// Who did it.
    pub by: AgentName,
    /// The workflows by which the flight goes on, if it was given others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<RecordedWorkflow>,
    /// The limits that were raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Raise>,
    /// The journal's part.
    pub record: Record,
}

/// A part of the flight's budget is reserved for the next turn of a waypoint, before that turn opens (FLY-32). It counts
/// until the next entry of the waypoint's journal, which opens the turn or makes the reservation void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reserved {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// How many entries the waypoint's journal had ([`crate::budget::Spent::step`]).
    pub step: u32,
    /// What the turn may use up of what the flight's budget limits; nothing of something: the budget is used up.
    pub allowance: Limits,
    /// What the waypoint then takes up of the budget beyond what it does now.
    pub adds: Amounts,
    /// The journal's part.
    pub record: Record,
}

/// Waypoints are added to the flight, as the children of one that is delegated (SDLC-2). The cause is the handoff that proposes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// Whose children they are.
    pub parent: WaypointId,
    /// Which children of that waypoint they are, from 1.
    pub generation: u32,
    /// They, as they are planned.
    pub waypoints: Vec<Waypoint>,
    /// What the parent's gates had handed over by then: the children's turns have it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentRef>,
    /// The journal's part.
    pub record: Record,
}

/// A question that waits in its turn was answered. The turn stays open: its holder gets the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The turn.
    pub turn: TurnId,
    /// The question, by the digest of its words.
    pub words: Digest,
    /// The question and its answer.
    pub answer: Clarified,
    /// The journal's part.
    pub record: Record,
}

/// A person edited the document of a gate. Whatever is open stays open; each turn that opens from then on gets it as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revised {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The document.
    pub document: DocumentRef,
    /// The journal's part.
    pub record: Record,
}

/// Work waits in the queue to the branch, as the state says: no verifier has it until it is integrated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enqueued {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The journal's part.
    pub record: Record,
}

/// A turn is given up: its agents die of it, or nobody answers it in time. A person decides from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dead {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The turn.
    pub turn: TurnId,
    /// Whose it was.
    pub role: RoleId,
    /// Deliveries that were taken and neither answered nor given back.
    pub deaths: Vec<Death>,
    /// How often it was reopened because its deadline had passed.
    pub overdue: u32,
    /// The decision: a person has to act.
    pub decision: OrchestratorDecision,
    /// The journal's part.
    pub record: Record,
}

/// An agent that took a delivery of a turn and was never heard of again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Death {
    /// Which delivery, from 1.
    pub delivery: u32,
    /// Who had it.
    pub agent: AgentName,
}
