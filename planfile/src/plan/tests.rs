use holdpoint_protocol::{
    artifact::Confidence,
    plan::{Attention, EvidenceLevel, Mode, Plan, Priority},
    time::Millis,
};
use proptest::prelude::*;

use super::*;

fn good(text: &str) -> Plan {
    read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap_or_else(|errors| panic!("{}", errors.render()))
}

fn problems(text: &str) -> Vec<PlanError> {
    read(text, "plan.yaml", BUILT_IN_WORKFLOWS).expect_err("the plan has problems").errors
}

/// The only problem of a text, as `line:column: message | hint`.
fn only(text: &str) -> String {
    let problems = problems(text);
    let lines: Vec<String> =
        problems.iter().map(|p| format!("{}:{}: {} | {}", p.line, p.column, p.message, p.hint)).collect();
    assert_eq!(lines.len(), 1, "{}", lines.join("\n"));
    lines.concat()
}

const MINIMAL: &str = "plan: p
waypoints:
  - id: a
    goal: do it
    criteria:
      - {id: unit, check: true}
";

/// The minimal plan with a line more at its end, in the waypoint (four spaces) or the plan (none).
fn with(line: &str) -> String {
    format!("{MINIMAL}{line}\n")
}

#[test]
fn defaults_are_those_of_the_contract() {
    let plan = good(MINIMAL);
    assert_eq!((plan.plan.as_str(), plan.base.as_str(), plan.workflow.as_str()), ("p", "HEAD", "fly"));
    assert_eq!((plan.policy.max_reworks, plan.policy.max_clarifications, plan.policy.mode), (3, 2, Mode::Team));
    assert!(plan.answer_within.is_none() && plan.ask_below.is_none());
    assert!(
        plan.covenant.is_none() && plan.environment.is_none() && plan.guards.is_empty() && plan.protected.is_empty()
    );
    let [a] = plan.waypoints.as_slice() else { panic!("one waypoint") };
    assert_eq!((a.title.as_str(), a.priority), ("a", Priority::Medium));
    assert!(a.scope.is_empty() && a.depends_on.is_empty() && a.workflow.is_none());
    let check = a.criteria[0].check.as_ref().unwrap();
    assert_eq!((check.command.as_str(), check.timeout), ("true", Millis(600_000)));
    assert!(!check.red_first && !check.network && !check.writes_tree && check.expect.is_none());
}

#[test]
fn everything_the_contract_shows_is_read() {
    let plan = good(
        r#"plan: harden-client               # name
base: HEAD
covenant: AGENTS.md
workflow: fly
policy:
  max_reworks: 3
  max_clarifications: 2
  mode: team
budget: {wall: 4h}
sources: [docs/product-spec.md]
environment:
  setup: cargo fetch --locked
  inputs: [Cargo.lock, "**/Cargo.toml"]
  env: {CI: true}
protected: ["tests/golden/**"]
guards:
  - {id: suite, check: "cargo test --locked", timeout: 20m}
answers:
  - {match: "(?i)which error type", option: "anyhow", rationale: "the crate already uses it"}
answer_within: 24h
ask_below: medium
waypoints:
  - id: other-id
    goal: First
    criteria: [{id: c, statement: s}]
  - id: retry-backoff
    title: Retries back off
    goal: |
      Several
      lines.
    depends_on: [other-id]
    priority: high
    tags: [network]
    metadata: {risk: 2, deep: [1.5, "1", true, null, word]}
    scope: ["src/**", "tests/**"]
    criteria:
      - id: unit
        statement: The unit tests pass
        check: cargo test --locked retry
        expect: "test result: ok"
        red_first: true
        timeout: 10m
        network: false
        writes_tree: false
        evidence: strict
        mutants: 3
      - id: readable
        statement: The retry policy can be read in one place
    budget: {wall: 10m, output: 1MiB}
    tests: []
"#,
    );
    assert_eq!(plan.budget.wall, Some(Millis(14_400_000)));
    assert_eq!(plan.guards[0].check.timeout, Millis(1_200_000));
    assert_eq!(plan.answers[0].option, "anyhow");
    assert_eq!((plan.answer_within, plan.ask_below), (Some(Millis(86_400_000)), Some(Confidence::Medium)));
    let waypoint = &plan.waypoints[1];
    assert_eq!(waypoint.goal, "Several\nlines.\n");
    assert_eq!((waypoint.priority, waypoint.budget.output), (Priority::High, Some(1 << 20)));
    assert_eq!(serde_json::to_string(&waypoint.metadata).unwrap(), r#"{"deep":[1.5,"1",true,null,"word"],"risk":2}"#);
    let unit = waypoint.criteria[0].check.as_ref().unwrap();
    assert!(unit.red_first && unit.expect.as_deref() == Some("test result: ok"));
    assert_eq!((unit.evidence, unit.mutants), (EvidenceLevel::Strict, Some(3)));
    assert!(waypoint.criteria[1].check.is_none());
}

#[test]
fn a_check_without_evidence_takes_the_plans_and_both_default_to_fast() {
    let levels = |top: &str, of_check: &str| {
        let text = format!(
            "plan: p\n{top}guards: [{{id: g, check: x}}]\nwaypoints:\n  - {{id: a, goal: g, criteria: [{{id: c, check: \
             x{of_check}}}, {{id: d, check: x}}]}}\n"
        );
        let plan = good(&text);
        let criteria = plan.waypoints[0].criteria.iter().map(|criterion| criterion.check.as_ref().unwrap().evidence);
        [plan.guards[0].check.evidence].into_iter().chain(criteria).collect::<Vec<_>>()
    };
    let (fast, strict) = (EvidenceLevel::Fast, EvidenceLevel::Strict);
    assert_eq!(levels("", ""), [fast, fast, fast]);
    assert_eq!(levels("", ", evidence: strict"), [fast, strict, fast]);
    assert_eq!(levels("evidence: strict\n", ", evidence: fast"), [strict, fast, strict]);
}

#[test]
fn a_policy_says_what_becomes_of_work_about_which_there_is_something_to_know() {
    use Attention::{Hold, Off, Warn};
    let of = |line: &str| {
        let policy = read(&with(line), "plan.yaml", BUILT_IN_WORKFLOWS).unwrap().policy;
        (policy.suspicious, policy.open_scope)
    };
    assert_eq!(of("    scope: any"), (Hold, Warn));
    assert_eq!(of("policy: {suspicious: warn, open_scope: hold}"), (Warn, Hold));
    assert_eq!(of("policy: {suspicious: off}"), (Off, Warn));
}

#[test]
fn each_problem_has_its_place_and_its_hint() {
    let ids = "use letters, digits, `_` and `-`, start with a letter or digit, at most 64 characters";
    let table = [
        (with("    scop: [a]"), "7:5: unknown key `scop` in a waypoint | did you mean `scope`?".to_owned()),
        (with("    goal: again"), "7:5: `goal` is given twice | keep one of the two".to_owned()),
        (with("    priority: urgent"), "7:15: `priority: urgent` is not a priority | write `critical`, `high`, `medium` or `low`".to_owned()),
        (with("    depends_on: [b]"), "7:18: waypoint `a` depends on `b`, which is not in the plan | name a waypoint of this plan".to_owned()),
        (with("    depends_on: [a]"), "7:18: waypoints wait for each other in a circle: a → a | remove one of these dependencies".to_owned()),
        (with("    depends_on: a"), "7:17: `depends_on` is a list, not a text | write `depends_on: [ … ]`, or one `- …` a line".to_owned()),
        (with("    budget: {output: 1mib}"), "7:22: `output: 1mib` is not a size | write a number with B, KiB, MiB or GiB, such as `1MiB`".to_owned()),
        (with("    budget: {tokens: -1}"), "7:22: `tokens: -1` is not a number that is allowed here | write a whole number from 1".to_owned()),
        (with("    scope: [\"src/\"]"), "7:13: `src/` in `scope` is not a glob: it ends with `/`, and only files have changes | write `folder/**` for everything below a folder".to_owned()),
        (with("    scope:"), "7:5: `scope` has no value | give it one, or remove the key".to_owned()),
        (with("    workflow: flly"), "7:15: unknown workflow `flly` | did you mean `fly`?".to_owned()),
        (with("    testsFile: ../x"), "7:16: `../x` is not a path inside the repository | write it from the repository's root, without a leading `/` and without `..`".to_owned()),
        (with("budget: {wall: 10}"), "7:16: `wall: 10` is not a duration | write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d".to_owned()),
        (with("policy: {mode: solo}"), "7:16: `mode: solo` is not a mode | write `team` or `single`".to_owned()),
        (with("policy: {suspicious: ask}"), "7:22: `suspicious: ask` is not a policy | write `hold`, `warn` or `off`".to_owned()),
        (with("policy: {open_scope: off}"), "7:22: `open_scope: off` is not a policy | write `hold` or `warn`".to_owned()),
        (with("    scope: all"), "7:12: `scope` is a list, not a text | write `scope: [ … ]`, or one `- …` a line".to_owned()),
        (with("answer_within: 24"), "7:16: `answer_within: 24` is not a duration | write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d".to_owned()),
        (with("ask_below: sure"), "7:12: `ask_below: sure` is not a confidence | write `low`, `medium` or `high`".to_owned()),
        (with("evidence: slow"), "7:11: `evidence: slow` is not a level of evidence | write `fast` or `strict`".to_owned()),
        (with("      - {id: b, statement: s, evidence: strict}"), "7:9: `evidence` is given without a `check` | add `check: COMMAND`, or remove `evidence`".to_owned()),
        (with("      - {id: b, check: x, mutants: 1.5}"), "7:36: `mutants: 1.5` is not a number that is allowed here | write a whole number from 1 to 50".to_owned()),
        (with("base: --upload-pack=x"), "7:7: `base: --upload-pack=x` is not a git ref | name a branch, a tag or a commit, such as `HEAD` or `main`".to_owned()),
        (with("answers: [{match: '(', option: x}]"), "7:19: `match` is not a regular expression: unclosed group | the syntax is that of Rust's `regex`; put `\\` before (, [, { and . that are meant as they stand".to_owned()),
        (with("guards: [{id: g, check: x, red_first: true}]"), "7:39: a guard cannot be `red_first` | a guard must be green on the base: remove `red_first`, or make it a criterion".to_owned()),
        (MINIMAL.replace("id: a\n", "id: a.b\n"), format!("3:9: `a.b` is not an id | {ids}")),
        (MINIMAL.replace("plan: p\n", ""), "1:1: the plan has no `plan` | name the plan, such as `plan: harden-client`".to_owned()),
        (MINIMAL.replace("goal:", "gaol:"), "4:5: unknown key `gaol` in a waypoint | did you mean `goal`?".to_owned()),
        (MINIMAL.replace("plan:", "pln:"), "1:1: unknown key `pln` in the plan | did you mean `plan`?".to_owned()),
        (MINIMAL.replace("waypoints:", "waypoint:"), "2:1: unknown key `waypoint` in the plan | did you mean `waypoints`?".to_owned()),
        (MINIMAL.replace("criteria:", "criterias:"), "5:5: unknown key `criterias` in a waypoint | did you mean `criteria`?".to_owned()),
        (MINIMAL.replace("    goal: do it\n", ""), "3:5: waypoint `a` has no `goal` | say what the builder is to do: `goal: …`".to_owned()),
        (with("--- \nplan: q"), "7:1: a second document starts here | a plan is one document: remove `---`".to_owned()),
        (with("    tags: [&x a, *x]"), "7:18: aliases are not supported | write the value out again".to_owned()),
        ("plan: p\nwaypoints: []\n".to_owned(), "2:12: the plan has no waypoints | add `waypoints:` with at least one item of `id`, `goal` and `criteria`".to_owned()),
        (String::new(), "1:1: the plan is empty | a plan has at least `plan: NAME` and `waypoints:` with one waypoint".to_owned()),
        ("# only a comment\n".to_owned(), "1:1: the plan is empty | a plan has at least `plan: NAME` and `waypoints:` with one waypoint".to_owned()),
    ];
    for (text, expected) in table {
        assert_eq!(only(&text), expected, "{text}");
    }
}

#[test]
fn tags_are_refused() {
    assert!(only(&with("    title: !!str x")).contains("tags are not supported"));
}

#[test]
fn a_text_that_is_not_yaml_has_one_problem() {
    let problems = problems("plan: p\nwaypoints: [\n  {id: a\n");
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.starts_with("this is not YAML: "), "{problems:?}");
}

#[test]
fn a_plan_that_is_no_mapping_is_refused() {
    assert!(only("- a\n").starts_with("1:1: the plan is a mapping, not a list | its keys are `plan`"));
    assert!(only("hello").starts_with("1:1: the plan is a mapping, not a text"));
}

#[test]
fn criteria_are_wanted_where_the_workflow_has_a_verifier() {
    let text = "plan: p\nworkflow: notes\nwaypoints:\n  - {id: a, goal: g}\n  - {id: b, goal: g, workflow: fly, criteria: []}\n";
    let workflows =
        [KnownWorkflow { name: "fly", has_verifier: true }, KnownWorkflow { name: "notes", has_verifier: false }];
    let errors = read(text, "plan.yaml", &workflows).unwrap_err().errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].line, errors[0].message.as_str()), (5, "waypoint `b` has no criteria"));
    assert!(read(&text.replace("criteria: []", "criteria: [{id: c, check: x}]"), "plan.yaml", &workflows).is_ok());
}

#[test]
fn circles_are_named_with_their_path() {
    let waypoint = |id: &str, on: &str| {
        format!("  - {{id: {id}, goal: g, depends_on: [{on}], criteria: [{{id: c, check: x}}]}}\n")
    };
    let text = format!(
        "plan: p\nwaypoints:\n{}{}{}{}{}{}",
        waypoint("free", ""),
        waypoint("a", "free, b"),
        waypoint("b", "c"),
        waypoint("c", "a"),
        waypoint("behind", "a"),
        waypoint("self", "self, behind"),
    );
    let messages: Vec<(usize, String)> = problems(&text).into_iter().map(|p| (p.line, p.message)).collect();
    let circle = |path: &str| format!("waypoints wait for each other in a circle: {path}");
    assert_eq!(messages, [(4, circle("a → b → c → a")), (8, circle("self → self"))]);
}

#[test]
fn a_long_chain_is_no_circle() {
    let mut text = "plan: p\nwaypoints:\n".to_owned();
    for i in 0..WAYPOINTS_MAX {
        let on = if i + 1 < WAYPOINTS_MAX { format!("w{}", i + 1) } else { String::new() };
        text += &format!("  - {{id: w{i}, goal: g, depends_on: [{on}], criteria: [{{id: c, check: x}}]}}\n");
    }
    assert_eq!(good(&text).waypoints.len(), WAYPOINTS_MAX);
    text += "  - {id: last, goal: g, criteria: [{id: c, check: x}]}\n";
    assert!(only(&text).contains("the plan has 5001 waypoints, more than 5000"));
}

#[test]
fn limits_hold() {
    assert!(only(&"#".repeat(FILE_BYTES_MAX + 1)).contains("larger than 4 MiB"));
    let deep = format!("plan: p\nwaypoints: {}{}\n", "[".repeat(100), "]".repeat(100));
    assert!(only(&deep).contains("nested deeper than 32 levels"));
    let many = format!("plan: p\nwaypoints: []\n{}", (0..1_000).map(|i| format!("key{i}: x\n")).collect::<String>());
    let problems = problems(&many);
    assert_eq!(problems.len(), PROBLEMS_MAX + 1);
    assert_eq!(problems[PROBLEMS_MAX].message, "801 more problems follow");
}

#[test]
fn all_problems_are_shown_at_once() {
    let text = include_str!("fixtures/many-problems.yaml");
    let shown = read(text, "many-problems.yaml", BUILT_IN_WORKFLOWS).unwrap_err().render();
    assert_eq!(shown, include_str!("fixtures/many-problems.txt"), "now:\n{shown}");
}

#[test]
fn the_json_form_is_that_of_the_contract() {
    let errors = read("plan: p\n", "p.yaml", BUILT_IN_WORKFLOWS).unwrap_err();
    assert_eq!(
        serde_json::to_string(&errors).unwrap(),
        r#"{"errors":[{"file":"p.yaml","line":1,"column":1,"message":"the plan has no waypoints","hint":"add `waypoints:` with at least one item of `id`, `goal` and `criteria`"}]}"#
    );
    assert_eq!(errors.to_string(), "1 problem in p.yaml");
}

#[test]
fn what_is_shown_cannot_steer_a_terminal() {
    let shown = read("plan: \"a\u{1b}[31m\"\n", "p", BUILT_IN_WORKFLOWS).unwrap_err().render();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    // The caret is below the place also where characters before it are written out.
    let text = "plan: p\nbase: \"\u{202e}\"\nwaypoints: []\nx: 1\n";
    let shown = read(text, "p", BUILT_IN_WORKFLOWS).unwrap_err().render();
    assert!(shown.contains(" 2 | base: \"\\u{202e}\"\n   |       ^\n"), "{shown}");
    let text = "{plan: p, base: \"\u{202e}\", waypoints: [], odd: 1}\n";
    let shown = read(text, "p", BUILT_IN_WORKFLOWS).unwrap_err().render();
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().position(|line| line.contains("unknown key `odd`")).unwrap();
    assert_eq!(lines[at + 1].find("odd"), lines[at + 2].find('^'), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_has_problems(text in "(?s).{0,200}") {
        if let Err(errors) = read(&text, "p", BUILT_IN_WORKFLOWS) {
            prop_assert!(!errors.errors.is_empty());
            prop_assert!(errors.errors.iter().all(|e| e.line > 0 && e.column > 0 && !e.hint.is_empty()));
            let _ = errors.render();
        }
    }

    #[test]
    fn any_mixture_of_plan_lines_is_a_plan_or_has_problems(lines in prop::collection::vec(prop::sample::select(vec![
        "plan: p", "waypoints:", "  - id: a", "  - id: b", "    goal: g", "    criteria:", "      - id: c", "        check: x",
        "    depends_on: [a, b]", "  -", "    budget: {wall: 1s}", "guards:", "- {id: g, check: x}", "base: [", "]", "\t", "? x", ": y",
        "policy: {mode: single}", "    scope: ['**', '[']", "    metadata: {a: {b: [1]}}", "...", "---", "&a x: *a", "!!map {}", "é: ü",
    ]), 0..20)) {
        let text = lines.join("\n");
        if let Err(errors) = read(&text, "p", BUILT_IN_WORKFLOWS) {
            prop_assert!(!errors.errors.is_empty());
            let _ = errors.render();
        }
    }
}
