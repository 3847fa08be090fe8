//! Answers to questions: by policy, or awaited from a person, and the turn that opens again with one.

use holdpoint_protocol::{
    artifact::Clarified,
    plan::Answer,
    reason::ReasonCode,
    state::{OpenTurn, QuestionKind},
    turn::Turn,
};
use regex::Regex;

use super::{EngineStep, StepContext, transition::Transition, turns};
use crate::policy::{Ruling, escalate};

/// Who answers where the plan's `answers` do.
const POLICY: &str = "policy";

/// What the decision says that opens a question.
pub(super) fn opens(kind: QuestionKind, open: &OpenTurn, cx: &StepContext<'_>) -> Ruling {
    let (reason, what) = match kind {
        QuestionKind::Clarification => (ReasonCode::ClarificationOpen, "asks"),
        QuestionKind::Help => (ReasonCode::HelpRequested, "calls for help"),
    };
    let (flight, waypoint) = (&cx.flight.submitted.flight, &cx.waypoint.id);
    let text =
        format!("its {} {what}: `holdpoint inbox`, then `holdpoint answer {waypoint} --flight {flight}`", open.role);
    escalate(reason, &text)
}

/// The plan's answer to a question, if it has one. Expressions were checked when the plan was taken.
pub(super) fn by_policy(question: String, cx: &StepContext<'_>) -> Option<Clarified> {
    let fits = |answer: &&Answer| Regex::new(&answer.matches).is_ok_and(|matches| matches.is_match(&question));
    let answer = cx.flight.submitted.plan.answers.iter().find(fits)?;
    Some(Clarified {
        option: Some(answer.option.clone()),
        text: None,
        rationale: answer.rationale.clone(),
        constraints: Vec::new(),
        by: POLICY.to_owned(),
        question,
    })
}

/// The turn opens again, with the answer and from the work in progress.
pub(super) fn go_on(transition: Transition<'_>, open: &OpenTurn, mut turn: Turn, answered: Clarified) -> EngineStep {
    turns::constrain(&mut turn, &answered.constraints);
    turns::clarify(&mut turn, answered);
    again(transition, open, turn)
}

/// The turn opens again, from the work in progress.
pub(super) fn again(transition: Transition<'_>, open: &OpenTurn, mut turn: Turn) -> EngineStep {
    turns::start_from(&mut turn, &transition.next, transition.cx);
    turns::open_again(transition, open, turn)
}
