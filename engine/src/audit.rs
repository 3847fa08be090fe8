//! Is what is written of a flight sound? Rules over its entries and handoffs, as they were stored.
//!
//! An audit is written from the promises. It believes nobody but the keys: whether a signature is good was found out
//! before, everything else is found out here. Handoffs are taken first, then entries in the order of their stream, then
//! [`Auditor::finish`] looks at what is missing. It goes on behind a broken link, so that one doctored entry is one
//! finding and not a hundred; the first finding is the first broken link.
//!
//! - `finding`: the words; `lines`: what is looked at.
//! - `causes`: who said what an entry answers; `redecide`: what the engine makes of it, `differences`: where that is not
//!   what it says; `accepted`: what an acceptance and a landing rest on; `cited`: runs that a report has from another one;
//!   `ends`: lost tails, the seal, evidence.

mod accepted;
mod added;
mod causes;
mod cited;
mod differences;
mod ends;
mod finding;
mod lines;
mod redecide;
mod steered;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    Digest,
    artifact::CheckRun,
    ids::{ArtifactId, FlightId, TurnId, WaypointId},
    journal::{Entry, Record, Sequence},
    state::WaypointState,
    turn::{Feedback, Turn},
};
use serde::Serialize;

pub use ends::{Bytes, THE_END};
pub use finding::{BrokenLink, Finding};
pub use lines::reference as entry_reference;
pub use lines::{EntryLine, HandoffLine};

use crate::{
    flight::retirable,
    state::FlightState,
    waypoint::{self, Alarm, Folded, Voted},
};
use lines::reference;

/// Findings that are kept: more would be of no use to a reader.
const FINDINGS_MAX: usize = 1_000;

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AuditCounts {
    /// Entries.
    pub entries: u64,
    /// Handoffs.
    pub handoffs: u64,
    /// Handoffs that an entry answers; the others are plans, repetitions, or were refused.
    pub answered: u64,
    /// Decisions that were taken again.
    pub decisions: u64,
    /// Landings.
    pub landings: u64,
    /// Bytes of evidence that reports rest on, by name.
    pub evidence: u64,
    /// Runs that reports have from reports of other flights, which are not here to be looked at.
    pub cited_elsewhere: u64,
}

/// What an audit came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// The flight.
    pub flight: FlightId,
    /// Every broken link, the first one first; none: it is sound.
    pub findings: Vec<Finding>,
    /// How much was looked at.
    pub counts: AuditCounts,
}

impl Audit {
    /// Whether nothing is broken.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// A journal as far as it was read.
#[derive(Debug, Default, Clone)]
struct Journal {
    folded: Folded,
    sequence: Sequence,
    /// The turns that the state names, as they stand: open, asked about, or held.
    turns: Vec<Turn>,
    /// What the last decision that opened no turn kept for the next build turn.
    feedback: Option<Box<Feedback>>,
    /// What the votes of the open fork said.
    voted: Vec<Voted>,
}

impl Journal {
    /// What later entries rest on.
    fn remember(&mut self, entry: &Entry) {
        match entry {
            Entry::Turn(turn) => self.turns.push(turn.as_ref().clone()),
            Entry::Answered(answered) => {
                if let Some(turn) = self.turns.iter_mut().find(|turn| turn.turn_id == answered.turn) {
                    waypoint::reply(turn, &answered.answer);
                }
            }
            Entry::Decided(decided) => {
                self.feedback.clone_from(&decided.feedback);
                self.voted.extend(waypoint::voted(entry));
            }
            _ => {}
        }
        let state = &self.folded.state;
        if state.fork.is_none() {
            self.voted.clear();
        }
        self.turns.retain(|turn| state.open_or_held_turns().any(|named| named.turn == turn.turn_id));
    }

    /// This turn, as it stands.
    fn turn(&self, id: &TurnId) -> Option<Box<Turn>> {
        self.turns.iter().find(|turn| turn.turn_id == *id).cloned().map(Box::new)
    }
}

/// A handoff, and what is asked about it again and again.
#[derive(Debug)]
struct Known {
    line: HandoffLine,
    evidence: Vec<(Digest, bool)>,
    /// The entry that answers it.
    answered_by: Option<Sequence>,
}

/// An entry that opens a turn.
#[derive(Debug)]
struct Opened {
    sequence: Sequence,
    digest: Digest,
}

/// Audits one flight.
#[derive(Debug)]
pub struct Auditor {
    flight: FlightId,
    state: Option<FlightState>,
    /// The entries of its own journal: an orchestrator may have decided by fewer of them than there are.
    own: Vec<Entry>,
    /// The flight by some of them.
    earlier: Option<FlightState>,
    journals: BTreeMap<Option<WaypointId>, Journal>,
    handoffs: BTreeMap<(String, Sequence), Known>,
    turns: BTreeMap<TurnId, Opened>,
    answered: BTreeMap<TurnId, Sequence>,
    landed: BTreeSet<WaypointId>,
    /// Evidence that answered reports name: where, and whether something is passed by it.
    evidence: BTreeMap<Digest, (String, bool)>,
    /// What believed reports ran.
    runs: BTreeMap<ArtifactId, Vec<CheckRun>>,
    last: Sequence,
    findings: Vec<Finding>,
    counts: AuditCounts,
}

impl Auditor {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(flight: FlightId) -> Self {
        Self {
            flight,
            state: None,
            own: Vec::new(),
            earlier: None,
            journals: BTreeMap::new(),
            handoffs: BTreeMap::new(),
            turns: BTreeMap::new(),
            answered: BTreeMap::new(),
            landed: BTreeSet::new(),
            evidence: BTreeMap::new(),
            runs: BTreeMap::new(),
            last: Sequence(0),
            findings: Vec::new(),
            counts: AuditCounts::default(),
        }
    }

    /// The file itself is not what it has to be.
    pub fn damaged(&mut self, at: &str, expected: &str, found: &str) {
        self.broken(BrokenLink::File, at.to_owned(), None, expected, found);
    }

    /// The seal says nothing: where the journals ended is not known.
    pub fn unsealed(&mut self, expected: &str, found: &str) {
        self.broken(BrokenLink::Seal, "the seal".to_owned(), None, expected, found);
    }

    /// Takes a handoff; before all entries.
    pub fn handoff(&mut self, line: HandoffLine) {
        self.counts.handoffs += 1;
        let evidence = line.evidence();
        self.remember_runs(&line);
        let key = (line.stream.clone(), line.sequence);
        let at = line.reference();
        let known = Known { line: line.trimmed(), evidence, answered_by: None };
        if self.handoffs.insert(key, known).is_some() {
            self.broken(BrokenLink::File, at, None, "each message once", "it is there twice");
        }
    }

    /// Takes an entry; in the order of the stream.
    pub fn entry(&mut self, line: &EntryLine) {
        self.counts.entries += 1;
        let (at, waypoint) = (line.reference(), line.journal.waypoint.clone());
        if line.sequence <= self.last {
            let found = format!("it stands behind {}", reference(self.last));
            self.broken(BrokenLink::Chain, at.clone(), waypoint.clone(), "entries in the order of their stream", found);
        }
        self.last = self.last.max(line.sequence);
        let before = self.journals.entry(waypoint.clone()).or_default();
        before.sequence = before.sequence.max(line.sequence);
        if line.journal.flight != self.flight {
            let expected = format!("an entry of flight {}", self.flight);
            return self.broken(BrokenLink::Entry, at, waypoint, expected, format!("one of {}", line.journal.flight));
        }
        if !line.signed {
            let found = "no signature, or one by another key or over other bytes";
            return self.broken(BrokenLink::Signature, at, waypoint, "an orchestrator's signature", found);
        }
        match &line.entry {
            Ok(entry) => self.signed(line, entry),
            Err(error) => self.broken(BrokenLink::Entry, at, waypoint, "an entry that can be read", error.clone()),
        }
    }

    fn signed(&mut self, line: &EntryLine, entry: &Entry) {
        let waypoint = line.journal.waypoint.as_ref();
        self.opened(line, entry);
        let journal = self.journals.entry(line.journal.waypoint.clone()).or_default();
        let before = journal.clone();
        let record: &Record = entry.record();
        if record.previous != before.folded.last {
            let name = |digest: Option<Digest>| digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
            let expected = format!("to follow {}, the entry before it", name(before.folded.last));
            let found = format!("it follows {}: an entry was lost, changed or moved", name(record.previous));
            self.broken(BrokenLink::Chain, line.reference(), waypoint.cloned(), expected, found);
            return self.advance(line, entry);
        }
        match waypoint {
            Some(waypoint) => self.waypoint_entry(line, entry, waypoint, &before),
            None => self.flight_entry(line, entry),
        }
        self.advance(line, entry);
    }

    /// A turn is opened once.
    fn opened(&mut self, line: &EntryLine, entry: &Entry) {
        let Entry::Turn(turn) = entry else { return };
        let opened = Opened { sequence: line.sequence, digest: line.digest };
        if let Some(earlier) = self.turns.insert(turn.turn_id.clone(), opened) {
            let found = format!("{} opened it already", reference(earlier.sequence));
            let expected = format!("turn {} to be opened once", turn.turn_id);
            self.broken(BrokenLink::Turn, line.reference(), line.journal.waypoint.clone(), expected, found);
        }
    }

    fn waypoint_entry(&mut self, line: &EntryLine, entry: &Entry, waypoint: &WaypointId, before: &Journal) {
        let state = &before.folded.state;
        let mut folded = before.folded.clone();
        if let Err(alarm) = folded.take(line.sequence, line.digest, entry) {
            let expected = "an entry that keeps the invariants";
            let found = match alarm {
                Alarm::Invariant { what, .. } => what,
                Alarm::NoState { .. } | Alarm::ChainBroken { .. } => alarm.to_string(),
            };
            return self.broken(BrokenLink::Invariant, line.reference(), Some(waypoint.clone()), expected, found);
        }
        if !self.cause(line, entry, waypoint, state) {
            return;
        }
        self.verified(line, entry, waypoint, state);
        self.redecide(line, entry, waypoint, before);
    }

    fn flight_entry(&mut self, line: &EntryLine, entry: &Entry) {
        match (entry, &self.state) {
            (Entry::Submitted(submitted), None) => self.state = Some(FlightState::new(submitted.as_ref().clone())),
            (Entry::Submitted(_), Some(_)) => {
                self.broken(
                    BrokenLink::Entry,
                    line.reference(),
                    None,
                    "a flight to be submitted once",
                    "it is submitted again",
                );
            }
            (Entry::Landed(landed), Some(_)) => self.landing(line, landed),
            (Entry::Steered(steered), Some(_)) => self.steered(line, steered),
            // Whether there was room for it cannot be taken again: what its writer knew of other waypoints is not written.
            (Entry::Reserved(_), Some(_)) => {}
            (Entry::Added(added), Some(_)) => self.added(line, added),
            (Entry::Retired(_), Some(state)) => {
                let waypoints = state.all_planned().map(|planned| planned.id.clone());
                let waypoints = waypoints.map(|id| (id.clone(), self.waypoint_state(&id))).collect();
                if let Err(open) = retirable(state, &waypoints) {
                    let expected = "a flight that is over to be retired";
                    self.broken(BrokenLink::Entry, line.reference(), None, expected, open.to_string());
                }
            }
            (_, state) => {
                let expected =
                    if state.is_some() { "a landing, or an act on the flight" } else { "the submission of the flight" };
                self.broken(
                    BrokenLink::Entry,
                    line.reference(),
                    None,
                    expected,
                    format!("an entry {}", entry.schema_name()),
                );
            }
        }
    }

    /// Goes on from the state as it is written, so that one broken link is found once.
    fn advance(&mut self, line: &EntryLine, entry: &Entry) {
        let journal = self.journals.entry(line.journal.waypoint.clone()).or_default();
        journal.folded.last = Some(line.digest);
        if let Some(state) = &entry.record().state {
            journal.folded.state = state.clone();
        }
        journal.remember(entry);
        if let Some(state) = self.state.as_mut().filter(|_| line.journal.waypoint.is_none()) {
            state.take(entry);
            self.own.push(entry.clone());
        }
    }

    /// The state of a waypoint after the last entry that was taken.
    fn waypoint_state(&self, waypoint: &WaypointId) -> WaypointState {
        self.journals.get(&Some(waypoint.clone())).map(|journal| journal.folded.state.clone()).unwrap_or_default()
    }

    fn broken(
        &mut self,
        link: BrokenLink,
        at: String,
        waypoint: Option<WaypointId>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        if self.findings.len() < FINDINGS_MAX {
            let (expected, found) = (expected.into(), found.into());
            self.findings.push(Finding { link, at, waypoint, expected, found });
        }
    }
}
