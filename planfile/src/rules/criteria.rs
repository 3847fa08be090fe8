//! Rules for criteria, of a waypoint or of changes that were made elsewhere.

use std::collections::HashSet;

use holdpoint_evidence::runners;
use holdpoint_protocol::plan::{Check, Criterion};

use super::values::unique;
use crate::{
    plan::limits::{CRITERIA_MAX, MUTANTS, MUTANTS_SUM_MAX, SENTENCE_BYTES_MAX},
    yaml::{findings::PlanProblems, path::At},
};

/// Holds criteria to every rule.
pub(crate) fn criteria(at: At<'_>, criteria: &[Criterion], found: &mut PlanProblems) {
    if criteria.len() > CRITERIA_MAX {
        let message = format!("the waypoint has {} criteria, more than {CRITERIA_MAX}", criteria.len());
        found.add(at.item(CRITERIA_MAX), message, "split the waypoint, or let one command check several things");
        return;
    }
    let asked = criteria.iter().filter_map(|criterion| criterion.check.as_ref()?.mutants);
    let sum: u64 = asked.map(u64::from).sum();
    if sum > MUTANTS_SUM_MAX {
        let message =
            format!("the criteria of the waypoint ask for {sum} `mutants` together, more than {MUTANTS_SUM_MAX}");
        found.add(at, message, "ask for them in the criteria that decide, or for fewer in each");
    }
    let mut seen = HashSet::new();
    for (i, criterion) in criteria.iter().enumerate() {
        let at = at.item(i);
        unique(at, &criterion.id, "criteria", &mut seen, found);
        match &criterion.check {
            Some(check) => found.check(at, check),
            None if criterion.statement.trim().is_empty() => {
                let hint = "say what must be true in `statement`, and how a command shows it in `check`";
                found.add(at.key("statement"), "the criterion has neither `statement` nor `check`", hint);
                continue;
            }
            None => {}
        }
        if let Some(check) = &criterion.check {
            mutants(at.key("mutants"), check, found);
        }
        // The statement of a criterion that is only a command quotes it.
        let quotes = criterion.check.as_ref().is_some_and(|check| criterion.statement.contains(&check.command));
        if !quotes && !criterion.statement.is_empty() {
            found.wanted(at.key("statement"), "`statement`", &criterion.statement, SENTENCE_BYTES_MAX);
        }
    }
}

/// Mutants need a check that is red where a test fails.
fn mutants(at: At<'_>, check: &Check, found: &mut PlanProblems) {
    let Some(number) = check.mutants else { return };
    if !found.number(at, "mutants", number.into(), &MUTANTS) {
        return;
    }
    if runners::expected(&check.command) {
        let hint = "remove `mutants`, or `!` before the test runner";
        found.add(at, "`mutants` needs a check that is green where tests pass, and this one asks for failures", hint);
    }
}
