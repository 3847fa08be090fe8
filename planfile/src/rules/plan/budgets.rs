//! Rules for budgets. Money is counted in millionths of a dollar: less than one is nothing.

use holdpoint_protocol::{
    budget::{Limits, micro_usd},
    plan::{FlightBudget, TurnBudget},
    time::Millis,
};

use crate::{
    plan::limits::COUNT,
    yaml::{
        findings::PlanProblems,
        path::At,
        words::{not_a_size, not_an_amount},
    },
};

pub(super) fn of_flight(at: At<'_>, budget: &FlightBudget, found: &mut PlanProblems) {
    let FlightBudget { wall, tokens, cost_usd, tool_calls, output, on_exceeded: _, unmetered: _ } = budget;
    if let Some(wall) = wall {
        found.duration(at.key("wall"), "wall", *wall);
    }
    count(at.key("tokens"), "tokens", *tokens, found);
    amount(at.key("cost_usd"), "cost_usd", *cost_usd, found);
    count(at.key("tool_calls"), "tool_calls", *tool_calls, found);
    size(at.key("output"), *output, found);
}

pub(super) fn of_turn(at: At<'_>, budget: &TurnBudget, found: &mut PlanProblems) {
    let TurnBudget { wall, tokens, cost_usd, tool_calls, output, total } = budget;
    if let Some(wall) = wall {
        found.duration(at.key("wall"), "wall", *wall);
    }
    size(at.key("output"), *output, found);
    count(at.key("tokens"), "tokens", *tokens, found);
    amount(at.key("cost_usd"), "cost_usd", *cost_usd, found);
    count(at.key("tool_calls"), "tool_calls", *tool_calls, found);
    of_total(&at, total, found);
}

fn of_total(at: &At<'_>, total: &Limits, found: &mut PlanProblems) {
    let at = at.key("total");
    let Limits { tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms } = total;
    if let Some(wall) = wall_ms {
        found.duration(at.key("wall"), "wall", Millis(*wall));
    }
    size(at.key("output"), *output_bytes, found);
    count(at.key("tokens"), "tokens", *tokens, found);
    count(at.key("tool_calls"), "tool_calls", *tool_calls, found);
    if *cost_micro_usd == Some(0) {
        found.say(at.key("cost_usd"), not_an_amount("cost_usd", 0));
    }
}

fn count(at: At<'_>, key: &str, number: Option<u64>, found: &mut PlanProblems) {
    if let Some(number) = number {
        found.number(at, key, number, &COUNT);
    }
}

fn size(at: At<'_>, bytes: Option<u64>, found: &mut PlanProblems) {
    if bytes == Some(0) {
        found.say(at, not_a_size("output", 0));
    }
}

fn amount(at: At<'_>, key: &str, sum: Option<f64>, found: &mut PlanProblems) {
    if let Some(sum) = sum.filter(|sum| !sum.is_finite() || micro_usd(*sum) == 0) {
        found.say(at, not_an_amount(key, sum));
    }
}
