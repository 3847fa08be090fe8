//! How a waypoint stands by its own journal: its status, whether it has ended, and how many reworks are left.

use holdpoint_protocol::{
    ids::GateId,
    state::{BranchStanding, OpenFork, Phase, Status, WaypointState},
};

use super::StepContext;

/// Accepted, and nothing of it is left to land.
pub(super) fn has_ended(state: &WaypointState, cx: &StepContext<'_>) -> bool {
    matches!(state.phase, Phase::Accepted { .. }) && (!state.lands() || cx.flight.landing(&cx.waypoint.id).is_some())
}

/// The gate where a delegated waypoint is.
pub(super) fn gate(state: &WaypointState) -> Option<&GateId> {
    match &state.phase {
        Phase::Delegated(delegated) => Some(&delegated.gate),
        _ => None,
    }
}

/// The status of a waypoint in a fork: it runs while anything but people can move it on.
fn in_fork(fork: &OpenFork) -> Status {
    let is_peoples = |phase: &Phase| match phase {
        Phase::InTurn(open) => open.is_peoples(),
        _ => true,
    };
    let due = fork.branches.iter().any(|branch| branch.standing == BranchStanding::Due);
    let waits = fork.phases().next().is_some() && fork.phases().all(is_peoples);
    if waits && !due { Status::Waiting } else { Status::Running }
}

/// Whether a rework is left: the plan's, and what people granted.
pub(super) fn reworks_left(state: &WaypointState, cx: &StepContext<'_>) -> bool {
    state.counters.reworks < reworks_granted(state, cx)
}

/// How many reworks there are: the waypoint's own or the plan's, and what people granted.
pub(super) fn reworks_granted(state: &WaypointState, cx: &StepContext<'_>) -> u32 {
    let planned = cx.waypoint.max_reworks.unwrap_or(cx.flight.submitted.plan.policy.max_reworks);
    planned.saturating_add(state.counters.granted)
}

/// The status of a waypoint as far as its own journal shows: landing is the flight's.
#[must_use]
pub fn phase_status(state: &WaypointState) -> Status {
    // Also as one branch sees it.
    if let (Phase::Forked | Phase::InTurn(_) | Phase::Waiting(_), Some(fork)) = (&state.phase, &state.fork) {
        return in_fork(fork);
    }
    match &state.phase {
        Phase::Pending => Status::Pending,
        Phase::InTurn(open) if open.is_peoples() => Status::Waiting,
        Phase::InTurn(_) | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } => Status::Running,
        Phase::Waiting(_) | Phase::Delegated(_) => Status::Waiting,
        Phase::Held(held) => held.status,
        Phase::Cancelled => Status::Cancelled,
    }
}
