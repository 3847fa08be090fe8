//! Which file takes which input: `step(state, input) → entry`.

use holdpoint_protocol::{
    ids::TurnId,
    state::{Phase, WaypointState},
};

use super::{
    EngineStep, Fresh, Input, StepContext, acted, acts, advising, branches, building, completing, dead, delegating,
    escalating, forking, landing, migrating, opening, oversize, overspent, questions, report, revising, stacking,
    taking,
};

/// Takes one input.
#[must_use]
pub fn step(state: &WaypointState, mut input: Input, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    if input.act().is_some_and(|cause| acted::is_repeated(state, cause)) {
        return EngineStep::Nothing;
    }
    let focused = stacking::as_kept(state, &mut input).or_else(|| branches::focus(state, &input, cx));
    let state = focused.as_ref().unwrap_or(state);
    match input {
        Input::Open if state.phase == Phase::Forked => forking::open_next(state, cx, fresh),
        Input::Open => opening::open(state, cx, fresh),
        Input::Joined(voted) => forking::joined(state, &voted, cx, fresh),
        Input::Gathered => delegating::gathered(state, cx, fresh),
        Input::Recalled => delegating::recalled(state, cx, fresh),
        Input::Built(handoff) => building::built(state, handoff, cx, fresh),
        Input::Reported(handoff) => report::reported(state, handoff, cx, fresh),
        Input::Fulfilled(handoff) => completing::fulfilled(state, handoff, cx, fresh),
        Input::Advised(handoff) => advising::advised(state, handoff, cx, fresh),
        Input::Asked(handoff) => questions::asked(state, handoff, cx, fresh),
        Input::Answered(act) => questions::answered(state, act, cx, fresh),
        Input::Completed(act) => acts::completed(state, act, cx, fresh),
        Input::Retried(act) => acts::retried(state, act, cx, fresh),
        Input::Taken(act) => taking::taken(state, act, cx, fresh),
        Input::Released(act) => taking::released(state, act, cx, fresh),
        Input::HandedIn(act) => taking::handed_in(state, act, cx, fresh),
        Input::Revised(act) => revising::revised(state, act, cx, fresh),
        Input::Cancelled(act) => acts::cancelled(state, act, cx, fresh),
        Input::Reconfigured(act) => migrating::reconfigured(state, act, cx, fresh),
        Input::DeadlinePassed(turn) => escalating::deadline_passed(state, *turn, cx, fresh),
        Input::AnswerOverdue => questions::overdue(state, cx, fresh),
        Input::Died(died) => dead::died(state, died, cx, fresh),
        Input::Integrated(merge) => landing::integrated(state, merge, cx, fresh),
        Input::LandingFailed(detail) => landing::landing_failed(state, &detail, cx, fresh),
        Input::BudgetExhausted => overspent::budget_exhausted(state, cx, fresh),
        Input::TooLarge(size) => oversize::hold(state, size, cx, fresh),
    }
}

/// Whether a turn is still wanted: what `progress` answers.
#[must_use]
pub fn is_current(state: &WaypointState, turn: &TurnId) -> bool {
    state.open_turn(turn).is_some()
}
