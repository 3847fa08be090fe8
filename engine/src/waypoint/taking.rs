//! A person takes over a turn that agents have, and hands work in or gives it back (GATE-33). A turn that makes work and went on
//! to people because no agent answered it (GATE-15) is taken by one of them in the same way.
//!
//! The same turn opens again under another token, for this one person: who had it is too late from then on, and no agent
//! pulls it. It is answered once like every turn: work that is handed in is judged like a builder's, a gate that agents
//! complete is completed by [`super::acts`], and of a verification people judge what has no check ([`super::verdicts`]).
//! Given back, or not answered in time, it is its role's again.

use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, GivenVerdict, Verb},
    ids::AgentName,
    journal::Cause,
    plan::Waypoint,
    state::{OpenTurn, Outcome, Phase, Purpose, WaypointState},
    turn::Turn,
    workflow::is_human,
};
use serde_json::json;

use super::{
    BuildOutcome, EngineStep, Fresh, PersonAct, Refusal, StepContext,
    acted::{self, own_work},
    handoff,
    holder::{given_back, is_free, is_no_agents, waits_to_be_taken},
    input::{HandingIn, Releasing, Taking},
    transition::Transition,
    turns, verdicts,
};

/// Whether a person can take this turn: agents have it, and a verifier's has something that people can judge; or it makes work
/// and waits for people.
#[must_use]
pub fn can_be_taken(open: &OpenTurn, waypoint: &Waypoint) -> bool {
    let verifies = matches!(open.purpose, Purpose::Verify(_));
    is_free(open) && open.purpose != Purpose::Advise && (!verifies || verdicts::are_wanted(open, waypoint))
}

/// A person takes over the open turn.
pub(super) fn taken(
    state: &WaypointState,
    act: PersonAct<Box<Taking>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let Taking { on, turn } = *body;
    let Phase::InTurn(open) = &state.phase else { return acted::unopened(state, Verb::Take, cx) };
    if let Some(refusal) = cannot_be_taken(state, open, &by, cx) {
        return EngineStep::Refuse(refusal);
    }
    if !acted::is_about(on.as_ref(), open.turn.as_str(), overtaken) {
        return EngineStep::Refuse(acted::late(state, "the turn that you looked at is not open any more", cx));
    }
    let Some(turn) = turn.filter(|turn| turn.turn_id == open.turn) else { return EngineStep::Refuse(lost(open)) };
    let mut transition = Transition::new(state, cx, fresh).acted(by.clone(), Verb::Take, cause);
    transition.next.counters.redeliveries = 0;
    let theirs = OpenTurn { people: true, taken_by: Some(by), ..open.clone() };
    turns::open_again(transition, &theirs, *turn)
}

/// Why this person cannot take over this turn.
fn cannot_be_taken(state: &WaypointState, open: &OpenTurn, by: &AgentName, cx: &StepContext<'_>) -> Option<Refusal> {
    let (waypoint, gate) = (&cx.waypoint.id, &open.gate);
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    if !is_human(by) {
        let message = format!("only people take over turns; {by} is no person's key");
        let hint = "use the key of a person: its name begins with `human-` (--as, --creds)";
        return refuse(ActCode::HumanRequired, message, hint);
    }
    if let Some(holder) = &open.taken_by {
        return Some(held_by(holder, by, open, cx));
    }
    if waits_to_be_taken(open) {
        let gate = cx.workflow.gate(gate);
        return gate.and_then(|gate| acted::not_among(gate, open, by, "take the turn of"));
    }
    if open.people {
        // The hint below would lead who made the work to another refusal.
        if let Some(refusal) = own_work(state, open, by) {
            return Some(refusal);
        }
        let message =
            format!("gate {gate} of waypoint {waypoint} waits for people already: there is nothing to take over");
        return refuse(ActCode::Invalid, message, "complete it with `holdpoint approve` or `holdpoint reject`");
    }
    match open.purpose {
        Purpose::Verify(_) => verdicts::cannot_judge(state, open, by, cx),
        Purpose::Complete => own_work(state, open, by),
        Purpose::Build => None,
        Purpose::Advise => {
            let message = format!("an advisor has the turn at gate {gate}, and the work waits for its advice");
            refuse(
                ActCode::NotAllowed,
                message,
                "wait: the turn of the agent that called for help opens again, or you are asked",
            )
        }
    }
}

/// Another person has it already.
fn held_by(holder: &AgentName, by: &AgentName, open: &OpenTurn, cx: &StepContext<'_>) -> Refusal {
    let (waypoint, since) = (&cx.waypoint.id, open.opened_at);
    let (message, hint) = if holder == by {
        (format!("you took over the turn of {waypoint} at {since}: it is yours"), answers(open))
    } else {
        let hint = "ask them for `holdpoint release`, or wait: it goes back to its role when their time is over";
        (format!("{holder} took over the turn of {waypoint} at {since}"), hint)
    };
    let details = json!({"by": holder, "verb": Verb::Take, "at": since});
    Refusal::Act(Box::new(ActRefused { code: ActCode::AnswerLate, message, hint: hint.to_owned(), details }))
}

/// What its person does with a turn that was taken over.
fn answers(open: &OpenTurn) -> &'static str {
    match open.purpose {
        Purpose::Build if waits_to_be_taken(open) => {
            "`holdpoint take` takes it, and `holdpoint hand-in` hands your work in"
        }
        Purpose::Build => "`holdpoint hand-in` hands your work in, `holdpoint release` gives the turn back",
        Purpose::Verify(_) => {
            "`holdpoint hand-in --verdict ID=pass --note '…'` judges it, `holdpoint release` gives the turn back"
        }
        Purpose::Complete => {
            "`holdpoint approve` or `holdpoint reject` completes it, `holdpoint release` gives it back"
        }
        Purpose::Advise => "an advisor answers it: wait",
    }
}

/// Why this person cannot answer a turn that was taken over: another person has it.
pub(super) fn not_theirs(open: &OpenTurn, by: &AgentName) -> Option<Refusal> {
    let holder = open.taken_by.as_ref().filter(|holder| *holder != by)?;
    let message =
        format!("{holder} took over the turn at gate {}: nobody else can answer it or give it back", open.gate);
    Some(Refusal::act(ActCode::NotAllowed, message, "ask them, or wait until it is its role's again"))
}

/// Why a turn is neither approved nor rejected; `None`: it is completed.
pub(super) fn not_completed(open: &OpenTurn) -> Option<Refusal> {
    let message = || format!("the turn at gate {} is neither approved nor rejected", open.gate);
    (open.purpose != Purpose::Complete).then(|| Refusal::act(ActCode::Invalid, message(), answers(open)))
}

/// The turn of this person that an act is about.
///
/// # Errors
/// The step that refuses it.
fn theirs<'a>(
    state: &'a WaypointState,
    (by, verb): (&AgentName, Verb),
    (on, overtaken): (Option<&String>, bool),
    cx: &StepContext<'_>,
) -> Result<&'a OpenTurn, EngineStep> {
    let open = match &state.phase {
        Phase::InTurn(open) if open.taken_by.is_some() => open,
        _ => return Err(acted::unopened(state, verb, cx)),
    };
    if let Some(refusal) = not_theirs(open, by) {
        return Err(EngineStep::Refuse(refusal));
    }
    if !acted::is_about(on, open.turn.as_str(), overtaken) {
        return Err(EngineStep::Refuse(acted::late(state, "what you looked at is not open any more", cx)));
    }
    Ok(open)
}

/// A person gives the turn back: it is its role's again, as it was.
pub(super) fn released(
    state: &WaypointState,
    act: PersonAct<Box<Releasing>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let Releasing { on, turn } = *body;
    let open = match theirs(state, (&by, Verb::Release), (on.as_ref(), overtaken), cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let Some(turn) = turn.filter(|turn| turn.turn_id == open.turn) else { return EngineStep::Refuse(lost(open)) };
    let transition = Transition::new(state, cx, fresh).acted(by, Verb::Release, cause);
    turns::open_again(transition, &given_back(open.clone(), cx), *turn)
}

/// A person hands work in: it goes the way of a builder's. Work that cannot be used changes nothing, and its person tries
/// again.
pub(super) fn handed_in(
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
fn judged(
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

/// Its person's time is over: the turn is its role's again.
pub(super) fn overdue(transition: Transition<'_>, open: &OpenTurn, turn: Turn) -> EngineStep {
    let open = given_back(open.clone(), transition.cx);
    turns::open_again(transition, &open, turn)
}

/// No entry opens the turn.
fn lost(open: &OpenTurn) -> Refusal {
    let message = format!("no entry opens turn {}", open.turn);
    Refusal::act(ActCode::NothingOpen, message, "the journal may be damaged: `holdpoint audit`")
}

/// What is wrong with a turn that a person took over, or with how it was left.
pub(super) fn misfit(before: &WaypointState, after: &WaypointState, by_agent: bool) -> Option<&'static str> {
    if by_agent && matches!(&before.phase, Phase::InTurn(open) if is_no_agents(open)) {
        return Some("an agent answered a turn that a person had taken over, or had to");
    }
    let unsound = |open: &OpenTurn| open.taken_by.as_ref().is_some_and(|by| !open.people || !is_human(by));
    after.open_turns().any(unsound).then_some("a turn was taken over by somebody who is no person")
}
