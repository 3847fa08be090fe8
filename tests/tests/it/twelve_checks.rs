//! The twelve checks on projects of two ecosystems, with tools there and missing (SDLC-3); of a third one in `examples`.

use std::process::Command;

use holdpoint_tests::world::{Finished, World};
use serde_json::Value;

const PROJECT: &str = r"
workflows:
  - name: audited
    gates: [{id: build, role: builder}, {id: audit, role: verifier, canReject: true, checks: auto}]
  - name: by-name
    gates:
      - {id: build, role: builder}
      - id: audit
        role: verifier
        canReject: true
        threshold: 60
        checks:
          syntax: python3 -m ast calc.py
          tests: python3 -m unittest discover -s tests
          build: python3 -c 'import calc'
          lint: no-such-linter calc.py
          docs: grep -q twice README.md
";

fn fly(files: &[(&str, &str)], plan: &str, builder: &str) -> (World, Finished) {
    let files = [&[("project.yaml", PROJECT)], files].concat();
    let world = World::new(&files);
    world.plan(plan);
    let builder = world.program("builder.sh", builder);
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--json", "--builder", &builder]);
    (world, run)
}

/// What became of a check, as `status message`.
fn check<'a>(waypoint: &'a Value, name: &str) -> (&'a str, &'a str) {
    let all = waypoint["checkpoints"][0]["checkpoints"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} in {waypoint:#}"));
    (one["status"].as_str().unwrap(), one["message"].as_str().unwrap_or_default())
}

fn is_there(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_python_project_is_checked_and_a_missing_tool_of_a_required_check_is_a_persons() {
    let plan = r#"
plan: calc
policy: {max_reworks: 0}
waypoints:
  - {id: auto, workflow: audited, goal: Double, criteria: [{id: c, check: "grep -q twice calc.py"}]}
  - {id: named, workflow: by-name, goal: Double, criteria: [{id: c, check: "grep -q twice calc.py"}]}
"#;
    let files = [
        ("pyproject.toml", "[project]\nname = 'calc'\nversion = '1'\n"),
        ("calc.py", "def once(n):\n    return n\n"),
        ("README.md", "calc\n"),
        (
            "tests/test_calc.py",
            "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_once(self):\n        self.assertEqual(calc.once(2), 2)\n",
        ),
    ];
    let builder = r"cat > /dev/null
printf '\n\ndef twice(n):\n    return 2 * n\n' >> calc.py";
    let (_world, run) = fly(&files, plan, builder);
    let auto = &run.waypoint("auto");
    assert_ne!(check(auto, "syntax").0, "skip", "{auto:#}");
    assert_eq!(check(auto, "review"), ("skip", "the flight has no judge"));
    if is_there("python3", &["-m", "build", "--version"]) {
        assert_ne!(check(auto, "build").0, "skip", "{auto:#}");
    } else {
        assert_eq!(check(auto, "build").0, "skip", "{auto:#}");
        assert!(check(auto, "build").1.starts_with("`build` is missing: `python3 -m build --version`"), "{auto:#}");
    }
    let named = &run.waypoint("named");
    assert_eq!((&named["status"], &named["checkpoints"][0]["score"]), (&"complete".into(), &75.into()), "{named:#}");
    assert_eq!(check(named, "docs").0, "fail");
    assert_eq!(check(named, "lint").0, "skip");
    assert!(check(named, "lint").1.starts_with("`no-such-linter` is missing"), "{named:#}");
}

#[test]
fn a_node_project_is_checked_by_its_scripts_and_blocked_where_one_that_is_required_is_missing() {
    let plan = |name: &str| {
        format!(
            "plan: {name}\nworkflow: audited\nwaypoints:\n  - {{id: w, goal: Double, criteria: [{{id: c, check: \"grep -q twice calc.js\"}}]}}\n"
        )
    };
    let package = r#"{"name": "calc", "version": "1.0.0", "private": true, "scripts": {"test": "node --test", "build": "node build.js"}}"#;
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { once } = require('./calc.js');\n\ntest('once', () => assert.equal(once(2), 2));\n";
    let files = [
        ("package.json", package),
        ("calc.js", "exports.once = (n) => n;\n"),
        ("calc.test.js", test),
        ("build.js", "require('node:fs').writeFileSync('calc.min.js', 'built');\n"),
    ];
    let builder = "cat > /dev/null\necho 'exports.twice = (n) => 2 * n;' >> calc.js";
    let (_world, run) = fly(&files, &plan("node"), builder);
    let waypoint = &run.expect(0).waypoint("w");
    assert_eq!(waypoint["status"], "complete", "{waypoint:#}");
    assert!(waypoint["checkpoints"][0]["score"].as_u64() >= Some(80), "{waypoint:#}");
    for name in ["syntax", "tests", "build", "commit"] {
        assert_eq!(check(waypoint, name).0, "pass", "{name}: {waypoint:#}");
    }
    assert_eq!(check(waypoint, "lint").0, "skip", "{waypoint:#}");
    assert!(check(waypoint, "lint").1.contains("`eslint` is missing"), "{waypoint:#}");
    let without = package.replace(r#", "build": "node build.js""#, "");
    let files = [("package.json", without.as_str()), files[1], files[2]];
    let (world, run) = fly(&files, &plan("node-without"), builder);
    let waypoint = &run.expect(1).waypoint("w");
    assert_eq!(
        (&waypoint["status"], &waypoint["reason_code"]),
        (&"blocked".into(), &"checkpoints_unmet".into()),
        "{waypoint:#}"
    );
    assert_eq!(waypoint["attempts"], 1, "no agent can change that: {waypoint:#}");
    let remediation = waypoint["remediation"].as_str().unwrap();
    assert!(remediation.contains("the script `build`") && remediation.contains("holdpoint retry"), "{remediation}");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}
