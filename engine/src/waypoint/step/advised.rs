//! An advisor answered, or its turn failed (`Input::Advised`).

use holdpoint_protocol::{
    artifact::Failure,
    state::{Outcome, Purpose, WaypointState},
    turn::Advice,
};

use super::super::{
    EngineStep, Fresh, Handoff, Refusal, StepContext,
    advising::{ADVICE_BYTES_MAX, cut, go_on, nothing, request_of, session, why},
    handoff::{FAILURES, open_turn, wanted},
    input::Advised,
    transition::Transition,
};
use crate::completion::{self, CompletionRules};

/// An advisor answered, or its turn failed.
pub(super) fn take(
    state: &WaypointState,
    handoff: Handoff<Box<Advised>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let open = match open_turn(state, &handoff, cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let Handoff { turn, agent, cause, metered, body, .. } = handoff;
    let Advised { completion, turn: entry } = *body;
    if open.purpose != Purpose::Advise {
        return EngineStep::Refuse(Refusal::WrongKind { turn, wanted: wanted(open.purpose) });
    }
    let Some(request) = request_of(*entry) else {
        let what = "no entry opens this turn: the journal may be damaged".to_owned();
        return EngineStep::Refuse(Refusal::Mismatch { turn, what });
    };
    let blank = Advice { advisor: Some(agent.clone()), session: session(&completion), ..nothing(request.round, cx) };
    let given = match &completion.failure {
        Some(Failure { reason, .. }) if !FAILURES.contains(reason) => {
            let what = format!("{reason} is not a reason for which a turn can fail");
            return EngineStep::Refuse(Refusal::Mismatch { turn, what });
        }
        Some(Failure { reason, detail }) => Advice { error: Some(why(&format!("{reason}: {detail}"))), ..blank },
        None => {
            let (waypoint, gate) = (&cx.waypoint.id, &open.gate);
            let wanted =
                CompletionRules { waypoint, gate, can_reject: false, default: Outcome::Complete, demands: None };
            match completion::of_agent(&completion, wanted) {
                Ok(said) if said.outcome == Outcome::Complete => {
                    Advice { success: true, content: cut(said.summary.trim(), ADVICE_BYTES_MAX), ..blank }
                }
                Ok(said) => Advice { declined: true, error: Some(why(&said.blockers.join("\n"))), ..blank },
                Err(lesson) => return EngineStep::Refuse(Refusal::Completion { turn, lesson: Box::new(lesson) }),
            }
        }
    };
    go_on(Transition::new(state, cx, fresh).by(agent).metered(metered).taken(cause), request, given)
}
