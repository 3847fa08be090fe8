//! Rules for a waypoint and its criteria.

use holdpoint_evidence::paths;
use holdpoint_protocol::plan::{HttpService, Waypoint};

use super::{budgets, known::Workflows, over_http};
use crate::{
    plan::limits::{GOAL_BYTES_MAX, ITEMS_MAX, NAME_BYTES_MAX, ROUNDS, TESTS_BYTES_MAX, TESTS_MAX, TITLE_BYTES_MAX},
    rules::criteria,
    yaml::{findings::PlanProblems, path::At},
};

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
    criteria::criteria(at.key("criteria"), &waypoint.criteria, found);
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
