//! Work without a plan file: a title, and what else was said of it, as a plan of one waypoint (GATE-11).

use std::collections::BTreeMap;

use holdpoint_protocol::plan::{Plan, Priority};
use serde_json::{Value, json};

use super::{change::ChangeRules, read::glance};

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
    /// The workflow; `None`: that of plans which name none.
    pub workflow: Option<String>,
    /// How soon its turns are taken.
    pub priority: Priority,
    /// Commands that succeed when it is done.
    pub checks: Vec<String>,
    /// The command that runs all tests of the project, which have to stay green; `None`: nothing more is tried.
    pub suite: Option<String>,
    /// Globs of paths that it may touch; none: all of them.
    pub scope: Vec<String>,
    /// Globs of tests, snapshots and golden files that exist and may change.
    pub changed_tests: Vec<String>,
    /// Free words.
    pub tags: Vec<String>,
    /// Free values.
    pub metadata: BTreeMap<String, Value>,
    /// BDD specs.
    pub tests: Vec<Value>,
}

/// The plan of it, held against no rule. `None`: the texts cannot be in a plan.
#[must_use]
pub fn of_task(task: &PlanTask) -> Option<Plan> {
    let PlanTask { title, goal, workflow, priority, checks, suite, scope, changed_tests, tags, metadata, tests } = task;
    let name = name(title);
    let checks = (1..).zip(checks).map(|(n, check)| json!({"id": format!("check-{n}"), "check": check}));
    let suite = suite.iter().map(|suite| json!({"id": "suite", "check": suite, "timeout": SUITE_TIMEOUT}));
    let waypoint = json!({
        "id": name, "title": title, "goal": goal.as_ref().unwrap_or(title), "tags": tags, "priority": priority,
        "criteria": checks.chain(suite).collect::<Vec<_>>(), "scope": scope, "changed_tests": changed_tests, "metadata": metadata,
        "tests": tests,
    });
    let mut plan = json!({"plan": name, "waypoints": [waypoint]});
    if let Some(workflow) = workflow {
        plan["workflow"] = json!(workflow);
    }
    glance(&serde_json::to_vec(&plan).ok()?)
}

/// The plan by which a change is judged: nobody builds it. `suite` runs all tests of the project. `None`: a text cannot stand in a plan.
#[must_use]
pub fn of_change(rules: &ChangeRules, suite: Option<&str>) -> Option<Plan> {
    let task = PlanTask {
        title: "change".to_owned(),
        suite: suite.filter(|_| rules.criteria.is_empty()).map(str::to_owned),
        ..PlanTask::default()
    };
    let mut plan = of_task(&task)?;
    let waypoint = plan.waypoints.first_mut()?;
    waypoint.criteria.extend(rules.criteria.iter().cloned());
    waypoint.scope.clone_from(&rules.scope);
    waypoint.new_tests.clone_from(&rules.new_tests);
    waypoint.changed_tests.clone_from(&rules.changed_tests);
    waypoint.protected.clone_from(&rules.protected);
    Some(plan)
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
    use holdpoint_protocol::plan::EvidenceLevel;

    use super::*;
    use crate::{
        declared::{DeclaredFile, defaults},
        plan::workflows::BUILT_IN_WORKFLOWS,
        rules::plan::validate,
        workflows::names::ONE_GATE,
    };

    fn task(title: &str) -> PlanTask {
        PlanTask { title: title.to_owned(), workflow: Some(ONE_GATE.to_owned()), ..PlanTask::default() }
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
            workflow: None,
            priority: Priority::High,
            metadata: [("risk".to_owned(), json!(2))].into(),
            tests: vec![json!({"given": "a", "when": "b", "then": "c"})],
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
        assert_eq!(
            (waypoint.priority, &waypoint.metadata, &waypoint.tests),
            (Priority::High, &said.metadata, &said.tests)
        );
        assert_eq!(plan.workflow, "fly");
    }

    #[test]
    fn a_change_is_judged_by_the_criteria_of_the_project_or_by_all_its_tests() {
        let suite = of_change(&ChangeRules::default(), Some("make test")).unwrap();
        assert!(validate(&suite, BUILT_IN_WORKFLOWS).is_empty());
        assert_eq!(suite.waypoints[0].criteria[0].check.as_ref().unwrap().command, "make test");
        let text = "suite: make test\nverify:\n  criteria: [{id: unit, check: make unit}]\n  scope: [src/**]\n  \
                    new_tests: [test/**]\n  changed_tests: [test/a::b]\n  protected: [golden/**]\n  evidence: strict\n";
        let source = DeclaredFile { file: "project.yaml", bytes: text.as_bytes() };
        let rules = defaults(source).unwrap().verify.unwrap();
        let plan = of_change(&rules, Some("make test")).unwrap();
        assert!(validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
        let [waypoint] = plan.waypoints.as_slice() else { panic!("one waypoint") };
        let [criterion] = waypoint.criteria.as_slice() else { panic!("no suite besides") };
        let check = criterion.check.as_ref().unwrap();
        assert_eq!((check.command.as_str(), check.evidence), ("make unit", EvidenceLevel::Strict));
        let lists = [&waypoint.scope, &waypoint.new_tests, &waypoint.changed_tests, &waypoint.protected];
        assert_eq!(lists.map(|list| list.as_slice()), [["src/**"], ["test/**"], ["test/a::b"], ["golden/**"]]);
    }

    #[test]
    fn rules_of_changes_that_are_wrong_are_refused_at_their_place() {
        for (text, line, word) in [
            ("verify:\n  goal: x\n", 2, "goal"),
            ("verify:\n  scope: ['[']\n", 2, "scope"),
            ("verify:\n  criteria:\n    - {id: a, check: x}\n    - {id: a, check: y}\n", 4, "a"),
        ] {
            let found = defaults(DeclaredFile { file: "project.yaml", bytes: text.as_bytes() }).unwrap_err();
            let [error] = found.errors.as_slice() else { panic!("{found}") };
            assert!(error.line == line && error.message.contains(word), "{found}");
        }
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
        let plan = of_task(&PlanTask { workflow: None, ..task("x") }).unwrap();
        assert!(!validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
        let empty = of_task(&task(" ")).unwrap();
        assert!(!validate(&empty, BUILT_IN_WORKFLOWS).is_empty());
        let suite = Some("npm test".to_owned());
        let tested = of_task(&PlanTask { workflow: None, suite, ..task("x") }).unwrap();
        assert!(validate(&tested, BUILT_IN_WORKFLOWS).is_empty());
    }
}
