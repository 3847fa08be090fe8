//! Whether an act of a person is about what is there now, and what its person hears where it is not.
//!
//! An act names what its person looked at. The first that fits is taken; every other one changes nothing and gets an answer
//! that says what happened instead.

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, Verb},
    ids::AgentName,
    journal::Cause,
    reason::ReasonCode,
    state::{OpenTurn, Phase, WaypointState},
};
use serde_json::json;

use super::{EngineStep, Refusal, StepContext, branches::has_made, standing::phase_status};

/// Whether this very act was the last that was taken.
pub(super) fn is_repeated(state: &WaypointState, cause: &Cause) -> bool {
    let acted = state.acted.as_ref().is_some_and(|acted| acted.digest == cause.digest);
    acted || state.answered.iter().any(|taken| taken.digest == cause.digest)
}

/// An act that comes where nothing of its kind is open.
pub(super) fn unopened(state: &WaypointState, verb: Verb, cx: &StepContext<'_>) -> EngineStep {
    let waypoint = &cx.waypoint.id;
    if matches!(state.phase, Phase::Cancelled) || cx.flight.landing(waypoint).is_some() {
        let what = if matches!(state.phase, Phase::Cancelled) { "was cancelled" } else { "has landed" };
        return EngineStep::Refuse(Refusal::act(
            ActCode::Over,
            format!("waypoint {waypoint} {what}"),
            "there is nothing left to do",
        ));
    }
    if state.acted.as_ref().is_some_and(|acted| acted.verb == verb) {
        return EngineStep::Refuse(late(state, "somebody was first", cx));
    }
    let asked_last = state.decision.as_ref().is_some_and(|last| last.reason_code == ReasonCode::ClarificationOpen);
    if verb == Verb::Answer && asked_last {
        return EngineStep::Refuse(late(state, "its question was withdrawn: the agent went on without the answer", cx));
    }
    let status = format!("{:?}", phase_status(state)).to_ascii_lowercase();
    let what = match verb {
        Verb::Answer => "no open question",
        Verb::Approve | Verb::Reject => "no gate that waits for people",
        Verb::Take => "no open turn that an agent could have",
        Verb::Release | Verb::HandIn => "no turn that a person took over",
        _ => "nothing that is blocked, failed or dead",
    };
    let message = format!("waypoint {waypoint} has {what}: it is {status}");
    EngineStep::Refuse(Refusal::act(ActCode::NothingOpen, message, "`holdpoint inbox` lists what waits for people"))
}

/// Another act was first.
pub(super) fn late(state: &WaypointState, otherwise: &str, cx: &StepContext<'_>) -> Refusal {
    let waypoint = &cx.waypoint.id;
    let (message, details) = match &state.acted {
        Some(acted) => (
            format!("{} did `{}` on {waypoint} at {} already", acted.by, acted.verb.as_str(), acted.at),
            json!({"by": acted.by, "verb": acted.verb, "at": acted.at}),
        ),
        None => (format!("{otherwise}: waypoint {waypoint} has moved on"), serde_json::Value::Null),
    };
    let hint = "look at `holdpoint inbox` and `holdpoint history` before you act again".to_owned();
    Refusal::Act(Box::new(ActRefused { code: ActCode::AnswerLate, message, hint, details }))
}

/// Whether an act is about what is there now. `seen` is what its person looked at, as the inbox names it; an act without it
/// is about what was there when it was stored.
pub(super) fn is_about<T: PartialEq<U>, U: ?Sized>(seen: Option<&T>, there: &U, overtaken: bool) -> bool {
    seen.map_or(!overtaken, |seen| seen == there)
}

/// Why this person may not answer an open turn for people: it is for others.
pub(super) fn not_among(gate: &Gate, open: &OpenTurn, by: &AgentName, what: &str) -> Option<Refusal> {
    let people = gate.people_at(open.link);
    if people.is_empty() || people.contains(by) {
        return None;
    }
    let people: Vec<&str> = people.iter().map(AgentName::as_str).collect();
    let late = if open.link == 0 { "" } else { ", because nobody did in time" };
    let message = format!("{by} may not {what} gate {}: {} may{late}", gate.id, people.join(", "));
    Some(Refusal::act(
        ActCode::NotAllowed,
        message,
        "if you are one of them, say so with --as; else add yourself to org.yaml, and `holdpoint org reload` has the flight go by it",
    ))
}

/// Who made the work does not judge it: why this person cannot complete a gate behind it.
pub(super) fn own_work(state: &WaypointState, open: &OpenTurn, by: &AgentName) -> Option<Refusal> {
    let message = || format!("{by} made the work that gate {} is about", open.gate);
    let hint = "somebody else has to complete the gate";
    has_made(state, by).then(|| Refusal::act(ActCode::NotAllowed, message(), hint))
}

/// The name by which the inbox knows what a waypoint waits for, in one of its phases.
#[must_use]
pub fn reference(state: &WaypointState, phase: &Phase) -> Option<String> {
    match phase {
        Phase::InTurn(open) if open.is_peoples() => Some(open.turn.to_string()),
        Phase::InTurn(open) => open.asking().map(|question| question.asked.reference()),
        Phase::Waiting(question) => Some(question.asked.reference()),
        Phase::Held(_) | Phase::Delegated(_) => state.decision.as_ref().map(|decision| decision.id.to_string()),
        Phase::Pending | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => None,
    }
}
