//! A waypoint as the workflow document keeps a task: the front matter of its Appendix B (GATE-35).
//!
//! The visits are those of the whole journal, which a state does not name any more after a while. What agents and people
//! said at a gate is from the handoff that its visit ended with.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, GateId, RoleId, WaypointId},
    journal::Entry,
    plan::Waypoint,
    state::{GateVisit, Outcome, Phase, WaypointState},
    turn::Feedback,
};
use serde::Serialize;
use serde_json::Value;

use super::{
    entry::{blockers_of, duration},
    event::seconds,
    reader::{EntryEffect, FlightReader, HandoffWords},
    visits::closed,
};

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The waypoint.
    pub id: WaypointId,
    /// One line for people.
    pub title: String,
    /// Its goal, Markdown.
    pub description: String,
    /// How it stands.
    pub status: TaskStatus,
    /// When its flight began.
    pub created: Timestamp,
    /// When its last entry was written.
    pub updated: Timestamp,
    /// Who has it.
    pub routing: Routing,
    /// The gate where it is; absent before the first and after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<AtGate>,
    /// Every visit of a gate that is over, oldest first.
    pub gate_history: Vec<Visit>,
    /// Who sent it back last, where it is open because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_context: Option<Review>,
    /// BDD specs, as the plan has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Value>,
    /// A file of BDD specs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_file: Option<String>,
    /// The plan's tags.
    pub tags: Vec<String>,
    /// The plan's metadata.
    pub metadata: BTreeMap<String, Value>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    Ready,
    /// A turn is open, or accepted work waits to land.
    InProgress,
    /// It waits for a person, or was ended by one.
    Blocked,
    /// Done.
    Complete,
}

/// Who has a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Routing {
    /// The workflow.
    pub workflow: String,
    /// The role of the open turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// The agent that took it, as far as it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

/// The gate where a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AtGate {
    /// The gate.
    pub current: GateId,
    /// Since when.
    pub entered: Timestamp,
}

/// A visit of a gate that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Visit {
    /// The gate.
    pub gate: GateId,
    /// The role that had the turn.
    pub role: RoleId,
    /// Who completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// When it was entered.
    pub entered: Timestamp,
    /// When it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exited: Option<Timestamp>,
    /// How it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What they said they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What they said has to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// What else they said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection_notes: Option<String>,
    /// How long it was open, in seconds.
    #[serde(serialize_with = "seconds")]
    pub duration: holdpoint_protocol::time::Millis,
}

/// A rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The gate that sent the work back.
    pub from_gate: GateId,
    /// Who did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<AgentName>,
    /// The role that had the turn.
    pub from_role: RoleId,
    /// When.
    pub timestamp: Timestamp,
    /// What has to change.
    pub blockers: Vec<String>,
}

/// Gathers one waypoint from the entries of its flight.
#[derive(Debug)]
pub struct TaskGatherer {
    waypoint: WaypointId,
    planned: Option<(Waypoint, Timestamp)>,
    updated: Option<Timestamp>,
    history: Vec<Visit>,
    review: Option<Review>,
    landed: bool,
}

impl TaskGatherer {
    /// Of this waypoint.
    #[must_use]
    pub fn of(waypoint: WaypointId) -> Self {
        Self { waypoint, planned: None, updated: None, history: Vec::new(), review: None, landed: false }
    }

    /// Takes an entry, with what the reader of its flight made of it.
    pub fn take(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        match entry {
            Entry::Submitted(submitted) => self.plan(&submitted.plan.waypoints, submitted.record.at),
            Entry::Added(added) => self.plan(&added.waypoints, added.record.at),
            Entry::Landed(landed) if landed.waypoint == self.waypoint => self.landed = true,
            _ => {}
        }
        if told.waypoint.as_ref() != Some(&self.waypoint) {
            return;
        }
        let record = entry.record();
        self.updated = Some(record.at);
        if let Entry::Turn(turn) = entry {
            self.review = turn.told().and_then(review);
        }
        let Some(after) = &record.state else { return };
        let said = record.cause.as_ref().and_then(|cause| reader.said(&cause.reference()));
        for left in closed(&told.before, after) {
            self.history.push(visit(left, said));
        }
    }

    fn plan(&mut self, planned: &[Waypoint], at: Timestamp) {
        let found = planned.iter().find(|planned| planned.id == self.waypoint);
        self.planned = self.planned.take().or_else(|| Some((found?.clone(), at)));
    }

    /// The waypoint; `None` if the plan of the flight has none of this name.
    #[must_use]
    pub fn finish(self, reader: &FlightReader) -> Option<Task> {
        let (planned, created) = self.planned?;
        let state = reader.states().get(&self.waypoint);
        // Of several branches of a fork, the first that is open: the format has one place.
        let open = state.and_then(|state| state.phases().find_map(Phase::turn));
        let mut visits = state.into_iter().flat_map(|state| &state.history);
        let gate = visits.find(|visit| visit.exited.is_none());
        Some(Task {
            status: status(state, self.landed),
            routing: Routing {
                workflow: reader.workflow(&self.waypoint).map_or_else(String::new, |spec| spec.name.clone()),
                role: open.map(|open| open.role.clone()),
                agent: open.and_then(|open| reader.holder(&open.turn)).cloned(),
            },
            gate: gate.map(|visit| AtGate { current: visit.gate.clone(), entered: visit.entered }),
            gate_history: self.history,
            review_context: self.review.filter(|_| open.is_some()),
            id: planned.id,
            title: planned.title,
            description: planned.goal,
            created,
            updated: self.updated.unwrap_or(created),
            tests: planned.tests,
            tests_file: planned.tests_file,
            tags: planned.tags,
            metadata: planned.metadata,
        })
    }
}

fn review(feedback: &Feedback) -> Option<Review> {
    let from = feedback.review.as_ref()?;
    Some(Review {
        from_gate: from.from_gate.clone(),
        from_agent: from.from_agent.clone(),
        from_role: from.from_role.clone(),
        timestamp: from.at,
        blockers: blockers_of(feedback),
    })
}

fn visit(left: &GateVisit, said: Option<&HandoffWords>) -> Visit {
    // The entry answers the words of the agent or person who completed the gate; a gate that was passed over has none.
    let said = said.filter(|_| left.outcome != Some(Outcome::Skip));
    Visit {
        gate: left.gate.clone(),
        role: left.role.clone(),
        agent: left.agent.clone(),
        entered: left.entered,
        exited: left.exited,
        outcome: left.outcome,
        summary: said.and_then(|said| said.summary.clone()),
        blockers: said.map(|said| said.blockers.clone()).unwrap_or_default(),
        rejection_notes: said.and_then(|said| said.notes.clone()),
        duration: duration(left),
    }
}

fn status(state: Option<&WaypointState>, landed: bool) -> TaskStatus {
    let Some(state) = state else { return TaskStatus::Ready };
    match &state.phase {
        Phase::Pending => TaskStatus::Ready,
        _ if landed => TaskStatus::Complete,
        Phase::InTurn(_) | Phase::Forked | Phase::Delegated(_) | Phase::Queued(_) => TaskStatus::InProgress,
        Phase::Accepted { .. } if state.lands() => TaskStatus::InProgress,
        Phase::Accepted { .. } => TaskStatus::Complete,
        Phase::Waiting(_) | Phase::Held(_) | Phase::Cancelled => TaskStatus::Blocked,
    }
}
