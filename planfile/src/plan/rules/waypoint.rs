//! Rules for a waypoint and its criteria.

use std::collections::HashSet;

use holdpoint_evidence::{paths, runners};
use holdpoint_protocol::plan::{Check, Criterion, HttpService, Waypoint};

use super::{
    super::limits::{
        CRITERIA_MAX, GOAL_BYTES_MAX, ITEMS_MAX, MUTANTS, MUTANTS_SUM_MAX, NAME_BYTES_MAX, ROUNDS, SENTENCE_BYTES_MAX,
        TESTS_BYTES_MAX, TESTS_MAX, TITLE_BYTES_MAX,
    },
    Workflows, budgets, over_http, unique,
};
use crate::yaml::{findings::PlanProblems, path::At};

pub(super) fn check(
    at: At<'_>,
    waypoint: &Waypoint,
    (workflows, service): (Workflows<'_>, Option<&HttpService>),
    found: &mut PlanProblems,
) {
    let what = format!("waypoint `{}`", waypoint.id);
    found.name(at.key("title"), "`title`", &waypoint.title, TITLE_BYTES_MAX);
    if waypoint.goal.trim().is_empty() {
        found.add(at.key("goal"), format!("{what} has no `goal`"), "say what the builder is to do: `goal: …`");
    } else {
        found.wanted(at.key("goal"), "`goal`", &waypoint.goal, GOAL_BYTES_MAX);
    }
    let judged = workflows.judged(at, waypoint.workflow.as_deref(), found);
    // The tests of a file are read later, on the base, and the plan is held against the rules once more with them.
    let has_more = service.is_some() && waypoint.tests_file.is_some() && waypoint.tests.is_empty();
    if judged && waypoint.criteria.is_empty() && !has_more {
        let hint = "add at least one criterion with `id`, `statement` and, if a command can show it, `check`";
        found.add(at.key("criteria"), format!("{what} has no criteria"), hint);
    }
    criteria(at.key("criteria"), &waypoint.criteria, found);
    let tags = at.key("tags");
    if found.length(tags, "`tags`", waypoint.tags.len(), ITEMS_MAX) {
        for (i, tag) in waypoint.tags.iter().enumerate() {
            found.name(tags.item(i), "an item of `tags`", tag, NAME_BYTES_MAX);
        }
    }
    found.globs(at.key("scope"), "scope", &waypoint.scope);
    found.globs(at.key("new_tests"), "new_tests", &waypoint.new_tests);
    let files = waypoint.changed_tests.iter().map(|text| paths::file_of_test(text).to_owned());
    found.globs(at.key("changed_tests"), "changed_tests", &files.collect::<Vec<_>>());
    found.globs(at.key("protected"), "protected", &waypoint.protected);
    if let Some(max_reworks) = waypoint.max_reworks {
        found.number(at.key("max_reworks"), "max_reworks", max_reworks.into(), &ROUNDS);
    }
    budgets::of_turn(at.key("budget"), &waypoint.budget, found);
    tests(at.key("tests"), waypoint, service, found);
    if let Some(file) = &waypoint.tests_file {
        found.path(at.key("testsFile"), "`testsFile`", file);
    }
}

fn tests(at: At<'_>, waypoint: &Waypoint, service: Option<&HttpService>, found: &mut PlanProblems) {
    let hint = "keep those that say something of their own";
    if waypoint.tests.len() > TESTS_MAX {
        let message = format!("the waypoint has {} tests, more than {TESTS_MAX}", waypoint.tests.len());
        found.add(at.item(TESTS_MAX), message, hint);
    } else if waypoint.tests.iter().map(|test| test.to_string().len()).sum::<usize>() > TESTS_BYTES_MAX {
        found.add(at, format!("the tests of the waypoint have more than {} KiB", TESTS_BYTES_MAX >> 10), hint);
    } else {
        over_http::check_tests(at, service, &waypoint.tests, Some(&waypoint.criteria), found);
    }
}

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
