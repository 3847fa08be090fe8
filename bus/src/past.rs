//! Handoffs that are stored: what a waypoint's agents handed off so far. For orchestrators.
//!
//! Nothing here waits for new ones; that is [`crate::handoffs`].

use holdpoint_protocol::{
    ids::{FlightId, RoleId, WaypointId},
    journal::Sequence,
    streams, subjects,
};

use crate::{
    Bus,
    journal::Replay,
    leader::{ReadError, message_at},
    message::Stored,
};

/// The handoffs of a role for a waypoint, oldest first, from behind a sequence that is known already.
///
/// # Errors
/// The broker does not answer.
pub async fn of_waypoint(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
    known: Sequence,
) -> Result<Replay, ReadError> {
    matching(bus, role, flight, waypoint, "*", known).await
}

/// The handoffs of one kind that a role made for a waypoint, oldest first. How many there are is their senders' to choose: read them
/// one after another.
///
/// # Errors
/// The broker does not answer.
pub async fn of_kind(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
    kind: &str,
) -> Result<Replay, ReadError> {
    matching(bus, role, flight, waypoint, kind, Sequence(0)).await
}

/// As [`of_kind`], without payloads: for callers that look at headers only.
///
/// # Errors
/// The broker does not answer.
pub async fn heads_of_kind(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
    kind: &str,
) -> Result<Replay, ReadError> {
    Ok(of_kind(bus, role, flight, waypoint, kind).await?.headers_only())
}

async fn matching(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
    kind: &str,
    known: Sequence,
) -> Result<Replay, ReadError> {
    let filter = subjects::handoff(role, flight, waypoint, kind);
    Replay::start(bus, &streams::handoff(role), &filter, known).await
}

/// The handoff of a role at a place, as the stream's leader has it.
///
/// # Errors
/// The broker does not answer.
pub async fn at(bus: &Bus, role: &RoleId, sequence: Sequence) -> Result<Option<Stored>, ReadError> {
    message_at(bus, &streams::handoff(role), sequence).await
}

/// All handoffs of a role for a flight, oldest first, from behind a sequence that is known already.
///
/// # Errors
/// The broker does not answer.
pub async fn of_flight(bus: &Bus, role: &RoleId, flight: &FlightId, known: Sequence) -> Result<Replay, ReadError> {
    Replay::start(bus, &streams::handoff(role), &subjects::handoffs_for(role, flight), known).await
}
