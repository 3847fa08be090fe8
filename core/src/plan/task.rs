//! Work without a plan file: a title, and what else was said of it, as a plan of one waypoint (GATE-11).

use holdpoint_protocol::plan::Plan;
use serde_json::json;

use super::glance;

/// The longest name that is made of a title, in characters.
const NAME_LEN_MAX: usize = 40;
/// The name where a title has nothing to make one of.
const NAME_DEFAULT: &str = "task";
/// How long all tests of a project may take.
const SUITE_TIMEOUT: &str = "20m";

/// What was said of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanTask {
    /// One line for people.
    pub title: String,
    /// The instructions for it; `None`: the title.
    pub goal: Option<String>,
    /// The workflow.
    pub workflow: String,
    /// Commands that succeed when it is done.
    pub checks: Vec<String>,
    /// The command that runs all tests of the project, which have to stay green; `None`: nothing more is tried.
    pub suite: Option<String>,
    /// Globs of tests, snapshots and golden files that exist and may change.
    pub changed_tests: Vec<String>,
    /// Free words.
    pub tags: Vec<String>,
}

/// The plan of it, held against no rule. `None`: the texts cannot be in a plan.
#[must_use]
pub fn of_task(task: &PlanTask) -> Option<Plan> {
    let PlanTask { title, goal, workflow, checks, suite, changed_tests, tags } = task;
    let name = name(title);
    let checks = (1..).zip(checks).map(|(n, check)| json!({"id": format!("check-{n}"), "check": check}));
    let suite = suite.iter().map(|suite| json!({"id": "suite", "check": suite, "timeout": SUITE_TIMEOUT}));
    let waypoint = json!({
        "id": name, "title": title, "goal": goal.as_ref().unwrap_or(title), "tags": tags,
        "criteria": checks.chain(suite).collect::<Vec<_>>(), "changed_tests": changed_tests,
    });
    let plan = json!({"plan": name, "workflow": workflow, "waypoints": [waypoint]});
    glance(&serde_json::to_vec(&plan).ok()?)
}

/// A name for files and branches.
fn name(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        let longer = if name.is_empty() { word.to_owned() } else { format!("{name}-{word}") };
        if longer.len() > NAME_LEN_MAX {
            break;
        }
        name = longer;
    }
    if name.is_empty() { NAME_DEFAULT.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{BUILT_IN_WORKFLOWS, validate},
        workflows::ONE_GATE,
    };

    fn task(title: &str) -> PlanTask {
        PlanTask { title: title.to_owned(), workflow: ONE_GATE.to_owned(), ..PlanTask::default() }
    }

    #[test]
    fn a_title_alone_is_a_sound_plan_of_one_waypoint() {
        let plan = of_task(&task("Retry on 503: \"every\" client")).unwrap();
        assert!(validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
        let [waypoint] = plan.waypoints.as_slice() else { panic!("one waypoint") };
        assert_eq!((plan.plan.as_str(), waypoint.id.as_str()), ("retry-on-503-every-client", plan.plan.as_str()));
        assert_eq!((waypoint.title.as_str(), &waypoint.goal), ("Retry on 503: \"every\" client", &waypoint.title));
        assert_eq!((plan.workflow.as_str(), plan.base.as_str()), (ONE_GATE, "HEAD"));
    }

    #[test]
    fn what_else_is_said_of_it_is_in_the_plan() {
        let said = PlanTask {
            goal: Some("Back off.\n\nTwice.".to_owned()),
            checks: vec!["cargo test".to_owned(), "true".to_owned()],
            suite: Some("make test".to_owned()),
            changed_tests: vec!["test/*.snap".to_owned()],
            tags: vec!["net".to_owned()],
            workflow: "fly".to_owned(),
            ..task("x")
        };
        let plan = of_task(&said).unwrap();
        assert!(validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
        let waypoint = &plan.waypoints[0];
        assert_eq!(
            (waypoint.goal.as_str(), waypoint.tags.as_slice()),
            ("Back off.\n\nTwice.", &["net".to_owned()][..])
        );
        let commands =
            waypoint.criteria.iter().map(|one| (one.id.as_str(), one.check.as_ref().unwrap().command.as_str()));
        let expected = [("check-1", "cargo test"), ("check-2", "true"), ("suite", "make test")];
        assert_eq!(commands.collect::<Vec<_>>(), expected);
        assert_eq!(waypoint.changed_tests, ["test/*.snap"]);
    }

    #[test]
    fn names_are_short_and_there_is_always_one() {
        let long = "word ".repeat(30);
        for (title, expected) in
            [("Ünï  Test!", "n-test"), ("!!!", "task"), (&long, "word-word-word-word-word-word-word-word")]
        {
            assert_eq!(name(title), expected, "{title}");
        }
    }

    #[test]
    fn a_workflow_that_verifies_wants_a_check() {
        let plan = of_task(&PlanTask { workflow: "fly".to_owned(), ..task("x") }).unwrap();
        assert!(!validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
        let empty = of_task(&task(" ")).unwrap();
        assert!(!validate(&empty, BUILT_IN_WORKFLOWS).is_empty());
        let suite = Some("npm test".to_owned());
        let tested = of_task(&PlanTask { workflow: "fly".to_owned(), suite, ..task("x") }).unwrap();
        assert!(validate(&tested, BUILT_IN_WORKFLOWS).is_empty());
    }
}
