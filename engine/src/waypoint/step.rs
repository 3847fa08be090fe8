//! Which file takes which input: `step(state, input) → entry`.
//!
//! Each input has a file of its name with one entry point, `take`. Rules that several inputs share stand in the folder above, which
//! sees none of these files.

mod advised;
mod answer_overdue;
mod answered;
mod asked;
mod budget_exhausted;
mod built;
mod cancelled;
mod completed;
mod deadline_passed;
mod died;
mod fulfilled;
mod gathered;
mod handed_in;
mod integrated;
mod joined;
mod landing_failed;
mod opened;
mod recalled;
mod reconfigured;
mod released;
mod reported;
mod retried;
mod revised;
mod taken;
mod too_large;

use holdpoint_protocol::{
    ids::TurnId,
    journal::Basis,
    state::{Phase, WaypointState},
};

pub use answered::{ANSWER_BYTES_MAX, CONSTRAINT_BYTES_MAX, CONSTRAINTS_MAX};
pub(crate) use reported::runs_on_work;
pub use retried::GRANT_MAX;

use super::{EngineStep, Fresh, Input, StepContext, acted, branches, stacking};

/// Takes one input. The entry that follows records what it was decided on.
#[must_use]
pub fn step(state: &WaypointState, mut input: Input, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    if input.act().is_some_and(|cause| acted::is_repeated(state, cause)) {
        return EngineStep::Nothing;
    }
    let focused = stacking::as_kept(state, &mut input, cx).or_else(|| branches::focus(state, &input, cx));
    let state = focused.as_ref().unwrap_or(state);
    let turn = if let Phase::InTurn(open) = &state.phase { Some(open.turn.clone()) } else { None };
    let basis = Basis { read: cx.flight.read(), turn, what: input.happened() };
    let mut step = take(state, input, cx, fresh);
    if let EngineStep::Append(entry) = &mut step {
        entry.record_mut().basis = Some(basis);
    }
    step
}

fn take(state: &WaypointState, input: Input, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    match input {
        Input::Open => opened::take(state, cx, fresh),
        Input::Joined(voted) => joined::take(state, &voted, cx, fresh),
        Input::Gathered => gathered::take(state, cx, fresh),
        Input::Recalled => recalled::take(state, cx, fresh),
        Input::Built(handoff) => built::take(state, handoff, cx, fresh),
        Input::Reported(handoff) => reported::take(state, handoff, cx, fresh),
        Input::Fulfilled(handoff) => fulfilled::take(state, handoff, cx, fresh),
        Input::Advised(handoff) => advised::take(state, handoff, cx, fresh),
        Input::Asked(handoff) => asked::take(state, handoff, cx, fresh),
        Input::Answered(act) => answered::take(state, act, cx, fresh),
        Input::Completed(act) => completed::take(state, act, cx, fresh),
        Input::Retried(act) => retried::take(state, act, cx, fresh),
        Input::Taken(act) => taken::take(state, act, cx, fresh),
        Input::Released(act) => released::take(state, act, cx, fresh),
        Input::HandedIn(act) => handed_in::take(state, act, cx, fresh),
        Input::Revised(act) => revised::take(state, act, cx, fresh),
        Input::Cancelled(act) => cancelled::take(state, act, cx, fresh),
        Input::Reconfigured(act) => reconfigured::take(state, act, cx, fresh),
        Input::DeadlinePassed(turn) => deadline_passed::take(state, *turn, cx, fresh),
        Input::AnswerOverdue => answer_overdue::take(state, cx, fresh),
        Input::Died(died) => died::take(state, died, cx, fresh),
        Input::Integrated(merge) => integrated::take(state, merge, cx, fresh),
        Input::LandingFailed(detail) => landing_failed::take(state, &detail, cx, fresh),
        Input::BudgetExhausted => budget_exhausted::take(state, cx, fresh),
        Input::TooLarge(size) => too_large::take(state, size, cx, fresh),
    }
}

/// Whether a turn is still wanted: what `progress` answers.
#[must_use]
pub fn is_current(state: &WaypointState, turn: &TurnId) -> bool {
    state.open_turn(turn).is_some()
}
