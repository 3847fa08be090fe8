//! Plans that are wrong, as a script sees it: exit code 2, nothing begun, and one JSON object with every problem.

use std::fs;

use crate::lab::{Lab, PLAN};

const RUN: [&str; 7] = ["run", "plan.yaml", "--repo", "repo", "--builder", "true", "--json"];
const SUBMIT: [&str; 5] = ["submit", "plan.yaml", "--repo", "repo", "--json"];

/// The problems that a command finds in a plan of these bytes, as `line:column: message`.
fn problems(lab: &Lab, command: &[&str], plan: &[u8]) -> Vec<String> {
    fs::write(lab.path("plan.yaml"), plan).unwrap();
    let answer = lab.run(command);
    assert_eq!(answer.code, Some(2), "{} {}", answer.stdout, answer.stderr);
    assert!(!lab.path("state").exists(), "nothing was begun");
    let json = answer.json();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["errors"], "{json}");
    let errors = json["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    let told = errors.iter().map(|error| {
        assert_eq!(error["file"], "plan.yaml");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(answer.stderr.contains(message), "{message} in {}", answer.stderr);
        format!("{}:{}: {message}", error["line"], error["column"])
    });
    told.collect()
}

#[test]
fn every_kind_of_wrong_plan_is_told_as_json_before_anything_starts() {
    let lab = Lab::new();
    let nested = format!("{PLAN}    tests: {}\n", "[".repeat(100));
    let bomb = format!("{PLAN}    metadata: {{a: &a [x, x], b: *a}}\n");
    let waypoints: String = (0..5_001).map(|i| format!("  - {{id: w{i}}}\n")).collect();
    let table: [(&[u8], &str); 16] = [
        (b"", "1:1: the plan is empty"),
        (b"\xff\xfep\0l\0", "1:1: the file is not UTF-8 text"),
        (b"- a\n", "1:1: the plan is a mapping, not a list"),
        (b"plan: p\n\twaypoints: []\n", "this is not YAML"),
        (b"plan: p\n---\nplan: q\n", "2:1: a second document starts here"),
        (bomb.as_bytes(), "aliases are not supported"),
        (nested.as_bytes(), "nested deeper than 32 levels"),
        (&[b'#'; (4 << 20) + 1], "1:1: the file is larger than 4 MiB"),
        (&format!("plan: p\nwaypoints:\n{waypoints}").into_bytes(), "has 5001 waypoints, more than 5000"),
        (&format!("{PLAN}    depends_on: [one]\n").into_bytes(), "in a circle: one → one"),
        (&format!("{PLAN}    scope: ['../x']\n").into_bytes(), "`../x` in `scope` is not a glob"),
        (&format!("{PLAN}covenant: /etc/passwd\n").into_bytes(), "is not a path inside the repository"),
        (&format!("{PLAN}budget: {{wall: 99999999999999d}}\n").into_bytes(), "is not a duration"),
        (&format!("{PLAN}budget: {{cost_usd: .nan}}\n").into_bytes(), "is not an amount above zero"),
        (&format!("{PLAN}environment: {{setup: \"a\\0b\", inputs: [a]}}\n").into_bytes(), "`setup` has a NUL in it"),
        (&format!("{PLAN}plan: again\n").into_bytes(), "`plan` is given twice"),
    ];
    for (plan, expected) in table {
        let told = problems(&lab, &RUN, plan);
        assert!(told.len() == 1 && told[0].contains(expected), "{expected}: {told:#?}");
    }
}

#[test]
fn a_command_that_submits_says_the_same_as_one_that_runs() {
    let lab = Lab::new();
    let plan = "plan: a.b\nbsae: x\nwaypoints:\n  - {id: one, goal: g, criteria: [{id: c, check: x, expect: '('}]}\n";
    let told = problems(&lab, &RUN, plan.as_bytes());
    assert_eq!(told.len(), 3, "{told:#?}");
    assert_eq!(problems(&lab, &SUBMIT, plan.as_bytes()), told);
}

#[test]
fn a_plan_without_an_end_is_refused_unread() {
    let lab = Lab::new();
    let answer = lab.run(&["run", "/dev/zero", "--repo", "repo", "--builder", "true", "--json"]);
    assert_eq!(answer.code, Some(2), "{}", answer.stderr);
    assert_eq!(answer.json()["errors"][0]["message"], "the file is larger than 4 MiB");
}

#[test]
fn a_plan_that_is_a_folder_is_refused() {
    Lab::new().run(&["run", "repo", "--repo", "repo", "--builder", "true"]).refuses(2, &["cannot read the plan repo"]);
}
