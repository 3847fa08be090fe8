//! Nobody answered the open question in time (`Input::AnswerOverdue`).

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Phase, Resume, WaypointState},
};

use super::super::{EngineStep, Fresh, StepContext, transition::Transition};
use crate::policy::escalate;

/// Nobody answered in time.
pub(super) fn take(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Waiting(question) = &state.phase else { return EngineStep::Nothing };
    if question.deadline.is_none_or(|deadline| cx.flight.shifted(deadline, question.since, cx.now) > cx.now) {
        return EngineStep::Nothing;
    }
    let text =
        "nobody answered within `answer_within`: `holdpoint retry` opens the turn again, `--note` gives the answer";
    let ruling = escalate(ReasonCode::AnswerOverdue, text);
    Transition::new(state, cx, fresh).hold(Resume::Turn(question.turn.clone()), ruling.into())
}
