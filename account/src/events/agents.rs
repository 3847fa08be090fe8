//! The report by agent (GATE-34): what each did at the gates, and what became of what it made.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    journal::Entry,
    state::Outcome,
};
use serde::Serialize;

use super::{
    entry::duration,
    event::{Event, EventKind},
    reader::{EntryEffect, FlightReader},
    spread::Spread,
    visits::closed,
};

/// Gathers agents and people over flights.
#[derive(Debug, Default)]
pub struct Agents {
    agents: BTreeMap<AgentName, AgentReport>,
}

/// An agent or a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    /// Who.
    pub agent: AgentName,
    /// The roles in which they had turns.
    pub roles: BTreeSet<RoleId>,
    /// Turns that they ended.
    pub turns: u32,
    /// Of these, with each outcome.
    pub complete: u32,
    /// Sent back, or without anything to hand off.
    pub needs_review: u32,
    /// Held, or with a question.
    pub blocked: u32,
    /// Times that work was sent back which they had made.
    pub rejected: u32,
    /// Work that landed, which they had made.
    pub landed: u32,
    /// Handoffs of theirs that came too late or second.
    pub conflicts: u32,
    /// Turns that they took and were never heard of again.
    pub deaths: u32,
    /// How long the gates were open that they completed: waiting for an agent, and working.
    pub time: Spread,
}

impl Agents {
    /// Takes an entry, with what the reader of its flight made of it.
    pub fn take(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        if let Entry::Landed(landed) = entry {
            let maker = reader.states().get(&landed.waypoint).and_then(|state| state.work.as_ref());
            if let Some(work) = maker {
                self.of(&work.agent).landed += 1;
            }
        }
        if let Entry::Dead(dead) = entry {
            dead.deaths.iter().for_each(|death| self.of(&death.agent).deaths += 1);
        }
        let Some(after) = &entry.record().state else { return };
        for visit in closed(&told.before, after) {
            let Some(agent) = &visit.agent else { continue };
            let report = self.of(agent);
            report.roles.insert(visit.role.clone());
            report.turns += 1;
            match visit.outcome {
                Some(Outcome::NeedsReview) => report.needs_review += 1,
                Some(Outcome::Blocked) => report.blocked += 1,
                Some(Outcome::Complete | Outcome::Skip) | None => report.complete += 1,
            }
            report.time.add(duration(visit));
        }
        told.events.iter().for_each(|event| self.event(event));
    }

    /// Takes an event: who lost a conflict, whose work was sent back.
    pub fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::GateConflict { losing_agent, .. } => self.of(losing_agent).conflicts += 1,
            EventKind::GateRejection { work_of: Some(maker), .. } => self.of(maker).rejected += 1,
            _ => {}
        }
    }

    /// Everybody, by name.
    #[must_use]
    pub fn finish(self) -> Vec<AgentReport> {
        self.agents.into_values().collect()
    }

    fn of(&mut self, agent: &AgentName) -> &mut AgentReport {
        self.agents.entry(agent.clone()).or_insert_with(|| AgentReport {
            agent: agent.clone(),
            roles: BTreeSet::new(),
            turns: 0,
            complete: 0,
            needs_review: 0,
            blocked: 0,
            rejected: 0,
            landed: 0,
            conflicts: 0,
            deaths: 0,
            time: Spread::default(),
        })
    }
}
