//! A child is not wanted any more by its parent (`Input::Recalled`).

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Outcome, Phase, WaypointState},
};

use super::super::{EngineStep, Fresh, StepContext, standing, transition::Transition};
use crate::policy::escalate;

/// The waypoint is a child that its parent does not want any more.
pub(super) fn take(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(parent) = cx.flight.families.parent(&cx.waypoint.id) else { return EngineStep::Nothing };
    if matches!(state.phase, Phase::Cancelled) || standing::has_ended(state, cx) {
        return EngineStep::Nothing;
    }
    let text = format!("waypoint {parent} ended, or was planned again");
    let transition = Transition::new(state, cx, fresh);
    transition.exited(Outcome::Blocked).decided(Phase::Cancelled, &escalate(ReasonCode::Cancelled, &text), None)
}
