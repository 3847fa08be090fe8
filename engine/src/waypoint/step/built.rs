//! An agent handed off work, or its turn failed (`Input::Built`).

use holdpoint_protocol::{
    artifact::Failure,
    facts::LeftOut,
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Purpose, WaypointState},
    turn::Feedback,
};

use super::super::{
    BuildOutcome, EngineStep, Fresh, Handoff, Refusal, StepContext,
    handoff::{self, FAILURES, made, open_turn, rule_failed, wanted},
    transition::Transition,
};

/// A turn that makes work ended: its gate is left, or another turn of it opens.
pub(super) fn take(
    state: &WaypointState,
    handoff: Handoff<BuildOutcome>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let open = match open_turn(state, &handoff, cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    if open.purpose != Purpose::Build {
        return EngineStep::Refuse(Refusal::WrongKind { turn: handoff.turn, wanted: wanted(open.purpose) });
    }
    let transition = Transition::new(state, cx, fresh).by(handoff.agent.clone()).metered(handoff.metered);
    let told = handoff.told;
    let (commit, violations) = match handoff.body {
        BuildOutcome::Failed(failure, _) if !FAILURES.contains(&failure.reason) => {
            let what = format!("{} is not a reason for which a turn can fail", failure.reason);
            return EngineStep::Refuse(Refusal::Mismatch { turn: handoff.turn, what });
        }
        BuildOutcome::Failed(failure, left) => {
            let mut transition = transition.answered(handoff.cause, Outcome::NeedsReview);
            if let Some(commit) = left {
                handoff::leave_in_progress(&mut transition, commit, (handoff.role, handoff.agent));
            }
            return failed(transition, open, (&failure, &handoff.left_out), told);
        }
        BuildOutcome::Work { commit, violations } => (commit, violations),
    };
    let seen = (violations, handoff.left_out);
    made(transition.answered(handoff.cause, Outcome::Complete), open, handoff.agent, commit, seen)
}

/// A failed turn counts as an attempt, unless its program cannot run at all; another one follows while reworks are left.
pub(super) fn failed(
    mut transition: Transition<'_>,
    open: &OpenTurn,
    (failure, left_out): (&Failure, &[LeftOut]),
    told: Option<Box<Feedback>>,
) -> EngineStep {
    if failure.reason != ReasonCode::NotExecutable {
        transition.count_attempt();
    }
    match rule_failed(transition, open, (failure, left_out), told) {
        Ok((transition, ruled)) => transition.leave(&open.gate, Outcome::NeedsReview, ruled),
        Err(held) => held,
    }
}
