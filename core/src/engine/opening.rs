//! How turns begin, begin again, and end for want of time or budget.

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    ids::RoleId,
    reason::ReasonCode,
    state::{OpenTurn, Phase, Purpose, Resume, WaypointState},
    turn::{Turn, TurnRequest},
};

use super::{
    Context, Fresh, Step, dead, requests,
    transition::Transition,
    turns::{self, Opening},
};
use crate::{
    gates::{Duty, Gate},
    policy::{conflict::conflict, escalate, exhausted},
};

/// What a verification of the base is for.
pub(super) const BASELINE: Purpose = Purpose::Verify(VerificationPurpose::Baseline);

/// How often a gate that escalates to nobody is offered to the same people again.
const OFFERED_AGAIN_MAX: u32 = 1;

/// Whether a base has to be tried before anything is built on it at this gate: a check has to be red there.
pub(super) fn is_tried_red(gate: &Gate, cx: &Context<'_>) -> bool {
    gate.duty == Duty::Make && !requests::criteria(VerificationPurpose::Baseline, cx).is_empty()
}

/// Whether the base is tried before this gate: nothing was built on it, and guards have to be green there, or a check red.
pub(super) fn is_base_tried(gate: &Gate, state: &WaypointState, cx: &Context<'_>) -> bool {
    let guarded = gate.duty == Duty::Make && !cx.flight.submitted.plan.guards.is_empty();
    state.counters.attempts == 0 && (guarded || is_tried_red(gate, cx))
}

/// A waypoint begins: its rules and judge first, then the first gate.
pub(super) fn open(state: &WaypointState, cx: &Context<'_>, fresh: &Fresh) -> Step {
    if state.phase != Phase::Pending {
        return Step::Nothing;
    }
    begin(Transition::new(state, cx, fresh))
}

/// Opens the first turn.
pub(super) fn begin(mut transition: Transition<'_>) -> Step {
    let cx = transition.cx;
    transition.next.base = Some(cx.flight.head().clone());
    let judged = cx.workflow.last_judge().is_some();
    if judged && let Some(text) = conflict(&cx.flight.submitted.plan, cx.waypoint) {
        return transition.hold(Resume::Beginning, escalate(ReasonCode::PolicyConflict, &text).into());
    }
    let unjudged = judged && cx.waypoint.criteria.iter().any(|c| c.check.is_none());
    if unjudged && !cx.flight.submitted.fleet.judge {
        let text = "a criterion has no check and this fleet has no judge: give it a check, or run with --judge";
        return transition.hold(Resume::Beginning, escalate(ReasonCode::JudgeMissing, text).into());
    }
    transition.enter(cx.workflow.first())
}

/// The open turn got no final handoff in time: it opens again, up to a bound.
pub(super) fn deadline_passed(state: &WaypointState, turn: Turn, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let Phase::InTurn(open) = &state.phase else { return Step::Nothing };
    if open.turn != turn.turn_id || cx.flight.deadline_of(open, cx.now) > cx.now {
        return Step::Nothing;
    }
    let mut transition = Transition::new(state, cx, fresh);
    if open.people {
        return completed_by_nobody(transition, open, turn);
    }
    if let Some((gate, role)) = escalation(&transition, open) {
        let text = format!("no agent of role {} completed gate {} in time: it is {role}'s now", open.role, open.gate);
        transition.next.counters.redeliveries = 0;
        return escalated(transition, gate, turn, &text);
    }
    if dead::is_reached(state.counters.redeliveries, cx) {
        return dead::give_up(transition, open, Vec::new());
    }
    transition.next.counters.redeliveries += 1;
    turns::open_again(transition, open, turn)
}

/// Nobody completed a gate for people in time: the role to which it escalates has the turn, or the same people have it once
/// more where it escalates to nobody. After that a person has to have it opened again (GATE-15).
fn completed_by_nobody(mut transition: Transition<'_>, open: &OpenTurn, turn: Turn) -> Step {
    let cx = transition.cx;
    if let Some((gate, role)) = escalation(&transition, open) {
        let text = format!(
            "nobody of role {} completed gate {} in time: it is {role}'s now. `holdpoint approve {}` or `holdpoint reject` \
             completes it",
            open.role, open.gate, cx.waypoint.id
        );
        return escalated(transition, gate, turn, &text);
    }
    let offered = transition.before.counters.redeliveries;
    let again = cx.workflow.gate(&open.gate).filter(|gate| gate.escalate_to.is_none() && offered < OFFERED_AGAIN_MAX);
    if let Some(gate) = again {
        let text = format!(
            "nobody of role {} completed gate {} in time: it is open once more. `holdpoint approve {}` or `holdpoint reject` \
             completes it",
            open.role, open.gate, cx.waypoint.id
        );
        transition.next.counters.redeliveries += 1;
        return opened_after_timeout(transition, Opening::of(gate), turn, &text);
    }
    let text = format!("nobody completed gate {} in time: `holdpoint retry` opens it again", open.gate);
    transition.hold(Resume::Turn(open.clone()), escalate(ReasonCode::GateTimeout, &text).into())
}

/// The role to which an open turn escalates, with its gate; `None` where it did already, or escalates to nobody.
fn escalation<'a>(transition: &Transition<'a>, open: &OpenTurn) -> Option<(&'a Gate, &'a RoleId)> {
    let gate = transition.cx.workflow.gate(&open.gate).filter(|_| open.purpose == Purpose::Complete)?;
    let role = gate.escalate_to.as_ref().filter(|role| **role != open.role)?;
    Some((gate, role))
}

/// The turn is taken from whoever has it, and is the other role's, with what was wrong.
fn escalated(transition: Transition<'_>, gate: &Gate, turn: Turn, text: &str) -> Step {
    opened_after_timeout(transition, Opening { escalated: true, ..Opening::of(gate) }, turn, text)
}

/// A new turn in place of one that nobody completed in time, with what was wrong and what is said to people.
fn opened_after_timeout(transition: Transition<'_>, opening: Opening<'_>, turn: Turn, text: &str) -> Step {
    let ruling = escalate(ReasonCode::GateTimeout, text);
    let feedback = match turn.request {
        TurnRequest::Complete(request) => request.feedback,
        TurnRequest::Build(_) | TurnRequest::Verify(_) => None,
    };
    turns::open(transition, Opening { feedback, ..opening }, Some(&ruling))
}

/// The flight's budget is used up: what is not accepted by now fails.
pub(super) fn budget_exhausted(state: &WaypointState, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let resume = match &state.phase {
        Phase::Accepted { .. } | Phase::Held(_) | Phase::Cancelled => return Step::Nothing,
        Phase::Pending => Resume::Beginning,
        Phase::InTurn(open) => Resume::Turn(open.clone()),
        Phase::Waiting(question) => Resume::Turn(question.turn.clone()),
    };
    let text = "the flight's wall budget is used up: raise budget.wall in the plan and run it again";
    Transition::new(state, cx, fresh).hold(resume, exhausted(ReasonCode::BudgetExhausted, text).into())
}
