//! Turns that a person took over from agents (GATE-33): who may answer one, and what ends it.
//!
//! The same turn opens again under another token, for this one person: who had it is too late from then on, and no agent
//! pulls it. Given back, or not answered in time, it is its role's again. A turn that makes work and went on to people because
//! no agent answered it (GATE-15) is taken by one of them in the same way.

use holdpoint_protocol::{
    artifact::{ActCode, Verb},
    ids::AgentName,
    plan::Waypoint,
    state::{OpenTurn, Phase, Purpose, WaypointState},
    turn::Turn,
};

use super::{
    EngineStep, Refusal, StepContext, acted,
    holder::{given_back, is_free, waits_to_be_taken},
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

/// What its person does with a turn that was taken over.
pub(super) fn answers(open: &OpenTurn) -> &'static str {
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
    let holder = open.taken_by().filter(|holder| *holder != by)?;
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
pub(super) fn theirs<'a>(
    state: &'a WaypointState,
    (by, verb): (&AgentName, Verb),
    (on, overtaken): (Option<&String>, bool),
    cx: &StepContext<'_>,
) -> Result<&'a OpenTurn, EngineStep> {
    let open = match &state.phase {
        Phase::InTurn(open) if open.taken_by().is_some() => open,
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

/// Its person's time is over: the turn is its role's again.
pub(super) fn overdue(transition: Transition<'_>, open: &OpenTurn, turn: Turn) -> EngineStep {
    let open = given_back(open.clone(), transition.cx);
    turns::open_again(transition, &open, turn)
}

/// No entry opens the turn.
pub(super) fn lost(open: &OpenTurn) -> Refusal {
    let message = format!("no entry opens turn {}", open.turn);
    Refusal::act(ActCode::NothingOpen, message, "the journal may be damaged: `holdpoint audit`")
}
