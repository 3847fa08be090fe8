//! What a flight's state says is due: the consequences of one journal's entries in others.
//!
//! Level-triggered: it looks at what is, never at what happened, so that a restart finds the same work (architecture §2).

use holdpoint_planfile::gates::Join;
use holdpoint_protocol::{
    Timestamp,
    ids::WaypointId,
    plan::{Priority, Waypoint},
    state::{Branch, BranchStanding, Phase, Status, WaypointState},
};

use super::{
    children::of_families,
    consequence::Due,
    merge_queue::{self, QueueContext},
    refused::RefusedRoles,
    sharing,
    status::{cancelling, depends_on_complete, is_ready, status_of},
};
use crate::{
    state::{FlightState, Waypoints},
    waypoint::{self, StepContext},
};

/// Everything that is due now, in the order it should be done, with one merge at a time.
///
/// Doing one thing may change what is due: after each, look again. Landings come before openings, so that what opens
/// next is based on the newest head.
#[must_use]
pub fn due(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    due_in(flight, waypoints, now, &QueueContext::SINGLE)
}

/// As [`due`], with what is known besides the fold.
#[must_use]
pub fn due_in(flight: &FlightState, waypoints: &Waypoints, now: Timestamp, context: &QueueContext<'_>) -> Vec<Due> {
    if flight.steering.cancelled.is_some() {
        return cancelling(flight, waypoints).into_iter().map(Due::Cancel).collect();
    }
    if flight.steering.is_paused() {
        return Vec::new();
    }
    let mut all = over_budget(flight, waypoints, now);
    all.extend(migrating(flight, waypoints, now).map(Due::Migrate));
    let families = of_families(flight, waypoints);
    // Nothing of a child lands that nobody wants.
    let is_recalled = |due: &Due| families.contains(&Due::Recall(due.waypoint().clone()));
    let mut landing = merge_queue::landing(flight, waypoints, context);
    landing.retain(|due| !is_recalled(due));
    all.extend(families);
    all.extend(landing);
    all.extend(forks(flight, waypoints));
    all.extend(deadlines(flight, waypoints, now));
    all.extend(opening(flight, waypoints, context));
    all
}

/// A waypoint that is where it cannot stay.
fn migrating<'a>(
    flight: &'a FlightState,
    waypoints: &'a Waypoints,
    now: Timestamp,
) -> impl Iterator<Item = WaypointId> + 'a {
    let newest = flight.configured.newest();
    // It is in the workflow by which its last entry was decided.
    let reloaded = waypoints.iter().filter(move |(_, state)| state.configured.by < newest);
    reloaded.filter(move |(id, state)| migrates(flight, id, state, now)).map(|(id, _)| id.clone())
}

/// Whether a waypoint is at a gate that is gone, or has a turn of a role that is not the gate's any more.
#[must_use]
pub fn migrates(flight: &FlightState, id: &WaypointId, state: &WaypointState, now: Timestamp) -> bool {
    let Some(waypoint) = flight.planned(id) else { return false };
    let Some(workflow) = flight.workflow_of(waypoint, state) else { return false };
    waypoint::has_to_migrate(state, &StepContext { flight, waypoint, workflow, now, conditions: &[], is_first: true })
}

/// When to look again at `now`, although nothing happened; never while the flight is paused.
#[must_use]
pub fn next_deadline(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Option<Timestamp> {
    if flight.steering.is_paused() {
        return None;
    }
    let waits = waypoints.values().flat_map(WaypointState::phases).filter_map(|phase| match phase {
        Phase::InTurn(open) => Some(flight.deadline_of(open, now)),
        Phase::Waiting(question) => Some(flight.shifted(question.deadline?, question.since, now)),
        _ => None,
    });
    let refused = RefusedRoles::of(waypoints);
    let spending = || flight.all_planned().any(|w| is_spending(flight, waypoints, w, &refused));
    waits.chain(flight.wall_end(now).filter(|_| spending())).min()
}

/// Until when nothing is to be done for a flight; `None` if something is now, or no deadline is known.
#[must_use]
pub fn rests_until(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Option<Timestamp> {
    let quiet = due(flight, waypoints, now).is_empty();
    next_deadline(flight, waypoints, now).filter(|_| quiet)
}

/// Whether a waypoint uses up the flight's budget, or would at once. Accepted work may still land: it costs nothing
/// more. A waypoint that depends on something incomplete, or that a held role keeps from beginning, stays pending.
fn is_spending(flight: &FlightState, waypoints: &Waypoints, waypoint: &Waypoint, refused: &RefusedRoles<'_>) -> bool {
    let under_way = |state: &WaypointState| {
        matches!(state.phase, Phase::InTurn(_) | Phase::Waiting(_) | Phase::Forked | Phase::Queued(_))
    };
    let begins = || is_ready(flight, waypoints, waypoint) && refused.keeps(flight, waypoint).is_none();
    waypoints.get(&waypoint.id).is_some_and(under_way) || begins()
}

fn over_budget(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    if flight.wall_end(now).is_none_or(|end| now < end) {
        return Vec::new();
    }
    let refused = RefusedRoles::of(waypoints);
    let spending = flight.all_planned().filter(|w| is_spending(flight, waypoints, w, &refused));
    spending.map(|w| Due::Budget(w.id.clone())).collect()
}

/// What is due in forks: a decision, or the turn of a branch. Its waypoint has room already.
fn forks(flight: &FlightState, waypoints: &Waypoints) -> Vec<Due> {
    let due = |(id, state): (&WaypointId, &WaypointState)| {
        let fork = state.fork.as_ref().filter(|_| state.phase == Phase::Forked)?;
        let workflow = flight.planned(id).and_then(|waypoint| flight.workflow_of(waypoint, state))?;
        if workflow.join(fork) != Join::Open {
            return Some(Due::Join(id.clone()));
        }
        let is_due = |branch: &Branch| branch.standing == BranchStanding::Due;
        fork.branches.iter().any(is_due).then(|| Due::Open(id.clone()))
    };
    waypoints.iter().filter_map(due).collect()
}

fn deadlines(flight: &FlightState, waypoints: &Waypoints, now: Timestamp) -> Vec<Due> {
    let phases = waypoints.iter().flat_map(|(id, state)| state.phases().map(move |phase| (id, phase)));
    let passed = phases.filter_map(|(id, phase)| match phase {
        Phase::InTurn(open) if flight.deadline_of(open, now) <= now => {
            Some(Due::Deadline(id.clone(), open.turn.clone()))
        }
        Phase::Waiting(question) => {
            let deadline = flight.shifted(question.deadline?, question.since, now);
            (deadline <= now).then(|| Due::Unanswered(id.clone()))
        }
        _ => None,
    });
    passed.collect()
}

/// The next waypoint to open: one at a time, because each takes up room. The first of the most urgent ones that are not put off, in
/// the plan's order.
fn opening(flight: &FlightState, waypoints: &Waypoints, context: &QueueContext<'_>) -> Option<Due> {
    if let Some(max) = flight.submitted.fleet.parallel {
        let running = waypoints.iter().filter(|(id, state)| status_of(flight, waypoints, id, state) == Status::Running);
        if running.take(max as usize).count() == max as usize {
            return None;
        }
    }
    // What open turns leave of the flight's budget is for the next ones.
    if sharing::is_dry(flight, waypoints) {
        return None;
    }
    let refused = RefusedRoles::of(waypoints);
    let mut next: Option<(Priority, usize, &Waypoint)> = None;
    for (index, waypoint) in flight.not_begun(waypoints).filter(|(_, waypoint)| !(context.is_put_off)(&waypoint.id)) {
        let goes_first = next.as_ref().is_none_or(|(priority, at, _)| (waypoint.priority, index) < (*priority, *at));
        if goes_first && depends_on_complete(flight, waypoints, waypoint) && refused.keeps(flight, waypoint).is_none() {
            next = Some((waypoint.priority, index, waypoint));
        }
    }
    next.map(|(_, _, waypoint)| Due::Open(waypoint.id.clone()))
}
