//! A person hands in work, or verdicts, on a turn that was taken over (`Input::HandedIn`).

use holdpoint_protocol::{
    artifact::{ActCode, GivenVerdict, Verb},
    ids::AgentName,
    journal::Cause,
    state::{OpenTurn, Outcome, Purpose, WaypointState},
    turn::Turn,
};

use super::super::{
    BuildOutcome, EngineStep, Fresh, PersonAct, Refusal, StepContext,
    acted::own_work,
    handoff,
    holder::given_back,
    input::HandingIn,
    taking::{answers, lost, theirs},
    transition::Transition,
    turns, verdicts,
};

/// A person hands work in: it goes the way of a builder's. Work that cannot be used changes nothing, and its person tries
/// again.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<HandingIn>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let HandingIn { on, outcome, verdicts, turn } = *body;
    let open = match theirs(state, (&by, Verb::HandIn), (on.as_ref(), overtaken), cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let transition = Transition::new(state, cx, fresh).acted(by.clone(), Verb::HandIn, cause.clone());
    match open.purpose {
        Purpose::Build if !verdicts.is_empty() => {
            let message = format!("the turn at gate {} makes work, and takes no verdicts", open.gate);
            EngineStep::Refuse(Refusal::act(ActCode::Invalid, message, answers(open)))
        }
        Purpose::Build => work_handed_in(transition, open, (by, cause), outcome),
        Purpose::Verify(_) => judged(transition, open, by, (verdicts, turn)),
        Purpose::Complete | Purpose::Advise => {
            let message = format!("gate {} is completed with an outcome, and takes no work", open.gate);
            EngineStep::Refuse(Refusal::act(ActCode::Invalid, message, answers(open)))
        }
    }
}

fn work_handed_in(
    transition: Transition<'_>,
    open: &OpenTurn,
    (by, cause): (AgentName, Cause),
    outcome: BuildOutcome,
) -> EngineStep {
    let (commit, violations) = match outcome {
        BuildOutcome::Work { commit, violations } => (commit, violations),
        BuildOutcome::Failed(failure, _) => {
            let message = format!("what was handed in cannot be used: {}", failure.detail);
            return EngineStep::Refuse(Refusal::act(
                ActCode::Invalid,
                message,
                "the turn is still yours: hand it in again",
            ));
        }
    };
    handoff::made(transition.answered(cause, Outcome::Complete), open, by, commit, (violations, Vec::new()))
}

/// A person judged what has no check: the turn is a verifier's again, with the verdicts in it.
pub(super) fn judged(
    transition: Transition<'_>,
    open: &OpenTurn,
    by: AgentName,
    (given, turn): (Vec<GivenVerdict>, Option<Box<Turn>>),
) -> EngineStep {
    let refused = verdicts::invalid(&given, transition.cx).or_else(|| own_work(transition.before, open, &by));
    if let Some(refusal) = refused {
        return EngineStep::Refuse(refusal);
    }
    let Some(mut turn) = turn.filter(|turn| turn.turn_id == open.turn) else { return EngineStep::Refuse(lost(open)) };
    let open = verdicts::put_in(given_back(open.clone(), transition.cx), &mut turn, given, &by);
    turns::open_again(transition, &open, *turn)
}
