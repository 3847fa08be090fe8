//! Advice (RETRY-12): where a fleet has the role `advisor`, its agents are asked before a person is.
//!
//! A round asks as many advisors as the fleet says, one after another: each has a turn of its own. One answer makes the round a
//! success, and the asker's turn opens again with all that was said. Where advisors failed another round follows after a pause, up
//! to a bound. Then, and as soon as all of a round say that they cannot help, or nobody is heard of in time, or the budget is used
//! up, the question waits for a person as if there were no advisors.
//!
//! The state has references and counts only. The words ride in the advisors' turns, from which the next one is made, so
//! that nothing has to be remembered outside the journal. Only turns that make work get advice: agents that verify or
//! complete a gate do so independently (FLY-18), and only people answer them. `turns` opens what follows.

mod turns;

use std::time::Duration;

use holdpoint_planfile::plan::ADVISORS_MAX;
use holdpoint_protocol::{
    Timestamp,
    artifact::Completion,
    ids::role,
    state::{OpenAdvice, OpenTurn, Purpose, Question, QuestionKind},
    turn::{Advice, AdviceRequest, Feedback, Turn, TurnRequest},
};

use super::{EngineStep, StepContext, transition::Transition};

/// The most rounds in which advisors are asked one question.
pub const ADVICE_ROUNDS_MAX: u32 = 3;
/// Bytes of one advisor's words, and of the context of a question as advisors get it.
pub const ADVICE_BYTES_MAX: usize = 8 << 10;
/// Bytes of why there is no advice.
const ERROR_BYTES_MAX: usize = 1 << 10;
/// The longest name of an advisor's conversation, in bytes.
const SESSION_BYTES_MAX: usize = 128;
/// The pause before the second round; each later one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// Where an advisor's completion names its conversation.
const SESSION: &str = "session";

/// What is asked, in words.
pub(super) struct Words {
    pub(super) question: String,
    pub(super) context: String,
}

/// Whether advisors are asked before a person: the fleet has some, and the turn makes work. Where gates are theirs they decide,
/// and an agent that decides does not advise.
pub(super) fn is_wanted(kind: QuestionKind, open: &OpenTurn, cx: &StepContext<'_>) -> bool {
    let advisor = role::id(role::ADVISOR);
    let asks = kind == QuestionKind::Help || cx.flight.submitted.plan.policy.advise_questions;
    let makes = open.purpose == Purpose::Build && !open.is_peoples();
    let has_gates = || cx.workflow.agent_roles().any(|(role, _)| *role == advisor);
    let is_vacant = || cx.workflow.listed.get(&advisor).is_some_and(Vec::is_empty);
    asks && makes && cx.flight.submitted.fleet.advisors > 0 && !has_gates() && !is_vacant()
}

/// Asks the first advisor. `turn` is the asker's, as it stands.
pub(super) fn begin(transition: Transition<'_>, question: Question, turn: Turn, words: Words) -> EngineStep {
    let TurnRequest::Build(mut asked) = turn.request else { return EngineStep::Nothing };
    // The asker's conversation is for its own role.
    asked.conversation = None;
    let request = AdviceRequest {
        kind: question.kind,
        question: words.question,
        context: cut(&words.context, ADVICE_BYTES_MAX),
        round: 1,
        not_before: None,
        given: Vec::new(),
        asked,
    };
    turns::ask(transition, OpenAdvice { question, round: 1, asked: 0, helped: 0 }, request)
}

/// An advisor asked something itself instead of answering: it could not help.
pub(super) fn asked_back(transition: Transition<'_>, turn: Turn) -> EngineStep {
    let Some(request) = request_of(turn) else { return EngineStep::Nothing };
    let error = Some("it asked a question instead of answering".to_owned());
    let blank = nothing(request.round, transition.cx);
    let given = Advice { advisor: transition.by.clone(), declined: true, error, ..blank };
    go_on(transition, request, given)
}

/// No advisor was heard of in time: nobody else is asked, because there may be none.
pub(super) fn overdue(transition: Transition<'_>, turn: Turn) -> EngineStep {
    let asked = request_of(turn).zip(transition.before.advice().cloned());
    asked.map_or(EngineStep::Nothing, |(request, advice)| {
        turns::end(transition, advice, request, "no advisor answered in time")
    })
}

/// What follows an answer, or the want of one.
pub(super) fn go_on(transition: Transition<'_>, mut request: AdviceRequest, given: Advice) -> EngineStep {
    let cx = transition.cx;
    let Some(mut advice) = transition.before.advice().cloned() else { return EngineStep::Nothing };
    advice.helped += u32::from(given.success);
    request.given.push(given);
    if advice.asked < advisors(cx) {
        return turns::ask(transition, advice, request);
    }
    let round = advice.round;
    let failed = |given: &Advice| given.round == round && !given.success && !given.declined;
    if advice.helped > 0 || !request.given.iter().any(failed) {
        return turns::end(transition, advice, request, "no advisor can help");
    }
    if round >= ADVICE_ROUNDS_MAX {
        return turns::end(
            transition,
            advice,
            request,
            &format!("no advisor could help in {ADVICE_ROUNDS_MAX} rounds"),
        );
    }
    (advice.round, advice.asked) = (round + 1, 0);
    request.round = advice.round;
    request.not_before = Some(cx.now.after(PAUSE * 2_u32.saturating_pow(round - 1)));
    turns::ask(transition, advice, request)
}

/// How many advisors a round asks.
fn advisors(cx: &StepContext<'_>) -> u32 {
    cx.flight.submitted.fleet.advisors.clamp(1, ADVISORS_MAX)
}

/// What an advisor's turn asks.
pub(super) fn request_of(turn: Turn) -> Option<AdviceRequest> {
    match turn.request {
        TurnRequest::Complete(request) => request.advice.map(|advice| *advice),
        TurnRequest::Build(_) | TurnRequest::Verify(_) => None,
    }
}

/// What the asker that waits for advice had heard, by an advisor's turn.
pub(super) fn told_before(turn: Turn) -> Option<Feedback> {
    request_of(turn)?.asked.feedback
}

/// An answer that says nothing yet.
pub(super) fn nothing(round: u32, cx: &StepContext<'_>) -> Advice {
    Advice {
        advisor: None,
        success: false,
        declined: false,
        content: String::new(),
        session: None,
        error: None,
        round,
        at: cx.now,
    }
}

pub(super) fn session(completion: &Completion) -> Option<String> {
    let named = completion.metadata.get(SESSION).and_then(|session| session.as_str());
    named.filter(|session| !session.is_empty() && session.len() <= SESSION_BYTES_MAX).map(str::to_owned)
}

pub(super) fn why(text: &str) -> String {
    cut(text, ERROR_BYTES_MAX)
}

pub(super) fn cut(text: &str, most: usize) -> String {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default().to_owned()
}

/// When an advisor that is asked after a pause may begin; `None`: at once.
#[must_use]
pub fn begins_at(turn: &Turn) -> Option<Timestamp> {
    match &turn.request {
        TurnRequest::Complete(request) => request.advice.as_ref()?.not_before,
        TurnRequest::Build(_) | TurnRequest::Verify(_) => None,
    }
}
