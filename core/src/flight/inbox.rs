//! What waits for people: computed from the fold, so that a restart finds the same. The words of a question are not in the
//! state; who shows them reads the handoff.

use holdpoint_protocol::{
    Timestamp,
    api::InboxKind,
    artifact::Verb,
    ids::{GateId, WaypointId},
    journal::Cause,
    state::{Phase, QuestionKind, Status, TurnQuestion, WaypointState},
};

use super::{FlightState, Waypoints};
use crate::engine;

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
    /// The question, where it is one.
    pub question: Option<OpenQuestion>,
    /// Names what waits ([`engine::reference`]).
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
        .filter(|(id, _)| flight.landing(id).is_none())
        .filter_map(|(id, state)| waiting(id, state))
        .collect();
    all.sort_by(|one, other| one.since.cmp(&other.since).then_with(|| one.waypoint.cmp(&other.waypoint)));
    all
}

fn waiting(id: &WaypointId, state: &WaypointState) -> Option<Waits> {
    let last_gate = || state.history.last().map(|visit| visit.gate.clone());
    let (kind, gate, since, question) = match &state.phase {
        Phase::InTurn(open) if open.people => (InboxKind::Approval, Some(open.gate.clone()), open.opened_at, None),
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
            (kind, last_gate(), held.since, None)
        }
        Phase::Pending | Phase::Accepted { .. } | Phase::Cancelled => return None,
    };
    Some(Waits { kind, waypoint: id.clone(), gate, since, question, reference: engine::reference(state)? })
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
    match state.map(|state| (&state.phase, &state.work)) {
        None | Some((Phase::Pending, _)) => vec![Verb::Cancel],
        Some((Phase::InTurn(open), _)) if open.people => {
            let can_reject = flight
                .submitted
                .plan
                .waypoint(id)
                .and_then(|waypoint| flight.workflow(waypoint)?.gate(&open.gate))
                .is_some_and(|gate| gate.can_reject);
            let reject = can_reject.then_some(Verb::Reject);
            [Some(Verb::Approve), reject, Some(Verb::Cancel)].into_iter().flatten().collect()
        }
        Some((Phase::Waiting(_), _)) => vec![Verb::Answer, Verb::Cancel],
        Some((Phase::Held(_), _)) => vec![Verb::Retry, Verb::Cancel],
        Some((Phase::Accepted { .. }, Some(work))) if work.commit.is_some() => vec![Verb::Cancel],
        Some((Phase::InTurn(open), _)) if open.asking().is_some() => vec![Verb::Answer, Verb::Cancel],
        Some((Phase::InTurn(_), _)) => vec![Verb::Cancel],
        Some((Phase::Accepted { .. } | Phase::Cancelled, _)) => Vec::new(),
    }
}
