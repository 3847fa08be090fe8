//! A person answers the open question (`Input::Answered`).

use holdpoint_protocol::{
    artifact::{ActCode, ClarificationResponse, Clarified, Verb},
    state::{Phase, WaypointState},
};

use super::super::{
    EngineStep, Fresh, PersonAct, PersonAnswer, Refusal, StepContext, acted, answers::go_on, asking,
    transition::Transition, turns,
};

/// Bytes of an answer's words, together.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bytes of one constraint.
pub const CONSTRAINT_BYTES_MAX: usize = 2_000;
/// Constraints of people that a waypoint keeps, at most: they ride in every entry.
pub const CONSTRAINTS_MAX: usize = 32;

/// A person answers.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<PersonAnswer>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let PersonAnswer { response, question, options, conversation, turn } = *body;
    let (open, asked, waits) = match &state.phase {
        Phase::Waiting(question) => (&question.turn, &question.asked, None),
        Phase::InTurn(open) => match open.asking() {
            Some(asking) => (open, &asking.asked, Some(asking)),
            None => return acted::unopened(state, Verb::Answer, cx),
        },
        _ => return acted::unopened(state, Verb::Answer, cx),
    };
    if !acted::is_about(response.request.as_ref(), &asked.artifact, overtaken) {
        return EngineStep::Refuse(acted::late(state, "that question was answered or withdrawn", cx));
    }
    let Some(mut turn) = turn.filter(|turn| turn.turn_id == open.turn) else {
        let message = format!("no entry opens turn {}, in which it was asked", open.turn);
        return EngineStep::Refuse(Refusal::act(
            ActCode::NothingOpen,
            message,
            "the journal may be damaged: `holdpoint audit`",
        ));
    };
    if let Some(refusal) = invalid(&response, &options, state) {
        return EngineStep::Refuse(refusal);
    }
    if waits.is_none() {
        turns::converse(&mut turn, conversation);
    }
    let mut transition = Transition::new(state, cx, fresh).acted(by.clone(), Verb::Answer, cause.clone());
    transition.next.constraints.extend(response.updated_constraints.iter().cloned());
    let answered = Clarified {
        question,
        option: response.option,
        text: response.text,
        rationale: response.rationale,
        constraints: response.updated_constraints,
        by: by.to_string(),
    };
    match waits {
        Some(asking) => asking::reply(transition, open.clone(), asking.words, Some(cause), answered),
        None => go_on(transition, open, *turn, answered),
    }
}

/// What is wrong with an answer.
pub(super) fn invalid(response: &ClarificationResponse, options: &[String], state: &WaypointState) -> Option<Refusal> {
    let refuse = |message: String, hint: &str| Some(Refusal::act(ActCode::Invalid, message, hint));
    let words = [&response.option, &response.text, &response.rationale].into_iter().flatten().map(String::len);
    if response.option.is_none() && response.text.as_deref().is_none_or(|text| text.trim().is_empty()) {
        return refuse(
            "the answer is empty".to_owned(),
            "choose one of the options with --option, or say it with --text",
        );
    }
    if let Some(option) = response.option.as_ref().filter(|option| !options.contains(option)) {
        let known = options.join(", ");
        let message = format!("{option:?} is none of the options of the question ({known})");
        return refuse(message, "name one of them exactly, or answer in words with --text");
    }
    if words.sum::<usize>() > ANSWER_BYTES_MAX {
        return refuse(
            format!("the answer is longer than {ANSWER_BYTES_MAX} bytes"),
            "put what is long into a file of the repository",
        );
    }
    let constraints = &response.updated_constraints;
    if constraints.iter().any(|constraint| constraint.trim().is_empty() || constraint.len() > CONSTRAINT_BYTES_MAX) {
        return refuse(
            format!("a constraint is empty, or longer than {CONSTRAINT_BYTES_MAX} bytes"),
            "a constraint is a sentence that every later turn gets",
        );
    }
    if state.constraints.len() + constraints.len() > CONSTRAINTS_MAX {
        return refuse(format!("a waypoint keeps {CONSTRAINTS_MAX} constraints at most"), "join some of them");
    }
    None
}
