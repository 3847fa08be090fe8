//! A person gives back a turn that was taken over (`Input::Released`).

use holdpoint_protocol::{artifact::Verb, state::WaypointState};

use super::super::{
    EngineStep, Fresh, PersonAct, StepContext,
    holder::given_back,
    input::Releasing,
    taking::{lost, theirs},
    transition::Transition,
    turns,
};

/// A person gives the turn back: it is its role's again, as it was.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Releasing>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let Releasing { on, turn } = *body;
    let open = match theirs(state, (&by, Verb::Release), (on.as_ref(), overtaken), cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let Some(turn) = turn.filter(|turn| turn.turn_id == open.turn) else { return EngineStep::Refuse(lost(open)) };
    let transition = Transition::new(state, cx, fresh).acted(by, Verb::Release, cause);
    turns::open_again(transition, &given_back(open.clone(), cx), *turn)
}
