//! The rules that every plan keeps, wherever it comes from: a file, or a request to an orchestrator.
//!
//! The reader checks what only a file can get wrong (unknown keys, values of the wrong kind); no rule is in both.

mod budgets;
mod graph;
mod known;
pub(crate) mod over_http;
mod waypoint;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use holdpoint_protocol::{
    checkpoint::{CHECKPOINTS_MAX, CheckpointRule, CheckpointSpec},
    ids::WaypointId,
    plan::{Answer, Guard, HttpService, Plan, Policy, Waypoint},
};
use holdpoint_text::shown;

use super::{command, environment, values::unique};
use crate::{
    plan::{
        limits::{
            CRITERIA_MAX, FILES, GUARDS_MAX, ITEMS_MAX, NAME_BYTES_MAX, ROUNDS, SENTENCE_BYTES_MAX, WAYPOINTS_MAX,
        },
        workflows::KnownWorkflow,
    },
    rules::plan::known::Workflows,
    yaml::{
        findings::PlanProblems,
        path::At,
        words::{not_an_id, quoted},
    },
};

/// Holds a plan against every rule. `workflows` are those that it may name.
#[must_use]
pub fn validate(plan: &Plan, workflows: &[KnownWorkflow<'_>]) -> PlanProblems {
    let mut found = PlanProblems::default();
    check(plan, workflows, &mut found);
    found
}

/// Adds what is wrong with a plan to what was found before.
pub(super) fn check(plan: &Plan, workflows: &[KnownWorkflow<'_>], found: &mut PlanProblems) {
    let at = At::ROOT;
    head(plan, found);
    guards(at.key("guards"), &plan.guards, found);
    checks(at.key("checks"), &plan.checks, found);
    answers(at.key("answers"), &plan.answers, found);
    if let Some(service) = &plan.service {
        over_http::check_service(at.key("service"), service, found);
    }
    let known = workflows.iter().map(|known| (known.name, known.has_verifier)).collect();
    let mut workflows = Workflows { known: &known, of_plan: true };
    workflows.of_plan = workflows.judged(at, Some(&plan.workflow), found);
    waypoints(at.key("waypoints"), (&plan.waypoints, plan.service.as_ref()), workflows, found);
    if plan.policy.mode.is_single() {
        alone(at.key("waypoints"), &plan.waypoints, found);
    }
}

/// Holds waypoints that are in no plan yet against the rules of a workflow that judges.
pub(crate) fn validate_waypoints(planned: &[Waypoint]) -> PlanProblems {
    let mut found = PlanProblems::default();
    let workflows = Workflows { known: &BTreeMap::new(), of_plan: true };
    waypoints(At::ROOT.key("waypoints"), (planned, None), workflows, &mut found);
    found
}

/// What is wrong with the order of such waypoints.
pub(crate) fn validate_order(planned: &[Waypoint]) -> PlanProblems {
    let mut found = PlanProblems::default();
    graph::check(At::ROOT.key("waypoints"), planned, &mut found);
    found
}

fn head(plan: &Plan, found: &mut PlanProblems) {
    let at = At::ROOT;
    if plan.plan.is_empty() {
        found.add(at.key("plan"), "the plan has no `plan`", "name the plan, such as `plan: harden-client`");
    } else if WaypointId::try_new(plan.plan.as_str()).is_err() {
        found.say(at.key("plan"), not_an_id(&plan.plan));
    }
    let odd = plan.base.contains(char::is_whitespace) || shown::first_hidden(&plan.base).is_some();
    if found.text(at.key("base"), "`base`", &plan.base, NAME_BYTES_MAX) && (plan.base.starts_with('-') || odd) {
        let message = format!("`base: {}` is not a git ref", quoted(&plan.base));
        found.add(at.key("base"), message, "name a branch, a tag or a commit, such as `HEAD` or `main`");
    }
    if let Some(covenant) = &plan.covenant {
        found.path(at.key("covenant"), "`covenant`", covenant);
    }
    policy(at.key("policy"), &plan.policy, found);
    budgets::of_flight(at.key("budget"), &plan.budget, found);
    let sources = at.key("sources");
    if found.length(sources, "`sources`", plan.sources.len(), ITEMS_MAX) {
        for (i, source) in plan.sources.iter().enumerate() {
            found.path(sources.item(i), "an item of `sources`", source);
        }
    }
    if let Some(spec) = &plan.environment {
        environment::environment(at.key("environment"), spec, found);
    }
    found.globs(at.key("protected"), "protected", &plan.protected);
    let ignore = at.key("ignore");
    if found.length(ignore, "`ignore`", plan.ignore.len(), ITEMS_MAX) {
        for (i, pattern) in plan.ignore.iter().enumerate() {
            found.name(ignore.item(i), "an item of `ignore`", pattern, NAME_BYTES_MAX);
        }
    }
    if let Some(span) = plan.answer_within {
        found.duration(at.key("answer_within"), "answer_within", span);
    }
}

fn policy(at: At<'_>, policy: &Policy, found: &mut PlanProblems) {
    let Policy { max_reworks, max_clarifications, ask_before_removing, .. } = *policy;
    if let Some(most) = ask_before_removing {
        found.number(at.key("ask_before_removing"), "ask_before_removing", most.into(), &FILES);
    }
    found.number(at.key("max_reworks"), "max_reworks", max_reworks.into(), &ROUNDS);
    found.number(at.key("max_clarifications"), "max_clarifications", max_clarifications.into(), &ROUNDS);
}

/// One agent alone is judged by nobody: a command has to show each criterion (FLY-36).
fn alone(at: At<'_>, waypoints: &[Waypoint], found: &mut PlanProblems) {
    for (number, waypoint) in waypoints.iter().enumerate() {
        let at = at.item(number);
        let at = at.key("criteria");
        let unshown = waypoint.criteria.iter().enumerate().filter(|(_, criterion)| criterion.check.is_none());
        for (number, criterion) in unshown.take(CRITERIA_MAX) {
            let message =
                format!("criterion `{}` has no `check`, and with `mode: single` nobody judges it", criterion.id);
            let hint = "add a `check`, or remove `mode: single`: an independent verifier judges then";
            found.add(at.item(number), message, hint);
        }
    }
}

fn guards(at: At<'_>, guards: &[Guard], found: &mut PlanProblems) {
    if !found.length(at, "`guards`", guards.len(), GUARDS_MAX) {
        return;
    }
    let mut seen = HashSet::new();
    for (i, guard) in guards.iter().enumerate() {
        let at = at.item(i);
        unique(at, &guard.id, "guards", &mut seen, found);
        if guard.check.command.is_empty() {
            found.add(at.key("check"), "a guard has no `check`", "a guard is a command: add `check:`");
        } else {
            found.check(at, &guard.check);
        }
        if guard.check.red_first {
            let hint = "a guard must be green on the base: remove `red_first`, or make it a criterion";
            found.add(at.key("red_first"), "a guard cannot be `red_first`", hint);
        }
        if guard.check.mutants.is_some() {
            let hint = "a guard is tried after every waypoint: remove `mutants`, or make it a criterion";
            found.add(at.key("mutants"), "a guard cannot have `mutants`", hint);
        }
    }
}

/// What gates with `checks: auto` check: commands, and what a report shows.
fn checks(at: At<'_>, checks: &[CheckpointSpec], found: &mut PlanProblems) {
    if !found.length(at, "`checks`", checks.len(), CHECKPOINTS_MAX) {
        return;
    }
    let mut seen = HashSet::new();
    for one in checks {
        let at = at.key(one.name.as_str());
        unique(at, &one.name, "checks", &mut seen, found);
        match &one.rule {
            Some(CheckpointRule::Command(command)) => command::command(at, command, found),
            Some(CheckpointRule::Report(_)) => {}
            _ => found.add(at, "a check is a command, or what a report shows", "make it a checkpoint of a gate"),
        }
    }
}

fn answers(at: At<'_>, answers: &[Answer], found: &mut PlanProblems) {
    if !found.length(at, "`answers`", answers.len(), ITEMS_MAX) {
        return;
    }
    for (i, answer) in answers.iter().enumerate() {
        let at = at.item(i);
        if answer.matches.is_empty() {
            let hint = "add a regular expression over the question";
            found.add(at.key("match"), "an answer has no `match`", hint);
        } else {
            found.regex(at.key("match"), "`match`", &answer.matches);
        }
        if answer.option.is_empty() {
            found.add(at.key("option"), "an answer has no `option`", "add the option to choose");
        } else {
            found.text(at.key("option"), "`option`", &answer.option, SENTENCE_BYTES_MAX);
        }
        if let Some(rationale) = &answer.rationale {
            found.text(at.key("rationale"), "`rationale`", rationale, SENTENCE_BYTES_MAX);
        }
    }
}

fn waypoints(
    at: At<'_>,
    (planned, service): (&[Waypoint], Option<&HttpService>),
    workflows: Workflows<'_>,
    found: &mut PlanProblems,
) {
    if planned.is_empty() {
        let hint = "add `waypoints:` with at least one item of `id`, `goal` and `criteria`";
        found.add(at, "the plan has no waypoints", hint);
        return;
    }
    if planned.len() > WAYPOINTS_MAX {
        let message = format!("the plan has {} waypoints, more than {WAYPOINTS_MAX}", planned.len());
        found.add(at.item(WAYPOINTS_MAX), message, "split it into several plans");
        return;
    }
    let mut seen = HashSet::new();
    for (i, one) in planned.iter().enumerate() {
        let at = at.item(i);
        unique(at, &one.id, "waypoints", &mut seen, found);
        waypoint::check(at, one, (workflows, service), found);
    }
    graph::check(at, planned, found);
}
