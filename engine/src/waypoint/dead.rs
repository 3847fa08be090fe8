//! Turns that kill: their agents take them and are never heard of again, or nobody answers them in time. After a bound
//! they are held until a person has them tried again.

use std::{collections::HashSet, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    artifact::StatusMutation,
    journal::{Dead, Death, Entry},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Resume, Status},
    version,
};

use super::{EngineStep, StepContext, standing::phase_status, transition::Transition};
use crate::policy::escalate;

/// Part of the acknowledgement wait that has to be between two plans at least. The broker delivers a silent agent's
/// turn again after the whole of it, but an agent may take a while to publish its plan.
const SILENCE_SHARE: u32 = 2;

/// An agent's plan for a turn: it took the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenUp {
    /// Who, and which delivery it says that it has.
    pub by: Death,
    /// When the broker stored the plan.
    pub at: Timestamp,
}

/// For how long an agent has to be silent before its turn may have gone to another one.
#[must_use]
pub fn silence(ack_wait: Duration) -> Duration {
    ack_wait / SILENCE_SHARE
}

/// Who took a turn, and neither gave it back nor answered before the newest of these plans.
///
/// `plans` are in the order in which the broker stored them; `given_back` are deliveries whose agents said so. Delivery
/// numbers are the senders' word and show no death: what shows one is the broker's clock. A turn of a silent agent goes to
/// another one after `ack_wait`, so a plan that comes sooner took nothing from anybody. Neither did a plan that its agent made
/// for the same delivery before: programs declare plans in mid-turn, and so may the agent that lost the turn meanwhile. An
/// agent that dies before its plan is counted by the turn's deadline.
#[must_use]
pub fn deaths(plans: impl IntoIterator<Item = TakenUp>, given_back: &[Death], ack_wait: Duration) -> Vec<Death> {
    let (mut deaths, mut held, mut seen) = (Vec::new(), None::<TakenUp>, HashSet::new());
    for plan in plans {
        if !seen.insert((plan.by.delivery, plan.by.agent.clone())) {
            continue;
        }
        let Some(holder) = held.take() else {
            held = Some(plan);
            continue;
        };
        let is_another = plan.by.delivery != holder.by.delivery;
        held = if given_back.contains(&holder.by) {
            Some(plan)
        } else if is_another && plan.at.since(holder.at) >= silence(ack_wait) {
            deaths.push(holder.by);
            Some(plan)
        } else {
            Some(holder)
        };
    }
    deaths
}

/// Whether so many deaths, or overdue openings, are too many.
pub(super) fn is_reached(count: u32, cx: &StepContext<'_>) -> bool {
    let bound = cx.flight.submitted.fleet.dead_after;
    bound > 0 && count >= bound
}

/// The turn is held from here on.
pub(super) fn give_up(transition: Transition<'_>, open: &OpenTurn, deaths: Vec<Death>) -> EngineStep {
    let cx = transition.cx;
    let overdue = open.redeliveries;
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
    let held = transition.held(Resume::Turn(open.clone()), &ruling);
    transition.go_to(Phase::Held(held));
    transition.remember(&ruling);
    let decision = transition
        .decision(&ruling, Some(StatusMutation { from: phase_status(transition.before), to: Status::Blocked }));
    EngineStep::Append(Box::new(Entry::Dead(Box::new(Dead {
        schema_version: version::CURRENT,
        turn: open.turn.clone(),
        role: open.role.clone(),
        deaths,
        overdue,
        decision,
        record: transition.record(),
    }))))
}
