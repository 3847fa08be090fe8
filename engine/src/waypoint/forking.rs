//! A fork under way (GATE-29): several turns of a waypoint are open at the same time, each in a branch of its own.
//!
//! A branch moves by the rules of a waypoint outside of forks: [`super::branches`] has the waypoint as one branch sees it, and
//! [`Transition::go_to`] puts the phase that comes of it back. Votes are entries of their own. So is the decision that follows
//! from them ([`holdpoint_planfile::gates::Workflow::join`]), because the next maker learns the words of every branch. When votes count is
//! not decided here.

use holdpoint_planfile::gates::{Duty, Fork, Gate, Join};
use holdpoint_protocol::{
    ids::GateId,
    journal::Entry,
    reason::ReasonCode,
    state::{Branch, BranchStanding, OpenFork, Outcome, Phase, Resume, Vote, WaypointState},
    turn::{Feedback, ReviewContext},
};

use super::{
    EngineStep, Fresh, StepContext,
    branches::as_seen_by,
    input::Voted,
    purposes,
    transition::{Ruled, Transition},
    visits,
};
use crate::{
    feedback,
    policy::{Ruling, exhausted, met},
};

/// Opens the next branch.
pub(super) fn open_next(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    Transition::new(state, cx, fresh).open_branch(None, None)
}

/// The votes decide. `voted` has what the rejecting ones said.
pub(super) fn joined(state: &WaypointState, voted: &[Voted], cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(open) = state.fork.as_ref().filter(|_| state.phase == Phase::Forked) else { return EngineStep::Nothing };
    let Some(fork) = cx.workflow.fork(&open.fork) else { return EngineStep::Nothing };
    let mut transition = Transition::new(state, cx, fresh);
    match cx.workflow.join(open) {
        Join::Open => EngineStep::Nothing,
        Join::Pass => {
            transition.end_fork();
            match cx.workflow.behind(fork) {
                Some(stop) => transition.enter(stop),
                None => transition.finish(&met()),
            }
        }
        Join::Reject => rejected(transition, fork, open, voted),
    }
}

/// The work goes back, with what every branch said that rejected it: one rework.
fn rejected(mut transition: Transition<'_>, fork: &Fork, open: &OpenFork, voted: &[Voted]) -> EngineStep {
    let cx = transition.cx;
    let rejections: Vec<(&GateId, &Vote)> =
        open.votes().filter(|(_, vote)| vote.outcome == Outcome::NeedsReview).collect();
    let judges = |gate: &GateId| cx.workflow.gate(gate).is_some_and(|gate| gate.duty == Duty::Judge);
    // A verifier's ruling counts for more: it may take the work back altogether.
    let Some((_, first)) = rejections.iter().find(|(gate, _)| judges(gate)).or_else(|| rejections.first()) else {
        return EngineStep::Nothing;
    };
    let ruling =
        Ruling { disposition: first.disposition, reason: first.reason_code, exhausted: false, remediation: None };
    let feedback = joined_feedback(&transition, fork, &rejections, voted, &ruling);
    transition.end_fork();
    let by: Vec<&GateId> = rejections.iter().map(|(gate, _)| *gate).collect();
    if !transition.reworks_left() {
        transition.next.verified = None;
        transition.next.cleared = false;
        let gates: Vec<&str> = by.iter().map(|gate| gate.as_str()).collect();
        let text = format!(
            "rejected in fork {} ({}), and the reworks are used up: `holdpoint retry --reworks +1`",
            fork.id,
            gates.join(", ")
        );
        let first = cx.workflow.first_make();
        let resume = Resume::Gate { gate: first.id.clone(), purpose: purposes::purpose(first) };
        let ruling = exhausted(ReasonCode::AttemptsExhausted, &text);
        return transition.hold(resume, Ruled { ruling, feedback: Some(feedback) });
    }
    transition.count_rework(&ruling);
    let target = cx.workflow.rejected_to(fork, &by, |earlier| visits::was_entered(transition.before, earlier));
    transition.reject_to(target, Ruled { ruling, feedback: Some(feedback) })
}

/// What the next turn learns: what each branch said, with its name.
fn joined_feedback(
    transition: &Transition<'_>,
    fork: &Fork,
    rejections: &[(&GateId, &Vote)],
    voted: &[Voted],
    ruling: &Ruling,
) -> Feedback {
    let mut all = feedback::in_words(ruling.disposition, ruling.reason, Vec::new());
    for (gate, vote) in rejections {
        let Some(said) = voted.iter().find(|voted| voted.cause == vote.cause) else { continue };
        all.failing.extend(said.feedback.failing.iter().cloned());
        all.notes.extend(said.feedback.notes.iter().map(|note| format!("{gate}: {note}")));
    }
    let role = |gate: &Gate| gate.role.clone();
    let from = rejections.first().and_then(|(gate, vote)| Some((transition.cx.workflow.gate(gate).map(role)?, *vote)));
    all.review = from.map(|(from_role, vote)| ReviewContext {
        from_gate: fork.id.clone(),
        from_role,
        from_agent: Some(vote.by.clone()),
        at: transition.cx.now,
    });
    all
}

/// What is wrong with an entry that leaves a waypoint in a fork.
pub(super) fn misfit(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    let Some(fork) = &after.fork else { return Some("it is in a fork that the state does not name".to_owned()) };
    let kept = before.fork.as_ref().filter(|earlier| earlier.fork == fork.fork && earlier.since == fork.since);
    let lost = |earlier: &Branch| {
        matches!(earlier.standing, BranchStanding::Voted(_))
            && fork.branch(&earlier.gate).map(|branch| &branch.standing) != Some(&earlier.standing)
    };
    if kept.is_some_and(|earlier| earlier.branches.iter().any(lost)) {
        return Some("a vote was changed or lost".to_owned());
    }
    if fork.phases().any(|phase| phase.turn().is_none()) {
        return Some("a branch is in a phase that is no branch's".to_owned());
    }
    match entry {
        Entry::Turn(turn) => {
            let open = after.open_turn(&turn.turn_id).is_some_and(|open| open.role == turn.role);
            (!open).then(|| "the state names another turn than the entry".to_owned())
        }
        Entry::Decided(_) | Entry::Answered(_) => {
            let moved = |branch: &&Branch| kept.and_then(|kept| kept.branch(&branch.gate)) != Some(*branch);
            match fork.branches.iter().find(moved).map(|branch| &branch.standing) {
                Some(BranchStanding::Open(Phase::InTurn(open))) => {
                    let seen = as_seen_by(before, &open.turn);
                    super::asking::misfit(&seen, open, entry).map(str::to_owned)
                }
                _ => None,
            }
        }
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}
