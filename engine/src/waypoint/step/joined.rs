//! The votes of a fork decide (`Input::Joined`): the work goes on behind it, or goes back with what every branch said (GATE-29).

use holdpoint_planfile::gates::{Duty, Fork, Gate, Join};
use holdpoint_protocol::{
    ids::GateId,
    reason::ReasonCode,
    state::{OpenFork, Outcome, Phase, Resume, Vote, WaypointState},
    turn::{Feedback, ReviewContext},
};

use super::super::{
    EngineStep, Fresh, StepContext,
    input::Voted,
    purposes,
    transition::{Ruled, Transition},
    visits,
};
use crate::{
    feedback,
    policy::{Ruling, exhausted, met},
};

/// The votes decide. `voted` has what the rejecting ones said.
pub(super) fn take(state: &WaypointState, voted: &[Voted], cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
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
pub(super) fn rejected(mut transition: Transition<'_>, fork: &Fork, open: &OpenFork, voted: &[Voted]) -> EngineStep {
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
