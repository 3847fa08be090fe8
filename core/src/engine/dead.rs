//! Turns that kill: their agents take them and are never heard of again, or nobody answers them in time. After a bound
//! they are held until a person has them tried again.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::StatusMutation,
    ids::AgentName,
    journal::{Dead, Death, Entry},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Resume, Status, WaypointState},
    version,
};

use super::{Context, Died, Fresh, Step, transition::Transition};
use crate::policy::escalate;

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
    let transition = Transition { cause: Some(died.cause), ..Transition::new(state, cx, fresh) };
    give_up(transition, open, died.deaths)
}

/// The turn is held from here on.
pub(super) fn give_up(transition: Transition<'_>, open: &OpenTurn, deaths: Vec<Death>) -> Step {
    let cx = transition.cx;
    let overdue = transition.before.counters.redeliveries;
    let what = if deaths.is_empty() {
        format!("no agent answered this turn in time, {} times", overdue.saturating_add(1))
    } else {
        let agents: Vec<&str> = deaths.iter().map(|death| death.agent.as_str()).collect();
        format!("its agents died of this turn, {} times ({})", deaths.len(), agents.join(", "))
    };
    let (flight, waypoint) = (&cx.flight.submitted.flight, &cx.waypoint.id);
    let ruling = escalate(
        ReasonCode::TurnPoisoned,
        &format!(
            "{what}: look at the agents' logs, fix the cause, then `holdpoint retry {waypoint} --flight {flight}`"
        ),
    );
    let mut transition = transition.exited(Outcome::Blocked);
    transition.next.phase = Phase::Held(transition.held(Resume::Turn(open.clone()), &ruling));
    transition.remember(&ruling);
    let decision = transition.decision(&ruling, Some(StatusMutation { from: Status::Running, to: Status::Blocked }));
    Step::Append(Box::new(Entry::Dead(Box::new(Dead {
        schema_version: version::CURRENT,
        turn: open.turn.clone(),
        role: open.role.clone(),
        deaths,
        overdue,
        decision,
        record: transition.record(),
    }))))
}
