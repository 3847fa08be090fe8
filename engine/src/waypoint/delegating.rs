//! Gates at which the children of a waypoint do the work (SDLC-2): no turn opens there, and the waypoint goes on once all of them
//! are complete. Which children there are is the flight's.

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Outcome, Phase, WaypointState},
};

use super::{EngineStep, Fresh, StepContext, standing, transition::Transition};
use crate::policy::{escalate, met};

/// All children are complete: the waypoint goes on.
pub(super) fn gathered(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Delegated(delegated) = &state.phase else { return EngineStep::Nothing };
    let mut transition = Transition::new(state, cx, fresh);
    transition.move_to_head();
    transition.exited(Outcome::Complete).leave(&delegated.gate, Outcome::Complete, met())
}

/// The waypoint is a child that its parent does not want any more.
pub(super) fn recalled(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(parent) = cx.flight.families.parent(&cx.waypoint.id) else { return EngineStep::Nothing };
    if matches!(state.phase, Phase::Cancelled) || standing::has_ended(state, cx) {
        return EngineStep::Nothing;
    }
    let text = format!("waypoint {parent} ended, or was planned again");
    let transition = Transition::new(state, cx, fresh);
    transition.exited(Outcome::Blocked).decided(Phase::Cancelled, &escalate(ReasonCode::Cancelled, &text), None)
}
