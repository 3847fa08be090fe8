//! There is room for a waypoint that has not begun, or for a branch of its fork (`Input::Open`).

use holdpoint_protocol::state::{Phase, WaypointState};

use super::super::{EngineStep, Fresh, StepContext, beginning::begin, transition::Transition};

/// The waypoint begins, or the next branch of its fork opens.
pub(super) fn take(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    match state.phase {
        Phase::Forked => Transition::new(state, cx, fresh).open_branch(None, None),
        Phase::Pending => begin(Transition::new(state, cx, fresh)),
        _ => EngineStep::Nothing,
    }
}
