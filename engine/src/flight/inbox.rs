//! What waits for people: computed from the fold, so that a restart finds the same. The words of a question are not in the
//! state; who shows them reads the handoff.

use holdpoint_protocol::{
    Timestamp,
    api::InboxKind,
    artifact::Verb,
    ids::{AgentName, GateId, WaypointId},
    journal::Cause,
    plan::Waypoint,
    reason::{BlockReason, ReasonCode},
    state::{Held, Phase, Purpose, QuestionKind, Resume, Status, TurnQuestion, WaypointState},
};

use super::status::{held_in, stuck};
use crate::{
    state::{FlightState, Waypoints},
    waypoint,
};

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// What it is.
    pub kind: InboxKind,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The gate it waits in.
    pub gate: Option<GateId>,
    /// Since when.
    pub since: Timestamp,
    /// The person who took the turn over.
    pub taken_by: Option<AgentName>,
    /// The people whom it concerns; empty: anybody.
    pub to: Vec<AgentName>,
    /// What kind of obstacle is in the way, where somebody says so.
    pub block_reason: Option<BlockReason>,
    /// The question, where it is one.
    pub question: Option<OpenQuestion>,
    /// Names what waits ([`waypoint::reference`]).
    pub reference: String,
}

/// A question that is open, by where its words are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The handoff that asks.
    pub asked: Cause,
    /// A question, or a call for help.
    pub kind: QuestionKind,
    /// Until when its asker waits in its turn; `None`: the question ended the turn.
    pub waits_until: Option<Timestamp>,
}

/// Everything that waits for people in a flight, longest first.
#[must_use]
pub fn waits(flight: &FlightState, waypoints: &Waypoints) -> Vec<Waits> {
    let mut all: Vec<Waits> = waypoints
        .iter()
        .flat_map(|(id, state)| state.phases().filter_map(move |phase| waiting((flight, waypoints), id, state, phase)))
        .collect();
    all.sort_by(|one, other| one.since.cmp(&other.since).then_with(|| one.waypoint.cmp(&other.waypoint)));
    all
}

fn waiting(
    (flight, waypoints): (&FlightState, &Waypoints),
    id: &WaypointId,
    state: &WaypointState,
    phase: &Phase,
) -> Option<Waits> {
    let mut taken_by = None;
    let (kind, gate, since, question) = match phase {
        Phase::InTurn(open) if open.is_peoples() => {
            taken_by = open.taken_by().cloned();
            let kind = match taken_by {
                Some(_) => InboxKind::Taken,
                None if waypoint::waits_to_be_taken(open) => InboxKind::Turn,
                None => InboxKind::Approval,
            };
            (kind, Some(open.gate.clone()), open.opened_at, None)
        }
        Phase::Waiting(question) => {
            let kind = match question.kind {
                QuestionKind::Clarification => InboxKind::Question,
                QuestionKind::Help => InboxKind::Help,
            };
            let open = OpenQuestion { asked: question.asked.clone(), kind: question.kind, waits_until: None };
            (kind, Some(question.turn.gate.clone()), question.since, Some(open))
        }
        Phase::InTurn(open) => {
            let TurnQuestion { asked, since, until, .. } = open.asking()?.clone();
            let question = OpenQuestion { asked, kind: QuestionKind::Clarification, waits_until: Some(until) };
            (InboxKind::Question, Some(open.gate.clone()), since, Some(question))
        }
        Phase::Held(held) => {
            let kind = if held.status == Status::Failed { InboxKind::Failed } else { InboxKind::Held };
            (kind, held_in(state, held), held.since, None)
        }
        Phase::Delegated(delegated) => {
            stuck(flight, waypoints, id, delegated).next()?;
            (InboxKind::Held, Some(delegated.gate.clone()), delegated.since, None)
        }
        Phase::Pending | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => return None,
    };
    let reference = waypoint::reference(state, phase)?;
    let to = concerned(flight, id, state, phase);
    let block_reason = phase.block_reason();
    Some(Waits { kind, waypoint: id.clone(), gate, since, taken_by, to, block_reason, question, reference })
}

/// The people whom something concerns: who may complete the gate, or those to notify of held work; empty: anybody.
fn concerned(flight: &FlightState, id: &WaypointId, state: &WaypointState, phase: &Phase) -> Vec<AgentName> {
    let Some(planned) = flight.planned(id) else { return Vec::new() };
    match phase {
        Phase::InTurn(open) if open.taken_by().is_some() => open.taken_by().into_iter().cloned().collect(),
        Phase::InTurn(open) if open.is_peoples() => {
            let gate = flight.workflow_of(planned, state).and_then(|workflow| workflow.gate(&open.gate));
            gate.map(|gate| gate.people_at(open.link).to_vec()).unwrap_or_default()
        }
        Phase::Delegated(_) => flight.notified(planned),
        Phase::Held(held) => {
            let mut all = flight.notified(planned);
            for person in chain(flight, planned, state, held) {
                if !all.contains(&person) {
                    all.push(person);
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The people of the chain of a verifier's gate, where the work is held because no verifier answered in time.
fn chain(flight: &FlightState, planned: &Waypoint, state: &WaypointState, held: &Held) -> Vec<AgentName> {
    let is_late = state.decision.as_ref().is_some_and(|last| last.reason_code == ReasonCode::GateTimeout);
    let Resume::Turn(open) = &held.resume else { return Vec::new() };
    if !is_late || !matches!(open.purpose, Purpose::Verify(_)) {
        return Vec::new();
    }
    let gate = flight.workflow_of(planned, state).and_then(|workflow| workflow.gate(&open.gate));
    let links = gate.map(|gate| gate.escalations.as_slice()).unwrap_or_default();
    links.iter().flat_map(|link| link.people.iter().cloned()).collect()
}

/// What people can do about a waypoint as it stands: in a paused flight nothing that opens a turn.
#[must_use]
pub fn actions(flight: &FlightState, id: &WaypointId, state: Option<&WaypointState>) -> Vec<Verb> {
    let mut all = unpaused(flight, id, state);
    all.retain(|verb| *verb == Verb::Cancel || !flight.steering.is_paused());
    all
}

fn unpaused(flight: &FlightState, id: &WaypointId, state: Option<&WaypointState>) -> Vec<Verb> {
    if flight.landing(id).is_some() {
        return Vec::new();
    }
    let Some(state) = state else { return vec![Verb::Cancel] };
    let mut all: Vec<Verb> = state.phases().flat_map(|phase| in_phase(flight, id, state, phase)).collect();
    let is_over = matches!(state.phase, Phase::Accepted { .. }) && !state.lands() || state.phase == Phase::Cancelled;
    all.extend((!is_over).then_some(Verb::Cancel));
    // Branches of a fork may wait for the same.
    let mut seen = Vec::new();
    all.retain(|verb| {
        !seen.contains(verb) && {
            seen.push(*verb);
            true
        }
    });
    all
}

/// What people can do, apart from cancelling it.
fn in_phase(flight: &FlightState, id: &WaypointId, state: &WaypointState, phase: &Phase) -> Vec<Verb> {
    match phase {
        Phase::InTurn(open) if open.taken_by().is_some() && open.purpose != Purpose::Complete => {
            vec![Verb::HandIn, Verb::Release]
        }
        Phase::InTurn(open) if waypoint::waits_to_be_taken(open) => vec![Verb::Take],
        Phase::InTurn(open) if open.is_peoples() => {
            let can_reject = flight
                .planned(id)
                .and_then(|waypoint| flight.workflow_of(waypoint, state)?.gate(&open.gate))
                .is_some_and(|gate| gate.can_reject);
            let reject = can_reject.then_some(Verb::Reject);
            let release = open.taken_by().is_some().then_some(Verb::Release);
            [Some(Verb::Approve), reject, release].into_iter().flatten().collect()
        }
        Phase::InTurn(open) => {
            let answer = open.asking().map(|_| Verb::Answer);
            let planned = flight.planned(id);
            let take = planned.filter(|planned| waypoint::can_be_taken(open, planned)).map(|_| Verb::Take);
            answer.into_iter().chain(take).collect()
        }
        Phase::Waiting(question) => {
            let elsewhere = question.block_reason != BlockReason::NeedsHumanInput && state.fork.is_none();
            let retry = elsewhere.then_some(Verb::Retry);
            [Some(Verb::Answer), retry].into_iter().flatten().collect()
        }
        Phase::Held(_) | Phase::Delegated(_) => vec![Verb::Retry],
        Phase::Pending | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => Vec::new(),
    }
}
