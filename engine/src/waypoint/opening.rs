//! There is room for a waypoint that has not begun (`Input::Open`).

use holdpoint_protocol::state::{Phase, WaypointState};

use super::{EngineStep, Fresh, StepContext, beginning::begin, transition::Transition};

/// A waypoint begins: its rules and judge first, then the first gate.
pub(super) fn open(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    if state.phase != Phase::Pending {
        return EngineStep::Nothing;
    }
    begin(Transition::new(state, cx, fresh))
}
