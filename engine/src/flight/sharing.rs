//! What is committed of a flight's budget, and what the next turn of a waypoint gets of the rest.

use holdpoint_protocol::{
    Timestamp,
    budget::{Amounts, Limits},
    ids::WaypointId,
    journal::{Record, Reserved},
    plan::Waypoint,
    state::WaypointState,
    version,
};

use super::status::is_ready;
use crate::{
    budget::{Need, adds, of_flight, open},
    state::{FlightState, Waypoints},
};

/// What a waypoint takes up of the flight's budget without what is reserved for its next entry.
fn taken(state: &WaypointState) -> Amounts {
    state.spent.used.plus(open(state))
}

/// What is committed of a flight's budget: spent, open, and reserved.
#[must_use]
pub fn committed(flight: &FlightState, waypoints: &Waypoints) -> Amounts {
    let reserved = |id: &WaypointId, step: u32| flight.budget.waiting(id, step);
    let begun = waypoints.iter().map(|(id, state)| taken(state).plus(reserved(id, state.spent.step)));
    let pending = flight.budget.reserved_for().filter(|id| waypoints.get(id).is_none()).map(|id| reserved(id, 0));
    begun.chain(pending).fold(Amounts::default(), Amounts::plus)
}

/// What the next turn of a waypoint gets of the flight's budget: an equal share of what is left for each waypoint that may
/// open a turn now, so that the first one does not take everything. With what it adds to what is committed.
#[must_use]
pub(super) fn share(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId, need: &Need) -> (Limits, Amounts) {
    let limits = flight.budget.limits(&flight.submitted.plan.budget);
    let step = waypoints.get(id).map_or(0, |state| state.spent.step);
    // One of several reservations for the same entry comes to something, so each may be as large as if it were alone.
    let others = committed(flight, waypoints).beyond(flight.budget.waiting(id, step));
    let left = limits.plus(need.closing).minus(others.plus(need.charges));
    let slots = slots(flight, waypoints, id);
    let shares = left.to_list().map(|left| left.map(|left| if left == 0 { 0 } else { (left / slots).max(1) }));
    let allowance = Limits::from_list(shares).min(need.cap.only(limits));
    (allowance, adds(need, allowance))
}

/// How many waypoints share what is left: this one, and others that are ready or wait for an answer, as far as they may run
/// at the same time.
fn slots(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId) -> u64 {
    let waits = |waypoint: &&Waypoint| match waypoints.get(&waypoint.id) {
        Some(state) => state.open_turns().next().is_none() && state.phases().any(|phase| phase.turn().is_some()),
        None => is_ready(flight, waypoints, waypoint) && flight.budget.waiting(&waypoint.id, 0).is_zero(),
    };
    let others = flight.all_planned().filter(|waypoint| waypoint.id != *id).filter(waits).count() as u64;
    let running = waypoints.iter().filter(|(other, state)| *other != id && state.open_turns().next().is_some()).count();
    let room = flight.submitted.fleet.parallel.map(|most| u64::from(most).saturating_sub(running as u64));
    (others + 1).min(room.unwrap_or(u64::MAX)).max(1)
}

/// Whether nothing of the flight's budget is left, and turns are open that may leave something of theirs.
#[must_use]
pub(super) fn is_dry(flight: &FlightState, waypoints: &Waypoints) -> bool {
    if of_flight(&flight.submitted.plan.budget).is_none() {
        return false;
    }
    let left = flight.budget.limits(&flight.submitted.plan.budget).minus(committed(flight, waypoints));
    left.is_used_up() && waypoints.values().any(|state| !open(state).is_zero())
}

/// Reserves what the next turn of a waypoint may use up of the flight's budget.
#[must_use]
pub fn reserve(
    flight: &FlightState,
    waypoints: &Waypoints,
    waypoint: &WaypointId,
    need: &Need,
    now: Timestamp,
) -> Reserved {
    let (allowance, adds) = share(flight, waypoints, waypoint, need);
    // What is used up reserves nothing.
    let adds = if allowance.is_used_up() { Amounts::default() } else { adds };
    Reserved {
        schema_version: version::CURRENT,
        waypoint: waypoint.clone(),
        step: need.step,
        allowance,
        adds,
        record: Record::at(now),
    }
}
