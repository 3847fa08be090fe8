//! Whether a process gets worse (GATE-28): what went through each gate in the last days, against as many days before
//! them.

use std::collections::BTreeMap;

use holdpoint_protocol::{Timestamp, ids::GateId, state::Outcome};
use serde::Serialize;

use super::{
    entry::duration,
    event::EventKind,
    reader::{EntryEffect, FlightReader},
    spread::Spread,
    visits::closed,
};

/// Turns that a gate needs in each of the two spans, for its share of rejections to be compared.
const TURNS_MIN: u32 = 5;
/// Percentage points by which that share has to differ to count as more or less.
const POINTS_MIN: u32 = 10;

/// Gathers two spans of time over flights.
#[derive(Debug)]
pub struct Trend {
    days: u32,
    /// Where the earlier span begins, where the later one does, and where it ends.
    edges: [Timestamp; 3],
    gates: BTreeMap<(String, usize, GateId), GateTrend>,
}

/// Two spans of time, gate by gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrendReport {
    /// Days in each span.
    pub days: u32,
    /// Where the earlier span begins.
    pub from: Timestamp,
    /// Where it ends, and the later one begins.
    pub since: Timestamp,
    /// Where the later one ends.
    pub until: Timestamp,
    /// Gates that were left in any of them, workflow by workflow, in their order.
    pub gates: Vec<GateTrend>,
}

/// A gate in both spans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateTrend {
    /// The workflow.
    pub workflow: String,
    /// The gate.
    pub gate: GateId,
    /// In the earlier span.
    pub before: GateSpan,
    /// In the later one.
    pub now: GateSpan,
    /// How its share of rejections went.
    pub rejections: TrendDirection,
}

/// What went through a gate in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GateSpan {
    /// Times that it was left.
    pub left: u32,
    /// Times that it sent work back.
    pub rejections: u32,
    /// The share of them, in percent; absent where it was never left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection_percent: Option<u32>,
    /// How long it was open each time.
    pub dwell: Spread,
}

/// How a share went from one span to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendDirection {
    /// It is larger, by ten percentage points at least.
    Worse,
    /// It is smaller, by as much.
    Better,
    /// Neither.
    Steady,
    /// In one of the spans the gate was left fewer than five times.
    TooFew,
}

impl Trend {
    /// Two spans of so many days, the later of which ends now.
    #[must_use]
    pub fn new(days: u32, now: Timestamp) -> Self {
        let span = i64::from(days).saturating_mul(24 * 60 * 60 * 1_000);
        let ago = |spans: i64| Timestamp::from_millis(now.as_millis().saturating_sub(span.saturating_mul(spans)));
        Self { days, edges: [ago(2), ago(1), now], gates: BTreeMap::new() }
    }

    /// Takes an entry, with what the reader of its flight made of it.
    pub fn take(&mut self, reader: &FlightReader, told: &EntryEffect) {
        let Some(waypoint) = &told.waypoint else { return };
        let (Some(workflow), Some(after)) = (reader.workflow(waypoint), reader.states().get(waypoint)) else { return };
        let place = |gate: &GateId| {
            let at = workflow.all_gates().position(|known| known.id == *gate).unwrap_or(usize::MAX);
            (workflow.name.clone(), at, gate.clone())
        };
        for visit in closed(&told.before, after).filter(|visit| visit.outcome != Some(Outcome::Skip)) {
            let span = visit.exited.and_then(|exited| self.span(place(&visit.gate), exited));
            if let Some(span) = span {
                span.left += 1;
                span.dwell.add(duration(visit));
            }
        }
        for event in &told.events {
            if let EventKind::GateRejection { gate, .. } = &event.what
                && let Some(span) = self.span(place(gate), event.timestamp)
            {
                span.rejections += 1;
            }
        }
    }

    /// Both spans, gate by gate.
    #[must_use]
    pub fn finish(self) -> TrendReport {
        let [from, since, until] = self.edges;
        let gates = self.gates.into_values().map(|mut gate| {
            for span in [&mut gate.before, &mut gate.now] {
                span.rejection_percent = (span.rejections * 100).checked_div(span.left);
            }
            gate.rejections = course(&gate.before, &gate.now);
            gate
        });
        TrendReport { days: self.days, from, since, until, gates: gates.collect() }
    }

    fn span(&mut self, place: (String, usize, GateId), at: Timestamp) -> Option<&mut GateSpan> {
        let [from, since, until] = self.edges;
        if at < from || at > until {
            return None;
        }
        let (workflow, gate) = (place.0.clone(), place.2.clone());
        let [before, now] = [GateSpan::default(), GateSpan::default()];
        let new = || GateTrend { workflow, gate, before, now, rejections: TrendDirection::TooFew };
        let gate = self.gates.entry(place).or_insert_with(new);
        Some(if at < since { &mut gate.before } else { &mut gate.now })
    }
}

fn course(before: &GateSpan, now: &GateSpan) -> TrendDirection {
    let percent = |span: &GateSpan| span.rejection_percent.filter(|_| span.left >= TURNS_MIN);
    match (percent(before), percent(now)) {
        (Some(before), Some(now)) if now >= before + POINTS_MIN => TrendDirection::Worse,
        (Some(before), Some(now)) if before >= now + POINTS_MIN => TrendDirection::Better,
        (Some(_), Some(_)) => TrendDirection::Steady,
        _ => TrendDirection::TooFew,
    }
}
