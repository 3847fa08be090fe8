//! The public view of a flight: what users see is computed from the fold, nothing is kept for it.

use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, FlightId, TurnId, WaypointId},
    pages,
    plan::Waypoint,
    state::{Branch, BranchStanding, OpenTurn, Phase, Status, WaypointState},
    view::{BranchStatus, BranchView, FlightStatus, FlightView, FlownWorkflow, Trouble, TurnView, WaypointView},
    workflow::WorkflowSpec,
};

use super::{
    actions,
    children::{of_families, remediation},
    refused::RefusedRoles,
    status::{awaited, cancelling, depends_on_complete, held_in, status, status_of},
};
use crate::state::{FlightState, Waypoints};

/// The branch that a flight's accepted work is on.
#[must_use]
pub fn branch(flight: &FlightId) -> String {
    format!("holdpoint/{flight}")
}

/// The branch that the work of one attempt is on where somebody fetches it. It is no path below the flight's branch, because git
/// has either of the two then.
#[must_use]
pub fn attempt_branch(flight: &FlightId, waypoint: &WaypointId, attempt: u32) -> String {
    format!("{}-{waypoint}-attempt-{attempt}", branch(flight))
}

/// How the flight stands (contract, exit codes: 1 when nothing but people can move it on).
#[must_use]
pub fn flight_status(flight: &FlightState, waypoints: &Waypoints) -> FlightStatus {
    if !cancelling(flight, waypoints).is_empty() || !of_families(flight, waypoints).is_empty() {
        return FlightStatus::Running;
    }
    let refused = RefusedRoles::of(waypoints);
    // Asked after every event: a flight on its way is recognised without looking at all of a long plan twice.
    if waypoints.iter().any(|(id, state)| status_of(flight, waypoints, id, state) == Status::Running)
        || flight.not_begun(waypoints).any(|(_, waypoint)| {
            depends_on_complete(flight, waypoints, waypoint) && refused.keeps(flight, waypoint).is_none()
        })
    {
        return FlightStatus::Running;
    }
    let all = |wanted: Status| flight.all_planned().all(|w| status(flight, waypoints, &w.id) == wanted);
    if all(Status::Complete) {
        return FlightStatus::Accepted;
    }
    let delegates = |state: &WaypointState| matches!(state.phase, Phase::Delegated(_));
    let waiting = waypoints
        .iter()
        .any(|(id, state)| !delegates(state) && status_of(flight, waypoints, id, state) == Status::Waiting);
    if waiting { FlightStatus::Waiting } else { FlightStatus::Incomplete }
}

/// The flight as users see it: its first page, or the one behind a waypoint; `None` if its plan has no such waypoint.
/// The journal does not have what fails at the moment and who holds a turn: the caller says it.
#[must_use]
pub fn view(
    flight: &FlightState,
    waypoints: &Waypoints,
    after: Option<&WaypointId>,
    trouble: Vec<Trouble>,
    holder: impl Fn(&WaypointId, &TurnId) -> Option<AgentName>,
) -> Option<FlightView> {
    let plan = &flight.submitted.plan;
    let is_first = after.is_none();
    let from = match after {
        Some(after) => flight.place(after)? + 1,
        None => 0,
    };
    let head = FlightView {
        flight: flight.submitted.flight.clone(),
        plan: plan.plan.clone(),
        status: flight_status(flight, waypoints),
        base: flight.submitted.base.clone(),
        branch: branch(&flight.submitted.flight),
        head: flight.head().clone(),
        paused: flight.steering.is_paused(),
        submitted_at: Some(flight.submitted.record.at),
        waypoints: Vec::new(),
        next: None,
        landings: flight.landed.iter().filter(|_| is_first).map(|l| l.bundle.clone()).collect(),
        // The first one brings the base.
        brought_by: if is_first { flight.bundles_up_to(flight.head()).split_off(1) } else { Vec::new() },
        trouble: if is_first { trouble } else { Vec::new() },
        trouble_left_out: 0,
        workflows: if is_first { flown(flight) } else { Vec::new() },
    };
    let refused = RefusedRoles::of(waypoints);
    let shown = flight.all_planned().skip(from).map(|planned| {
        let mut waypoint = waypoint_view(flight, waypoints, planned);
        let kept = refused.keeps(flight, planned).filter(|_| waypoint.status == Status::Pending);
        waypoint.waits_for.extend(kept.cloned());
        let branches = waypoint.branches.iter_mut().filter_map(|branch| branch.turn.as_mut());
        for turn in waypoint.turn.iter_mut().chain(branches) {
            turn.agent = turn.agent.take().or_else(|| holder(&waypoint.id, &turn.turn));
        }
        waypoint
    });
    Some(pages::of_view(head, shown))
}

/// The declared workflows by which it is flown.
fn flown(flight: &FlightState) -> Vec<FlownWorkflow> {
    let declared = flight.configured.recorded().iter();
    // A flight without a workflow of its project is adopted by one: a search for drift has to see it.
    let shown = |spec: &WorkflowSpec| !workflows::is_built_in(spec) || spec.name == workflows::ONE_GATE;
    declared.filter(|one| shown(&one.workflow)).map(FlownWorkflow::from).collect()
}

/// One waypoint as users see it.
fn waypoint_view(flight: &FlightState, waypoints: &Waypoints, waypoint: &Waypoint) -> WaypointView {
    let begun = waypoints.get(&waypoint.id);
    let actions = actions(flight, &waypoint.id, begun);
    let state = begun.cloned().unwrap_or_default();
    let gate = match &state.phase {
        Phase::InTurn(open) => Some(open.gate.clone()),
        Phase::Waiting(question) => Some(question.turn.gate.clone()),
        Phase::Held(held) => held_in(&state, held),
        Phase::Forked => state.fork.as_ref().map(|fork| fork.fork.clone()),
        Phase::Delegated(delegated) => Some(delegated.gate.clone()),
        Phase::Queued(queued) => Some(queued.gate.clone()),
        Phase::Pending | Phase::Accepted { .. } | Phase::Cancelled => None,
    };
    let turn = match &state.phase {
        Phase::InTurn(open) => Some(turn_view(open, state.counters.attempt())),
        _ => None,
    };
    let fork = state.fork.as_ref().filter(|_| state.phase == Phase::Forked);
    let attempt = state.counters.attempt();
    let branches =
        fork.map(|fork| fork.branches.iter().map(|branch| branch_view(branch, attempt)).collect()).unwrap_or_default();
    let status = status(flight, waypoints, &waypoint.id);
    let is_awaited = |id: &&WaypointId| self::status(flight, waypoints, id) != Status::Complete;
    let children = match &state.phase {
        Phase::Delegated(delegated) => awaited(flight, &waypoint.id, delegated),
        _ => &[],
    };
    let ahead = state.stacked.as_ref().map_or(&[][..], |stacked| &stacked.behind);
    let waits_for = waypoint.depends_on.iter().chain(children).chain(ahead).filter(is_awaited).cloned().collect();
    // A person has done what was advised on work that is under way again.
    let remediation = remediation(flight, waypoints, &waypoint.id).filter(|_| status != Status::Running);
    // Recorded by an earlier version, which did not say whose receipt it is.
    let judged = !state.criteria.is_empty() || !state.guards.is_empty();
    WaypointView {
        id: waypoint.id.clone(),
        title: waypoint.title.clone(),
        status,
        gate,
        disposition: state.decision.as_ref().map(|d| d.disposition),
        reason_code: state.decision.as_ref().map(|d| d.reason_code),
        attempts: state.counters.attempts,
        sent_back: state.counters.sent_back(),
        commit: flight.landing(&waypoint.id).map(|l| l.commit.clone()),
        criteria: state.criteria,
        guards: state.guards,
        checkpoints: state.checkpoints,
        foreign_receipt: state.foreign_receipt.or_else(|| judged.then_some(true)),
        self_checked: judged && flight.submitted.plan.policy.mode.is_single(),
        parent: flight.families.parent(&waypoint.id).cloned(),
        depends_on: waypoint.depends_on.clone(),
        waits_for,
        rollbacks: state.counters.rollbacks,
        interventions: state.counters.interventions,
        used: (state.spent.turns > 0).then_some(state.spent.used),
        remediation,
        block_reason: state.phase.block_reason(),
        actions,
        turn,
        branches,
        changed_at: begun.and_then(|state| changed_at(flight, &waypoint.id, state)),
    }
}

/// When something happened to a waypoint last.
fn changed_at(flight: &FlightState, id: &WaypointId, state: &WaypointState) -> Option<Timestamp> {
    let phases = state.phases().filter_map(|phase| match phase {
        Phase::InTurn(open) => Some(open.asking().map_or(open.opened_at, |question| question.since)),
        Phase::Waiting(question) => Some(question.since),
        Phase::Held(held) => Some(held.since),
        Phase::Delegated(delegated) => Some(delegated.since),
        Phase::Queued(queued) => Some(queued.since),
        Phase::Accepted { at, .. } => Some(*at),
        Phase::Pending | Phase::Forked | Phase::Cancelled => None,
    });
    let visits = state.history.iter().flat_map(|visit| visit.exited.into_iter().chain([visit.entered]));
    let acted = state.acted.iter().map(|acted| acted.at);
    let landed = flight.landing(id).map(|landed| landed.record.at);
    phases.chain(visits).chain(acted).chain(landed).max()
}

fn turn_view(open: &OpenTurn, attempt: u32) -> TurnView {
    TurnView {
        turn: open.turn.clone(),
        role: open.role.clone(),
        purpose: open.purpose,
        attempt,
        opened_at: open.opened_at,
        deadline: open.deadline,
        agent: open.taken_by().cloned(),
        overdue: open.redeliveries,
    }
}

fn branch_view(branch: &Branch, attempt: u32) -> BranchView {
    let vote = match &branch.standing {
        BranchStanding::Voted(vote) => Some(vote),
        _ => None,
    };
    let turn = match branch.phase() {
        Some(Phase::InTurn(open)) => Some(turn_view(open, attempt)),
        _ => None,
    };
    BranchView {
        gate: branch.gate.clone(),
        standing: match &branch.standing {
            BranchStanding::Due => BranchStatus::Due,
            BranchStanding::Skipped => BranchStatus::Skipped,
            BranchStanding::Open(phase) => match phase.turn() {
                Some(open) if matches!(phase, Phase::InTurn(_)) && !open.is_peoples() => BranchStatus::Running,
                _ => BranchStatus::Waiting,
            },
            BranchStanding::Voted(_) => BranchStatus::Voted,
        },
        outcome: vote.map(|vote| vote.outcome),
        by: vote.map(|vote| vote.by.clone()),
        turn,
    }
}
