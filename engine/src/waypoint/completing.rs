//! A gate was completed, by a person or an agent: where its outcome leads (GATE-7, GATE-9).

use holdpoint_protocol::{
    artifact::Disposition,
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Resume},
};

use super::{
    EngineStep, purposes,
    transition::{Ruled, Transition},
};
use crate::{
    completion::ValidCompletion,
    feedback,
    policy::{Ruling, escalate, exhausted, met},
};

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
