//! Is the account of flights that are over sound? Each finding is a sentence.
//!
//! The rules are those of `holdpoint audit`. Besides them there are rules for flights that are over, and for several of
//! them in one stream.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::audit::{Auditor, EntryLine};
use holdpoint_protocol::{
    Digest,
    artifact::{Act, Disposition, Handed, Verb},
    facts::Oid,
    ids::{FlightId, GateId, WaypointId},
    journal::{Cause, Entry, Landed, Submitted},
    plan::Waypoint,
    state::{Phase, WaypointState},
};

use crate::account::SoakAccount;

/// The workflow in which a person approves what was verified.
const APPROVED: &str = "fly-approved";

/// Everything that is wrong with an account in which every flight is over; nothing when it is sound.
#[must_use]
pub fn findings(account: &SoakAccount) -> Vec<String> {
    let mut wrong = Vec::new();
    let submitted = account.lines.iter().filter_map(|line| match &line.entry {
        Ok(Entry::Submitted(submitted)) => Some(submitted.as_ref()),
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
        wrong.extend(audited(account, &submitted.flight));
        for waypoint in submitted.plan.waypoints.iter().chain(added(account, &submitted.flight)) {
            let mut found = Vec::new();
            over(account, &submitted.flight, &waypoint.id, &mut found);
            answered(account, &submitted.flight, &waypoint.id, &mut found);
            if waypoint.workflow.as_ref().unwrap_or(&submitted.plan.workflow) == APPROVED {
                approved(account, &submitted.flight, &waypoint.id, &mut found);
            }
            wrong.extend(found.into_iter().map(|what| format!("waypoint {}: {what}", waypoint.id)));
        }
    }
    wrong
}

/// The waypoints that were added to a flight.
fn added<'a>(account: &'a SoakAccount, flight: &'a FlightId) -> impl Iterator<Item = &'a Waypoint> {
    let of_flight = account.lines.iter().filter(move |line| &line.journal.flight == flight);
    of_flight.flat_map(|line| match &line.entry {
        Ok(Entry::Added(added)) => added.waypoints.as_slice(),
        _ => &[],
    })
}

/// What an audit of one flight finds.
fn audited(account: &SoakAccount, flight: &FlightId) -> Vec<String> {
    let mut auditor = Auditor::new(flight.clone());
    account
        .handoffs
        .iter()
        .filter(|line| &line.subject.flight == flight)
        .for_each(|line| auditor.handoff(line.clone()));
    account.lines.iter().filter(|line| &line.journal.flight == flight).for_each(|line| auditor.entry(line));
    auditor.finish(None, None).findings.iter().map(ToString::to_string).collect()
}

/// The commits that a flight's journal says are landed, oldest first.
#[must_use]
pub fn landed(account: &SoakAccount, flight: &FlightId) -> Vec<Oid> {
    landings(account, flight).map(|landed| landed.commit.clone()).collect()
}

/// What people did on the waypoints of a flight and the journal took, in its order.
#[must_use]
pub fn acts(account: &SoakAccount, flight: &FlightId) -> Vec<(WaypointId, Verb)> {
    let lines = account.lines.iter().filter(|line| &line.journal.flight == flight);
    lines.filter_map(|line| Some((line.journal.waypoint.clone()?, act_of(account, line)?.verb()))).collect()
}

/// The documents that the gates of a flight have handed over in the end, each with its gate.
#[must_use]
pub fn documents(account: &SoakAccount, flight: &FlightId) -> Vec<(GateId, Digest)> {
    let mut last = BTreeMap::new();
    for line in account.lines.iter().filter(|line| &line.journal.flight == flight) {
        let state = line.entry.as_ref().ok().and_then(|entry| entry.record().state.as_ref());
        if let (Some(waypoint), Some(state)) = (&line.journal.waypoint, state) {
            last.insert(waypoint, state);
        }
    }
    let documents = last.values().flat_map(|state| &state.documents);
    documents.map(|document| (document.gate.clone(), document.blob.digest)).collect()
}

/// The act that an entry answers, if it answers one.
fn act_of<'a>(account: &'a SoakAccount, line: &EntryLine) -> Option<&'a Act> {
    let Cause { stream, sequence, .. } = line.entry.as_ref().ok()?.record().cause.as_ref()?;
    let handed = account.handoffs.iter().find(|handoff| (&handoff.stream, &handoff.sequence) == (stream, sequence))?;
    match &handed.body {
        // An agent's completion is no act.
        Ok((head, Handed::Act(act))) if head.turn.is_none() => Some(act),
        _ => None,
    }
}

fn landings<'a>(account: &'a SoakAccount, flight: &FlightId) -> impl Iterator<Item = &'a Landed> {
    journal(account, flight, None).filter_map(|line| match &line.entry {
        Ok(Entry::Landed(landed)) => Some(landed.as_ref()),
        _ => None,
    })
}

fn journal<'a>(
    account: &'a SoakAccount,
    flight: &FlightId,
    waypoint: Option<&WaypointId>,
) -> impl Iterator<Item = &'a EntryLine> {
    account
        .lines
        .iter()
        .filter(move |line| &line.journal.flight == flight && line.journal.waypoint.as_ref() == waypoint)
}

/// A waypoint of a flight that is over is decided, and what was accepted with a commit has landed.
fn over(account: &SoakAccount, flight: &FlightId, id: &WaypointId, wrong: &mut Vec<String>) {
    let last = journal(account, flight, Some(id)).last().and_then(|line| line.entry.as_ref().ok());
    if !matches!(last, Some(Entry::Decided(_) | Entry::Dead(_))) {
        wrong.push("it has no final decision".to_owned());
    }
    let none = WaypointState::default();
    let state = last.and_then(|entry| entry.record().state.as_ref()).unwrap_or(&none);
    if matches!(state.phase, Phase::Waiting(_)) {
        wrong.push("its question is still open".to_owned());
    }
    let work = state.work.as_ref().filter(|work| work.commit.is_some());
    let due = usize::from(matches!(state.phase, Phase::Accepted { .. }) && work.is_some());
    let landed = landings(account, flight).filter(|landed| &landed.waypoint == id).count();
    if landed != due {
        wrong.push(format!("it has landed {landed} times and not {due}"));
    }
}

/// A question ends by what a person did, or by its deadline; and each act is taken once, wherever it is stored.
fn answered(account: &SoakAccount, flight: &FlightId, id: &WaypointId, wrong: &mut Vec<String>) {
    let mut open = None;
    let mut taken = BTreeSet::new();
    for line in journal(account, flight, Some(id)) {
        let Ok(entry) = &line.entry else { continue };
        let (record, act) = (entry.record(), act_of(account, line));
        if act.is_none() && open.flatten().is_none_or(|deadline| record.at < deadline) && open.is_some() {
            wrong.push(format!("entry {} follows a question without an act of a person", line.sequence.0));
        }
        if let (Some(_), Some(cause)) = (act, &record.cause)
            && !taken.insert(&cause.artifact)
        {
            wrong.push(format!("entry {} takes the act {} once more", line.sequence.0, cause.artifact));
        }
        open = match record.state.as_ref().map(|state| &state.phase) {
            Some(Phase::Waiting(question)) => Some(question.deadline),
            _ => None,
        };
    }
}

/// Work that needs approval is accepted by a person who approved it. Merged with what landed meanwhile it is verified once more, and
/// accepted without a further approval.
fn approved(account: &SoakAccount, flight: &FlightId, id: &WaypointId, wrong: &mut Vec<String>) {
    let mut approved = false;
    for line in journal(account, flight, Some(id)) {
        let decision = line.entry.as_ref().ok().and_then(Entry::decision);
        let Some(disposition) = decision.map(|decision| decision.disposition) else { continue };
        approved |= act_of(account, line).is_some_and(|act| act.verb() == Verb::Approve);
        if [Disposition::Rework, Disposition::Rollback].contains(&disposition) {
            approved = false;
        }
        if disposition == Disposition::Accept && !approved {
            wrong.push(format!("entry {} accepts it, and nobody approved it", line.sequence.0));
        }
    }
}
