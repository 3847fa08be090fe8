//! An agent asked a question or called for help (`Input::Asked`): policy answers first, then advisors, then a person (FLY-21, RETRY-10).
//!
//! A question that ends its turn: no agent holds anything while it is open. Its answer opens the same turn again, from the
//! work in progress. It uses up no attempt and no rework; its rounds have a bound of their own. One that waits in its turn
//! first is `asking`.

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, Question, QuestionKind, Resume, WaypointState},
};

use super::super::{
    AgentQuestion, Ends, EngineStep, Fresh, Handoff, Refusal, StepContext, advising,
    answers::{again, by_policy, go_on, opens},
    asking,
    handoff::{leave_in_progress, open_turn},
    transition::Transition,
    turns,
};
use crate::policy::escalate;

/// An agent asked, or called for help.
pub(super) fn take(
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
    // Its agent was heard of.
    let open = OpenTurn { redeliveries: 0, ..open };
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
