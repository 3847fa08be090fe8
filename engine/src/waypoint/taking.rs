//! A person takes over a turn that agents have, and hands work in or gives it back (GATE-33). A turn that makes work and went on
//! to people because no agent answered it (GATE-15) is taken by one of them in the same way.
//!
//! The same turn opens again under another token, for this one person: who had it is too late from then on, and no agent
//! pulls it. It is answered once like every turn: work that is handed in is judged like a builder's, a gate that agents
//! complete is completed by [`super::acts`], and of a verification people judge what has no check ([`super::verdicts`]).
//! Given back, or not answered in time, it is its role's again.

use std::time::Duration;

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    Timestamp,
    api::ActRefused,
    artifact::{ActCode, GivenVerdict, Verb},
    ids::{AgentName, RoleId, role},
    journal::Cause,
    plan::Waypoint,
    state::{OpenTurn, Outcome, Phase, Purpose, WaypointState},
    turn::Turn,
    workflow::is_human,
};
use serde_json::json;

use super::{
    BuildOutcome, EngineStep, Fresh, PersonAct, Refusal, StepContext, acts, branches, handoff, transition::Transition,
    turns, verdicts,
};

/// How long a person has a turn at least: people sleep. A gate with a longer timeout gives that.
pub const TAKEN_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A turn to take over.
#[derive(Debug, Clone)]
pub struct Taking {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}

/// A turn to give back.
#[derive(Debug, Clone)]
pub struct Releasing {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}

/// Work of a person.
#[derive(Debug, Clone)]
pub struct HandingIn {
    /// The turn that its person looked at.
    pub on: Option<String>,
    /// What it came to, as the orchestrator computed it from the objects.
    pub outcome: BuildOutcome,
    /// Of a verification: verdicts on criteria without a check.
    pub verdicts: Vec<GivenVerdict>,
    /// The open turn, as it stands.
    pub turn: Option<Box<Turn>>,
}

/// Whether a person can take this turn: agents have it, and a verifier's has something that people can judge; or it makes work
/// and waits for people.
#[must_use]
pub fn can_be_taken(open: &OpenTurn, waypoint: &Waypoint) -> bool {
    let verifies = matches!(open.purpose, Purpose::Verify(_));
    is_free(open) && open.purpose != Purpose::Advise && (!verifies || verdicts::are_wanted(open, waypoint))
}

/// Whether it is open to be taken: agents have it, or it waits for a person.
fn is_free(open: &OpenTurn) -> bool {
    !open.people || waits_to_be_taken(open)
}

/// Whether it makes work, and its gate escalated to people: one of them takes it.
#[must_use]
pub fn waits_to_be_taken(open: &OpenTurn) -> bool {
    open.people && open.taken_by.is_none() && open.purpose == Purpose::Build
}

/// Whether no agent can answer it, even one that knows its token: a person has it, or it waits for one to take it.
pub(super) fn is_no_agents(open: &OpenTurn) -> bool {
    open.taken_by.is_some() || waits_to_be_taken(open)
}

/// The turn that a person takes over or gives back: the one that was looked at; else the only one that is open, or of the
/// branches of a fork the first that fits.
#[must_use]
pub fn in_hand<'a>(state: &'a WaypointState, verb: Verb, by: &AgentName, on: Option<&String>) -> Option<&'a OpenTurn> {
    let named = |open: &&OpenTurn| on.is_some_and(|on| on == open.turn.as_str());
    let fits = |open: &&OpenTurn| match verb {
        Verb::Take => is_free(open),
        _ => open.taken_by.as_ref() == Some(by),
    };
    let found = state.open_turns().find(named).or_else(|| state.open_turns().find(fits));
    found.or_else(|| state.open_turns().next())
}

/// The role in whose queue a turn is. One that a person took over, or has to, is in that of people, from which no
/// agent pulls.
#[must_use]
pub fn queued_for(turn: &Turn) -> RoleId {
    let open = turn.record.state.as_ref().and_then(|state| state.open_turn(&turn.turn_id));
    if open.is_some_and(is_no_agents) { role::id(role::OPERATOR) } else { turn.role.clone() }
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
    let Phase::InTurn(open) = &state.phase else { return acts::unopened(state, Verb::Take, cx) };
    if let Some(refusal) = cannot_be_taken(state, open, &by, cx) {
        return EngineStep::Refuse(refusal);
    }
    if !acts::is_about(on.as_ref(), open.turn.as_str(), overtaken) {
        return EngineStep::Refuse(acts::late(state, "the turn that you looked at is not open any more", cx));
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
        return gate.and_then(|gate| acts::not_among(gate, open, by, "take the turn of"));
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

/// Who made the work does not judge it: why this person cannot complete a gate behind it.
pub(super) fn own_work(state: &WaypointState, open: &OpenTurn, by: &AgentName) -> Option<Refusal> {
    let message = || format!("{by} made the work that gate {} is about", open.gate);
    let hint = "somebody else has to complete the gate";
    branches::has_made(state, by).then(|| Refusal::act(ActCode::NotAllowed, message(), hint))
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
        _ => return Err(acts::unopened(state, verb, cx)),
    };
    if let Some(refusal) = not_theirs(open, by) {
        return Err(EngineStep::Refuse(refusal));
    }
    if !acts::is_about(on, open.turn.as_str(), overtaken) {
        return Err(EngineStep::Refuse(acts::late(state, "what you looked at is not open any more", cx)));
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

/// The turn as it is its role's, which may be one of people.
pub(super) fn given_back(open: OpenTurn, cx: &StepContext<'_>) -> OpenTurn {
    if open.taken_by.is_none() {
        return open;
    }
    let people = cx.workflow.gate(&open.gate).is_some_and(|gate| gate.is_peoples_at(open.link));
    OpenTurn { people, taken_by: None, ..open }
}

/// When a turn that a person took over goes back to its role; `None`: nobody took it.
pub(super) fn deadline(gate: &Gate, open: &OpenTurn, cx: &StepContext<'_>) -> Option<Timestamp> {
    let time = gate.timeout.map_or(TAKEN_TIME, |timeout| timeout.duration().max(TAKEN_TIME));
    open.taken_by.as_ref().map(|_| cx.now.after(time))
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
