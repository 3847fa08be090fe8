//! All children that a waypoint waits for are complete (`Input::Gathered`), and it goes on behind the gate where they did its work.

use holdpoint_protocol::state::{Outcome, Phase, WaypointState};

use super::super::{EngineStep, Fresh, StepContext, transition::Transition};
use crate::policy::met;

/// All children are complete: the waypoint goes on.
pub(super) fn take(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Delegated(delegated) = &state.phase else { return EngineStep::Nothing };
    let mut transition = Transition::new(state, cx, fresh);
    transition.move_to_head();
    transition.exited(Outcome::Complete).leave(&delegated.gate, Outcome::Complete, met())
}
