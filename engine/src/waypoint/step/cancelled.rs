//! A person ends the waypoint, or its whole flight (`Input::Cancelled`).

use holdpoint_protocol::{
    artifact::{ActCode, Cancel, Verb},
    reason::ReasonCode,
    state::{Outcome, Phase, WaypointState},
};

use super::super::{
    EngineStep, Fresh, PersonAct, Refusal, StepContext, acted::unopened, standing::has_ended, transition::Transition,
};
use crate::policy::escalate;

/// A person ends the waypoint, or its whole flight. Accepted work that has not landed does not land.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Option<Box<Cancel>>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, body, .. } = act;
    let is_over = matches!(state.phase, Phase::Cancelled) || has_ended(state, cx);
    if is_over && body.is_none() {
        return EngineStep::Nothing;
    }
    if is_over {
        return unopened_or_over(state, cx);
    }
    let ruling = escalate(ReasonCode::Cancelled, &format!("cancelled by {by}"));
    let transition = Transition::new(state, cx, fresh).acted(by, Verb::Cancel, cause);
    transition.exited(Outcome::Blocked).decided(Phase::Cancelled, &ruling, None)
}

fn unopened_or_over(state: &WaypointState, cx: &StepContext<'_>) -> EngineStep {
    if has_ended(state, cx) {
        let message = format!("waypoint {} is complete", cx.waypoint.id);
        return EngineStep::Refuse(Refusal::act(ActCode::Over, message, "what has landed stays: revert it with git"));
    }
    unopened(state, Verb::Cancel, cx)
}
