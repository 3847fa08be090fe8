//! How work begins: its rules and judge first, then the first gate.

use holdpoint_planfile::gates::Stop;
use holdpoint_protocol::{reason::ReasonCode, state::Resume};

use super::{EngineStep, StepContext, transition::Transition};
use crate::policy::{Ruling, conflict::conflict, escalate};

/// Opens the first turn.
pub(super) fn begin(mut transition: Transition<'_>) -> EngineStep {
    let cx = transition.cx;
    transition.next.base = Some(cx.flight.head().clone());
    if let Some(ruling) = unfit(cx) {
        return transition.hold(Resume::Beginning, ruling.into());
    }
    transition.enter(Stop::Gate(cx.workflow.first()))
}

/// Why a waypoint cannot begin: rules that contradict each other, or nobody to judge it.
pub(super) fn unfit(cx: &StepContext<'_>) -> Option<Ruling> {
    cx.workflow.last_judge()?;
    if let Some(text) = conflict(&cx.flight.submitted.plan, cx.waypoint) {
        return Some(escalate(ReasonCode::PolicyConflict, &text));
    }
    let unjudged = cx.waypoint.criteria.iter().any(|c| c.check.is_none());
    let text = "a criterion has no check and this fleet has no judge: give it a check, or name a judge with --judge, and fly the plan \
                again";
    (unjudged && !cx.flight.submitted.fleet.judge).then(|| escalate(ReasonCode::JudgeMissing, text))
}
