//! Questions and calls for help: policy answers first, then a person, as long as it takes (FLY-21 … FLY-23, RETRY-10).
//!
//! A question that ends its turn: no agent holds anything while it is open. Its answer opens the same turn again, from the
//! work in progress. It uses up no attempt and no rework; its rounds have a bound of their own. One that waits in its turn
//! first is [`super::asking`].

use holdpoint_protocol::{
    artifact::{ActCode, ClarificationResponse, Clarified, Verb},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, Question, QuestionKind, Resume, WaypointState},
};

use super::{
    AgentQuestion, Ends, EngineStep, Fresh, Handoff, PersonAct, PersonAnswer, Refusal, StepContext, acted, advising,
    answers::{again, by_policy, go_on, opens},
    asking,
    handoff::{leave_in_progress, open_turn},
    transition::Transition,
    turns,
};
use crate::policy::escalate;

/// Constraints of people that a waypoint keeps, at most: they ride in every entry.
pub const CONSTRAINTS_MAX: usize = 32;
/// Bytes of one constraint.
pub const CONSTRAINT_BYTES_MAX: usize = 2_000;
/// Bytes of an answer's words, together.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;

/// An agent asked, or called for help.
pub(super) fn asked(
    state: &WaypointState,
    handoff: Handoff<Box<AgentQuestion>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let open = match open_turn(state, &handoff, cx) {
        Ok(open) => open.clone(),
        Err(step) => return step,
    };
    if open.purpose == Purpose::Advise {
        return asked_by_advisor(state, handoff, cx, fresh);
    }
    if let Ends::NotBefore(until) = handoff.body.ends {
        return asking::asked(state, &open, handoff, until, cx, fresh);
    }
    let Handoff { role, agent, cause, metered, body, .. } = handoff;
    let AgentQuestion { kind, question, context, block_reason, words, ends, work, conversation, mut turn, .. } = *body;
    turns::converse(&mut turn, conversation);
    let mut transition = Transition::new(state, cx, fresh).by(agent.clone()).metered(metered);
    transition = transition.answered(cause.clone(), Outcome::Blocked);
    if let (Some(commit), Purpose::Build) = (work, open.purpose) {
        leave_in_progress(&mut transition, commit, (role, agent));
    }
    let waited = open.asking().filter(|asking| asking.words == words);
    if waited.is_none() && ends == Ends::TurnAfterAll && asking::is_answered(&open, &words) {
        // The answer and the end of the patience crossed: the turn as it stands has the answer.
        return again(transition, &open, *turn);
    }
    // What waited in the turn is the same question still: it keeps its name, and was counted.
    let (asked, since) = waited.map_or((cause, cx.now), |waited| (waited.asked.clone(), waited.since));
    let rounds = transition.next.counters.clarifications + u32::from(waited.is_none());
    transition.next.counters.clarifications = rounds;
    let deadline = cx.flight.submitted.plan.answer_within.map(|within| since.after(within.duration()));
    let turn_asked_in = OpenTurn { questions: Vec::new(), ..open.clone() };
    let waiting = Question { turn: turn_asked_in, asked, kind, block_reason, since, deadline };
    if rounds > cx.flight.submitted.plan.policy.max_clarifications {
        let text =
            "its agents ask again and again: say more in the goal, or `holdpoint retry --note` with what they need";
        return transition.hold(Resume::Turn(open), escalate(ReasonCode::ClarificationExhausted, text).into());
    }
    let answered = (kind == QuestionKind::Clarification).then(|| by_policy(question.clone(), cx)).flatten();
    if let Some(answered) = answered {
        return go_on(transition, &open, *turn, answered);
    }
    if advising::is_wanted(kind, &open, cx) {
        return advising::begin(transition, waiting, *turn, advising::Words { question, context });
    }
    transition.decided(Phase::Waiting(waiting), &opens(kind, &open, cx), None)
}

/// An advisor asks itself: nobody answers it, and the next one is asked.
fn asked_by_advisor(
    state: &WaypointState,
    handoff: Handoff<Box<AgentQuestion>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let Handoff { turn, agent, cause, metered, body, .. } = handoff;
    if let Ends::NotBefore(_) = body.ends {
        let what = "nobody answers an advisor's question: hand off what you know".to_owned();
        return EngineStep::Refuse(Refusal::Mismatch { turn, what });
    }
    let transition = Transition::new(state, cx, fresh).by(agent).metered(metered).taken(cause);
    advising::asked_back(transition, *body.turn)
}

/// A person answers.
pub(super) fn answered(
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
fn invalid(response: &ClarificationResponse, options: &[String], state: &WaypointState) -> Option<Refusal> {
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

/// Nobody answered in time.
pub(super) fn overdue(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Waiting(question) = &state.phase else { return EngineStep::Nothing };
    if question.deadline.is_none_or(|deadline| cx.flight.shifted(deadline, question.since, cx.now) > cx.now) {
        return EngineStep::Nothing;
    }
    let text =
        "nobody answered within `answer_within`: `holdpoint retry` opens the turn again, `--note` gives the answer";
    let ruling = escalate(ReasonCode::AnswerOverdue, text);
    Transition::new(state, cx, fresh).hold(Resume::Turn(question.turn.clone()), ruling.into())
}
