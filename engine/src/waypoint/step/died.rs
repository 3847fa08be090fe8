//! The agents of a turn were never heard of again (`Input::Died`).

use holdpoint_protocol::state::{Phase, Purpose, WaypointState};

use super::super::{
    Died, EngineStep, Fresh, StepContext,
    dead::{give_up, is_reached},
    transition::Transition,
};

/// An agent took the turn that is not the first.
pub(super) fn take(state: &WaypointState, died: Died, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::InTurn(open) = &state.phase else { return EngineStep::Nothing };
    let count = u32::try_from(died.deaths.len()).unwrap_or(u32::MAX);
    // Nobody's work is in an advisor's turn: after its deadline a person is asked.
    if open.turn != died.turn || open.purpose == Purpose::Advise || !is_reached(count, cx) {
        return EngineStep::Nothing;
    }
    let transition = Transition { cause: Some(died.cause), ..Transition::new(state, cx, fresh) };
    give_up(transition, open, died.deaths)
}
