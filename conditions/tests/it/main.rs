//! Conditions through the real helper, confined as it is in a fleet.

#![allow(clippy::unwrap_used, reason = "tests say what is expected by failing")]

mod processes;

use std::{path::Path, time::Duration};

use holdpoint_conditions::{ConditionAnswer, ConditionFailure, ConditionHelper, Scope};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};

fn helper() -> ConditionHelper {
    ConditionHelper::at(Path::new(env!("CARGO_BIN_EXE_holdpoint-conditions-helper")))
}

fn scope() -> Scope<'static> {
    const JSON: &str = r#"{
        "tags": ["security", "api"],
        "metadata": {"dealSize": 80000, "kind": "deploy", "__proto__": {"polluted": true}},
        "gateHistory": [{"gate": "build", "outcome": "complete"}]
    }"#;
    Scope { json: JSON, recurs: true }
}

async fn answers(conditions: &[&str]) -> Vec<ConditionAnswer> {
    let conditions: Vec<String> = conditions.iter().map(|&condition| condition.to_owned()).collect();
    helper().evaluate("flight", &conditions, scope()).await.unwrap()
}

async fn answer(condition: &str) -> ConditionAnswer {
    answers(&[condition]).await.remove(0)
}

#[tokio::test]
async fn conditions_of_the_source_are_answered_each_by_itself() {
    let asked = [
        ("tags.includes('security') || tags.includes('auth')", ConditionAnswer::Holds),
        ("!tags.includes('skip-qa')", ConditionAnswer::Holds),
        ("tags.includes('docs')", ConditionAnswer::DoesNotHold),
        ("metadata.dealSize > 50000", ConditionAnswer::Holds),
        ("gateHistory.some(visit => visit.gate === 'build' && visit.outcome === 'complete')", ConditionAnswer::Holds),
        ("/^dep/.test(metadata.kind)", ConditionAnswer::Holds),
        ("metadata.missing", ConditionAnswer::DoesNotHold),
        ("tags.length === 2 // a comment at the end", ConditionAnswer::Holds),
        ("''", ConditionAnswer::DoesNotHold),
        ("tags = []", ConditionAnswer::Holds),
        ("tags.includes('security')", ConditionAnswer::Holds),
    ];
    let conditions: Vec<&str> = asked.iter().map(|(condition, _)| *condition).collect();
    for ((condition, expected), found) in asked.iter().zip(answers(&conditions).await) {
        assert_eq!(&found, expected, "{condition}");
    }
}

#[tokio::test]
async fn what_is_undefined_and_what_throws_fails_with_its_words() {
    let ConditionAnswer::Failed(ConditionFailure::Threw(why)) = answer("metadata.foo.bar.baz").await else {
        unreachable!()
    };
    assert!(why.contains("undefined"), "{why}");
    assert!(matches!(answer("nothing_of_this_name").await, ConditionAnswer::Failed(ConditionFailure::Threw(_))));
    let ConditionAnswer::Failed(ConditionFailure::Threw(why)) = answer("(() => { throw 'x'.repeat(5000) })()").await
    else {
        unreachable!()
    };
    assert!(why.chars().count() <= 200, "{why}");
}

#[tokio::test]
async fn what_is_no_expression_is_refused_when_it_is_parsed_and_when_it_is_evaluated() {
    let bad = [
        "",
        "  ",
        "tags.includes('a'",
        "if (true) 1",
        "1); return (2",
        "1]; return [2",
        "1}, function() {",
        "a b",
        "return 1",
    ];
    let long = format!("true /*{}*/", "x".repeat(5_000));
    let conditions: Vec<String> = bad.iter().map(|&text| text.to_owned()).chain([long]).collect();
    let parsed = helper().parse(&conditions).await.unwrap();
    let evaluated = helper().evaluate("flight", &conditions, scope()).await.unwrap();
    for (condition, answers) in conditions.iter().zip(parsed.iter().zip(&evaluated)) {
        let (
            ConditionAnswer::Failed(ConditionFailure::Syntax(_)),
            ConditionAnswer::Failed(ConditionFailure::Syntax(_)),
        ) = answers
        else {
            unreachable!("{condition}: {answers:?}")
        };
    }
    // Parsing runs nothing, and what a condition will see is not there yet.
    let good = ["while_", "(() => { while (true) {} })()", "metadata.foo.bar"].map(str::to_owned);
    assert_eq!(helper().parse(&good).await.unwrap(), vec![ConditionAnswer::Holds; 3]);
}

#[tokio::test]
async fn a_condition_that_goes_over_its_bounds_fails_alone() {
    let asked = [
        ("(() => { while (true) {} })()", ConditionFailure::Time),
        ("/(a+)+$/.test('a'.repeat(60) + 'b')", ConditionFailure::Time),
        (
            "(() => { const all = [], part = 'x'.repeat(1000); while (true) all.push(part.repeat(100) + all.length) })()",
            ConditionFailure::Memory,
        ),
    ];
    let mut conditions: Vec<&str> = asked.iter().map(|(condition, _)| *condition).collect();
    conditions.push("tags.includes('api')");
    let found = answers(&conditions).await;
    for ((condition, failure), found) in asked.into_iter().zip(&found) {
        assert_eq!(found, &ConditionAnswer::Failed(failure), "{condition}");
    }
    assert_eq!(found.last(), Some(&ConditionAnswer::Holds));
}

#[tokio::test]
async fn a_call_that_the_engine_cannot_interrupt_ends_a_little_after_its_time() {
    let long = [
        "'x'.repeat(4e6).indexOf('x'.repeat(2e6) + 'y') < 0",
        "'x'.repeat(1e6).lastIndexOf('x'.repeat(5e5) + 'y') < 0",
        "'a'.repeat(4e6).replaceAll('a', 'b').length > 0",
    ];
    for condition in long {
        let before = processor_time_of_helpers();
        assert_eq!(answer(condition).await, ConditionAnswer::Failed(ConditionFailure::Time), "{condition}");
        let took = processor_time_of_helpers() - before;
        assert!(took < Duration::from_millis(800), "{condition}: {took:?}");
    }
}

/// What processes that ended have used.
fn processor_time_of_helpers() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    Duration::from_micros((used.user_time() + used.system_time()).num_microseconds().unsigned_abs())
}

#[tokio::test]
async fn what_would_have_to_be_waited_for_is_refused_in_words() {
    for condition in ["import('fs')", "(async () => true)()", "(async () => { await 1 })()"] {
        let found = answer(condition).await;
        let ConditionAnswer::Failed(ConditionFailure::Threw(why)) = &found else {
            unreachable!("{condition}: {found:?}")
        };
        assert_eq!(why, "it is asynchronous, and a condition is not waited for", "{condition}");
    }
}

#[tokio::test]
async fn a_thrown_value_is_told_by_its_words_or_by_its_type() {
    let told = [
        ("'words'", "words"),
        ("3.5", "3.5"),
        ("true", "true"),
        ("({a: 1})", "a value of the type object"),
        ("[1]", "a value of the type array"),
        ("Symbol('x')", "a value of the type symbol"),
        ("null", "a value of the type null"),
    ];
    for (value, words) in told {
        let found = answer(&format!("(() => {{ throw {value} }})()")).await;
        assert_eq!(found, ConditionAnswer::Failed(ConditionFailure::Threw(words.to_owned())), "{value}");
    }
}

#[tokio::test]
async fn huge_numbers_deep_recursion_and_long_natives_end_within_bounds_and_harm_no_other() {
    let hostile = [
        "2n ** (2n ** 40n) > 0n",
        "(() => { let n = 3n; while (true) n = n * n; })()",
        "(function deep() { return deep() })()",
        "JSON.parse('['.repeat(1e6))",
        "'x'.repeat(2 ** 29).length > 0",
        "new Array(1e9).fill(0).length > 0",
        "[...Array(1e7).keys()].map(n => -n).sort().length > 0",
        "'a'.repeat(3e6).split('').reverse().join('').localeCompare('b') > 0",
    ];
    let mut conditions = hostile.to_vec();
    conditions.push("tags.includes('api')");
    let found = answers(&conditions).await;
    for (condition, found) in hostile.iter().zip(&found) {
        assert!(
            matches!(found, ConditionAnswer::Failed(failure) if !matches!(failure, ConditionFailure::Syntax(_))),
            "{condition}: {found:?}"
        );
    }
    assert_eq!(found.last(), Some(&ConditionAnswer::Holds));
}

#[tokio::test]
async fn an_engine_has_no_host_no_clock_and_no_randomness() {
    let names = [
        "require",
        "process",
        "std",
        "os",
        "console",
        "Date",
        "performance",
        "Promise",
        "Proxy",
        "setTimeout",
        "fetch",
        "print",
        "scriptArgs",
    ];
    for name in names {
        assert_eq!(answer(&format!("typeof {name} === 'undefined'")).await, ConditionAnswer::Holds, "{name}");
    }
    assert_eq!(answer("Math.random === undefined").await, ConditionAnswer::Holds);
    assert!(matches!(answer("import('fs')").await, ConditionAnswer::Failed(_)));
    assert_eq!(answer("Object.polluted === undefined && ({}).polluted === undefined").await, ConditionAnswer::Holds);
}
