//! Work without a plan that is built, and judged by all tests of the project.

use std::fs::File;

use holdpoint_tests::world::World;

/// A project of one function.
pub(crate) const CALC: &str = "def add(a, b):\n    return a + b\n";
/// Its test.
pub(crate) const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
                     self.assertEqual(calc.add(2, 3), 5)\n";
/// Adds another function, and its test.
pub(crate) const TWICE: &str = "printf '\\n\\ndef twice(a):\\n    return 2 * a\\n' >> calc.py\n\
    printf '\\n    def test_twice(self):\\n        self.assertEqual(calc.twice(4), 8)\\n' >> test_calc.py";

#[test]
fn a_task_is_built_and_judged_by_all_tests_of_the_project() {
    let world = World::new(&[("calc.py", CALC), ("test_calc.py", TESTS)]);
    let written = world.holdpoint(&["init", "--json"]).expect(0).json();
    assert!(written["declares"].as_str().is_some_and(|path| path.ends_with("project.yaml")), "{written}");
    let builder = world.program("builder.sh", TWICE);
    let run = world.holdpoint(&["run", "--task", "Add twice(a)", "--builder", &builder, "--json"]);
    let waypoint = run.expect(0).waypoint("add-twice-a");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &1.into()), "{run}");
    assert!(!waypoint["commit"].is_null(), "it landed: {run}");
    assert!(run.stderr.contains("its tests are run with python3 -m unittest"), "{run}");
    // Without a builder, or with an agent for the one gate, nothing is built.
    let reader =
        world.holdpoint(&["check", "--task", "Read", "--agent", "default=true", "--builder", &builder, "--json"]);
    assert_eq!(reader.expect(0).json()["criteria"], 0);
}

#[test]
fn a_task_is_built_and_judged_as_the_project_file_says() {
    let project = "environment: {setup: \"cp greeting.lock greeting.txt\", inputs: [greeting.lock], env: {WHO: you}}\n\
                   suite: grep -q hello greeting.txt && test \"$WHO\" = you && python3 -m unittest\n";
    let world = World::new(&[
        ("calc.py", CALC),
        ("test_calc.py", TESTS),
        ("project.yaml", project),
        ("greeting.lock", "hello\n"),
        (".gitignore", "greeting.txt\n"),
    ]);
    let builder =
        world.program("builder.sh", "test -f greeting.txt && test \"$WHO\" = you && echo '# more' >> calc.py");
    let run = world.holdpoint(&["run", "--task", "Say more", "--builder", &builder, "--json"]);
    assert_eq!(run.expect(0).waypoint("say-more")["status"], "complete", "{run}");
    assert!(run.stderr.contains("(by project.yaml)"), "{run}");
    world.plan("plan: p\nwaypoints: [{id: w, goal: g, criteria: [{id: c, check: test -f greeting.txt}]}]\n");
    let checked = world.holdpoint(&["check", "../plan/plan.yaml", "--builder", &builder, "--json"]);
    assert_eq!(checked.expect(0).json()["environment"]["env"]["WHO"], "you");
    let left = world.holdpoint(&["init", "--out", "../plan/new.yaml", "--json"]);
    assert!(left.expect(0).json()["declares"].is_null());
    let plan = std::fs::read_to_string(world.path("plan/new.yaml")).unwrap();
    assert!(plan.contains("check: \"grep -q hello greeting.txt"), "the guard is the suite that is declared: {plan}");
}

#[test]
fn an_issue_is_flown_from_a_file_and_from_standard_input() {
    let world = World::new(&[("calc.py", CALC), ("test_calc.py", TESTS)]);
    let builder = world.program(
        "builder.sh",
        &format!("case $(cat) in *'Numbers can be doubled'*'In calc.py, with tests.'*) ;; *) exit 3 ;; esac\n{TWICE}"),
    );
    world.write("plan/empty.md", "\n");
    let empty = world.holdpoint(&["check", "--issue", "../plan/empty.md", "--json"]);
    assert!(empty.expect(2).stderr.contains("the issue has no words"), "{empty}");

    world.write("plan/issue.md", "# Numbers can be doubled\n\nIn calc.py, with tests.\n");
    let run = world.holdpoint(&["run", "--issue", "../plan/issue.md", "--builder", &builder, "--json"]);
    let waypoint = run.expect(0).waypoint("numbers-can-be-doubled");
    assert_eq!(waypoint["status"], "complete", "{run}");
    assert!(!waypoint["commit"].is_null(), "it landed: {run}");

    let front =
        "---\ntitle: Numbers can be doubled\nlabels: [math]\npriority: high\nchecks: [grep twice calc.py]\n---\n";
    world.write("plan/front.md", &format!("{front}In calc.py, with tests.\n"));
    let mut command = world.command(&["run", "--issue", "-", "--builder", &builder, "--json"]);
    command.stdin(File::open(world.path("plan/front.md")).unwrap());
    let run = world.start_with(command).finish();
    let waypoint = run.expect(0).waypoint("numbers-can-be-doubled");
    assert_eq!(waypoint["status"], "complete", "{run}");
    let criteria: Vec<&str> =
        waypoint["criteria"].as_array().unwrap().iter().filter_map(|criterion| criterion["id"].as_str()).collect();
    assert_eq!(criteria, ["check-1", "suite"], "{run}");
}
