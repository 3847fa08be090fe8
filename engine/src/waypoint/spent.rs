//! What counts as spent when turns are over (FLY-32). Only in plans with such budgets.
//!
//! It follows from the states: a turn that was open and is not any more counts by its report, or as all that it was allowed.

use holdpoint_protocol::{
    artifact::Metered,
    budget::{Amounts, Spent},
    ids::TurnId,
    state::WaypointState,
};

use super::StepContext;
use crate::budget;

/// What was closed between two states.
#[derive(Default)]
pub(super) struct Closed {
    /// What these turns count as.
    pub(super) charges: Amounts,
    /// What they were allowed.
    pub(super) allowed: Amounts,
    turns: u32,
    unmetered: u32,
    unreported: u32,
}

/// What an entry closes that leads from one state to the next; `metered` is the report of the answered turn.
pub(super) fn closed(before: &WaypointState, next: &WaypointState, metered: Option<&Metered>) -> Closed {
    let is_open = |turn: &TurnId| next.all_open_turns().any(|open| open.turn == *turn);
    let answered = before.phase.turn().map(|open| &open.turn);
    let mut all = Closed::default();
    for open in before.all_open_turns().filter(|open| !is_open(&open.turn)) {
        let Some(allowance) = &open.allowance else { continue };
        let reported = metered.filter(|_| answered == Some(&open.turn));
        let (used, missing) = budget::counted(allowance, reported);
        all.charges = all.charges.plus(used);
        all.allowed = all.allowed.plus(allowance.limits.amounts());
        all.turns += 1;
        all.unmetered += u32::from(missing);
        all.unreported += u32::from(reported.is_none());
    }
    all
}

/// Puts what was spent into the next state, which is complete but for this.
pub(super) fn settle(
    before: &WaypointState,
    next: &mut WaypointState,
    metered: Option<&Metered>,
    cx: &StepContext<'_>,
) {
    if !budget::is_limited(&cx.flight.submitted.plan, cx.waypoint) {
        return;
    }
    let closed = closed(before, next, metered);
    let Spent { used, turns, unmetered, unreported, step, .. } = before.spent;
    next.spent = Spent {
        used: used.plus(closed.charges),
        turns: turns.saturating_add(closed.turns),
        unmetered: unmetered.saturating_add(closed.unmetered),
        unreported: unreported.saturating_add(closed.unreported),
        step: step.saturating_add(1),
        raises: cx.flight.budget.raises(),
        degraded: next.spent.degraded,
    };
}
