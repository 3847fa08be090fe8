//! The four measures of delivery that DORA asks for (GATE-34), as far as Holdpoint sees delivery: up to the flight's branch.
//!
//! A change is a waypoint. It is deployed when it lands. It failed when it was held, so that a person had to have it tried
//! again, cancel it or give it up; it is restored when it goes on. The branch's later fate is not seen here.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    Timestamp,
    ids::{FlightId, WaypointId},
    journal::Entry,
    state::Phase,
    time::Millis,
};
use serde::Serialize;

use super::{
    reader::{EntryEffect, FlightReader},
    spread::Spread,
};

/// Gathers what was delivered over flights.
#[derive(Debug, Default)]
pub struct DeliveryTally {
    flights: BTreeSet<FlightId>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    changes: BTreeMap<(FlightId, WaypointId), Change>,
    lead_time: Spread,
    restored: Spread,
    sent_back: u32,
}

#[derive(Debug, Default)]
struct Change {
    landed: bool,
    held: Option<Timestamp>,
    failed: bool,
}

/// What it came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeliveryReport {
    /// Flights that were read.
    pub flights: usize,
    /// From the first submission that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Until when it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Changes that were begun.
    pub changes: usize,
    /// Changes that landed.
    pub landed: usize,
    /// Deployment frequency: landings a day between `from` and `until`, of one day at least.
    pub landings_per_day: f64,
    /// Lead time for changes: from a waypoint's first gate to its landing.
    pub lead_time: Spread,
    /// Changes that were held at least once.
    pub failed: usize,
    /// Change failure rate: the share of the changes that landed or were held, of which the latter; `None` before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_rate: Option<f64>,
    /// Time to restore: from a hold until the work went on.
    pub time_to_restore: Spread,
    /// Changes that are held now.
    pub held_now: usize,
    /// Times that work was sent back on the way.
    pub sent_back: u32,
}

impl DeliveryTally {
    /// Takes an entry, with what the reader of its flight made of it.
    pub fn take(&mut self, flight: &FlightId, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        let at = entry.record().at;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        self.flights.insert(flight.clone());
        if let Entry::Landed(landed) = entry {
            let change = self.changes.entry((flight.clone(), landed.waypoint.clone())).or_default();
            let begun = reader.states().get(&landed.waypoint).and_then(|state| state.begun_at());
            if !std::mem::replace(&mut change.landed, true) {
                self.lead_time.add(at.since(begun.unwrap_or(at)).into());
            }
        }
        let (Some(waypoint), Some(after)) = (&told.waypoint, &entry.record().state) else { return };
        let change = self.changes.entry((flight.clone(), waypoint.clone())).or_default();
        self.sent_back += after.counters.sent_back().saturating_sub(told.before.counters.sent_back());
        match (&after.phase, change.held) {
            (Phase::Held(held), None) => {
                change.failed = true;
                change.held = Some(held.since);
            }
            (Phase::Held(_), Some(_)) | (_, None) => {}
            (Phase::Cancelled, Some(_)) => change.held = None,
            (_, Some(since)) => {
                change.held = None;
                self.restored.add(Millis::from(at.since(since)));
            }
        }
    }

    /// What it came to, looked at at this time.
    #[must_use]
    pub fn finish(self, now: Timestamp) -> DeliveryReport {
        const DAY_S: f64 = 86_400.0;
        let landed = self.changes.values().filter(|change| change.landed).count();
        let failed = self.changes.values().filter(|change| change.failed).count();
        let ended = self.changes.values().filter(|change| change.landed || change.failed).count();
        let until = self.last.map(|last| last.max(now));
        let days = self.first.zip(until).map_or(1.0, |(first, until)| until.since(first).as_secs_f64() / DAY_S);
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        DeliveryReport {
            flights: self.flights.len(),
            from: self.first,
            until,
            changes: self.changes.len(),
            landed,
            landings_per_day: number(landed) / days.max(1.0),
            lead_time: self.lead_time,
            failed,
            failure_rate: (ended > 0).then(|| number(failed) / number(ended)),
            time_to_restore: self.restored,
            held_now: self.changes.values().filter(|change| change.held.is_some()).count(),
            sent_back: self.sent_back,
        }
    }
}
