//! The rules on plans that never were a file: as they come with a request.

use holdpoint_protocol::{
    plan::{Answer, Check, Criterion, EnvironmentSpec, Mode},
    time::Millis,
};

use super::*;
use crate::plan::{
    CRITERIA_MAX, GOAL_BYTES_MAX, GUARDS_MAX, HEAVY_REGEXES_MAX, TESTS_BYTES_MAX, TESTS_MAX, TITLE_BYTES_MAX,
    limits::COMMAND_BYTES_MAX, read, workflows::BUILT_IN_WORKFLOWS,
};

fn plan() -> Plan {
    let text = "plan: p\nguards: [{id: g, check: x}]\nwaypoints:\n  \
                - {id: a, goal: g, criteria: [{id: c, check: x}]}\n  \
                - {id: b, goal: g, depends_on: [a], criteria: [{id: c, check: x}]}\n";
    read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap()
}

/// What is wrong with the plan after a change, as `path: message`.
fn wrong(change: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut plan = plan();
    change(&mut plan);
    let found = validate(&plan, BUILT_IN_WORKFLOWS);
    assert!(found.problems.iter().all(|problem| !problem.hint.is_empty()), "{found:?}");
    found.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
}

fn check(plan: &mut Plan) -> &mut Check {
    plan.waypoints[1].criteria[0].check.as_mut().unwrap()
}

fn environment(plan: &mut Plan) -> &mut EnvironmentSpec {
    let spec =
        EnvironmentSpec { setup: Some("x".to_owned()), inputs: vec!["lock".to_owned()], ..EnvironmentSpec::default() };
    plan.environment.get_or_insert(spec)
}

/// A change of a plan, and the one problem that it makes: the path, and the beginning of the message.
type Case<'a> = (&'a dyn Fn(&mut Plan), &'a str, &'a str);

fn assert_refused(cases: &[Case<'_>]) {
    for (change, path, message) in cases {
        let told = wrong(change);
        assert!(told.len() == 1 && told[0].starts_with(&format!("{path}: {message}")), "{path}: {message}: {told:#?}");
    }
}

#[test]
fn a_plan_without_a_fault_is_taken() {
    assert_eq!(wrong(|_| {}), [""; 0]);
}

#[test]
fn a_text_that_only_stands_for_one_is_refused_and_one_with_angle_brackets_in_it_is_not() {
    assert_refused(&[
        (
            &|plan| plan.waypoints[1].goal = "<what is wanted,\nin words>\n".to_owned(),
            "waypoints/1/goal",
            "`goal` is still a placeholder: <what is wanted,\\nin words>",
        ),
        (&|plan| check(plan).command = "<a command>".to_owned(), "waypoints/1/criteria/0/check", "`check` is still a"),
        (
            &|plan| plan.waypoints[1].criteria[0].statement = "<what is true then>".to_owned(),
            "waypoints/1/criteria/0/statement",
            "`statement` is still a",
        ),
        (&|plan| plan.guards[0].check.command = "<what runs all>".to_owned(), "guards/0/check", "`check` is still a"),
    ]);
    for goal in ["<Button>", "Fix <Button> and <Link>", "<Button> or <Link>", "a <b c>"] {
        assert_eq!(wrong(|plan| plan.waypoints[1].goal = goal.to_owned()), [""; 0], "{goal}");
    }
}

#[test]
fn every_bad_value_of_a_request_is_named_by_its_path() {
    assert_refused(&[
        (&|plan| plan.plan = String::new(), "plan", "the plan has no `plan`"),
        (&|plan| plan.plan = "a.b".to_owned(), "plan", "`a.b` is not an id"),
        (&|plan| plan.base = "-x".to_owned(), "base", "`base: -x` is not a git ref"),
        (&|plan| plan.covenant = Some("../x".to_owned()), "covenant", "`../x` is not a path inside"),
        (&|plan| plan.workflow = "flyy".to_owned(), "workflow", "unknown workflow `flyy`"),
        (&|plan| plan.policy.max_reworks = 1_001, "policy/max_reworks", "`max_reworks: 1001` is not a number"),
        (&|plan| plan.budget.wall = Some(Millis(0)), "budget/wall", "`wall: 0ms` is not a duration"),
        (&|plan| plan.answer_within = Some(Millis(u64::MAX)), "answer_within", "`answer_within: "),
        (&|plan| plan.sources = vec![" ".to_owned()], "sources/0", "an item of `sources` is empty"),
        (&|plan| environment(plan).setup = Some("a\0b".to_owned()), "environment/setup", "`setup` has a NUL"),
        (&|plan| environment(plan).inputs.clear(), "environment/inputs", "`environment` has a `setup` and no `inputs`"),
        (
            &|plan| {
                environment(plan).env.insert("HOME".to_owned(), "/".to_owned());
            },
            "environment/env",
            "`env` cannot set `HOME`",
        ),
        (
            &|plan| {
                environment(plan).env.insert("a-b".to_owned(), "x".to_owned());
            },
            "environment/env",
            "`env` cannot set `a-b`",
        ),
        (&|plan| plan.protected = vec!["[".to_owned()], "protected/0", "`[` in `protected` is not a glob"),
        (&|plan| plan.guards[0].check.red_first = true, "guards/0/red_first", "a guard cannot be `red_first`"),
        (&|plan| plan.guards[0].check.mutants = Some(1), "guards/0/mutants", "a guard cannot have `mutants`"),
        (&|plan| check(plan).mutants = Some(51), "waypoints/1/criteria/0/mutants", "`mutants: 51` is not a number"),
        (&|plan| check(plan).mutants = Some(0), "waypoints/1/criteria/0/mutants", "`mutants: 0` is not a number"),
        (&|plan| plan.guards[0].check.command.clear(), "guards/0/check", "a guard has no `check`"),
        (&|plan| plan.guards.extend(plan.guards.clone()), "guards/1/id", "there are two guards with the id `g`"),
        (&|plan| plan.waypoints.clear(), "waypoints", "the plan has no waypoints"),
        (&|plan| plan.waypoints[1].goal = " ".to_owned(), "waypoints/1/goal", "waypoint `b` has no `goal`"),
        (&|plan| plan.waypoints[1].title.clear(), "waypoints/1/title", "`title` is empty"),
        (&|plan| plan.waypoints[1].criteria.clear(), "waypoints/1/criteria", "waypoint `b` has no criteria"),
        (&|plan| plan.waypoints[0].workflow = Some("x".to_owned()), "waypoints/0/workflow", "unknown workflow `x`"),
        (&|plan| plan.waypoints[0].budget.output = Some(0), "waypoints/0/budget/output", "`output: 0` is not a size"),
        (
            &|plan| check(plan).expect = Some("(".to_owned()),
            "waypoints/1/criteria/0/expect",
            "`expect` is not a regular",
        ),
        (&|plan| check(plan).timeout = Millis(0), "waypoints/1/criteria/0/timeout", "`timeout: 0ms` is not a duration"),
        (&|plan| check(plan).command.clear(), "waypoints/1/criteria/0/check", "`check` is empty"),
    ]);
}

#[test]
fn a_name_with_what_cannot_be_seen_is_refused_whoever_sends_it() {
    let title = |title: &'static str| move |plan: &mut Plan| plan.waypoints[1].title = title.to_owned();
    assert_refused(&[
        (
            &title("x\n\nHoldpoint-Report: sha256:00"),
            "waypoints/1/title",
            "`title` has a character that cannot be seen: `\\n`",
        ),
        (&title("\u{1b}[2Jx"), "waypoints/1/title", "`title` has a character that cannot be seen: `\\u{1b}`"),
        (&title("x\u{202e}y"), "waypoints/1/title", "`title` has a character that cannot be seen: `\\u{202e}`"),
        (&title("x\u{200b}y"), "waypoints/1/title", "`title` has"),
        (&title("x\u{2028}y"), "waypoints/1/title", "`title` has"),
        (&title("x\ry"), "waypoints/1/title", "`title` has"),
        (&title("x\u{9b}y"), "waypoints/1/title", "`title` has"),
        (&|plan| plan.waypoints[0].tags = vec!["a\u{7}".to_owned()], "waypoints/0/tags/0", "an item of `tags` has"),
        (&|plan| plan.base = "HEAD\u{202e}".to_owned(), "base", "`base: HEAD\\u{202e}` is not a"),
        (&|plan| plan.covenant = Some("A\u{1b}.md".to_owned()), "covenant", "`covenant` has"),
        (&|plan| plan.sources = vec!["a\u{200d}b".to_owned()], "sources/0", "an item of `sources` has"),
        (&|plan| plan.protected = vec!["a\u{1b}*".to_owned()], "protected/0", "an item of `protected` has"),
    ]);
    assert_eq!(wrong(title("größer, 漢 und ✔\u{fe0f}")), [""; 0]);
    // Prose has lines, and is written out where it is shown.
    assert_eq!(wrong(|plan| plan.waypoints[1].goal = "two\nlines of 👩\u{200d}💻".to_owned()), [""; 0]);
}

#[test]
fn ids_and_dependencies_that_do_not_fit_together_are_refused() {
    let same_id = |plan: &mut Plan| {
        let id = plan.waypoints[0].id.clone();
        plan.waypoints[1] = holdpoint_protocol::plan::Waypoint { id, ..plan.waypoints[0].clone() };
    };
    let twice = |plan: &mut Plan| plan.waypoints[1].depends_on.push("a".parse().unwrap());
    assert_refused(&[
        (&same_id, "waypoints/1/id", "there are two waypoints with the id `a`"),
        (&twice, "waypoints/1/depends_on/1", "`a` is listed twice"),
        (
            &|plan| plan.waypoints[1].depends_on = vec!["none".parse().unwrap()],
            "waypoints/1/depends_on/0",
            "waypoint `b` depends on `none`",
        ),
        (
            &|plan| plan.waypoints[0].depends_on = vec!["b".parse().unwrap()],
            "waypoints/0/depends_on/0",
            "waypoints wait for each other in a circle: a → b → a",
        ),
    ]);
}

#[test]
fn a_bad_answer_of_policy_is_refused() {
    let answer = |matches: &str, option: &str| Answer {
        matches: matches.to_owned(),
        option: option.to_owned(),
        rationale: None,
    };
    assert_refused(&[
        (&|plan| plan.answers = vec![answer("(", "x")], "answers/0/match", "`match` is not a regular expression"),
        (&|plan| plan.answers = vec![answer("", "x")], "answers/0/match", "an answer has no `match`"),
        (&|plan| plan.answers = vec![answer("x", "")], "answers/0/option", "an answer has no `option`"),
    ]);
}

#[test]
fn a_plan_of_one_agent_alone_needs_a_check_for_each_criterion() {
    assert_eq!(wrong(|plan| plan.policy.mode = Mode::Single), [""; 0]);
    let judged = |plan: &mut Plan| {
        plan.waypoints[1].criteria.push(Criterion {
            check: None,
            statement: "It reads well".to_owned(),
            id: "d".parse().unwrap(),
        });
    };
    assert_eq!(wrong(judged), [""; 0], "a judge may be there");
    let unjudged = |plan: &mut Plan| {
        plan.policy.mode = Mode::Single;
        judged(plan);
    };
    assert_refused(&[(&unjudged, "waypoints/1/criteria/1", "criterion `d` has no `check`, and with `mode: single`")]);
}

#[test]
fn amounts_of_budgets_are_above_zero() {
    assert_eq!(wrong(|plan| plan.budget.cost_usd = Some(1.5)).len(), 0);
    assert_eq!(wrong(|plan| plan.budget.cost_usd = Some(f64::NAN)).len(), 1);
    assert_refused(&[
        (&|plan| plan.budget.tokens = Some(0), "budget/tokens", "`tokens: 0` is not a number"),
        (
            &|plan| plan.budget.cost_usd = Some(1e-9),
            "budget/cost_usd",
            "`cost_usd: 0.000000001` is not an amount above zero",
        ),
        (&|plan| plan.waypoints[0].budget.tool_calls = Some(0), "waypoints/0/budget/tool_calls", "`tool_calls: 0`"),
        (
            &|plan| plan.waypoints[0].budget.total.cost_micro_usd = Some(0),
            "waypoints/0/budget/total/cost_usd",
            "`cost_usd: 0` is not an amount above zero",
        ),
    ]);
}

#[test]
fn tests_of_a_waypoint_are_bounded_in_number_and_size() {
    let test = |text: &str| serde_json::json!({"given": text, "when": "x", "then": {}});
    let many = |count: usize, text: &str| vec![test(text); count];
    assert_eq!(wrong(|plan| plan.waypoints[0].tests = many(TESTS_MAX, "x")).len(), 0);
    assert_refused(&[
        (
            &|plan| plan.waypoints[0].tests = many(TESTS_MAX + 1, "x"),
            "waypoints/0/tests/200",
            "the waypoint has 201 tests, more than 200",
        ),
        (
            &|plan| plan.waypoints[0].tests = many(2, &"x".repeat(TESTS_BYTES_MAX)),
            "waypoints/0/tests",
            "the tests of the waypoint have more than 256 KiB",
        ),
    ]);
}

#[test]
fn mutants_need_a_check_that_is_red_where_a_test_fails_and_have_a_bound_together() {
    let asks = |command: &str, mutants: u32| {
        wrong(|plan| {
            let check = check(plan);
            (check.command, check.mutants) = (command.to_owned(), Some(mutants));
        })
    };
    for command in ["cargo test", "make check", "! grep -q x a && pytest"] {
        assert_eq!(asks(command, 1), [""; 0], "{command}");
        assert_eq!(asks(command, 50), [""; 0], "{command}");
    }
    let named = |told: Vec<String>, message: &str| {
        let expected = format!("waypoints/1/criteria/0/mutants: `mutants` needs a check that {message}");
        assert!(told.len() == 1 && told[0].starts_with(&expected), "{told:#?}");
    };
    named(asks("! pytest tests/test_bug.py", 3), "is green where tests pass");
    named(asks("cd sub && ! cargo test bug", 3), "is green where tests pass");
    let many = |count: u32| {
        wrong(|plan| {
            check(plan).mutants = Some(50);
            let first = plan.waypoints[1].criteria[0].clone();
            let named = |n: u32| Criterion { id: format!("c{n}").parse().unwrap(), ..first.clone() };
            plan.waypoints[1].criteria = (0..count).map(named).collect();
        })
    };
    assert_eq!(many(10), [""; 0]);
    let told = many(11);
    assert!(told.len() == 1 && told[0].contains("ask for 550 `mutants` together, more than 500"), "{told:#?}");
}

#[test]
fn costly_regular_expressions_are_taken_up_to_a_number() {
    let answer = |i: usize| Answer { matches: format!("{i}\\w{{5}}"), option: "x".to_owned(), rationale: None };
    let costly = |count: usize| wrong(|plan| plan.answers = (0..count).map(answer).collect());
    assert_eq!(costly(HEAVY_REGEXES_MAX), [""; 0]);
    let told = costly(HEAVY_REGEXES_MAX + 1);
    assert_eq!(told, ["answers/100/match: `match` is one costly regular expression more than the 100 of a plan"]);
    let light = |i: usize| Answer { matches: format!("(?i)which {i}"), ..answer(i) };
    assert_eq!(wrong(|plan| plan.answers = (0..ITEMS_MAX).map(light).collect()), [""; 0]);
}

/// As many criteria, each with an id of its own.
fn many(count: usize) -> Vec<Criterion> {
    let criterion = |i| Criterion { id: format!("c{i}").parse().unwrap(), statement: "s".to_owned(), check: None };
    (0..count).map(criterion).collect()
}

#[test]
fn the_largest_parts_are_taken_and_larger_ones_refused_with_the_limit() {
    let text = |bytes: usize| "x".repeat(bytes);
    let guard = |plan: &Plan, i: usize| Guard { id: format!("g{i}").parse().unwrap(), ..plan.guards[0].clone() };
    let largest = wrong(|plan| {
        plan.guards = (0..GUARDS_MAX).map(|i| guard(plan, i)).collect();
        plan.waypoints[0].criteria = many(CRITERIA_MAX);
        plan.waypoints[0].goal = text(GOAL_BYTES_MAX);
        plan.waypoints[0].title = text(TITLE_BYTES_MAX);
        check(plan).command = text(COMMAND_BYTES_MAX);
        check(plan).expect = Some(text(crate::plan::REGEX_BYTES_MAX));
    });
    assert_eq!(largest, [""; 0]);
    assert_refused(&[
        (
            &|plan| plan.guards = (0..=GUARDS_MAX).map(|i| guard(plan, i)).collect(),
            "guards/500",
            "`guards` has 501 items, more than 500",
        ),
        (
            &|plan| plan.waypoints[0].criteria = many(CRITERIA_MAX + 1),
            "waypoints/0/criteria/500",
            "the waypoint has 501 criteria, more than 500",
        ),
        (
            &|plan| plan.waypoints[0].goal = text(GOAL_BYTES_MAX + 1),
            "waypoints/0/goal",
            "`goal` is longer than 256 KiB",
        ),
        (
            &|plan| plan.waypoints[0].title = text(TITLE_BYTES_MAX + 1),
            "waypoints/0/title",
            "`title` is longer than 1 KiB",
        ),
        (
            &|plan| check(plan).command = text(COMMAND_BYTES_MAX + 1),
            "waypoints/1/criteria/0/check",
            "`check` is longer than 64 KiB",
        ),
        (
            &|plan| check(plan).expect = Some(text(crate::plan::REGEX_BYTES_MAX + 1)),
            "waypoints/1/criteria/0/expect",
            "`expect` is longer than 8 KiB",
        ),
        (
            &|plan| plan.waypoints[0].scope = vec!["a".to_owned(); ITEMS_MAX + 1],
            "waypoints/0/scope/1000",
            "`scope` has 1001 items, more than 1000",
        ),
    ]);
}

#[test]
fn all_problems_are_in_one_line_up_to_a_number() {
    let mut plan = plan();
    plan.base = String::new();
    plan.workflow = "flyy".to_owned();
    plan.waypoints[0].goal.clear();
    let found = validate(&plan, BUILT_IN_WORKFLOWS);
    let line = found.in_a_line(2);
    assert_eq!(
        line,
        "base: `base` is empty (write a text, or remove it); workflow: unknown workflow `flyy` (did you mean `fly`?); \
         1 more problems follow"
    );
    assert!(found.in_a_line(3).ends_with("(say what the builder is to do: `goal: …`)"));
}

#[test]
fn problems_past_a_bound_are_only_counted() {
    let mut plan = plan();
    plan.waypoints[0].depends_on = (0..10_000).map(|i| format!("none{i}").parse().unwrap()).collect();
    let found = validate(&plan, BUILT_IN_WORKFLOWS);
    assert_eq!(found.problems.len() + found.more, 10_000);
    assert!(found.more > 0 && found.in_a_line(10).len() < 10_000);
}

#[test]
fn every_workflow_that_plans_may_name_is_built_in() {
    assert!(BUILT_IN_WORKFLOWS.iter().all(|known| crate::workflows::built_in(known.name).is_some()));
}
