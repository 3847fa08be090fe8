//! Work under way after its workflow was declared otherwise (GATE-12): work at a gate that is gone, or with a turn of a
//! role that is not the gate's any more, goes to where it belongs now. Accepted work is not touched.

use holdpoint_planfile::gates::{Duty, Gate, Stop, Workflow};
use holdpoint_protocol::{
    artifact::Verb,
    ids::{AgentName, GateId},
    reason::ReasonCode,
    state::{GateVisit, OpenFork, OpenTurn, Outcome, Phase, Purpose, Resume, Status, WaypointState},
    turn::Feedback,
};

use super::{
    EngineStep, Fresh, Migrating, PersonAct, StepContext, advising,
    arrival::{self, Arrival},
    beginning, holder,
    purposes::{self, MERGE},
    transition::{Ruled, Transition},
    turns::{self, Opening},
    visits,
};
use crate::policy::{Ruling, escalate, exhausted};

/// Where work that was at a gate belongs by the workflow of today.
enum Place<'a> {
    /// Where it is.
    Here,
    /// In the same gate, whose turn is another role's now.
    Again(&'a Gate),
    /// In this one: its own is gone.
    Earlier(&'a Gate),
    /// In the first gate of the workflow that adopts it: it began before its project had one (GATE-11).
    Adopted(&'a Gate),
    /// Its own is gone, and so are all before it. A person has it begin again at the first one.
    Nowhere(&'a Gate),
}

/// Whether a waypoint is where it cannot stay by the flight's workflows of today.
#[must_use]
pub fn has_to_migrate(state: &WaypointState, cx: &StepContext<'_>) -> bool {
    // It is in the workflow by which its last entry was decided.
    if state.configured.by >= cx.flight.configured.newest() {
        return false;
    }
    stands(state).is_some_and(|stands| !matches!(place(&stands, state, cx), Place::Here))
}

/// Where a waypoint is.
enum Stands<'a> {
    /// A turn of it is open, or was when it was held or asked.
    Turn(&'a OpenTurn),
    /// It is held in this gate.
    Gate(&'a GateId, Purpose),
    /// It is in this fork, or held in it.
    Fork(&'a OpenFork),
    /// Its children do the work of this gate.
    Children(&'a GateId),
}

fn stands(state: &WaypointState) -> Option<Stands<'_>> {
    if let (Some(fork), Phase::Forked | Phase::Held(_)) = (&state.fork, &state.phase) {
        return Some(Stands::Fork(fork));
    }
    match &state.phase {
        // An advisor has no gate of its own: the work is where the caller for help has it.
        Phase::InTurn(open) => Some(Stands::Turn(state.advice.as_ref().map_or(open, |advice| &advice.question.turn))),
        Phase::Waiting(question) => Some(Stands::Turn(&question.turn)),
        Phase::Delegated(delegated) => Some(Stands::Children(&delegated.gate)),
        Phase::Queued(queued) => Some(Stands::Gate(&queued.gate, queued.purpose)),
        Phase::Held(held) => match &held.resume {
            Resume::Turn(open) => Some(Stands::Turn(open)),
            Resume::Gate { gate, purpose } => Some(Stands::Gate(gate, *purpose)),
            Resume::Beginning | Resume::Fork | Resume::Landing { .. } => None,
        },
        Phase::Pending | Phase::Forked | Phase::Accepted { .. } | Phase::Cancelled => None,
    }
}

impl<'a> Stands<'a> {
    /// The gate, of a fork its first one, and what a turn there is for.
    fn at(&self) -> Option<(&'a GateId, Purpose)> {
        match self {
            Self::Turn(open) => Some((&open.gate, open.purpose)),
            Self::Gate(gate, purpose) => Some((gate, *purpose)),
            Self::Children(gate) => Some((gate, Purpose::Complete)),
            Self::Fork(fork) => fork.branches.first().map(|branch| (&branch.gate, Purpose::Complete)),
        }
    }
}

/// Whether a fork is as it was when it was entered: what was voted counts in no other one.
fn is_kept(open: &OpenFork, cx: &StepContext<'_>) -> bool {
    let Some(fork) = cx.workflow.fork(&open.fork) else { return false };
    let gates = cx.workflow.branches(fork);
    let same = gates.iter().map(|gate| &gate.id).eq(open.branches.iter().map(|branch| &branch.gate));
    let fits = |turn: &OpenTurn| cx.workflow.gate(&turn.gate).is_some_and(|gate| is_turn_of(turn, gate, cx));
    same && open.phases().filter_map(Phase::turn).all(fits)
}

fn place<'a>(stands: &Stands<'_>, state: &WaypointState, cx: &StepContext<'a>) -> Place<'a> {
    let workflow = cx.workflow;
    if cx.flight.is_adopted(cx.waypoint, state) {
        return Place::Adopted(workflow.first());
    }
    let Some((gate, purpose)) = stands.at() else { return Place::Here };
    if let Stands::Fork(fork) = stands {
        // Work enters a changed fork again, from the gate before it.
        return if is_kept(fork, cx) { Place::Here } else { earlier(gate, state, cx, workflow) };
    }
    // Work in a gate that is a branch by now comes to the fork as a whole.
    let kept = workflow.gate(gate).filter(|gate| workflow.fork_of(&gate.id).is_none() || purpose == MERGE);
    let fits = |gate: &Gate| match stands {
        Stands::Turn(open) => is_turn_of(open, gate, cx),
        Stands::Gate(_, purpose) => is_of(*purpose, gate),
        Stands::Children(_) => gate.duty == Duty::Delegate,
        Stands::Fork(_) => false,
    };
    if kept.is_some_and(fits) {
        return Place::Here;
    }
    // A merge is verified at the last verifier's gate.
    if purpose == MERGE
        && let Some(judge) = workflow.last_judge()
    {
        return Place::Earlier(judge);
    }
    match kept {
        Some(gate) => Place::Again(gate),
        None => earlier(gate, state, cx, workflow),
    }
}

fn earlier<'a>(gone: &GateId, state: &WaypointState, cx: &StepContext<'a>, workflow: &'a Workflow) -> Place<'a> {
    let before = cx.flight.gates_before(cx.waypoint, state, gone);
    let opens = |gate: &&Gate| workflow.fork_of(&gate.id).is_none() && gate.duty != Duty::Delegate;
    let nearest = before.iter().find_map(|id| workflow.gate(id).filter(opens));
    nearest.map_or_else(|| Place::Nowhere(workflow.first()), Place::Earlier)
}

/// Whether a gate has turns for this.
fn is_of(purpose: Purpose, gate: &Gate) -> bool {
    match purpose {
        Purpose::Build | purposes::BASELINE => gate.duty == Duty::Make,
        Purpose::Verify(_) => gate.duty == Duty::Judge,
        Purpose::Complete => matches!(gate.duty, Duty::Complete | Duty::Delegate),
        Purpose::Advise => false,
    }
}

/// Whether an open turn is one that the gate could have opened.
fn is_turn_of(open: &OpenTurn, gate: &Gate, cx: &StepContext<'_>) -> bool {
    let repaired =
        || open.purpose == Purpose::Build && purposes::is_repaired(gate, cx) && purposes::is_repairs(&open.role);
    let by_role = match open.link {
        // Whatever the gate's own role is.
        _ if matches!(open.purpose, Purpose::Verify(_)) => return is_of(open.purpose, gate),
        0 => open.role == gate.role || repaired(),
        link => gate.link(link).is_some_and(|link| link.role == open.role),
    };
    let people = holder::given_back(open.clone(), cx).people;
    by_role && people == gate.is_peoples_at(open.link) && is_of(open.purpose, gate)
}

/// The flight goes on by other workflows: a waypoint goes to where it belongs.
pub(super) fn reconfigured(
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
        Stands::Turn(_) if state.advice.is_some() => turn.and_then(|turn| advising::told_before(*turn)),
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
fn left(mut transition: Transition<'_>) -> Transition<'_> {
    transition.next.counters.redeliveries = 0;
    let by = transition.by.take();
    let mut transition = transition.exited(Outcome::Skip);
    transition.by = by;
    transition
}

/// The turn of the gate opens, unless nobody has its role or a condition leaves the work out.
fn open<'a>(
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
fn words(to: &Place<'_>, from: &str, by: &AgentName, cx: &StepContext<'_>) -> String {
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
