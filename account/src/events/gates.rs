//! Work gate by gate (GATE-27): what is where now, and how long and how it went through before.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, FlightId, GateId, RoleId, WaypointId},
    state::Outcome,
    workflow::WorkflowSpec,
};
use serde::Serialize;

use super::{
    entry::duration,
    event::EventKind,
    reader::{EntryEffect, FlightReader},
    spread::Spread,
    visits::{PlaceKind, StoppedAt, closed, places},
};

/// Gathers the gates of flights.
#[derive(Debug, Default)]
pub struct Gates {
    gates: BTreeMap<(String, usize, Option<GateId>), GateReport>,
    passes: Passes,
}

/// How often work went through its workflow: once, and once more each time that it was sent back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Passes {
    /// Waypoints that were begun.
    pub waypoints: u32,
    /// Passes of all of them.
    pub total: u32,
    /// Of the one that has most.
    pub max: u32,
}

impl Passes {
    /// Passes of one waypoint on average; `None` before the first.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.waypoints > 0).then(|| f64::from(self.total) / f64::from(self.waypoints))
    }
}

/// A gate of a workflow, over all flights that were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReport {
    /// The workflow.
    pub workflow: String,
    /// The gate; absent for work that is held before its first gate or at its landing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// Whose turn it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// Work that is there now, what came first at first.
    pub now: Vec<WaypointAtGate>,
    /// How long it was open each time, until it was left.
    pub dwell: Spread,
    /// Times that it was left with each outcome.
    pub complete: u32,
    /// Sent back, or tried again by its own role.
    pub needs_review: u32,
    /// Held, asked or ended there.
    pub blocked: u32,
    /// Times that it sent work back to another gate, or was the last that could have.
    pub rejections: u32,
    /// Times that work passed over it.
    pub skips: u32,
    /// Turns that were not answered in time.
    pub timeouts: u32,
    /// Handoffs that came too late or second.
    pub conflicts: u32,
}

/// A waypoint that is at a gate now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaypointAtGate {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// What it waits for.
    pub waits_for: PlaceKind,
    /// The role that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// The people who may complete it; empty: any person of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<AgentName>,
    /// Since when.
    pub since: Timestamp,
}

impl GateReport {
    fn new(workflow: &str, gate: Option<GateId>, role: Option<RoleId>) -> Self {
        Self {
            workflow: workflow.to_owned(),
            gate,
            role,
            now: Vec::new(),
            dwell: Spread::default(),
            complete: 0,
            needs_review: 0,
            blocked: 0,
            rejections: 0,
            skips: 0,
            timeouts: 0,
            conflicts: 0,
        }
    }

    /// Times that it was left.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.complete + self.needs_review + self.blocked
    }

    /// The share of its turns that sent work back, in percent; `None` before the first one.
    #[must_use]
    pub fn rejection_percent(&self) -> Option<u32> {
        (self.rejections * 100).checked_div(self.left())
    }

    /// Since when the work that came first is there.
    #[must_use]
    pub fn oldest(&self) -> Option<Timestamp> {
        self.now.first().map(|standing| standing.since)
    }
}

impl Gates {
    /// Takes an entry, with what the reader of its flight made of it.
    pub fn take(&mut self, reader: &FlightReader, told: &EntryEffect) {
        let Some(waypoint) = &told.waypoint else { return };
        let (Some(workflow), Some(after)) = (reader.workflow(waypoint), reader.states().get(waypoint)) else { return };
        for visit in closed(&told.before, after) {
            let report = self.of(workflow, Some(&visit.gate));
            match visit.outcome {
                Some(Outcome::Skip) => {
                    report.skips += 1;
                    continue;
                }
                Some(Outcome::NeedsReview) => report.needs_review += 1,
                Some(Outcome::Blocked) => report.blocked += 1,
                Some(Outcome::Complete) | None => report.complete += 1,
            }
            report.dwell.add(duration(visit));
        }
        for event in &told.events {
            match &event.what {
                EventKind::GateRejection { gate, .. } => self.of(workflow, Some(gate)).rejections += 1,
                EventKind::GateTimeout { gate, .. } => self.of(workflow, Some(gate)).timeouts += 1,
                _ => {}
            }
        }
    }

    /// A handoff came too late, or second.
    pub fn conflict(&mut self, reader: &FlightReader, waypoint: &WaypointId, gate: &GateId) {
        if let Some(workflow) = reader.workflow(waypoint) {
            self.of(workflow, Some(gate)).conflicts += 1;
        }
    }

    /// Takes where the flight's work is at the end. Its gates are there from now on, also those that nothing came to.
    pub fn end(&mut self, flight: &FlightId, reader: &FlightReader) {
        let declared = reader.flight().into_iter().flat_map(|flight| flight.configured.recorded());
        for workflow in declared.map(|recorded| &recorded.workflow) {
            for gate in workflow.all_gates() {
                self.of(workflow, Some(&gate.id));
            }
        }
        for (waypoint, state) in reader.states() {
            let passes = state.counters.sent_back().saturating_add(1);
            self.passes.waypoints += 1;
            self.passes.total = self.passes.total.saturating_add(passes);
            self.passes.max = self.passes.max.max(passes);
            let Some(workflow) = reader.workflow(waypoint) else { continue };
            for at in places(state) {
                let mut standing = standing(flight, waypoint, workflow, &at);
                let taken_by = state.open_turns().filter(|open| Some(&open.gate) == at.gate.as_ref());
                standing.people.extend(taken_by.filter_map(|open| open.taken_by().cloned()));
                self.of(workflow, at.gate.as_ref()).now.push(standing);
            }
        }
    }

    /// The gates, workflow by workflow, in their order; and how often work went through them.
    #[must_use]
    pub fn finish(self) -> (Vec<GateReport>, Passes) {
        let passes = self.passes;
        let mut gates: Vec<GateReport> = self.gates.into_values().collect();
        for gate in &mut gates {
            gate.now.sort_by(|a, b| (a.since, &a.flight, &a.waypoint).cmp(&(b.since, &b.flight, &b.waypoint)));
        }
        (gates, passes)
    }

    fn of(&mut self, workflow: &WorkflowSpec, gate: Option<&GateId>) -> &mut GateReport {
        let declared = gate.and_then(|gate| workflow.all_gates().enumerate().find(|(_, known)| known.id == *gate));
        let at = declared.map_or(usize::MAX, |(at, _)| at);
        let role = declared.map(|(_, gate)| gate.role.clone());
        let key = (workflow.name.clone(), at, gate.cloned());
        self.gates.entry(key).or_insert_with(|| GateReport::new(&workflow.name, gate.cloned(), role))
    }
}

fn standing(flight: &FlightId, waypoint: &WaypointId, workflow: &WorkflowSpec, at: &StoppedAt) -> WaypointAtGate {
    let gate = workflow.all_gates().find(|gate| Some(&gate.id) == at.gate.as_ref());
    let people = gate.filter(|_| at.kind == PlaceKind::Person).map(|gate| {
        let link = gate.escalations.iter().find(|link| Some(&link.role) == at.role.as_ref());
        link.map_or_else(|| gate.people.clone(), |link| link.people.clone())
    });
    WaypointAtGate {
        flight: flight.clone(),
        waypoint: waypoint.clone(),
        waits_for: at.kind,
        role: at.role.clone(),
        people: people.unwrap_or_default(),
        since: at.since,
    }
}
