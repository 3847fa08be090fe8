//! The flight goes on by other workflows, and a waypoint goes to where it belongs by them (`Input::Reconfigured`, GATE-12).

use holdpoint_planfile::gates::{Duty, Gate, Stop};
use holdpoint_protocol::{
    artifact::Verb,
    ids::AgentName,
    reason::ReasonCode,
    state::{GateVisit, Outcome, Phase, Purpose, Resume, Status, WaypointState},
    turn::Feedback,
};

use super::super::{
    EngineStep, Fresh, Migrating, PersonAct, StepContext, advising,
    arrival::{self, Arrival},
    beginning,
    migrating::{Place, Stands, has_to_migrate, place, stands},
    purposes::{self, MERGE},
    transition::{Ruled, Transition},
    turns::{self, Opening},
    visits,
};
use crate::policy::{Ruling, escalate, exhausted};

/// The flight goes on by other workflows: a waypoint goes to where it belongs.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Migrating>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let Some(stands) = stands(state).filter(|_| has_to_migrate(state, cx)) else { return EngineStep::Nothing };
    let PersonAct { by, cause, body, .. } = act;
    let Migrating { turn, feedback } = *body;
    let Some((gate, purpose)) = stands.at() else { return EngineStep::Nothing };
    let told = match stands {
        // The asker's words ride in the advisor's turn.
        Stands::Turn(_) if state.advice().is_some() => turn.and_then(|turn| advising::told_before(*turn)),
        Stands::Turn(open) => {
            turn.filter(|turn| turn.turn_id == open.turn).and_then(|turn| turn.told_or_kept().cloned())
        }
        Stands::Gate(..) => feedback.map(|feedback| *feedback),
        Stands::Fork(_) | Stands::Children(_) => None,
    };
    let to = place(&stands, state, cx);
    let told = told.map(|told| match &to {
        Place::Here => told,
        Place::Again(target) | Place::Earlier(target) | Place::Adopted(target) | Place::Nowhere(target) => {
            purposes::passed_on(told, Some((gate, purpose)), (&target.id, purposes::purpose(target)))
        }
    });
    let text = words(&to, gate.as_str(), &by, cx);
    let transition = Transition::new(state, cx, fresh).acted(by, Verb::Reconfigure, cause);
    let (target, same) = match to {
        Place::Here => return EngineStep::Nothing,
        Place::Adopted(first) => return adopt(transition, first, told, &text),
        Place::Again(gate) => (gate, true),
        Place::Earlier(gate) => (gate, false),
        Place::Nowhere(first) => {
            let resume = Resume::Gate { gate: first.id.clone(), purpose: purposes::purpose(first) };
            let ruling = escalate(ReasonCode::Reconfigured, &text);
            return left(transition).hold(resume, Ruled { ruling, feedback: told });
        }
    };
    let mut transition = left(transition);
    if cx.workflow.makes_from(&target.id) && purpose != MERGE {
        transition.next.verified = None;
        transition.next.cleared = false;
    }
    let purpose = if purpose == MERGE && target.duty == Duty::Judge { MERGE } else { purposes::purpose(target) };
    if let Phase::Held(held) = &state.phase {
        let ruling = if held.status == Status::Failed {
            exhausted(ReasonCode::Reconfigured, &text)
        } else {
            escalate(ReasonCode::Reconfigured, &text)
        };
        let resume = Resume::Gate { gate: target.id.clone(), purpose };
        return transition.hold(resume, Ruled { ruling, feedback: told });
    }
    open(transition, target, same, (purpose, told), &escalate(ReasonCode::Reconfigured, &text))
}

/// Work that began before its project had a workflow comes to the first gate of the one that is declared now. Its history says
/// so: the visit of the gate where it was ends with `skip`, and what is held gets such a visit.
fn adopt<'a>(transition: Transition<'a>, first: &'a Gate, told: Option<Feedback>, text: &str) -> EngineStep {
    let cx = transition.cx;
    let mut transition = left(transition);
    transition.next.configured.began = cx.flight.configured.newest();
    if let Phase::Held(held) = &transition.before.phase {
        let last = transition.before.history.last().cloned();
        if let Some(last) = last {
            let (now, outcome) = (cx.now, Some(Outcome::Skip));
            let visit = GateVisit { agent: None, entered: now, exited: Some(now), outcome, ..last };
            visits::push(&mut transition.next, visit);
        }
        let failed = held.status == Status::Failed;
        let ruling = if failed { exhausted } else { escalate }(ReasonCode::Reconfigured, text);
        return transition.hold(Resume::Beginning, Ruled { ruling, feedback: told });
    }
    let ruling = escalate(ReasonCode::Reconfigured, text);
    if let Some(unfit) = beginning::unfit(cx) {
        return transition.hold(Resume::Beginning, unfit.into());
    }
    open(transition, first, false, (purposes::purpose(first), told), &ruling)
}

/// The gate is left without an outcome of its own. Nobody waits for what was asked there.
pub(super) fn left(mut transition: Transition<'_>) -> Transition<'_> {
    let by = transition.by.take();
    let mut transition = transition.exited(Outcome::Skip);
    transition.by = by;
    transition
}

/// The turn of the gate opens, unless nobody has its role or a condition leaves the work out.
pub(super) fn open<'a>(
    transition: Transition<'a>,
    gate: &'a Gate,
    same: bool,
    (purpose, feedback): (Purpose, Option<Feedback>),
    ruling: &Ruling,
) -> EngineStep {
    let turn = |transition: Transition<'a>, gate: &'a Gate, purpose| {
        // Of what was said, a verifier keeps only what the build turn behind a tried base gets (FLY-18).
        let kept = matches!(purpose, Purpose::Build | Purpose::Complete | purposes::BASELINE);
        let feedback = feedback.clone().filter(|_| kept);
        let repair = purpose == Purpose::Build && feedback.is_some() && purposes::is_repaired(gate, transition.cx);
        let remediation = transition.wanted(gate).or_else(|| ruling.remediation.clone());
        let ruling = Ruling { remediation, ..ruling.clone() };
        turns::open(transition, Opening { purpose, feedback, repair, ..Opening::of(gate) }, Some(&ruling))
    };
    // Work is in the gate already.
    if same && !gate.vacant || purpose == MERGE {
        return turn(transition, gate, purpose);
    }
    match transition.arrive(Stop::Gate(gate)) {
        Arrival::At(transition, Stop::Fork(_)) => transition.open_branch(feedback, Some(ruling)),
        Arrival::At(transition, Stop::Gate(gate)) if purposes::is_base_tried(gate, &transition.next, transition.cx) => {
            turn(*transition, gate, purposes::BASELINE)
        }
        Arrival::At(transition, Stop::Gate(gate)) => turn(*transition, gate, purposes::purpose(gate)),
        Arrival::End(transition) => transition.hold_at(gate, arrival::nothing_entered()),
        Arrival::Stopped(step) => step,
    }
}

/// What people read of it.
pub(super) fn words(to: &Place<'_>, from: &str, by: &AgentName, cx: &StepContext<'_>) -> String {
    match to {
        Place::Here => String::new(),
        Place::Again(gate) => {
            format!("gate {from} is {}'s since {by} reloaded the workflows: its turn is open again", gate.role)
        }
        Place::Earlier(gate) => {
            format!("gate {from} is gone since {by} reloaded the workflows: the work goes on at gate {}", gate.id)
        }
        Place::Adopted(first) => format!(
            "the project declares workflow {} since {by} reloaded: it adopts the work, which leaves gate {from} and comes to gate \
             {}",
            cx.workflow.name, first.id
        ),
        Place::Nowhere(first) => format!(
            "gate {from} and all gates before it are gone since {by} reloaded the workflows: `holdpoint retry {}` has the \
             work begin at gate {}",
            cx.waypoint.id, first.id
        ),
    }
}
