//! The flight's budget is used up (`Input::BudgetExhausted`).

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Phase, Resume, WaypointState},
};

use super::super::{EngineStep, Fresh, StepContext, transition::Transition};
use crate::policy::exhausted;

/// The flight's budget is used up: what is not accepted by now fails.
pub(super) fn take(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
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
