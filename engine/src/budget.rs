//! What a plan's budgets limit, and what a turn counts as (FLY-32).
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
    plan::{FlightBudget, Plan, TurnBudget, Waypoint},
    state::WaypointState,
};

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

/// What a turn with this allowance adds to what is committed.
#[must_use]
pub fn adds(need: &Need, allowance: Limits) -> Amounts {
    need.charges.plus(allowance.amounts()).beyond(need.closing)
}

#[cfg(test)]
mod tests;
