//! What the runs of one turn's program used up together, held against the turn's allowance (FLY-32).
//!
//! Reading a program's words is not here: the harness does that while it runs.

use holdpoint_protocol::{
    artifact::{Failure, Metered, TokenUsage},
    budget::{Allowance, Limits},
    reason::ReasonCode,
};

/// Whether a run that ended, with those before it, reached a limit of its turn.
#[must_use]
pub fn has_reached(allowance: Option<&Allowance>, metered: &Metered) -> bool {
    allowance.is_some_and(|allowance| allowance.limits.is_reached(metered.reported().amounts()))
}

/// What is left of a turn's allowance after what was used up.
#[must_use]
pub fn left(allowance: Option<&Allowance>, metered: &Metered) -> Limits {
    allowance.map_or_else(Limits::default, |allowance| allowance.limits.minus(metered.reported().amounts()))
}

/// The failure of a turn whose program reached a limit. What it used up is its own word.
#[must_use]
pub fn reached(allowance: Option<&Allowance>, metered: &Metered) -> Failure {
    let limits = allowance.map(|allowance| allowance.limits.to_list()).unwrap_or_default();
    let used = metered.reported().amounts().to_list();
    let names = ["tokens", "millionths of a dollar", "tool calls", "bytes of output", "ms of wall time"];
    let words = limits.into_iter().zip(used).zip(names).filter_map(|((limit, used), name)| {
        let limit = limit?;
        (used >= limit).then(|| format!("{used} of {limit} {name}"))
    });
    let words: Vec<String> = words.collect();
    let what = if words.is_empty() { "a limit".to_owned() } else { words.join(", ") };
    let detail = format!("the program was ended at the limit of its turn: it reported {what}");
    Failure { reason: ReasonCode::BudgetExhausted, detail }
}

/// What is known to be used up when another run begins: of that nothing yet.
#[must_use]
pub fn begun(before: &Metered) -> Metered {
    Metered { incomplete: true, ..before.clone() }
}

/// What two runs used up together. An amount that only one of them reported is not all of it.
#[must_use]
pub fn plus(before: Metered, more: Metered) -> Metered {
    if before == Metered::default() {
        return more;
    }
    let differ = |a: Option<u64>, b: Option<u64>| a.is_some() != b.is_some();
    let mixed = differ(before.tokens, more.tokens) || differ(before.cost_micro_usd, more.cost_micro_usd);
    let both = |a: Option<u64>, b: Option<u64>| a.map(|a| a.saturating_add(b.unwrap_or_default())).or(b);
    let usage = match (before.usage, more.usage) {
        (Some(a), Some(b)) => Some(TokenUsage {
            input: a.input.saturating_add(b.input),
            output: a.output.saturating_add(b.output),
            cache_read: a.cache_read.saturating_add(b.cache_read),
            cache_write: a.cache_write.saturating_add(b.cache_write),
        }),
        (a, b) => a.or(b),
    };
    Metered {
        wall: (before.wall.duration() + more.wall.duration()).into(),
        output_bytes: before.output_bytes.saturating_add(more.output_bytes),
        tokens: both(before.tokens, more.tokens),
        usage,
        cost_usd: None,
        cost_micro_usd: both(before.cost_micro_usd, more.cost_micro_usd),
        estimated: before.estimated || more.estimated,
        tool_calls: both(before.tool_calls, more.tool_calls),
        incomplete: before.incomplete || more.incomplete || mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(tokens: Option<u64>, cost_micro_usd: Option<u64>) -> Metered {
        Metered { tokens, cost_micro_usd, output_bytes: 1, ..Metered::default() }
    }

    #[test]
    fn what_a_run_does_not_report_leaves_what_others_reported() {
        for (before, more, both) in [
            (used(None, None), used(None, None), (None, None)),
            (used(Some(2), None), used(None, Some(3)), (Some(2), Some(3))),
            (used(Some(2), Some(1)), used(Some(3), Some(u64::MAX)), (Some(5), Some(u64::MAX))),
        ] {
            let mixed = before.tokens.is_some() != more.tokens.is_some();
            let sum = plus(before, more);
            assert_eq!((sum.tokens, sum.cost_micro_usd, sum.output_bytes), (both.0, both.1, 2));
            assert_eq!(sum.incomplete, mixed);
        }
    }

    #[test]
    fn a_turn_is_at_its_limit_when_its_runs_together_are_and_its_failure_says_which() {
        let limits = Limits { tokens: Some(5), cost_micro_usd: Some(100), ..Limits::default() };
        let allowance = Allowance { limits, ..Allowance::default() };
        let (some, all) = (used(Some(4), None), used(Some(6), Some(99)));
        assert!(
            !has_reached(Some(&allowance), &some) && has_reached(Some(&allowance), &all) && !has_reached(None, &all)
        );
        assert_eq!(left(Some(&allowance), &some).tokens, Some(1));
        assert_eq!(left(Some(&allowance), &all).tokens, Some(0));
        let failure = reached(Some(&allowance), &all);
        assert_eq!(failure.reason, ReasonCode::BudgetExhausted);
        assert!(failure.detail.ends_with("it reported 6 of 5 tokens"), "{}", failure.detail);
    }
}
