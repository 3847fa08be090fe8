//! Every kind of wrong plan: each is refused with the place of the mistake, and with what to do about it.

use std::fmt::Write as _;

use holdpoint_planfile::plan::{self, BUILT_IN_WORKFLOWS, PROBLEMS_MAX, PlanError};

use crate::MINIMAL;

fn problems(text: &str) -> Vec<PlanError> {
    match plan::read_bytes(text.as_bytes(), "plan.yaml", BUILT_IN_WORKFLOWS) {
        Ok(_) => panic!("this was taken:\n{text}"),
        Err(errors) => errors.errors,
    }
}

/// Every problem has a place in the file, and words that a terminal can show.
fn assert_told_well(text: &str, problems: &[PlanError]) {
    assert!(!problems.is_empty());
    let lines = text.split('\n').count();
    for problem in problems {
        assert!((1..=lines).contains(&problem.line) && problem.column > 0, "{problem:?}");
        assert!(problem.file == "plan.yaml" && !problem.message.is_empty() && !problem.hint.is_empty(), "{problem:?}");
        for words in [&problem.message, &problem.hint] {
            assert!(!words.contains(char::is_control) && words.len() < 1_024, "{words:?}");
        }
    }
    assert!(problems.is_sorted_by_key(|problem| (problem.line, problem.column)), "{problems:?}");
}

/// The minimal plan with `line` at its end: four spaces put it into the waypoint, none into the plan.
fn with(line: &str) -> String {
    format!("{MINIMAL}{line}\n")
}

/// The minimal plan with these keys more in its criterion.
fn with_criterion(keys: &str) -> String {
    MINIMAL.replace("check: make test", &format!("check: make test, {keys}"))
}

/// Holds a table of texts against the `line:column` and a part of the message of their only problems.
fn assert_refused(table: &[(String, &str, &str)]) {
    for (text, place, message) in table {
        let problems = problems(text);
        assert_told_well(text, &problems);
        let told: Vec<String> = problems.iter().map(|p| format!("{}:{}: {}", p.line, p.column, p.message)).collect();
        assert!(told.len() == 1, "{text}\n{told:#?}");
        assert!(told[0].starts_with(&format!("{place}: ")) && told[0].contains(message), "{text}\n{told:#?}");
    }
}

#[test]
fn an_unknown_key_is_refused_at_every_level() {
    let waypoint_budget = "    budget: {walll: 1m}";
    assert_refused(&[
        (with("bsae: HEAD"), "7:1", "unknown key `bsae` in the plan"),
        (with("policy: {max_rework: 1}"), "7:10", "unknown key `max_rework` in `policy`"),
        (with("budget: {outputs: 1MiB}"), "7:10", "unknown key `outputs` in the plan's `budget`"),
        (with("    budget: {total: {cost: 1}}"), "7:22", "unknown key `cost` in `total` of a waypoint's `budget`"),
        (with("guards: [{id: g, check: x, statement: s}]"), "7:28", "unknown key `statement` in a guard"),
        (with("answers: [{match: x, option: y, reason: z}]"), "7:33", "unknown key `reason` in an answer"),
        (with("    dependson: []"), "7:5", "unknown key `dependson` in a waypoint"),
        (with(waypoint_budget), "7:14", "unknown key `walll` in a waypoint's `budget`"),
        (with_criterion("expects: ok"), "6:38", "unknown key `expects` in a criterion"),
    ]);
}

#[test]
fn what_is_required_and_missing_is_named() {
    assert_refused(&[
        (MINIMAL.replace("plan: p\n", ""), "1:1", "the plan has no `plan`"),
        ("plan: p\n".to_owned(), "1:1", "the plan has no waypoints"),
        ("plan: p\nwaypoints: []\n".to_owned(), "2:12", "the plan has no waypoints"),
        (MINIMAL.replace("id: a\n    ", ""), "3:5", "a waypoint has no `id`"),
        (MINIMAL.replace("    goal: do it\n", ""), "3:5", "waypoint `a` has no `goal`"),
        (MINIMAL.replace("    criteria:\n      - {id: unit, check: make test}\n", ""), "3:5", "has no criteria"),
        (MINIMAL.replace("\n      - {id: unit, check: make test}", " []"), "5:15", "has no criteria"),
        (MINIMAL.replace("id: unit, ", ""), "6:9", "a criterion has no `id`"),
        (MINIMAL.replace(", check: make test", ""), "6:9", "neither `statement` nor `check`"),
        (
            MINIMAL.replace("check: make test", "statement: s, timeout: 1m"),
            "6:9",
            "`timeout` is given without a `check`",
        ),
        (with("guards: [{check: x}]"), "7:10", "a guard has no `id`"),
        (with("guards: [{id: g}]"), "7:10", "a guard has no `check`"),
        (with("answers: [{match: x}]"), "7:11", "an answer has no `option`"),
        (with("answers: [{option: x}]"), "7:11", "an answer has no `match`"),
        (with("base:"), "7:1", "`base` has no value"),
        (with("base: ~"), "7:1", "`base` has no value"),
        (with("base: ''"), "7:7", "`base` is empty"),
        (with("environment: full"), "7:14", "`environment: full` is no environment"),
        (with("environment: {inputs: [a]}"), "7:14", "`environment` has no `setup`"),
        (with("environment: {setup: \"  \", inputs: [a]}"), "7:22", "`setup` is empty"),
        (with("sources: [a, '']"), "7:14", "an item of `sources` is empty"),
    ]);
}

#[test]
fn what_is_there_twice_is_refused() {
    let second = |keys: &str| with(&format!("  - {{id: {keys}, goal: g, criteria: [{{id: c, check: x}}]}}"));
    assert_refused(&[
        (with("plan: q"), "7:1", "`plan` is given twice"),
        (with("    goal: again"), "7:5", "`goal` is given twice"),
        (with("    budget: {wall: 1s, wall: 2s}"), "7:24", "`wall` is given twice"),
        (with("    metadata: {a: {b: 1, b: 2}}"), "7:26", "`b` is given twice"),
        (second("a"), "7:10", "two waypoints with the id `a`"),
        (with("      - {id: unit, check: x}"), "7:14", "two criteria with the id `unit`"),
        (with("guards: [{id: g, check: x}, {id: g, check: y}]"), "7:34", "two guards with the id `g`"),
        (second("b, depends_on: [a, a]"), "7:29", "`a` is listed twice in `depends_on`"),
    ]);
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_in_every_place() {
    assert_refused(&[
        ("- plan: p\n".to_owned(), "1:1", "the plan is a mapping, not a list"),
        (MINIMAL.replace("plan: p", "plan: [p]"), "1:7", "`plan` is a text, not a list"),
        (MINIMAL.replace("plan: p", "plan: {p: 1}"), "1:7", "`plan` is a text, not a mapping"),
        ("plan: p\nwaypoints: {id: a}\n".to_owned(), "2:12", "`waypoints` is a list, not a mapping"),
        ("plan: p\nwaypoints: a\n".to_owned(), "2:12", "`waypoints` is a list, not a text"),
        ("plan: p\nwaypoints: [a]\n".to_owned(), "2:13", "a waypoint is a mapping, not a text"),
        ("plan: p\nwaypoints: [~]\n".to_owned(), "2:13", "a waypoint is a mapping, not nothing"),
        (with("policy: team"), "7:9", "`policy` is a mapping, not a text"),
        (with("budget: 4h"), "7:9", "`budget` is a mapping, not a text"),
        (with("sources: a.md"), "7:10", "`sources` is a list, not a text"),
        (with("guards: make"), "7:9", "`guards` is a list, not a text"),
        (with("guards: [make]"), "7:10", "a guard is a mapping, not a text"),
        (with("answers: [yes]"), "7:11", "an answer is a mapping, not a text"),
        (
            with("    criteria2: []").replace("criteria2", "tests").replace("[]", "x"),
            "7:12",
            "`tests` is a list, not a text",
        ),
        (with("    metadata: [1]"), "7:15", "`metadata` is a mapping, not a list"),
        (with("    tags: [[a]]"), "7:12", "an item of `tags` is a text, not a list"),
        (with("    depends_on: {b: c}"), "7:17", "`depends_on` is a list, not a mapping"),
        (MINIMAL.replace("{id: unit, check: make test}", "unit"), "6:9", "a criterion is a mapping, not a text"),
        (MINIMAL.replace("check: make test", "check: [make, test]"), "6:27", "`check` is a text, not a list"),
    ]);
}

/// Values of one key, each of which alone is the plan's problem at this place.
fn assert_values_refused(plan_with: impl Fn(&str) -> String, values: &[&str], place: &str, message: &str) {
    for value in values {
        assert_refused(&[(plan_with(value), place, message)]);
    }
}

#[test]
fn a_bad_duration_size_or_number_is_refused_wherever_one_stands() {
    let durations = [
        "0s",
        "10",
        "m",
        "-1s",
        "1.5h",
        "10 m",
        "10x",
        "1h-1m",
        "31d",
        "30d1ms",
        "NaN",
        "inf",
        "1e3s",
        "0x10s",
        "١s",
        "18446744073709551616ms",
        "18446744073709551615d",
        "18446744073709551615ms18446744073709551615ms",
        "1h 30m",
    ];
    let is_not = "is not a duration";
    assert_values_refused(|value| with(&format!("budget: {{wall: {value}}}")), &durations, "7:16", is_not);
    assert_values_refused(|value| with(&format!("    budget: {{wall: {value}}}")), &durations, "7:20", is_not);
    assert_values_refused(|value| with_criterion(&format!("timeout: {value}")), &durations, "6:47", is_not);

    let sizes =
        ["0", "-1", "1.5MiB", "1mib", "MiB", "1TiB", "1 M", "1e6", "18446744073709551616", "18446744073709551615KiB"];
    assert_values_refused(|value| with(&format!("    budget: {{output: {value}}}")), &sizes, "7:22", "is not a size");

    let counts = ["0", "-1", "1.5", "1e3", "0x10", "NaN", "many", "18446744073709551616", "1_000"];
    let is_not = "is not a number that is allowed here";
    assert_values_refused(|value| with(&format!("budget: {{tokens: {value}}}")), &counts, "7:18", is_not);
    assert_values_refused(|value| with(&format!("    budget: {{tool_calls: {value}}}")), &counts, "7:26", is_not);
    let rounds = ["-1", "1001", "1.0", "none", "18446744073709551616"];
    assert_values_refused(|value| with(&format!("policy: {{max_reworks: {value}}}")), &rounds, "7:23", is_not);

    let sums = ["0", "-0", "-2", "NaN", ".nan", "inf", "-inf", "infinity", "1e999", "1e-999", "$2", "2,50", "1_000"];
    let is_not = "is not an amount above zero";
    assert_values_refused(|value| with(&format!("budget: {{cost_usd: '{value}'}}")), &sums, "7:20", is_not);
    assert_values_refused(|value| with(&format!("    budget: {{cost_usd: '{value}'}}")), &sums, "7:24", is_not);
}

#[test]
fn a_bad_id_name_or_word_is_refused() {
    let long = "x".repeat(65);
    let ids = ["a.b", "-a", "_a", "a b", "a/b", "ä", "a*", "'>'", long.as_str()];
    assert_values_refused(|id| MINIMAL.replace("plan: p", &format!("plan: {id}")), &ids, "1:7", "is not an id");
    assert_values_refused(|id| MINIMAL.replace("id: a\n", &format!("id: {id}\n")), &ids, "3:9", "is not an id");
    assert_values_refused(|id| MINIMAL.replace("id: unit", &format!("id: {id}")), &ids, "6:14", "is not an id");
    assert_values_refused(|id| with(&format!("guards: [{{id: {id}, check: x}}]")), &ids, "7:15", "is not an id");
    assert_values_refused(|id| with(&format!("    depends_on: [{id}]")), &ids, "7:18", "is not an id");
    let words = ["urgent", "High", "1", "'high '"];
    assert_values_refused(|word| with(&format!("    priority: {word}")), &words, "7:15", "is not a priority");
    let modes = ["solo", "Team", "true"];
    assert_values_refused(|mode| with(&format!("policy: {{mode: {mode}}}")), &modes, "7:16", "is not a mode");
    let names = ["flly", "pipeline", "FLY"];
    assert_values_refused(|name| with(&format!("workflow: {name}")), &names, "7:11", "unknown workflow");
    assert_values_refused(|name| with(&format!("    workflow: {name}")), &names, "7:15", "unknown workflow");
    let flags = ["yes", "on", "1", "'true '"];
    assert_values_refused(|flag| with_criterion(&format!("red_first: {flag}")), &flags, "6:49", "is not a yes or no");
    let refs = ["--upload-pack=x", "-b", "'a b'", "\"a\\tb\""];
    assert_values_refused(|base| with(&format!("base: {base}")), &refs, "7:7", "is not a git ref");
}

#[test]
fn a_bad_regular_expression_is_refused_and_one_that_explodes_too() {
    let deep = "(".repeat(500) + "x" + &")".repeat(500);
    let expressions = [
        "(",
        "[",
        "a{2,1}",
        "(?<n>a)(?<n>b)",
        "\\p{Nope}",
        "(?=ahead)",
        "(a)\\1",
        "a**{9",
        "(((a{1000}){1000}){1000})",
        &deep,
    ];
    let is_not = "is not a regular expression";
    assert_values_refused(|text| with_criterion(&format!("expect: '{text}'")), &expressions, "6:46", is_not);
    assert_values_refused(
        |text| with(&format!("answers: [{{match: '{text}', option: x}}]")),
        &expressions,
        "7:19",
        is_not,
    );
}

#[test]
fn a_bad_glob_is_refused_and_one_that_explodes_too() {
    let long = "a".repeat(1_025);
    let braces = "{".repeat(500) + "a" + &"}".repeat(500);
    let choices = "{a,b}".repeat(300);
    let globs = ["/src", "src/", "../x", "a/../b", "./a", "a//b", "[", "{a", "a}", "a\\", &long, &braces, &choices];
    for key in ["scope", "protected"] {
        let in_waypoint = |glob: &str| with(&format!("    {key}: ['{glob}']"));
        assert_values_refused(in_waypoint, &globs, &format!("7:{}", 8 + key.len()), "is not a glob");
    }
    assert_values_refused(|glob| with(&format!("protected: ['{glob}']")), &globs, "7:13", "is not a glob");
}

#[test]
fn a_path_that_leaves_the_repository_is_refused() {
    let paths = ["/etc/passwd", "../AGENTS.md", "docs/../../x", "..", "a/.."];
    let is_not = "is not a path inside the repository";
    assert_values_refused(|path| with(&format!("covenant: {path}")), &paths, "7:11", is_not);
    assert_values_refused(|path| with(&format!("sources: [{path}]")), &paths, "7:11", is_not);
    assert_values_refused(|path| with(&format!("    testsFile: {path}")), &paths, "7:16", is_not);
}

#[test]
fn a_nul_is_refused_in_every_text() {
    assert_refused(&[
        (with("covenant: \"a\\0b\""), "7:11", "`covenant` has a NUL in it"),
        (with("sources: [\"a\\0b\"]"), "7:11", "an item of `sources` has a NUL in it"),
        (with("environment: {setup: \"a\\0b\", inputs: [a]}"), "7:22", "`setup` has a NUL in it"),
        (with("    title: \"a\\0b\""), "7:12", "`title` has a NUL in it"),
        (with("    scope: [\"a\\0b\"]"), "7:13", "an item of `scope` has a NUL in it"),
        (MINIMAL.replace("make test", "\"a\\0b\""), "6:27", "`check` has a NUL in it"),
    ]);
}

#[test]
fn a_command_that_no_system_would_start_is_refused() {
    let command = |bytes: usize| "x".repeat(bytes);
    let fits = MINIMAL.replace("make test", &command(64 << 10));
    assert!(plan::read(&fits, "plan.yaml", BUILT_IN_WORKFLOWS).is_ok());
    let more = command((64 << 10) + 1);
    assert_refused(&[
        (MINIMAL.replace("make test", &more), "6:27", "`check` is longer than 64 KiB"),
        (with(&format!("environment: {{inputs: [a], setup: {more}}}")), "7:35", "`setup` is longer than 64 KiB"),
        (with(&format!("guards: [{{id: g, check: {more}}}]")), "7:25", "`check` is longer than 64 KiB"),
    ]);
}

#[test]
fn dependencies_on_nothing_and_in_circles_are_refused() {
    let waypoint =
        |id: &str, on: &str| format!("  - {{id: {id}, goal: g, depends_on: [{on}], criteria: [{{id: c, check: x}}]}}");
    let ring = |n: usize| {
        let all = (0..n).map(|i| waypoint(&format!("w{i}"), &format!("w{}", (i + 1) % n)));
        format!("plan: p\nwaypoints:\n{}\n", all.collect::<Vec<_>>().join("\n"))
    };
    assert_refused(&[
        (with("    depends_on: [b]"), "7:18", "waypoint `a` depends on `b`, which is not in the plan"),
        (with("    depends_on: [a]"), "7:18", "in a circle: a → a"),
        (ring(2), "3:36", "in a circle: w0 → w1 → w0"),
        (ring(20), "3:36", "w18 → w19 → w0"),
        (ring(2_000), "3:36", "w18 → w19 → … → w0"),
    ]);
}

#[test]
fn all_problems_are_told_at_once_and_of_very_many_the_number() {
    let text = "plan: a.b\nbsae: x\nbudget: {wall: soon}\nwaypoints:\n  - id: a\n    goal: g\n    depends_on: [b]\n    \
                criteria: [{id: c, check: x, expect: '('}]\n  - id: a\n";
    let found = problems(text);
    assert_told_well(text, &found);
    let lines: Vec<usize> = found.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 2, 3, 7, 8, 9, 9, 9], "{found:#?}");

    let mut many = "plan: p\nwaypoints:\n".to_owned();
    for i in 0..600 {
        let _ = writeln!(many, "  - {{id: w{i}, gaol: g, depends_on: [none{i}], criteria: [{{id: c, chek: x}}]}}");
    }
    let found = problems(&many);
    assert_told_well(&many, &found);
    assert_eq!(found.len(), PROBLEMS_MAX + 1);
    // A waypoint has four: two keys that are not known, nothing that its criterion says, and a stranger.
    let more = format!("{} more problems follow", 4 * 600 - PROBLEMS_MAX);
    assert_eq!(found[PROBLEMS_MAX].message, more);
}
