//! Handoffs that are stored: what a waypoint's agents handed off so far. For orchestrators.
//!
//! Nothing here waits for new ones; that is [`crate::handoffs`].

use holdpoint_protocol::{
    ids::{FlightId, RoleId, WaypointId},
    journal::Sequence,
    streams, subjects,
};

use crate::{
    Bus, Stored,
    journal::{ReadError, Replay},
};

/// All handoffs of a role for a waypoint, oldest first.
///
/// # Errors
/// The broker does not answer.
pub async fn of_waypoint(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<Stored>, ReadError> {
    of_kind(bus, role, flight, waypoint, "*").await
}

/// All handoffs of one kind that a role made for a waypoint, oldest first.
///
/// # Errors
/// The broker does not answer.
pub async fn of_kind(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
    kind: &str,
) -> Result<Vec<Stored>, ReadError> {
    let filter = subjects::handoff(role, flight, waypoint, kind);
    Replay::start(bus, &streams::handoff(role), &filter, Sequence(0)).await?.collect().await
}

/// All handoffs of a role for a flight, oldest first, from behind a sequence that is known already.
///
/// # Errors
/// The broker does not answer.
pub async fn of_flight(bus: &Bus, role: &RoleId, flight: &FlightId, known: Sequence) -> Result<Replay, ReadError> {
    Replay::start(bus, &streams::handoff(role), &subjects::handoffs_for(role, flight), known).await
}
