//! What else can be said of a plan that may fly, each with its place: criteria that only a judge can decide, and what cannot be
//! run where it would be.

use holdpoint_protocol::plan::{Check, Plan};

use super::{
    KIND, PlanProblems,
    error::{PlanErrors, Problems},
    path::At,
    tree,
};
use crate::bom;

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

/// Everything that runs with a network, as an error where verifiers reach none: there it could only end red.
#[must_use]
pub fn that_want_network(plan: &Plan) -> PlanProblems {
    let mut found = PlanProblems::default();
    let hint = "do without it, or give the verifiers a network: orchestrator.verifier_network, and in containers the egress network (docs/deploy.md)";
    let message = |of: &str| format!("{of} runs with a network, and the verifiers of this fleet reach none");
    if plan.prepare.is_some() {
        found.add(At::ROOT.key("prepare"), message("`prepare`"), hint);
    }
    each(plan, |at, of, check| {
        if check.is_some_and(|check| check.network) {
            found.add(at.key("network"), message(&format!("the check of {of}")), hint);
        }
    });
    found
}

/// What was found, at its lines in the plan's file.
#[must_use]
pub fn located(text: &str, file: &str, found: PlanProblems) -> PlanErrors {
    let text = bom::stripped(text);
    let mut problems = Problems::default();
    if let Some(root) = tree::load(text, &KIND, &mut problems) {
        problems.locate(found, &root);
    }
    problems.finish(file, text)
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
    use crate::plan::{BUILT_IN_WORKFLOWS, read};

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
    fn everything_that_wants_a_network_is_found_with_its_line() {
        assert!(told(that_want_network).is_empty());
        let text = "plan: p\nprepare: make fetch\nguards: [{id: g, check: x, network: true}]\nwaypoints:\n  - {id: a, goal: g, criteria: [{id: c, check: x, network: true}, {id: d, check: x}]}\n";
        let why = "runs with a network, and the verifiers of this fleet reach none";
        assert_eq!(
            told_of(text, that_want_network),
            [
                format!("plan.yaml:2:10: `prepare` {why}"),
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
