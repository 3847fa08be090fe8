//! What a plan's budgets limit, and how much is committed (FLY-32).
//!
//! A flight's budget holds by reservation. Before a turn opens, what it may use up is reserved in the flight's journal,
//! under the check that no other reservation came first; the next entry of the waypoint's journal opens the turn, or
//! makes the reservation void. So what is committed is what was spent, what open turns may use up, and what is reserved
//! for the next entry of each waypoint; it follows from the journals at any time, no matter which process died.

pub mod metering;
pub mod price;

use holdpoint_protocol::{
    artifact::Metered,
    budget::{Allowance, Amounts, Limits, micro_usd},
    ids::WaypointId,
    plan::{FlightBudget, Plan, TurnBudget, Waypoint},
    state::WaypointState,
};

use crate::flight::{FlightState, Waypoints, is_ready};

/// What a turn that is to open asks of the flight's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// How many entries the waypoint's journal has.
    pub step: u32,
    /// The most that the turn may use up by the plan's other limits.
    pub cap: Limits,
    /// What the entry that opens it counts as spent.
    pub charges: Amounts,
    /// What the turns may use up that this entry closes.
    pub closing: Amounts,
}

/// The limits of one turn that are held by its allowance: its wall time and its output have limits of their own.
#[must_use]
pub fn of_turn(budget: &TurnBudget) -> Limits {
    Limits {
        tokens: budget.tokens,
        cost_micro_usd: budget.cost_usd.map(micro_usd),
        tool_calls: budget.tool_calls,
        ..Limits::default()
    }
}

/// The limits of a flight that are held by reservation: its wall time has a rule of its own.
#[must_use]
pub fn of_flight(budget: &FlightBudget) -> Limits {
    Limits {
        tokens: budget.tokens,
        cost_micro_usd: budget.cost_usd.map(micro_usd),
        tool_calls: budget.tool_calls,
        output_bytes: budget.output,
        wall_ms: None,
    }
}

/// Whether anything is limited for the turns of a waypoint.
#[must_use]
pub fn is_limited(plan: &Plan, waypoint: &Waypoint) -> bool {
    let TurnBudget { total, .. } = &waypoint.budget;
    !(of_flight(&plan.budget).is_none() && of_turn(&waypoint.budget).is_none() && total.is_none())
}

/// What a turn with this allowance counts as, and whether something that is limited was not reported. What is not known counts as
/// all that was allowed: nobody can say that it was less.
#[must_use]
pub fn counted(allowance: &Allowance, metered: Option<&Metered>) -> (Amounts, bool) {
    let limits = allowance.limits;
    let Some(metered) = metered else { return (limits.amounts(), false) };
    let reported = metered.reported();
    let known = |reported: Option<u64>| reported.filter(|_| !metered.incomplete);
    // Output and time are measured, whatever a program says.
    let measured = [false, false, false, true, true];
    let counted =
        reported.to_list().into_iter().zip(limits.to_list()).zip(measured).map(|((reported, limit), measured)| {
            if measured || limit.is_none() || known(reported).is_some() { reported } else { reported.max(limit) }
        });
    let missing = Limits { output_bytes: None, wall_ms: None, ..limits }.to_list().into_iter().zip(reported.to_list());
    let missing = missing.into_iter().any(|(limit, reported)| limit.is_some() && known(reported).is_none());
    let mut used = limits.to_list();
    used.iter_mut().zip(counted).for_each(|(used, counted)| *used = counted);
    (Limits::from_list(used).amounts(), missing)
}

/// What the open turns of a waypoint may use up.
#[must_use]
pub fn open(state: &WaypointState) -> Amounts {
    let allowed = state.all_open_turns().filter_map(|open| Some(open.allowance?.limits.amounts()));
    allowed.fold(Amounts::default(), Amounts::plus)
}

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

/// The limits of the flight as they were raised.
#[must_use]
pub fn limits(flight: &FlightState) -> Limits {
    of_flight(&flight.submitted.plan.budget).plus(flight.budget.raised(None))
}

/// What the next turn of a waypoint gets of the flight's budget: an equal share of what is left for each waypoint that may
/// open a turn now, so that the first one does not take everything. With what it adds to what is committed.
#[must_use]
pub fn share(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId, need: &Need) -> (Limits, Amounts) {
    let limits = limits(flight);
    let step = waypoints.get(id).map_or(0, |state| state.spent.step);
    // One of several reservations for the same entry comes to something, so each may be as large as if it were alone.
    let others = committed(flight, waypoints).beyond(flight.budget.waiting(id, step));
    let left = limits.plus(need.closing).minus(others.plus(need.charges));
    let slots = slots(flight, waypoints, id);
    let shares = left.to_list().map(|left| left.map(|left| if left == 0 { 0 } else { (left / slots).max(1) }));
    let allowance = Limits::from_list(shares).min(need.cap.only(limits));
    (allowance, adds(need, allowance))
}

/// What a turn with this allowance adds to what is committed.
#[must_use]
pub fn adds(need: &Need, allowance: Limits) -> Amounts {
    need.charges.plus(allowance.amounts()).beyond(need.closing)
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
pub fn is_dry(flight: &FlightState, waypoints: &Waypoints) -> bool {
    if of_flight(&flight.submitted.plan.budget).is_none() {
        return false;
    }
    let left = limits(flight).minus(committed(flight, waypoints));
    left.is_used_up() && waypoints.values().any(|state| !open(state).is_zero())
}

#[cfg(test)]
mod tests;
