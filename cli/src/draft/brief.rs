//! What an agent is asked that drafts a plan. Pure.

use holdpoint_planfile::plan;

/// The file that the agent writes.
pub(crate) const FILE: &str = "plan.yaml";
/// A plan as it should be.
const EXAMPLE: &str = include_str!("brief/example.yaml");
/// What makes a plan good.
const RULES: &str = include_str!("brief/rules.md");

/// The goal of the turn. `suite` runs all tests of the project.
pub(crate) fn goal(wanted: &str, suite: Option<&str>) -> String {
    let suite = suite.map(|suite| format!("\n\nAll tests of this project are run with `{suite}`.")).unwrap_or_default();
    let schema = plan::schema();
    format!(
        "Write a plan for what is wanted into the file `{FILE}` in the current directory. Change nothing else: other files are thrown \
         away.\n\n## What is wanted\n\n{}\n\n{RULES}{suite}\n\n### An example\n\n```yaml\n{EXAMPLE}```\n\n### The schema of plans\n\n\
         ```json\n{schema}\n```\n",
        wanted.trim()
    )
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::plan::{BUILT_IN_WORKFLOWS, idle_checks, read};

    use super::*;

    #[test]
    fn the_example_is_a_plan_as_the_rules_want_it() {
        let plan = read(EXAMPLE, FILE, BUILT_IN_WORKFLOWS).unwrap_or_else(|found| panic!("{}", found.render()));
        assert!(plan.waypoints.iter().all(|waypoint| idle_checks(waypoint).is_none() && !waypoint.scope.is_empty()));
        assert!(!plan.guards.is_empty() && plan.waypoints.iter().any(|waypoint| !waypoint.depends_on.is_empty()));
    }

    #[test]
    fn an_agent_gets_what_is_wanted_with_rules_example_and_schema() {
        let goal = goal("Back off.\n", Some("make test"));
        for part in ["`plan.yaml`", "\n\nBack off.\n\n", "with `make test`", "plan: harden-client", "\"red_first\""] {
            assert!(goal.contains(part), "{part}: {goal}");
        }
    }
}
