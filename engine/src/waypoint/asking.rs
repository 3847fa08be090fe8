//! Questions that wait in their turn: it stays open, its agent keeps it, and its holder gets the answer.
//!
//! Each counts as a round, like one that ends its turn. A second one takes the place of the first; every other final handoff
//! of the turn withdraws what is open. When the agent's patience is over the same question ends the turn.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::Clarified,
    ids::TurnId,
    journal::{Answered, Cause, Entry},
    state::{OpenTurn, Phase, QuestionKind, QuestionStanding, TurnQuestion, WaypointState},
    version,
};

use super::{
    AgentQuestion, EngineStep, Fresh, Handoff, Refusal, StepContext,
    answers::{by_policy, opens},
    transition::Transition,
};

/// Questions that may wait in one turn, answered or not: they ride in every entry while it is open.
pub const QUESTIONS_IN_TURN_MAX: usize = 16;

/// How many questions of a waypoint may still wait in this turn.
#[must_use]
pub fn questions_left(state: &WaypointState, turn: &TurnId, max_clarifications: u32) -> u32 {
    let in_turn = state.open_turn(turn).map_or(0, |open| QUESTIONS_IN_TURN_MAX.saturating_sub(open.questions.len()));
    let rounds = max_clarifications.saturating_sub(state.counters.clarifications);
    rounds.min(u32::try_from(in_turn).unwrap_or(u32::MAX))
}

/// An agent asks, and waits for the answer until then. The answer of policy is one entry with the question.
pub(super) fn asked(
    state: &WaypointState,
    open: &OpenTurn,
    handoff: Handoff<Box<AgentQuestion>>,
    until: Timestamp,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let Handoff { turn, cause, body, .. } = handoff;
    let AgentQuestion { question, words, .. } = *body;
    // An agent that takes a turn again asks again: the same words are the same question, which has a name by which
    // people know it.
    if open.questions.iter().any(|earlier| earlier.words == words) {
        return EngineStep::Nothing;
    }
    if questions_left(state, &open.turn, cx.flight.submitted.plan.policy.max_clarifications) == 0 {
        let what = "no question of this waypoint is left that could wait: hand it off as the turn's result".to_owned();
        return EngineStep::Refuse(Refusal::Mismatch { turn, what });
    }
    let mut transition = Transition { cause: Some(cause.clone()), ..Transition::new(state, cx, fresh) };
    transition.next.counters.clarifications += 1;
    let mut open = open.clone();
    settle(&mut open, QuestionStanding::Withdrawn);
    open.questions.push(TurnQuestion { asked: cause, words, since: cx.now, until, standing: QuestionStanding::Open });
    if let Some(answer) = by_policy(question, cx) {
        return reply(transition, open, words, None, answer);
    }
    let ruling = opens(QuestionKind::Clarification, &open, cx);
    transition.decided(Phase::InTurn(open), &ruling, None)
}

/// An open question is answered by an act, or by policy; the turn goes on.
pub(super) fn reply(
    mut transition: Transition<'_>,
    mut open: OpenTurn,
    words: Digest,
    act: Option<Cause>,
    answer: Clarified,
) -> EngineStep {
    settle(&mut open, QuestionStanding::Answered { by: act });
    let turn = open.turn.clone();
    transition.go_to(Phase::InTurn(open));
    let record = transition.record();
    EngineStep::Append(Box::new(Entry::Answered(Box::new(Answered {
        schema_version: version::CURRENT,
        turn,
        words,
        answer,
        record,
    }))))
}

/// Says what became of the open question, if one is open.
fn settle(open: &mut OpenTurn, standing: QuestionStanding) {
    if let Some(last) = open.questions.last_mut().filter(|last| last.standing == QuestionStanding::Open) {
        last.standing = standing;
    }
}

/// Whether a question was answered in this turn.
pub(super) fn is_answered(open: &OpenTurn, words: &Digest) -> bool {
    let answered = |question: &TurnQuestion| matches!(question.standing, QuestionStanding::Answered { .. });
    open.questions.iter().any(|question| question.words == *words && answered(question))
}
