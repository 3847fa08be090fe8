//! Nobody answered a turn in time (`Input::DeadlinePassed`): who has it next, and when a person has to look (GATE-15).
//!
//! A gate that escalates has a chain ([`holdpoint_planfile::gates::Gate::link`]): each role in it has the turn for the gate's time, then the
//! work is held. Without a chain the turn opens again for the same role, up to a bound. Nobody stands in for verifiers:
//! what they let pass is held at once, and the people of the chain find out why.

use holdpoint_planfile::gates::{Duty, Gate};
use holdpoint_protocol::{
    ids::AgentName,
    reason::ReasonCode,
    state::{OpenTurn, Phase, Purpose, Resume, WaypointState},
    turn::Turn,
    workflow::Escalation,
};

use super::super::{
    EngineStep, Fresh, StepContext, advising, dead, taking,
    transition::{Ruled, Transition},
    turns::{self, Opening},
};
use crate::policy::escalate;

/// How often a gate for people that escalates to nobody is offered to the same people again.
const OFFERED_AGAIN_MAX: u32 = 1;

/// The open turn got no final handoff in time.
pub(super) fn take(state: &WaypointState, turn: Turn, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::InTurn(open) = &state.phase else { return EngineStep::Nothing };
    if open.turn != turn.turn_id || cx.flight.deadline_of(open, cx.now) > cx.now {
        return EngineStep::Nothing;
    }
    let transition = Transition::new(state, cx, fresh);
    if open.purpose == Purpose::Advise {
        return advising::overdue(transition, turn);
    }
    if open.taken_by().is_some() {
        return taking::overdue(transition, open, turn);
    }
    if let Some(gate) = chained(open, cx) {
        return match gate.link(open.link + 1) {
            _ if gate.duty == Duty::Judge => nobody_verified(transition, gate, open),
            Some(next) => passed_on(transition, gate, (open, turn), next),
            None => nobody_left(transition, gate, open, turn),
        };
    }
    if open.is_peoples() {
        return offered_again(transition, open, turn);
    }
    if dead::is_reached(open.redeliveries, cx) {
        return dead::give_up(transition, open, Vec::new());
    }
    let again = OpenTurn { redeliveries: open.redeliveries + 1, ..open.clone() };
    turns::open_again(transition, &again, turn)
}

/// The gate of an open turn, where it has a chain for such turns: that of a gate that makes work is not about trying its base.
fn chained<'a>(open: &OpenTurn, cx: &StepContext<'a>) -> Option<&'a Gate> {
    let gate = cx.workflow.gate(&open.gate).filter(|gate| !gate.escalations.is_empty())?;
    let is_own = match open.purpose {
        Purpose::Build => gate.duty == Duty::Make,
        Purpose::Verify(_) => gate.duty == Duty::Judge,
        Purpose::Complete => gate.duty == Duty::Complete,
        Purpose::Advise => false,
    };
    is_own.then_some(gate)
}

/// The turn is taken from its holder, and is the next role's, with what was wrong.
fn passed_on(
    transition: Transition<'_>,
    gate: &Gate,
    (open, turn): (&OpenTurn, Turn),
    next: &Escalation,
) -> EngineStep {
    let link = open.link + 1;
    let how = if gate.is_peoples_at(link) { answered_by_people(gate, &transition) } else { String::new() };
    let text = format!("{}: it is {}'s now{how}", nobody(gate, open), next.role);
    opened_after_timeout(transition, Opening { link, ..Opening::of(gate) }, turn, &text)
}

/// Nobody completed a gate for people in time that escalates to nobody: the same people have it once more. After that one of
/// them has to have it opened again.
fn offered_again(transition: Transition<'_>, open: &OpenTurn, turn: Turn) -> EngineStep {
    let offered = open.redeliveries;
    let again = transition.cx.workflow.gate(&open.gate).filter(|_| offered < OFFERED_AGAIN_MAX);
    if let Some(gate) = again {
        let text = format!("{}: it is open once more{}", nobody(gate, open), answered_by_people(gate, &transition));
        let opening = Opening { redeliveries: offered + 1, ..Opening::of(gate) };
        return opened_after_timeout(transition, opening, turn, &text);
    }
    let text = format!("nobody completed gate {} in time: `holdpoint retry` opens it again", open.gate);
    transition.hold(Resume::Turn(open.clone()), escalate(ReasonCode::GateTimeout, &text).into())
}

/// The last role of the chain let it pass as well. Tried again, it is the gate's own role's.
fn nobody_left(transition: Transition<'_>, gate: &Gate, open: &OpenTurn, turn: Turn) -> EngineStep {
    let roles = std::iter::once(&gate.role).chain(gate.escalations.iter().map(|link| &link.role));
    let roles: Vec<&str> = roles.map(|role| role.as_str()).collect();
    let text = format!(
        "nobody answered gate {} in time, of the roles {}: `holdpoint retry` opens it for {} again",
        gate.id,
        roles.join(", "),
        gate.role
    );
    let resume = Resume::Gate { gate: gate.id.clone(), purpose: open.purpose };
    transition.hold(resume, Ruled { ruling: escalate(ReasonCode::GateTimeout, &text), feedback: turn.told().cloned() })
}

/// No verifier answered. Nobody else judges by evidence: the people of the chain look why, and have it tried again.
fn nobody_verified(transition: Transition<'_>, gate: &Gate, open: &OpenTurn) -> EngineStep {
    let people = |link: &Escalation| {
        let names: Vec<&str> = link.people.iter().map(AgentName::as_str).collect();
        format!("{} ({})", names.join(", "), link.role)
    };
    let people: Vec<String> = gate.escalations.iter().map(people).collect();
    let text = format!(
        "{}: this is for {} to look at. Find out why no verifier answers, then `holdpoint retry {}`",
        nobody(gate, open),
        people.join(", then "),
        transition.cx.waypoint.id
    );
    transition.hold(Resume::Turn(open.clone()), escalate(ReasonCode::GateTimeout, &text).into())
}

/// Who did not do what.
fn nobody(gate: &Gate, open: &OpenTurn) -> String {
    let who = if open.is_peoples() { "nobody" } else { "no agent" };
    let did = match gate.duty {
        Duty::Complete | Duty::Delegate => "completed",
        Duty::Make if open.is_peoples() => "took the turn of",
        Duty::Make | Duty::Judge => "answered",
    };
    format!("{who} of role {} {did} gate {} in time", open.role, open.gate)
}

/// What people do with a turn of the gate.
fn answered_by_people(gate: &Gate, transition: &Transition<'_>) -> String {
    let waypoint = &transition.cx.waypoint.id;
    match gate.duty {
        Duty::Make => format!(". `holdpoint take {waypoint}` takes it"),
        Duty::Judge | Duty::Complete | Duty::Delegate => {
            format!(". `holdpoint approve {waypoint}` or `holdpoint reject` completes it")
        }
    }
}

/// A new turn in place of one that nobody answered in time, with what was wrong and what is said to people.
fn opened_after_timeout(transition: Transition<'_>, opening: Opening<'_>, turn: Turn, text: &str) -> EngineStep {
    let ruling = escalate(ReasonCode::GateTimeout, text);
    turns::open(transition, Opening { feedback: turn.told().cloned(), ..opening }, Some(&ruling))
}
