//! The landing of work failed again and again (`Input::LandingFailed`).

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Phase, Resume, WaypointState},
};

use super::super::{EngineStep, Fresh, StepContext, transition::Transition};
use crate::policy::escalate;

/// Its landing failed again and again.
pub(super) fn take(state: &WaypointState, detail: &str, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let resume = match &state.phase {
        Phase::Accepted { at } => Resume::Landing { at: *at },
        Phase::Queued(queued) => Resume::Gate { gate: queued.gate.clone(), purpose: queued.purpose },
        _ => return EngineStep::Nothing,
    };
    if cx.flight.landing(&cx.waypoint.id).is_some() {
        return EngineStep::Nothing;
    }
    let text = format!("work cannot be put on the branch ({detail}): fix the cause, then `holdpoint retry`");
    Transition::new(state, cx, fresh).hold(resume, escalate(ReasonCode::LandingHeld, &text).into())
}
