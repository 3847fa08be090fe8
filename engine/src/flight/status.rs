//! How the waypoints of a flight stand: by their own journals, by what landed, and by their children.

use holdpoint_protocol::{
    ids::{GateId, WaypointId},
    plan::Waypoint,
    reason::ReasonCode,
    state::{Delegated, Held, Phase, Resume, Status, WaypointState},
};

use crate::{
    state::{FlightState, Waypoints},
    waypoint,
};

/// What is left to end of a flight that a person ended: everything that is not over by itself.
pub(super) fn cancelling(flight: &FlightState, waypoints: &Waypoints) -> Vec<WaypointId> {
    if flight.steering.cancelled.is_none() {
        return Vec::new();
    }
    let ended = |id: &WaypointId| status(flight, waypoints, id).is_over();
    let left = flight.all_planned().filter(|waypoint| !ended(&waypoint.id));
    left.map(|waypoint| waypoint.id.clone()).collect()
}

/// The children that a delegated waypoint waits for; none before they are added.
pub(super) fn awaited<'a>(flight: &'a FlightState, id: &WaypointId, delegated: &Delegated) -> &'a [WaypointId] {
    flight.families.generation(id, delegated.generation).map(|added| added.children.as_slice()).unwrap_or_default()
}

/// The children of a delegated waypoint that only people can move on, each with how it stands.
pub(super) fn stuck<'a>(
    flight: &'a FlightState,
    waypoints: &'a Waypoints,
    id: &WaypointId,
    delegated: &Delegated,
) -> impl Iterator<Item = (&'a WaypointId, Status)> {
    let standing = awaited(flight, id, delegated).iter().map(|child| (child, status(flight, waypoints, child)));
    standing.filter(|(_, status)| matches!(status, Status::Blocked | Status::Failed | Status::Cancelled))
}

/// The public status of one waypoint.
#[must_use]
pub fn status(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId) -> Status {
    waypoints.get(id).map_or(Status::Pending, |state| status_of(flight, waypoints, id, state))
}

/// The same of a waypoint whose state is at hand.
pub(super) fn status_of(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId, state: &WaypointState) -> Status {
    match &state.phase {
        Phase::Accepted { .. } => {
            if !state.lands() || flight.landing(id).is_some() {
                Status::Complete
            } else {
                Status::Running
            }
        }
        // What its children wait for is theirs to say, but for what only people can do.
        Phase::Delegated(delegated) if stuck(flight, waypoints, id, delegated).next().is_some() => Status::Blocked,
        _ => waypoint::phase_status(state),
    }
}

/// Whether a waypoint has not begun and nothing it depends on is missing.
pub(crate) fn is_ready(flight: &FlightState, waypoints: &Waypoints, waypoint: &Waypoint) -> bool {
    status(flight, waypoints, &waypoint.id) == Status::Pending && depends_on_complete(flight, waypoints, waypoint)
}

/// Whether nothing that a waypoint depends on is missing.
pub(super) fn depends_on_complete(flight: &FlightState, waypoints: &Waypoints, waypoint: &Waypoint) -> bool {
    waypoint.depends_on.iter().all(|id| status(flight, waypoints, id) == Status::Complete)
}

/// The gate in which work is held: the last that it was in, or the one before which it was held.
pub(super) fn held_in(state: &WaypointState, held: &Held) -> Option<GateId> {
    let reason = state.decision.as_ref().map(|decision| decision.reason_code);
    let before = matches!(reason, Some(ReasonCode::ConditionFailed | ReasonCode::NoAgents | ReasonCode::NotVerified));
    match &held.resume {
        Resume::Gate { gate, .. } if before => Some(gate.clone()),
        _ => state.history.last().map(|visit| visit.gate.clone()),
    }
}
