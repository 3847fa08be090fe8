//! Final handoffs of build and repair turns, and what agents ask.

use holdpoint_protocol::{
    artifact::{Disposition, Failure, VerificationPurpose},
    reason::ReasonCode,
    state::{Outcome, Purpose, WaypointState, Work},
    turn::Feedback,
};

use super::{
    BuildOutcome, Context, Fresh, Handoff, Refusal, Step,
    draft::{answered, count_attempt, escalation, halt, open_turn},
    turns::{self, Opening},
};
use crate::{
    gates::Move,
    policy::{self, Ruling},
};

/// Why a program may say that its turn failed; everything else is the orchestrator's to say.
const FAILURES: [ReasonCode; 5] = [
    ReasonCode::AgentFailed,
    ReasonCode::AgentTimeout,
    ReasonCode::OutputLimit,
    ReasonCode::HandoffInvalid,
    ReasonCode::Unsupported,
];

/// A build or repair turn ended: on to the next gate, or another turn.
pub(super) fn built(state: &WaypointState, handoff: Handoff<BuildOutcome>, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let open = match open_turn(state, &handoff) {
        Ok(open) => open,
        Err(step) => return step,
    };
    if open.purpose != Purpose::Build {
        return Step::Refuse(Refusal::WrongKind { turn: handoff.turn, wanted: "a verification report" });
    }
    let (commit, violations) = match handoff.body {
        BuildOutcome::Failed(failure) if !FAILURES.contains(&failure.reason) => {
            let what = format!("{} is not a reason for which a turn can fail", failure.reason);
            return Step::Refuse(Refusal::Mismatch { turn: handoff.turn, what });
        }
        BuildOutcome::Failed(failure) => {
            let next = answered(state, &handoff.cause, Outcome::NeedsReview, cx);
            return failed(state, next, &failure, handoff.cause, cx, fresh);
        }
        BuildOutcome::Work { commit, violations } => (commit, violations),
    };
    let mut next = answered(state, &handoff.cause, Outcome::Complete, cx);
    let base_tree = state.base.as_ref().and_then(|b| cx.flight.tree_of(b));
    let Some(tree) = commit.as_ref().map(|c| &c.tree).or(base_tree).cloned() else {
        // A base is a commit of the flight's branch by construction.
        return Step::Refuse(Refusal::Mismatch { turn: handoff.turn, what: "the waypoint has no base".to_owned() });
    };
    next.work = Some(Work {
        commit: commit.as_ref().map(|c| c.commit.clone()),
        tree,
        bundle: commit.map(|c| c.bundle),
        violations,
        role: handoff.role,
        agent: handoff.agent,
        made_on: None,
    });
    match cx.workflow.evaluate(&open.gate, Outcome::Complete) {
        Ok(Move::Advance(gate)) => {
            let opening = Opening {
                purpose: Purpose::Verify(VerificationPurpose::Handoff),
                gate: Some(gate.clone()),
                cause: Some(handoff.cause),
                ..Opening::first(Purpose::Build)
            };
            turns::open(next, opening, cx, fresh)
        }
        other => Step::Refuse(Refusal::Mismatch {
            turn: handoff.turn,
            what: format!("gate {} leads to {other:?}, where a verifier's gate was expected", open.gate),
        }),
    }
}

/// A failed turn counts as an attempt; another one follows while reworks are left.
fn failed(
    state: &WaypointState,
    mut next: WaypointState,
    failure: &Failure,
    cause: holdpoint_protocol::journal::Cause,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    count_attempt(state, &mut next);
    let budget_left = next.counters.reworks < cx.flight.submitted.plan.policy.max_reworks;
    let ruling = policy::rule_failed_turn(failure.reason, &failure.detail, budget_left);
    if ruling.disposition != Disposition::Rework {
        return halt(state, next, &ruling, Some(cause), cx, fresh);
    }
    next.counters.reworks += 1;
    let feedback = Feedback {
        disposition: ruling.disposition,
        reason_code: ruling.reason,
        failing: Vec::new(),
        notes: vec![failure.detail.clone()],
        collision: None,
    };
    reopen(next, &ruling, feedback, Some(cause), cx, fresh)
}

/// Opens another build turn: for `repair` where the fleet has it, else for the first gate's role.
pub(super) fn reopen(
    next: WaypointState,
    ruling: &Ruling,
    feedback: Feedback,
    cause: Option<holdpoint_protocol::journal::Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    let opening = Opening {
        ruling: Some(ruling.clone()),
        feedback: Some(feedback),
        cause,
        repair: cx.flight.submitted.fleet.repair,
        ..Opening::first(Purpose::Build)
    };
    turns::open(next, opening, cx, fresh)
}

/// Questions and calls for help are a person's matter in this version (contract: "it escalates with `unsupported`").
pub(super) fn asked(state: &WaypointState, handoff: &Handoff<()>, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let open = match open_turn(state, handoff) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let mut next = answered(state, &handoff.cause, Outcome::Blocked, cx);
    if matches!(open.purpose, Purpose::Build | Purpose::Verify(VerificationPurpose::Handoff)) {
        // A build turn is decided by it.
        count_attempt(state, &mut next);
    }
    let ruling = escalation(
        ReasonCode::Unsupported,
        false,
        "the agent asked a question or called for help, which this version cannot answer: see the handoff, put the answer into the goal",
    );
    halt(state, next, &ruling, Some(handoff.cause.clone()), cx, fresh)
}
