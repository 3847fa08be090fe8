//! Gates that agents complete: roles that neither build nor verify (GATE-7, GATE-9, GATE-19).
//!
//! What people complete is [`super::acts`]; where either leads is one and the same.

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    artifact::{Completion, Disposition, Failure},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Purpose, Resume, WaypointState},
    turn::Feedback,
};

use super::{
    EngineStep, Fresh, Handoff, Refusal, StepContext, branches,
    handoff::{FAILURES, open_turn, rule_failed, wanted},
    purposes, terms,
    transition::{Ruled, Transition},
};
use crate::{
    completion::{self, CompletionRules, ValidCompletion},
    feedback,
    policy::{Ruling, escalate, exhausted, met},
};

/// An agent completed a gate, or its turn failed.
pub(super) fn fulfilled(
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
    if open.people {
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

/// A gate was completed, by a person or an agent: where it leads.
pub(super) fn settle(mut transition: Transition<'_>, open: &OpenTurn, said: &ValidCompletion) -> EngineStep {
    if let Some(document) = said.document.as_ref().filter(|document| !document.text.is_empty()) {
        transition.documented(&open.gate, document);
    }
    let proposes = said.document.as_ref().is_some_and(|document| document.proposal.is_some());
    if proposes && said.outcome == Outcome::Complete {
        transition.next.proposal.clone_from(&transition.cause);
    }
    match said.outcome {
        Outcome::NeedsReview => rejected(transition, open, said),
        Outcome::Blocked => {
            let brief: String = said.blockers.first().unwrap_or(&said.summary).chars().take(200).collect();
            let kind = said.block_reason.map(|reason| format!("{reason}: ")).unwrap_or_default();
            let text = format!("gate {} is blocked ({kind}{brief}): `holdpoint retry` opens it again", open.gate);
            let ruling = escalate(ReasonCode::GateBlocked, &text);
            let feedback = Some(feedback::in_words(Disposition::Escalate, ReasonCode::GateBlocked, notes(said)));
            let transition = Transition { block_reason: said.block_reason, ..transition };
            transition.leave(&open.gate, Outcome::Blocked, Ruled { ruling, feedback })
        }
        outcome => transition.leave(&open.gate, outcome, met()),
    }
}

/// What the agent that gets the work back learns.
fn notes(said: &ValidCompletion) -> Vec<String> {
    said.blockers.iter().chain(&said.rejection_notes).cloned().collect()
}

/// The work is sent back: a rework like any other.
fn rejected(mut transition: Transition<'_>, open: &OpenTurn, said: &ValidCompletion) -> EngineStep {
    let feedback = Some(feedback::in_words(Disposition::Rework, ReasonCode::ApprovalRejected, notes(said)));
    let (disposition, reason) = (Disposition::Rework, ReasonCode::ApprovalRejected);
    let ruling = Ruling { disposition, reason, exhausted: false, remediation: None };
    if transition.is_in_fork(&open.gate) {
        // One vote among others.
        return transition.leave(&open.gate, Outcome::NeedsReview, Ruled { ruling, feedback });
    }
    if !transition.reworks_left() {
        transition.next.verified = None;
        transition.next.cleared = false;
        let text =
            format!("rejected at gate {}, and the reworks are used up: `holdpoint retry --reworks +1`", open.gate);
        let first = transition.cx.workflow.first();
        let resume = Resume::Gate { gate: first.id.clone(), purpose: purposes::purpose(first) };
        return transition.hold(resume, Ruled { ruling: exhausted(ReasonCode::AttemptsExhausted, &text), feedback });
    }
    transition.count_rework(&ruling);
    transition.leave(&open.gate, Outcome::NeedsReview, Ruled { ruling, feedback })
}

/// A failed turn came to no outcome: its gate stays open, and another turn of it follows while reworks are left.
fn failed(
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
