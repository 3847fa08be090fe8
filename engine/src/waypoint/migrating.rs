//! Where work under way belongs after its workflow was declared otherwise (GATE-12): work at a gate that is gone, or with a turn of a
//! role that is not the gate's any more, cannot stay there. Accepted work is not touched.

use holdpoint_planfile::gates::{Duty, Gate, Workflow};
use holdpoint_protocol::{
    ids::GateId,
    state::{OpenFork, OpenTurn, Phase, Purpose, Resume, WaypointState},
};

use super::{
    StepContext, holder,
    purposes::{self, MERGE},
};

/// Where work that was at a gate belongs by the workflow of today.
pub(super) enum Place<'a> {
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
pub(super) enum Stands<'a> {
    /// A turn of it is open, or was when it was held or asked.
    Turn(&'a OpenTurn),
    /// It is held in this gate.
    Gate(&'a GateId, Purpose),
    /// It is in this fork, or held in it.
    Fork(&'a OpenFork),
    /// Its children do the work of this gate.
    Children(&'a GateId),
}

pub(super) fn stands(state: &WaypointState) -> Option<Stands<'_>> {
    if let (Some(fork), Phase::Forked | Phase::Held(_)) = (&state.fork, &state.phase) {
        return Some(Stands::Fork(fork));
    }
    match &state.phase {
        // An advisor has no gate of its own: the work is where the caller for help has it.
        Phase::InTurn(open) => Some(Stands::Turn(open.advice().map_or(open, |advice| &advice.question.turn))),
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
    pub(super) fn at(&self) -> Option<(&'a GateId, Purpose)> {
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

pub(super) fn place<'a>(stands: &Stands<'_>, state: &WaypointState, cx: &StepContext<'a>) -> Place<'a> {
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
    let people = holder::given_back(open.clone(), cx).is_peoples();
    by_role && people == gate.is_peoples_at(open.link) && is_of(open.purpose, gate)
}
