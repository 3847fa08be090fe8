//! Is the account of a flight sound? A pure function over its entries; each finding is a sentence.
//!
//! It is written from the promises and not from the engine: what the engine's own fold checks is one rule of it.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_core::engine::Folded;
use holdpoint_protocol::{
    artifact::{Disposition, OrchestratorDecision, VerificationReport},
    facts::{Oid, Verdict},
    ids::{FlightId, TurnId, WaypointId},
    journal::{Entry, Landed, Submitted},
    state::{Phase, WaypointState},
};

use crate::account::{Account, Line};

/// Everything that is wrong with an account in which every flight is over; nothing when it is sound.
#[must_use]
pub fn findings(account: &Account) -> Vec<String> {
    let mut wrong = Vec::new();
    let unsigned = account.lines.iter().filter(|line| !line.signed);
    wrong.extend(unsigned.map(|line| format!("entry {} is not an orchestrator's", line.sequence.0)));
    turns_are_answered_once(account, &mut wrong);
    let submitted = account.lines.iter().filter_map(|line| match &line.entry {
        Entry::Submitted(submitted) => Some(submitted.as_ref()),
        _ => None,
    });
    let flights: Vec<&Submitted> = submitted.collect();
    let known: BTreeSet<&FlightId> = flights.iter().map(|submitted| &submitted.flight).collect();
    if known.len() != flights.len() {
        wrong.push("a flight was submitted twice".to_owned());
    }
    let strays = account.lines.iter().filter(|line| !known.contains(&line.journal.flight));
    wrong.extend(strays.map(|line| format!("entry {} belongs to no flight", line.sequence.0)));
    for submitted in flights {
        flight(account, submitted, &mut wrong);
    }
    wrong
}

/// The commits that a flight's journal says are landed, oldest first.
#[must_use]
pub fn landed(account: &Account, flight: &FlightId) -> Vec<Oid> {
    landings(account, flight).map(|landed| landed.commit.clone()).collect()
}

fn landings<'a>(account: &'a Account, flight: &FlightId) -> impl Iterator<Item = &'a Landed> {
    journal(account, flight, None).filter_map(|line| match &line.entry {
        Entry::Landed(landed) => Some(landed.as_ref()),
        _ => None,
    })
}

fn journal<'a>(
    account: &'a Account,
    flight: &FlightId,
    waypoint: Option<&WaypointId>,
) -> impl Iterator<Item = &'a Line> {
    account
        .lines
        .iter()
        .filter(move |line| &line.journal.flight == flight && line.journal.waypoint.as_ref() == waypoint)
}

/// A turn is opened once; a handoff is taken once; a turn is answered once.
fn turns_are_answered_once(account: &Account, wrong: &mut Vec<String>) {
    let (mut opened, mut causes) = (BTreeSet::new(), BTreeSet::new());
    let mut answered: BTreeMap<TurnId, u64> = BTreeMap::new();
    for line in &account.lines {
        if let Entry::Turn(turn) = &line.entry
            && !opened.insert(turn.turn_id.clone())
        {
            wrong.push(format!("turn {} was opened twice", turn.turn_id));
        }
        let record = line.entry.record();
        // A turn that is given up is given up over a plan, which answers nothing.
        let Some(cause) = record.cause.as_ref().filter(|_| !matches!(line.entry, Entry::Dead(_))) else { continue };
        if !causes.insert(cause.reference()) {
            wrong.push(format!("handoff {} was taken twice", cause.reference()));
        }
        let turn =
            record.state.as_ref().and_then(|state| state.answered.as_ref()).map(|answered| answered.turn.clone());
        let Some(turn) = turn else { continue };
        if let Some(before) = answered.insert(turn.clone(), line.sequence.0) {
            wrong.push(format!("turn {turn} was answered by the entries {before} and {}", line.sequence.0));
        }
    }
}

fn flight(account: &Account, submitted: &Submitted, wrong: &mut Vec<String>) {
    let flight = &submitted.flight;
    let mut previous = None;
    for line in journal(account, flight, None) {
        if line.entry.record().previous != previous {
            wrong.push(format!("entry {} does not follow the one before it in {flight}", line.sequence.0));
        }
        previous = Some(line.digest);
    }
    let mut head = submitted.base.clone();
    for landed in landings(account, flight) {
        if landed.parent != head {
            wrong.push(format!("the landing of {} stands on {} and not on {head}", landed.waypoint, landed.parent));
        }
        head = landed.commit.clone();
    }
    for waypoint in &submitted.plan.waypoints {
        let mut found = Vec::new();
        self::waypoint(account, flight, &waypoint.id, &mut found);
        wrong.extend(found.into_iter().map(|what| format!("waypoint {}: {what}", waypoint.id)));
    }
}

fn waypoint(account: &Account, flight: &FlightId, id: &WaypointId, wrong: &mut Vec<String>) {
    let mut folded = Folded::default();
    let mut decided_last = false;
    for line in journal(account, flight, Some(id)) {
        let before = folded.state.clone();
        if let Err(alarm) = folded.take(line.sequence, line.digest, &line.entry) {
            wrong.push(alarm.to_string());
            return;
        }
        let decides = matches!(&line.entry, Entry::Decided(_) | Entry::Dead(_));
        decided_last = decides;
        if let Some(decision) = line.entry.decision().filter(|d| d.disposition == Disposition::Accept && decides) {
            accepted_on_evidence(account, line, &before, decision, wrong);
        }
    }
    if !decided_last {
        wrong.push("it has no final decision".to_owned());
    }
    landed_as_accepted(account, flight, id, &folded.state, wrong);
}

/// An accept answers a report, on the open turn, about the commit and tree that are accepted, with nothing but passes.
fn accepted_on_evidence(
    account: &Account,
    line: &Line,
    before: &WaypointState,
    decision: &OrchestratorDecision,
    wrong: &mut Vec<String>,
) {
    let place = line.sequence.0;
    let record = line.entry.record();
    let Some((cause, found)) =
        record.cause.as_ref().and_then(|cause| Some((cause, account.reports.get(&cause.reference())?)))
    else {
        wrong.push(format!("entry {place} accepts without a report"));
        return;
    };
    let report: &VerificationReport = &found.report;
    if found.digest != cause.digest {
        wrong.push(format!("the report that entry {place} answers is not the one that is stored"));
    }
    if decision.source_refs.is_empty() {
        wrong.push(format!("entry {place} accepts without references"));
    }
    let open = if let Phase::InTurn(open) = &before.phase { Some(&open.turn) } else { None };
    if open != Some(&report.turn) {
        wrong.push(format!("entry {place} accepts by a report on turn {}, which is not open", report.turn));
    }
    let state = record.state.as_ref();
    let work = state.and_then(|state| state.work.as_ref());
    let commit = work.and_then(|work| work.commit.as_ref()).or_else(|| state.and_then(|state| state.base.as_ref()));
    if commit != Some(&report.commit) || work.map(|work| &work.tree) != Some(&report.tree) {
        wrong.push(format!("entry {place} accepts another commit than {}, which was verified", report.commit));
    }
    if report.criteria.iter().chain(&report.guards).any(|one| one.result.verdict != Verdict::Pass) {
        wrong.push(format!("entry {place} accepts by a report that does not pass"));
    }
}

/// What was accepted with a commit has landed once, as it was verified; nothing else has.
fn landed_as_accepted(
    account: &Account,
    flight: &FlightId,
    id: &WaypointId,
    state: &WaypointState,
    wrong: &mut Vec<String>,
) {
    let landed: Vec<&Landed> = landings(account, flight).filter(|landed| &landed.waypoint == id).collect();
    let work = state.work.as_ref().filter(|work| work.commit.is_some());
    let due = usize::from(matches!(state.phase, Phase::Accepted { .. }) && work.is_some());
    if landed.len() != due {
        wrong.push(format!("it has landed {} times and not {due}", landed.len()));
    }
    let (Phase::Accepted { report, .. }, Some(work), Some(landed)) = (&state.phase, work, landed.first()) else {
        return;
    };
    if landed.tree != work.tree || landed.report != *report {
        wrong.push("what landed is not what was accepted".to_owned());
    }
    if state.base.as_ref() != Some(&landed.parent) {
        wrong.push("it landed on another commit than it was verified on".to_owned());
    }
}
