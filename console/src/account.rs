//! What the journal of a flight says, as pages show it: what was planned, turns, landings, what it cost. A pure fold.

use std::collections::BTreeMap;

use holdpoint_account::{
    cost::{By, CostRow, Costs, ReportedUsage, Sum},
    events::{EntryEffect, Event, FlightReader},
};
use holdpoint_engine::{audit::HandoffLine, flight::FlightState};
use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, GateId, RoleId, TurnId, WaypointId},
    journal::Entry,
    plan::Waypoint,
    state::{GateVisit, Outcome, Purpose},
};

/// Events of a waypoint that are kept: the newest.
const EVENTS_MAX: usize = 2_000;
/// Turns that are kept: the newest.
const TURNS_MAX: usize = 50_000;

/// A turn that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLine {
    /// The turn.
    pub turn: TurnId,
    /// Its waypoint.
    pub waypoint: WaypointId,
    /// Its gate.
    pub gate: GateId,
    /// Whose turn it is.
    pub role: RoleId,
    /// What it is for.
    pub purpose: Purpose,
    /// Who had it, as far as that is known.
    pub agent: Option<AgentName>,
    /// When it was opened.
    pub opened: Timestamp,
    /// When it was over.
    pub over: Option<Timestamp>,
    /// How its gate was left with it.
    pub outcome: Option<Outcome>,
}

/// A flight so far.
#[derive(Debug, Default)]
pub struct FlightAccount {
    /// `None` before its submission was read.
    pub(crate) flight: Option<FlightState>,
    pub(crate) turns: Vec<TurnLine>,
    pub(crate) visits: BTreeMap<WaypointId, Vec<GateVisit>>,
    pub(crate) events: Vec<Event>,
    costs: Costs,
    open: BTreeMap<TurnId, usize>,
}

impl FlightAccount {
    /// Takes an entry, with what the reader of its flight made of it.
    pub fn entry(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        self.costs.entry(entry);
        FlightState::fold(&mut self.flight, entry);
        let Some(waypoint) = &told.waypoint else { return };
        self.events.extend(told.events.iter().cloned());
        if self.events.len() > EVENTS_MAX {
            self.events.drain(..self.events.len() - EVENTS_MAX);
        }
        let record = entry.record();
        let Some(after) = &record.state else { return };
        for visit in &after.history {
            self.visit(waypoint, visit);
        }
        for was in told.before.open_turns().filter(|open| after.open_turn(&open.turn).is_none()) {
            let Some(line) = self.open.remove(&was.turn).and_then(|at| self.turns.get_mut(at)) else { continue };
            line.over = Some(record.at);
            line.agent =
                was.taken_by().cloned().or_else(|| reader.holder(&was.turn).cloned()).or_else(|| line.agent.take());
            let left = after.history.iter().rev().find(|visit| visit.gate == was.gate);
            line.outcome = left.filter(|visit| visit.exited == Some(record.at)).and_then(|visit| visit.outcome);
        }
        for open in after.open_turns().filter(|open| told.before.open_turn(&open.turn).is_none()) {
            if self.turns.len() >= TURNS_MAX {
                return;
            }
            self.open.insert(open.turn.clone(), self.turns.len());
            self.turns.push(TurnLine {
                turn: open.turn.clone(),
                waypoint: waypoint.clone(),
                gate: open.gate.clone(),
                role: open.role.clone(),
                purpose: open.purpose,
                agent: open.taken_by().cloned(),
                opened: open.opened_at,
                over: None,
                outcome: None,
            });
        }
    }

    /// Takes what a handoff reports.
    pub fn handoff(&mut self, line: &HandoffLine) {
        if let Some(reported) = ReportedUsage::of(line) {
            self.costs.handoff(reported);
        }
    }

    /// Takes who has the turns that are open, once everything new was read.
    pub fn end(&mut self, reader: &FlightReader) {
        for (turn, at) in &self.open {
            if let (Some(line), Some(holder)) = (self.turns.get_mut(*at), reader.holder(turn)) {
                line.agent = Some(holder.clone());
            }
        }
    }

    /// The waypoint as it was planned.
    pub(crate) fn planned(&self, waypoint: &WaypointId) -> Option<&Waypoint> {
        self.flight.as_ref()?.planned(waypoint)
    }

    /// One that knows its plan.
    #[cfg(test)]
    pub(crate) fn of(plan: holdpoint_protocol::plan::Plan) -> Self {
        Self { flight: Some(FlightState::new(holdpoint_protocol::testing::submitted(plan))), ..Self::default() }
    }

    /// A state names the last visits only, each again until it leaves the list.
    fn visit(&mut self, waypoint: &WaypointId, visit: &GateVisit) {
        let visits = self.visits.entry(waypoint.clone()).or_default();
        let known = visits.iter_mut().rev().find(|known| known.gate == visit.gate && known.entered == visit.entered);
        match known {
            Some(known) => known.clone_from(visit),
            None => visits.push(visit.clone()),
        }
    }

    /// What all turns used up.
    pub(crate) fn used(&self) -> Sum {
        self.costs.total()
    }

    /// What was used up, by waypoint, role, agent or gate.
    pub(crate) fn costs(&self, by: By) -> Vec<CostRow> {
        self.costs.rows(by)
    }
}
