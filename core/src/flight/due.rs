//! What a flight's state says is due: the consequences of one journal's entries in others.
//!
//! Level-triggered: it looks at what is, never at what happened, so that a restart finds the same work (architecture §2).

use holdpoint_protocol::{
    Timestamp,
    ids::{TurnId, WaypointId},
    plan::Waypoint,
    state::{Phase, Status},
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
    let spending = flight.submitted.plan.waypoints.iter().any(|w| is_spending(flight, waypoints, w));
    turns.chain(flight.wall_deadline().filter(|_| spending)).min()
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

/// The next landing: one at a time, the first accepted first.
fn landing(flight: &FlightState, waypoints: &Waypoints) -> Option<Due> {
    let accepted = flight.submitted.plan.waypoints.iter().filter_map(|w| {
        let state = waypoints.get(&w.id)?;
        let Phase::Accepted { at, .. } = state.phase else { return None };
        state.work.as_ref()?.commit.as_ref()?;
        flight.landing(&w.id).is_none().then_some((at, &w.id, state))
    });
    let (_, id, state) = accepted.min_by_key(|(at, ..)| *at)?;
    let on_head = state.base.as_ref() == Some(flight.head());
    Some(if on_head { Due::Land(id.clone()) } else { Due::Merge(id.clone()) })
}

fn deadlines(waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    let passed = waypoints.iter().filter_map(|(id, state)| match &state.phase {
        Phase::InTurn(open) if open.deadline <= now => Some(Due::Deadline(id.clone(), open.turn.clone())),
        _ => None,
    });
    passed.collect()
}

/// The next waypoint to open: one at a time, because each takes up room.
fn opening(flight: &FlightState, waypoints: &Waypoints) -> Option<Due> {
    let plan = &flight.submitted.plan;
    let running = plan.waypoints.iter().filter(|w| status(flight, waypoints, &w.id) == Status::Running).count();
    let room = flight.submitted.fleet.parallel.is_none_or(|max| running < max as usize);
    if !room {
        return None;
    }
    let ready = plan.waypoints.iter().filter(|w| is_ready(flight, waypoints, w));
    // `min_by_key` keeps the first of equals: the plan's order.
    ready.min_by_key(|w| w.priority).map(|w| Due::Open(w.id.clone()))
}
