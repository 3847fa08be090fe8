//! `mutants: N` in a whole flight: tests that ask for nothing are a rework, and the agent that fixes them gets the
//! line.

use holdpoint_tests::world::World;

const BASE: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n";
const PLAN: &str = r#"
plan: sums
policy: {max_reworks: 1}
waypoints:
  - id: limit
    title: Values have a limit
    goal: "Add `limit` to `calc.py`, with tests: at most 9."
    scope: ["calc.py", "tests/**"]
    changed_tests: ["tests/**"]
    criteria:
      - {id: unit, check: "python3 -m unittest discover -s tests -t .", mutants: 3}
"#;

#[test]
fn tests_that_ask_for_nothing_are_mended_by_repair_that_is_told_the_broken_line() {
    let world = World::new(&[("calc.py", BASE), ("tests/__init__.py", ""), ("tests/test_calc.py", TESTS)]);
    world.plan(PLAN);
    let builder = world.program(
        "builder.sh",
        "grep '3 of the lines that you change broken' > /dev/null\n\
         printf '\\n\\ndef limit(n):\\n    if n > 9:\\n        return 9\\n    return n\\n' >> calc.py\n\
         printf 'import unittest\\nimport calc\\n\\n\\nclass Limit(unittest.TestCase):\\n    def test_limit(self):\\n        \
         calc.limit(1), calc.limit(10)\\n' > tests/test_limit.py",
    );
    let repair = world.program(
        "repair.sh",
        "grep -q 'mutant_survived' \"$HOLDPOINT_FEEDBACK_FILE\"\n\
         grep -q 'calc.py:6: \\\\\"if n > 9:\\\\\" became \\\\\"if n <= 9:\\\\\"' \"$HOLDPOINT_FEEDBACK_FILE\"\n\
         sed -i 's/calc.limit(1), calc.limit(10)/self.assertEqual([calc.limit(n) for n in (8, 9, 10)], [8, 9, 9])/' \
         tests/test_limit.py",
    );
    let run = world.fly(&builder, &["--repair", &repair]);
    run.expect(0);
    let waypoint = run.waypoint("limit");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &2.into()), "{waypoint}");
    assert_eq!(waypoint["criteria"][0]["verdict"], "pass");

    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let history = world.holdpoint(&["history", "limit", "--flight", &flight, "--json"]);
    let reports: Vec<serde_json::Value> =
        history.expect(0).stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let reports: Vec<_> = reports.iter().filter(|line| line["kind"] == "verification_report").collect();
    let reasons: Vec<_> = reports.iter().map(|report| &report["artifact"]["criteria"][0]["result"]["reason"]).collect();
    assert_eq!(reasons, [&serde_json::json!("mutant_survived"), &serde_json::Value::Null]);
    for report in reports {
        let runs = report["artifact"]["receipt"]["checks"].as_array().unwrap();
        assert_eq!(runs.iter().filter(|run| run["tested"] == "mutant").count(), 3, "{report}");
    }
    world.holdpoint(&["audit", &flight]).expect(0);
}
