//! Turns that kill: their agents take them and are never heard of again, or nobody answers them in time. After a bound
//! they are a person's matter, and tried again when a person says so.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::StatusMutation,
    ids::{AgentName, WaypointId},
    journal::{Cause, Dead, Death, Entry, Record},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Status, WaypointState},
    turn::Turn,
    version,
};

use super::{
    Context, Died, Fresh, Refusal, Step,
    draft::{decision, escalation, leave_gate, remember},
    turns,
};

/// Deliveries of one turn that were taken, and neither given back nor answered, before delivery `current` was.
///
/// `taken` are those whose agents published a plan, `given_back` those whose agents said so. An agent that dies before its
/// plan is counted by the turn's deadline.
#[must_use]
pub fn deaths(taken: impl IntoIterator<Item = Death>, given_back: &[u32], current: u32) -> Vec<Death> {
    let before = |death: &Death| death.delivery < current && !given_back.contains(&death.delivery);
    let died: BTreeMap<u32, AgentName> =
        taken.into_iter().filter(before).map(|death| (death.delivery, death.agent)).collect();
    died.into_iter().map(|(delivery, agent)| Death { delivery, agent }).collect()
}

/// Whether so many deaths, or overdue openings, are too many.
pub(super) fn is_reached(count: u32, cx: &Context<'_>) -> bool {
    let bound = cx.flight.submitted.fleet.dead_after;
    bound > 0 && count >= bound
}

/// Somebody took the turn who is not the first.
pub(super) fn died(state: &WaypointState, died: Died, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let Phase::InTurn(open) = &state.phase else { return Step::Nothing };
    let count = u32::try_from(died.deaths.len()).unwrap_or(u32::MAX);
    if open.turn != died.turn || !is_reached(count, cx) {
        return Step::Nothing;
    }
    give_up(state, open, died.deaths, Some(died.cause), cx, fresh)
}

/// The turn is a person's matter from here on.
pub(super) fn give_up(
    state: &WaypointState,
    open: &OpenTurn,
    deaths: Vec<Death>,
    cause: Option<Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    let mut next = state.clone();
    leave_gate(&mut next, Outcome::Blocked, cx);
    next.phase = Phase::Dead(open.clone());
    let overdue = state.counters.redeliveries;
    let what = if deaths.is_empty() {
        format!("no agent answered this turn in time, {} times", overdue.saturating_add(1))
    } else {
        let agents: Vec<&str> = deaths.iter().map(|death| death.agent.as_str()).collect();
        format!("its agents died of this turn, {} times ({})", deaths.len(), agents.join(", "))
    };
    let (flight, waypoint) = (&cx.flight.submitted.flight, &cx.waypoint.id);
    let ruling = escalation(
        ReasonCode::TurnPoisoned,
        false,
        &format!("{what}: look at the agents' logs, mend the cause, then `holdpoint dead retry {flight} {waypoint}`"),
    );
    remember(&mut next, &ruling, fresh);
    let status = StatusMutation { from: Status::Running, to: Status::Blocked };
    Step::Append(Box::new(Entry::Dead(Box::new(Dead {
        schema_version: version::CURRENT,
        turn: open.turn.clone(),
        role: open.role.clone(),
        deaths,
        overdue,
        decision: decision(&ruling, cause.as_ref(), Some(status), cx, fresh),
        record: Record { at: cx.now, previous: None, cause, state: Some(next), asked_by: None },
    }))))
}

/// A person wants it tried again: the same turn opens with another token, and counts anew.
pub(super) fn retried(state: &WaypointState, turn: Turn, by: AgentName, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let dead = match &state.phase {
        Phase::Dead(open) if open.turn == turn.turn_id => open,
        _ => return Step::Refuse(not_dead(state, &cx.waypoint.id)),
    };
    let mut next = state.clone();
    next.counters.redeliveries = 0;
    match turns::open_anew(next, dead, turn, cx, fresh) {
        Step::Append(mut entry) => {
            entry.record_mut().asked_by = Some(by);
            Step::Append(entry)
        }
        other => other,
    }
}

/// Why there is nothing to be tried again.
#[must_use]
pub fn not_dead(state: &WaypointState, waypoint: &WaypointId) -> Refusal {
    let status = match &state.phase {
        Phase::Pending => "not open yet",
        Phase::InTurn(_) => "in an open turn",
        Phase::Accepted { .. } => "accepted",
        Phase::Dead(_) => "dead in another turn by now",
        Phase::Halted { status: Status::Failed } => "failed",
        Phase::Halted { status: Status::Cancelled } => "cancelled",
        Phase::Halted { .. } => "blocked for another reason",
    };
    Refusal::NotDead { waypoint: waypoint.clone(), status }
}
