//! Rules for budgets. A limit that nothing enforces yet is refused: one that is silently ignored costs somebody money.

use holdpoint_protocol::plan::{FlightBudget, TurnBudget};

use super::{
    super::{
        limits::COUNT,
        path::At,
        words::{not_a_size, not_an_amount},
    },
    PlanProblems,
};

pub(super) fn of_flight(at: At<'_>, budget: &FlightBudget, found: &mut PlanProblems) {
    let FlightBudget { wall, tokens, cost_usd } = budget;
    if let Some(wall) = wall {
        found.duration(at.key("wall"), "wall", *wall);
    }
    count(at.key("tokens"), "tokens", *tokens, found);
    amount(at.key("cost_usd"), "cost_usd", *cost_usd, found);
}

pub(super) fn of_turn(at: At<'_>, budget: &TurnBudget, found: &mut PlanProblems) {
    let TurnBudget { wall, tokens, cost_usd, tool_calls, output } = budget;
    if let Some(wall) = wall {
        found.duration(at.key("wall"), "wall", *wall);
    }
    if *output == Some(0) {
        found.say(at.key("output"), not_a_size("output", 0));
    }
    count(at.key("tokens"), "tokens", *tokens, found);
    amount(at.key("cost_usd"), "cost_usd", *cost_usd, found);
    count(at.key("tool_calls"), "tool_calls", *tool_calls, found);
}

fn count(at: At<'_>, key: &str, number: Option<u64>, found: &mut PlanProblems) {
    if let Some(number) = number
        && found.number(at, key, number, &COUNT)
    {
        not_enforced(at, key, found);
    }
}

fn amount(at: At<'_>, key: &str, sum: Option<f64>, found: &mut PlanProblems) {
    match sum {
        None => {}
        Some(sum) if sum.is_finite() && sum > 0.0 => not_enforced(at, key, found),
        Some(sum) => found.say(at, not_an_amount(key, sum)),
    }
}

fn not_enforced(at: At<'_>, key: &str, found: &mut PlanProblems) {
    let hint = "remove it, and set this limit where the program takes one; `wall` of a budget is enforced";
    found.add(at, format!("`{key}` is not enforced yet: the limit would be ignored"), hint);
}
