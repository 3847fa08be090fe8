//! What a flight's state says is due: the consequences of one journal's entries in others.
//!
//! Level-triggered: it looks at what is, never at what happened, so that a restart finds the same work (architecture §2).

use std::cmp::Reverse;

use holdpoint_protocol::{
    Timestamp,
    artifact::VerificationPurpose,
    ids::{TurnId, WaypointId},
    plan::{Priority, Waypoint},
    state::{Phase, Purpose, Status},
};

use super::{FlightState, Waypoints, status, view::is_ready};

/// One thing that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// An accepted commit stands on the head: append its landing.
    Land(WaypointId),
    /// An accepted commit stands on an older head: merge it, and verify the merge.
    Merge(WaypointId),
    /// The turn's deadline has passed.
    Deadline(WaypointId, TurnId),
    /// The flight's wall budget is used up.
    Budget(WaypointId),
    /// Its dependencies are complete and there is room: open its first turn.
    Open(WaypointId),
}

/// Everything that is due now, in the order it should be done.
///
/// Doing one thing may change what is due: after each, look again. Landings come before openings, so that what opens
/// next stands on the newest head.
#[must_use]
pub fn due(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    let mut all = over_budget(flight, waypoints, now);
    all.extend(landing(flight, waypoints));
    all.extend(deadlines(waypoints, now));
    all.extend(opening(flight, waypoints));
    all
}

/// When to look again although nothing happened.
#[must_use]
pub fn next_deadline(flight: &FlightState, waypoints: &Waypoints) -> Option<Timestamp> {
    let turns = waypoints.values().filter_map(|state| match &state.phase {
        Phase::InTurn(open) => Some(open.deadline),
        _ => None,
    });
    let spending = || flight.submitted.plan.waypoints.iter().any(|w| is_spending(flight, waypoints, w));
    turns.chain(flight.wall_deadline().filter(|_| spending())).min()
}

/// Whether a waypoint uses up the flight's budget, or would at once. What is accepted may still land: it costs nothing
/// more. What depends on something that is not complete stays pending.
fn is_spending(flight: &FlightState, waypoints: &Waypoints, waypoint: &Waypoint) -> bool {
    let in_turn = waypoints.get(&waypoint.id).is_some_and(|s| matches!(s.phase, Phase::InTurn(_)));
    in_turn || is_ready(flight, waypoints, waypoint)
}

fn over_budget(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    if flight.wall_deadline().is_none_or(|end| now < end) {
        return Vec::new();
    }
    let spending = flight.submitted.plan.waypoints.iter().filter(|w| is_spending(flight, waypoints, w));
    spending.map(|w| Due::Budget(w.id.clone())).collect()
}

/// Where accepted work stands in the landing queue; the smallest is next.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Verified as a merge with the head: it has kept its place.
    merged: Reverse<bool>,
    /// On the head: it lands without being verified again.
    on_head: Reverse<bool>,
    priority: Priority,
    accepted: Timestamp,
    /// In the plan.
    index: usize,
}

/// The next landing or merge: one at a time (ADR 7).
///
/// While a merge with the head is being verified nothing else moves the head: its verification would be worthless, and
/// with many builders work would be merged again and again. Nothing waits for ever: a landing leaves no other work on the
/// head, so at most one goes before the next merge, and a waypoint lands once.
fn landing(flight: &FlightState, waypoints: &Waypoints) -> Option<Due> {
    let plan = &flight.submitted.plan.waypoints;
    let mut next: Option<(Place, &WaypointId)> = None;
    let mut verifying = false;
    for (id, state) in waypoints {
        let Some(work) = state.work.as_ref().filter(|work| work.commit.is_some()) else { continue };
        let on_head = state.base.as_ref() == Some(flight.head());
        match &state.phase {
            Phase::InTurn(open) if open.purpose == Purpose::Verify(VerificationPurpose::Merge) => verifying |= on_head,
            Phase::Accepted { at, .. } if flight.landing(id).is_none() => {
                let Some(index) = plan.iter().position(|waypoint| &waypoint.id == id) else { continue };
                let place = Place {
                    merged: Reverse(on_head && work.made_on.is_some()),
                    on_head: Reverse(on_head),
                    priority: plan[index].priority,
                    accepted: *at,
                    index,
                };
                if next.as_ref().is_none_or(|(first, _)| place < *first) {
                    next = Some((place, id));
                }
            }
            _ => {}
        }
    }
    let (place, id) = next?;
    if verifying && !place.merged.0 {
        return None;
    }
    Some(if place.on_head.0 { Due::Land(id.clone()) } else { Due::Merge(id.clone()) })
}

fn deadlines(waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    let passed = waypoints.iter().filter_map(|(id, state)| match &state.phase {
        Phase::InTurn(open) if open.deadline <= now => Some(Due::Deadline(id.clone(), open.turn.clone())),
        _ => None,
    });
    passed.collect()
}

/// The next waypoint to open: one at a time, because each takes up room. The first of the most urgent ones, in the plan's
/// order.
fn opening(flight: &FlightState, waypoints: &Waypoints) -> Option<Due> {
    if let Some(max) = flight.submitted.fleet.parallel {
        let running = waypoints.keys().filter(|id| status(flight, waypoints, id) == Status::Running);
        if running.take(max as usize).count() == max as usize {
            return None;
        }
    }
    let mut next: Option<&Waypoint> = None;
    for waypoint in &flight.submitted.plan.waypoints {
        if next.is_none_or(|first| waypoint.priority < first.priority) && is_ready(flight, waypoints, waypoint) {
            next = Some(waypoint);
        }
    }
    next.map(|w| Due::Open(w.id.clone()))
}
