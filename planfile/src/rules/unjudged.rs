//! What else can be said of a plan that may fly, each with its place: criteria that only a judge can decide, and what cannot be
//! run where it would be.

use holdpoint_protocol::{
    ids::WaypointId,
    plan::{Check, Criterion, Plan, Waypoint, is_open_scope},
};

use crate::yaml::{findings::PlanProblems, path::At};

/// Commands that are green on every tree.
const ALWAYS_GREEN: [&str; 3] = ["true", ":", "exit 0"];

/// Every criterion without a check, in the plan's order. Without a judge their waypoints end `blocked` (`judge_missing`).
#[must_use]
pub fn without_check(plan: &Plan) -> PlanProblems {
    let mut found = PlanProblems::default();
    let hint = "add a check, or name a judge with --judge 'CMD'";
    each(plan, |at, of, check| {
        if check.is_none() {
            let message =
                format!("{of} has no `check`, and there is no judge: the waypoint will end blocked (judge_missing)");
            found.add(at, message, hint);
        }
    });
    found
}

/// Every guard and criterion whose command `lacks` something, in the plan's order; `lacks` says what.
#[must_use]
pub fn that_lack(plan: &Plan, lacks: impl Fn(&str) -> Option<String>) -> PlanProblems {
    let mut found = PlanProblems::default();
    each(plan, |at, of, check| {
        if let Some(lack) = check.and_then(|check| lacks(&check.command)) {
            found.add(
                at.key("check"),
                format!("the check of {of} cannot be run: {lack}"),
                "install it, or correct the command",
            );
        }
    });
    found
}

/// Every waypoint that [`nothing_fulfils`], with what helps.
#[must_use]
pub fn that_nothing_fulfils(plan: &Plan) -> PlanProblems {
    let mut found = PlanProblems::default();
    let at = At::ROOT.key("waypoints");
    for (number, waypoint) in plan.waypoints.iter().enumerate().filter(|(_, waypoint)| nothing_fulfils(plan, waypoint))
    {
        let at = at.item(number);
        let (message, hint) = accepted_untouched(&waypoint.id);
        found.add(at.key("criteria"), message, hint);
    }
    found
}

/// A warning for each waypoint that makes work and may change anything.
#[must_use]
pub fn that_are_open(plan: &Plan) -> PlanProblems {
    let mut found = PlanProblems::default();
    let at = At::ROOT.key("waypoints");
    let is_open = |waypoint: &Waypoint| is_open_scope(&waypoint.scope) && !waypoint.criteria.is_empty();
    for (number, waypoint) in plan.waypoints.iter().enumerate().filter(|(_, waypoint)| is_open(waypoint)) {
        let message = format!(
            "no scope bounds waypoint {}: its work may change anything, also what decides the verdict",
            waypoint.id
        );
        let hint = "name what it is about with `scope`, such as `scope: [\"src/**\"]`, or `--scope` where there is no plan file";
        found.add(at.item(number), message, hint);
    }
    found
}

/// Whether a waypoint would be accepted if nobody did anything, as far as the plan itself shows it: all its criteria have checks, and
/// each of these is `true`, or the check of a guard, which has to be green on the base.
#[must_use]
pub fn nothing_fulfils(plan: &Plan, waypoint: &Waypoint) -> bool {
    let is_green = |check: &Check| ALWAYS_GREEN.contains(&check.command.trim()) || is_guard(plan, check);
    idle_checks(waypoint).is_some_and(|mut checks| checks.all(is_green))
}

/// The checks that alone decide on a waypoint's work, where none of them has to be red first; `None` where one has, or a judge decides.
/// If all are green on the base, work that does nothing is accepted.
pub fn idle_checks(waypoint: &Waypoint) -> Option<impl Iterator<Item = &Check>> {
    let decides = |criterion: &Criterion| criterion.check.as_ref().is_some_and(|check| !check.red_first);
    let idle = !waypoint.criteria.is_empty() && waypoint.criteria.iter().all(decides);
    idle.then(|| waypoint.criteria.iter().filter_map(|criterion| criterion.check.as_ref()))
}

/// What is said of a waypoint whose work is accepted although nobody did anything, and what helps.
#[must_use]
pub fn accepted_untouched(waypoint: &WaypointId) -> (String, &'static str) {
    let message =
        format!("all checks of waypoint {waypoint} are green before any work: an agent that does nothing is accepted");
    (message, "add a criterion whose check is red now and green then, with `red_first: true`")
}

/// Whether a guard has the same command with the same meaning.
fn is_guard(plan: &Plan, check: &Check) -> bool {
    plan.guards.iter().any(|guard| guard.check.command == check.command && guard.check.expect == check.expect)
}

/// Everything that runs with a network, as an error where verifiers reach none: there it could only end red.
#[must_use]
pub fn that_want_network(plan: &Plan) -> PlanProblems {
    let mut found = PlanProblems::default();
    let hint = "do without it, or give the verifiers a network: orchestrator.verifier_network, and in containers the egress network (docs/deploy.md)";
    let message = |of: &str| format!("{of} runs with a network, and the verifiers of this fleet reach none");
    if plan.environment.as_ref().is_some_and(|environment| environment.setup.is_some() && !environment.offline) {
        let environment = At::ROOT.key("environment");
        found.add(environment.key("setup"), message("the setup of its environment"), hint);
    }
    each(plan, |at, of, check| {
        if check.is_some_and(|check| check.network) {
            found.add(at.key("network"), message(&format!("the check of {of}")), hint);
        }
    });
    found
}

/// Gives every guard and criterion to `look`, with its place and what it is called.
fn each(plan: &Plan, mut look: impl FnMut(At<'_>, String, Option<&Check>)) {
    let at = At::ROOT.key("guards");
    for (number, guard) in plan.guards.iter().enumerate() {
        look(at.item(number), format!("guard {}", guard.id), Some(&guard.check));
    }
    let at = At::ROOT.key("waypoints");
    for (number, waypoint) in plan.waypoints.iter().enumerate() {
        let at = at.item(number);
        let at = at.key("criteria");
        for (number, criterion) in waypoint.criteria.iter().enumerate() {
            let of = format!("criterion {} of waypoint {}", criterion.id, waypoint.id);
            look(at.item(number), of, criterion.check.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BUILT_IN_WORKFLOWS, located, read};

    const TEXT: &str = "plan: p\nguards: [{id: g, check: nosuch -v}]\nwaypoints:\n  - {id: a, goal: g, criteria: [{id: c, check: x}]}\n  \
                        - {id: b, goal: g, criteria: [{id: c, check: x}, {id: d, statement: s}]}\n";

    fn told(find: impl Fn(&Plan) -> PlanProblems) -> Vec<String> {
        told_of(TEXT, find)
    }

    fn told_of(text: &str, find: impl Fn(&Plan) -> PlanProblems) -> Vec<String> {
        let plan = read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        let errors = located(text, "plan.yaml", find(&plan)).errors;
        errors.iter().map(|e| format!("{}:{}:{}: {}", e.file, e.line, e.column, e.message)).collect()
    }

    #[test]
    fn a_criterion_that_no_command_shows_is_found_with_its_line() {
        let found = told(without_check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("plan.yaml:5:52: criterion d of waypoint b has no `check`"), "{found:?}");
    }

    #[test]
    fn a_waypoint_whose_checks_are_green_before_any_work_is_found_with_its_line() {
        let of = |criteria: &str| {
            let text = format!(
                "plan: p\nguards: [{{id: g, check: make test}}]\nwaypoints:\n  - {{id: a, goal: g, criteria: [{criteria}]}}\n"
            );
            told_of(&text, that_nothing_fulfils)
        };
        let idle = [
            "plan.yaml:4:32: all checks of waypoint a are green before any work: an agent that does nothing is accepted",
        ];
        for criteria in ["{id: c, check: true}", "{id: c, check: make test}, {id: d, check: ' : '}"] {
            assert_eq!(of(criteria), idle, "{criteria}");
        }
        for criteria in [
            "{id: c, check: make new}, {id: d, check: make test}",
            "{id: c, check: make test}, {id: d, statement: It reads well}",
            "{id: c, check: make test}, {id: d, check: make new, red_first: true}",
            "{id: c, check: make test, expect: 12 passed}",
        ] {
            assert_eq!(of(criteria), [""; 0], "{criteria}");
        }
    }

    #[test]
    fn work_that_may_change_anything_is_found_with_its_line() {
        let text = "plan: p\nwaypoints:\n  - {id: a, goal: g, scope: [a], criteria: [{id: c, check: x}]}\n  - {id: b, goal: g, scope: any, criteria: [{id: c, check: x}]}\n  - {id: d, goal: g, workflow: one-gate}\n  - {id: e, goal: g, scope: ['**'], criteria: [{id: c, check: x}]}\n";
        assert_eq!(
            told_of(text, that_are_open),
            [
                "plan.yaml:4:5: no scope bounds waypoint b: its work may change anything, also what decides the verdict",
                "plan.yaml:6:5: no scope bounds waypoint e: its work may change anything, also what decides the verdict",
            ]
        );
    }

    #[test]
    fn everything_that_wants_a_network_is_found_with_its_line() {
        assert!(told(that_want_network).is_empty());
        let offline =
            TEXT.replace("guards:", "environment: {setup: make stubs, inputs: [Makefile], offline: true}\nguards:");
        assert!(told_of(&offline, that_want_network).is_empty());
        let text = "plan: p\nenvironment: {setup: make fetch, inputs: [Makefile]}\nguards: [{id: g, check: x, network: true}]\nwaypoints:\n  - {id: a, goal: g, criteria: [{id: c, check: x, network: true}, {id: d, check: x}]}\n";
        let why = "runs with a network, and the verifiers of this fleet reach none";
        assert_eq!(
            told_of(text, that_want_network),
            [
                format!("plan.yaml:2:22: the setup of its environment {why}"),
                format!("plan.yaml:3:37: the check of guard g {why}"),
                format!("plan.yaml:5:60: the check of criterion c of waypoint a {why}"),
            ]
        );
    }

    #[test]
    fn a_check_whose_program_is_not_there_is_found_with_its_line() {
        let found = told(|plan| that_lack(plan, |command| command.starts_with("nosuch").then(|| "no".to_owned())));
        assert_eq!(found, ["plan.yaml:2:25: the check of guard g cannot be run: no"]);
    }
}
