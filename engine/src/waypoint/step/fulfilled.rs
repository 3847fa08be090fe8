//! An agent completed a gate, or its turn failed (`Input::Fulfilled`, GATE-7, GATE-19).

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    artifact::{Completion, Failure},
    state::{OpenTurn, Purpose, WaypointState},
    turn::Feedback,
};

use super::super::{
    EngineStep, Fresh, Handoff, Refusal, StepContext, branches,
    completing::settle,
    handoff::{FAILURES, open_turn, rule_failed, wanted},
    terms,
    transition::Transition,
};
use crate::completion::{self, CompletionRules};

/// An agent completed a gate, or its turn failed.
pub(super) fn take(
    state: &WaypointState,
    handoff: Handoff<Box<Completion>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let open = match open_turn(state, &handoff, cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let Handoff { turn, agent, cause, told, metered, body, .. } = handoff;
    let Some(gate) = cx.workflow.gate(&open.gate).filter(|_| open.purpose == Purpose::Complete) else {
        return EngineStep::Refuse(Refusal::WrongKind { turn, wanted: wanted(open.purpose) });
    };
    if open.is_peoples() {
        let lesson = Box::new(completion::human_required(&gate.id, &agent));
        return EngineStep::Refuse(Refusal::Completion { turn, lesson });
    }
    if branches::has_made(state, &agent) {
        return EngineStep::Refuse(Refusal::OwnWork { turn, agent });
    }
    let transition = Transition::new(state, cx, fresh).by(agent).metered(metered);
    if let Some(failure) = &body.failure {
        if !FAILURES.contains(&failure.reason) {
            let what = format!("{} is not a reason for which a turn can fail", failure.reason);
            return EngineStep::Refuse(Refusal::Mismatch { turn, what });
        }
        return failed(transition.taken(cause), open, gate, (failure, told));
    }
    let (default, can_reject) = (cx.workflow.default_outcome, gate.can_reject);
    match completion::of_agent(
        &body,
        CompletionRules {
            waypoint: &cx.waypoint.id,
            gate: &gate.id,
            can_reject,
            default,
            demands: Some(&terms::demands(gate, cx)),
        },
    ) {
        Ok(said) => settle(transition.answered(cause, said.outcome), open, &said),
        Err(lesson) => EngineStep::Refuse(Refusal::Completion { turn, lesson: Box::new(lesson) }),
    }
}

/// A failed turn came to no outcome: its gate stays open, and another turn of it follows while reworks are left.
pub(super) fn failed(
    transition: Transition<'_>,
    open: &OpenTurn,
    gate: &Gate,
    (failure, told): (&Failure, Option<Box<Feedback>>),
) -> EngineStep {
    match rule_failed(transition, open, (failure, &[]), told) {
        Ok((transition, ruled)) => transition.again_by(gate, open.link, ruled),
        Err(held) => held,
    }
}
