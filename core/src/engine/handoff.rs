//! Final handoffs of turns that make work, and which handoffs an open turn takes.

use holdpoint_protocol::{
    artifact::{Disposition, Failure},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, Resume, WaypointState, Work},
};

use super::{
    BuildOutcome, Context, Fresh, Handoff, Refusal, Step,
    transition::{Ruled, Transition, met},
};
use crate::{feedback, policy};

/// Why a program may say that its turn failed; everything else is the orchestrator's to say.
pub(super) const FAILURES: [ReasonCode; 6] = [
    ReasonCode::AgentFailed,
    ReasonCode::AgentTimeout,
    ReasonCode::OutputLimit,
    ReasonCode::HandoffInvalid,
    ReasonCode::NotExecutable,
    ReasonCode::Unsupported,
];

/// The turn that a handoff answers. The redelivery of the winning handoff is a no-op, every other late one a refusal
/// (architecture §2).
pub(super) fn open_turn<'a, T>(state: &'a WaypointState, handoff: &Handoff<T>) -> Result<&'a OpenTurn, Step> {
    if state.answered.as_ref().is_some_and(|a| a.turn == handoff.turn && a.digest == handoff.cause.digest) {
        return Err(Step::Nothing);
    }
    let Phase::InTurn(open) = &state.phase else {
        return Err(Step::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    };
    if open.turn != handoff.turn {
        return Err(Step::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    }
    if open.role != handoff.role {
        return Err(Step::Refuse(Refusal::WrongRole {
            turn: handoff.turn.clone(),
            expected: open.role.clone(),
            found: handoff.role.clone(),
        }));
    }
    Ok(open)
}

/// What ends such a turn, in words.
pub(super) fn wanted(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Build => "a build artifact",
        Purpose::Verify(_) => "a verification report",
        Purpose::Complete => "a completion",
    }
}

/// A turn that makes work ended: its gate is left, or another turn of it opens.
pub(super) fn built(state: &WaypointState, handoff: Handoff<BuildOutcome>, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let open = match open_turn(state, &handoff) {
        Ok(open) => open,
        Err(step) => return step,
    };
    if open.purpose != Purpose::Build {
        return Step::Refuse(Refusal::WrongKind { turn: handoff.turn, wanted: wanted(open.purpose) });
    }
    let transition = Transition::new(state, cx, fresh).by(handoff.agent.clone());
    let (commit, violations) = match handoff.body {
        BuildOutcome::Failed(failure) if !FAILURES.contains(&failure.reason) => {
            let what = format!("{} is not a reason for which a turn can fail", failure.reason);
            return Step::Refuse(Refusal::Mismatch { turn: handoff.turn, what });
        }
        BuildOutcome::Failed(failure) => {
            return failed(transition.answered(handoff.cause, Outcome::NeedsReview), open, &failure);
        }
        BuildOutcome::Work { commit, violations } => (commit, violations),
    };
    let base_tree = state.base.as_ref().and_then(|b| cx.flight.tree_of(b));
    let Some(tree) = commit.as_ref().map(|c| &c.tree).or(base_tree).cloned() else {
        // A base is a commit of the flight's branch by construction.
        return Step::Refuse(Refusal::Mismatch { turn: handoff.turn, what: "the waypoint has no base".to_owned() });
    };
    let mut transition = transition.answered(handoff.cause, Outcome::Complete);
    transition.forget_work();
    transition.next.work = Some(Work {
        commit: commit.as_ref().map(|c| c.commit.clone()),
        tree,
        bundle: commit.map(|c| c.bundle),
        violations,
        role: handoff.role,
        agent: handoff.agent,
        made_on: None,
    });
    transition.leave(&open.gate, Outcome::Complete, met())
}

/// A failed turn counts as an attempt, unless its program cannot run at all; another one follows while reworks are left.
fn failed(mut transition: Transition<'_>, open: &OpenTurn, failure: &Failure) -> Step {
    if failure.reason != ReasonCode::NotExecutable {
        transition.count_attempt();
    }
    match rule_failed(transition, open, failure) {
        Ok((transition, ruled)) => transition.leave(&open.gate, Outcome::NeedsReview, ruled),
        Err(held) => held,
    }
}

/// What is decided on a failed turn, and what the next one learns: a rework, which is counted.
///
/// # Errors
/// The step that holds the work, where none is left or nothing would change.
pub(super) fn rule_failed<'a>(
    mut transition: Transition<'a>,
    open: &OpenTurn,
    failure: &Failure,
) -> Result<(Transition<'a>, Ruled), Step> {
    let ruling = policy::rule_failed_turn(failure.reason, &failure.detail, transition.reworks_left());
    let feedback = Some(feedback::in_words(Disposition::Rework, failure.reason, vec![failure.detail.clone()]));
    let ruled = Ruled { ruling, feedback };
    if ruled.ruling.disposition != Disposition::Rework {
        let resume = Resume::Gate { gate: open.gate.clone(), purpose: open.purpose };
        return Err(transition.hold(resume, ruled));
    }
    transition.next.counters.reworks += 1;
    Ok((transition, ruled))
}
