//! How a waypoint begins, and ends for want of budget. What becomes of turns that nobody answers is [`super::escalating`].

use holdpoint_planfile::gates::{Duty, Gate, Stop};
use holdpoint_protocol::{
    artifact::VerificationPurpose,
    reason::ReasonCode,
    state::{Phase, Purpose, Resume, WaypointState},
};

use super::{EngineStep, Fresh, StepContext, requests, transition::Transition};
use crate::policy::{Ruling, conflict::conflict, escalate, exhausted};

/// What a verification of the base is for.
pub(super) const BASELINE: Purpose = Purpose::Verify(VerificationPurpose::Baseline);

/// Whether a base has to be tried before anything is built on it at this gate: a check has to be red there.
pub(super) fn is_tried_red(gate: &Gate, cx: &StepContext<'_>) -> bool {
    gate.duty == Duty::Make && !requests::criteria(VerificationPurpose::Baseline, cx).is_empty()
}

/// Whether the base is tried before this gate: nothing was built on it, and guards have to be shown green there, or a check red.
pub(super) fn is_base_tried(gate: &Gate, state: &WaypointState, cx: &StepContext<'_>) -> bool {
    let guards = requests::guards(VerificationPurpose::Baseline, state.base.as_ref(), cx);
    let guarded = gate.duty == Duty::Make && !guards.is_empty();
    state.counters.attempts == 0 && (guarded || is_tried_red(gate, cx))
}

/// A waypoint begins: its rules and judge first, then the first gate.
pub(super) fn open(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    if state.phase != Phase::Pending {
        return EngineStep::Nothing;
    }
    begin(Transition::new(state, cx, fresh))
}

/// Opens the first turn.
pub(super) fn begin(mut transition: Transition<'_>) -> EngineStep {
    let cx = transition.cx;
    transition.next.base = Some(cx.flight.head().clone());
    if let Some(ruling) = unfit(cx) {
        return transition.hold(Resume::Beginning, ruling.into());
    }
    transition.enter(Stop::Gate(cx.workflow.first()))
}

/// Why a waypoint cannot begin: rules that contradict each other, or nobody to judge it.
pub(super) fn unfit(cx: &StepContext<'_>) -> Option<Ruling> {
    cx.workflow.last_judge()?;
    if let Some(text) = conflict(&cx.flight.submitted.plan, cx.waypoint) {
        return Some(escalate(ReasonCode::PolicyConflict, &text));
    }
    let unjudged = cx.waypoint.criteria.iter().any(|c| c.check.is_none());
    let text = "a criterion has no check and this fleet has no judge: give it a check, or name a judge with --judge, and fly the plan \
                again";
    (unjudged && !cx.flight.submitted.fleet.judge).then(|| escalate(ReasonCode::JudgeMissing, text))
}

/// The flight's budget is used up: what is not accepted by now fails.
pub(super) fn budget_exhausted(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let resume = match &state.phase {
        // Its children are what uses the budget up.
        Phase::Accepted { .. } | Phase::Held(_) | Phase::Delegated(_) | Phase::Cancelled => return EngineStep::Nothing,
        Phase::Pending => Resume::Beginning,
        Phase::InTurn(open) => Resume::Turn(open.clone()),
        Phase::Waiting(question) => Resume::Turn(question.turn.clone()),
        Phase::Queued(queued) => Resume::Gate { gate: queued.gate.clone(), purpose: queued.purpose },
        Phase::Forked => Resume::Fork,
    };
    let flight = &cx.flight.submitted.flight;
    let text = format!(
        "the flight's wall budget is used up: raise it by more than the time since then, such as `holdpoint budget {flight} --wall \
         +600`; the work goes on then"
    );
    Transition::new(state, cx, fresh).hold(resume, exhausted(ReasonCode::BudgetExhausted, &text).into())
}
