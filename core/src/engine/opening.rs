//! How turns begin, begin again, and end for want of budget.

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    reason::ReasonCode,
    state::{Phase, Purpose, WaypointState},
    turn::Turn,
};

use super::{
    Context, Fresh, Step, dead,
    draft::{escalation, halt},
    turns::{self, Opening},
};

/// A waypoint begins: judge and baseline first, then the first gate.
pub(super) fn open(state: &WaypointState, cx: &Context<'_>, fresh: &Fresh) -> Step {
    if state.phase != Phase::Pending {
        return Step::Nothing;
    }
    let mut next = state.clone();
    next.base = Some(cx.flight.head().clone());
    let unjudged = cx.waypoint.criteria.iter().any(|c| c.check.is_none());
    if unjudged && !cx.flight.submitted.fleet.judge {
        let ruling = escalation(
            ReasonCode::JudgeMissing,
            false,
            "a criterion has no check and this fleet has no judge: give it a check, or run with --judge",
        );
        return halt(state, next, &ruling, None, cx, fresh);
    }
    let red_first = cx.waypoint.criteria.iter().any(|c| c.check.as_ref().is_some_and(|k| k.red_first));
    let guarded = !cx.flight.submitted.plan.guards.is_empty();
    let purpose = if red_first || guarded { Purpose::Verify(VerificationPurpose::Baseline) } else { Purpose::Build };
    turns::open(next, Opening::first(purpose), cx, fresh)
}

/// The open turn got no final handoff in time: it opens anew, up to a bound.
pub(super) fn deadline_passed(state: &WaypointState, turn: Turn, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let Phase::InTurn(open) = &state.phase else { return Step::Nothing };
    if open.turn != turn.turn_id || open.deadline > cx.now {
        return Step::Nothing;
    }
    let mut next = state.clone();
    if dead::is_reached(next.counters.redeliveries, cx) {
        return dead::give_up(state, open, Vec::new(), None, cx, fresh);
    }
    next.counters.redeliveries += 1;
    turns::open_anew(next, open, turn, cx, fresh)
}

/// The flight's budget is used up: what is not accepted by now fails.
pub(super) fn budget_exhausted(state: &WaypointState, cx: &Context<'_>, fresh: &Fresh) -> Step {
    match state.phase {
        Phase::Accepted { .. } | Phase::Dead(_) | Phase::Halted { .. } => Step::Nothing,
        Phase::Pending | Phase::InTurn(_) => {
            let ruling = escalation(
                ReasonCode::BudgetExhausted,
                true,
                "the flight's wall budget is used up: raise budget.wall in the plan and run it again",
            );
            halt(state, state.clone(), &ruling, None, cx, fresh)
        }
    }
}
