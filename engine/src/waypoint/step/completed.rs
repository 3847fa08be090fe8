//! A person completes a gate (`Input::Completed`).

use holdpoint_planfile::{gates::Gate, proposal};
use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, Completion, Verb},
    checkpoint::DOCUMENT_BYTES_MAX,
    ids::AgentName,
    state::{OpenTurn, Outcome, Phase, WaypointState},
    workflow::is_human,
};

use super::super::{
    EngineStep, Fresh, PersonAct, Refusal, StepContext,
    acted::{self, is_about, late, not_among, unopened},
    branches, completing, taking, terms,
    transition::Transition,
};
use crate::{
    completion::{self, CompletionRules, Lesson, ValidCompletion},
    handed::{BLOCKERS_MAX, NOTE_BYTES_MAX},
};

/// A person completes a gate.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Completion>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let verb = if body.outcome == Some(Outcome::NeedsReview) { Verb::Reject } else { Verb::Approve };
    let open = match &state.phase {
        Phase::InTurn(open) if open.is_peoples() => open,
        _ => return unopened(state, verb, cx),
    };
    if let Some(refusal) = taking::not_completed(open) {
        return EngineStep::Refuse(refusal);
    }
    let Some(gate) = cx.workflow.gate(&open.gate) else { return unopened(state, verb, cx) };
    if !is_about(body.on.as_ref(), open.turn.as_str(), overtaken) {
        return EngineStep::Refuse(late(state, "what you looked at is not open any more", cx));
    }
    if let Some(refusal) = forbidden(gate, open, &by, &body).or_else(|| acted::own_work(state, open, &by)) {
        return EngineStep::Refuse(refusal);
    }
    if let Some(wrong) = unproposed(gate, &body, cx) {
        return EngineStep::Refuse(wrong);
    }
    if branches::has_voted(state, &by) {
        let message = format!("{by} voted in this fork already: another person has to complete gate {}", gate.id);
        return EngineStep::Refuse(Refusal::act(ActCode::NotAllowed, message, "one person votes once in a fork"));
    }
    // An act that names no outcome is forbidden.
    let outcome = body.outcome.unwrap_or(Outcome::Complete);
    let transition = Transition::new(state, cx, fresh).acted(by, verb, cause.clone()).answered(cause, outcome);
    let Completion { summary, blockers, block_reason, rejection_notes, document, metadata, .. } = *body;
    let document = document.map(|document| *document);
    let said = ValidCompletion { outcome, summary, blockers, block_reason, rejection_notes, document, metadata };
    completing::settle(transition, open, &said)
}

/// Why a gate that proposes children cannot be complete with what a person proposes.
pub(super) fn unproposed(gate: &Gate, completion: &Completion, cx: &StepContext<'_>) -> Option<Refusal> {
    let demands = terms::demands(gate, cx);
    let bounds = demands.proposes.as_ref().filter(|_| completion.outcome == Some(Outcome::Complete))?;
    let proposed = completion.document.as_ref().and_then(|document| document.proposal.as_ref());
    let wrong = proposal::unsound(proposed, bounds)?;
    let message = format!("gate {} proposes what children do, and {wrong}", gate.id);
    Some(Refusal::act(
        ActCode::Invalid,
        message,
        "release the turn to its agents, or `holdpoint reject` it with what is wrong",
    ))
}

/// Why this person cannot complete the gate like this.
fn forbidden(gate: &Gate, open: &OpenTurn, by: &AgentName, completion: &Completion) -> Option<Refusal> {
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    let teach = |code, message: &str, hint: &str, lesson: Lesson| {
        let (message, hint, details) = (message.to_owned(), hint.to_owned(), lesson.to_json());
        Some(Refusal::Act(Box::new(ActRefused { code, message, hint, details })))
    };
    let wanted = CompletionRules {
        waypoint: &completion.waypoint_id,
        gate: &gate.id,
        can_reject: gate.can_reject,
        default: Outcome::Complete,
        demands: None,
    };
    if !is_human(by) {
        let message = format!("gate {} is completed by people; {by} is no person's key", gate.id);
        let hint = "use the key of a person: its name begins with `human-` (--as, --creds)";
        return teach(ActCode::HumanRequired, &message, hint, completion::human_required(&gate.id, by));
    }
    if let Some(refusal) = taking::not_theirs(open, by) {
        return Some(refusal);
    }
    if let Some(refusal) = not_among(gate, open, by, "complete").filter(|_| open.taken_by().is_none()) {
        return Some(refusal);
    }
    let notes = completion.rejection_notes.as_ref().map_or(0, String::len);
    let words = completion.blockers.iter().map(String::len).sum::<usize>() + completion.summary.len() + notes;
    if words > NOTE_BYTES_MAX || completion.blockers.len() > BLOCKERS_MAX {
        let message = format!("an act carries {NOTE_BYTES_MAX} bytes of words and {BLOCKERS_MAX} blockers at most");
        return refuse(ActCode::Invalid, message, "say it shorter, and name a document for the rest");
    }
    let document = completion.document.as_ref().map_or(0, |document| document.text.len());
    if document > DOCUMENT_BYTES_MAX {
        let message = format!("the document has {document} bytes, and at most {DOCUMENT_BYTES_MAX} are taken");
        return refuse(ActCode::Invalid, message, "keep to what the next reader needs, and name files for the rest");
    }
    match completion.outcome {
        None => refuse(ActCode::Invalid, "it names no outcome".to_owned(), "approve or reject it"),
        Some(Outcome::Skip) => {
            let lesson = completion::invalid_outcome("skip", wanted);
            teach(ActCode::Invalid, "only the engine skips a gate", "approve or reject it", lesson)
        }
        Some(Outcome::NeedsReview) if !gate.can_reject => {
            let message = format!("gate {} may not send work back", gate.id);
            let lesson = completion::reject_not_allowed(wanted);
            teach(ActCode::RejectNotAllowed, &message, "approve it, or cancel the waypoint", lesson)
        }
        Some(outcome @ Outcome::NeedsReview) if completion.blockers.iter().all(|blocker| blocker.trim().is_empty()) => {
            let lesson = completion::empty_blockers(outcome);
            teach(ActCode::Invalid, "a rejection needs what has to change", "say it with --note", lesson)
        }
        _ => None,
    }
}
