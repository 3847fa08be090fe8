//! Plans with a service: what their tests become, and what is wrong with them.

use holdpoint_protocol::plan::Plan;

use super::{
    super::{read, read_tests},
    *,
};
use crate::{plan::workflows::BUILT_IN_WORKFLOWS, rules::plan::validate};

const SERVICE: &str = "service: {run: ./serve, ready: GET /health, within: 5s, given: {\
                       a token: {env_from: ./mint.sh, headers: {Authorization: 'Bearer ${TOKEN}'}}, no token: {}, nothing: }}\n";

fn text(service: &str, tests: &str) -> String {
    format!(
        "plan: p\nevidence: strict\n{service}waypoints:\n  - id: a\n    goal: g\n    criteria: [{{id: c, check: x}}]\n    tests: [{tests}]\n"
    )
}

fn plan(tests: &str) -> Plan {
    read(&text(SERVICE, tests), "plan.yaml", BUILT_IN_WORKFLOWS).unwrap()
}

/// What is wrong with a plan, as `line:column: message`.
fn wrong(text: &str) -> Vec<String> {
    let errors = read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap_err().errors;
    assert!(errors.iter().all(|error| !error.hint.is_empty()));
    errors.iter().map(|error| format!("{}:{}: {}", error.line, error.column, error.message)).collect()
}

#[test]
fn a_test_that_asks_the_service_is_a_criterion_behind_the_others() {
    let tests = "{given: words, when: a user looks, then: she sees it}, \
                 {given: a token, when: 'POST /me {\"a\": 1}', red_first: true, \
                 then: {status: 200, body_contains: [ann, 7], headers: {X-Id: 1}}}, \
                 {given: no token, when: GET /me, then: in words}, {given: nothing, when: GET /me, then: {status: 401}}";
    let criteria = &plan(tests).waypoints[0].criteria;
    let ids: Vec<&str> = criteria.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["c", "test-2", "test-4"]);
    let check = criteria[1].check.as_ref().unwrap();
    assert_eq!(
        criteria[1].statement,
        "given a token: POST /me {\"a\": 1} is answered with status 200, a body with \"ann\", a body with \"7\", the header X-Id: 1"
    );
    assert!(check.red_first && !check.network && !check.writes_tree && check.evidence == EvidenceLevel::Strict);
    let test = over_http::of_command(&check.command).unwrap();
    assert_eq!(
        (test.run.as_str(), test.ready.as_deref(), test.within),
        ("./serve", Some("GET /health"), Millis(5_000))
    );
    assert_eq!(
        (test.with.env_from.as_deref(), test.with.headers["Authorization"].as_str()),
        (Some("./mint.sh"), "Bearer ${TOKEN}")
    );
    let headers = [("X-Id".to_owned(), "1".to_owned())].into();
    assert_eq!(
        (test.when.as_str(), test.then),
        (
            "POST /me {\"a\": 1}",
            HttpExpected { status: Some(200), body_contains: vec!["ann".to_owned(), "7".to_owned()], headers }
        )
    );
    assert!(!criteria[2].check.as_ref().unwrap().red_first);
}

#[test]
fn without_a_service_all_tests_are_for_the_judge() {
    let plan = read(&text("", "{given: x, when: GET /me, then: {status: 401}}"), "p", BUILT_IN_WORKFLOWS).unwrap();
    assert_eq!((plan.waypoints[0].criteria.len(), plan.waypoints[0].tests.len()), (1, 1));
}

#[test]
fn tests_over_http_alone_are_criteria_enough() {
    let text = text(SERVICE, "{given: no token, when: GET /me, then: {status: 401}}");
    let alone = text.replace("    criteria: [{id: c, check: x}]\n", "");
    assert_eq!(read(&alone, "p", BUILT_IN_WORKFLOWS).unwrap().waypoints[0].criteria.len(), 1);
    let in_file = alone.replace("tests: [{given: no token, when: GET /me, then: {status: 401}}]", "testsFile: t.yaml");
    assert!(read(&in_file, "p", BUILT_IN_WORKFLOWS).unwrap().waypoints[0].criteria.is_empty());
    let words = alone.replace("GET /me", "she asks");
    assert_eq!(wrong(&words).len(), 1, "nothing is left to show it");
}

#[test]
fn what_is_wrong_with_tests_over_http_is_said_at_its_line() {
    let of = |tests: &str| wrong(&text(SERVICE, tests));
    assert_eq!(
        of(
            "\n      {given: a tokem, when: GET /me, then: {status: 401}},\n      {given: other, when: GET /me, then: {status: 401}}"
        ),
        [
            "9:15: `given: a tokem` is not in the plan's `service`",
            "10:15: `given: other` is not in the plan's `service`"
        ]
    );
    for (test, expected) in [
        ("{given: no token, when: GET /me, then: {}}", "`then` expects nothing"),
        ("{given: no token, when: she asks, then: x, red_first: true}", "`red_first` is for a test over HTTP"),
        ("{given: no token, when: GET /me, then: {status: 700}}", "`status` is no status code of HTTP"),
        ("{given: no token, when: GET /me, then: {headers: {a: [b]}}}", "a header is a text"),
    ] {
        let found = of(test);
        assert!(found.len() == 1 && found[0].starts_with("8:") && found[0].contains(expected), "{test}: {found:?}");
    }
    let taken =
        text(SERVICE, "{given: no token, when: GET /me, then: {status: 401}}").replace("{id: c,", "{id: test-1,");
    assert!(
        wrong(&taken).iter().any(|found| found.contains("two criteria with the id `test-1`")),
        "{:?}",
        wrong(&taken)
    );
    let long =
        format!("{{given: no token, when: 'POST /me {}', then: {{status: 401}}}}", "x".repeat(COMMAND_BYTES_MAX));
    assert!(of(&long)[0].contains("longer than 64 KiB together"));
}

#[test]
fn what_is_wrong_with_a_service_is_said_at_its_line() {
    let of = |service: &str| wrong(&text(&format!("service: {service}\n"), ""));
    for (service, expected) in [
        ("{ready: GET /}", "3:10: the service has no `run`"),
        ("{run: x, reddy: GET /}", "3:19: unknown key `reddy` in `service`"),
        ("{run: x, ready: /health}", "3:26: `ready: /health` is not a method with a path"),
        ("{run: x, ready: POST / body}", "3:26: `ready: POST / body` is not a method with a path"),
        ("{run: x, within: 6m}", "3:27: `within: 6m` is no time that a service may take"),
        ("{run: x, given: [a]}", "3:26: `given` is a mapping, not a list"),
        ("{run: x, given: {a: {header: {}}}}", "3:31: unknown key `header` in an item of `given`"),
        ("{run: x, given: {a: {headers: {'b c': d}}}}", "3:41: `b c` is no name of a header"),
        (
            "{run: x, given: {a: {headers: {b: '${C}'}}}}",
            "3:44: the header `b` names `${C}`, and nothing gives that a value",
        ),
        ("{run: x, given: {a: {env_from: '  '}}}", "3:41: `env_from` is empty"),
    ] {
        let found = of(service);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{service}: {found:?}");
    }
    let many: String = (0..=super::super::GIVEN_MAX).map(|n| format!("g{n}: {{}}, ")).collect();
    assert!(of(&format!("{{run: x, given: {{{many}}}}}"))[0].contains("more than 200"));
}

#[test]
fn tests_of_a_file_are_held_against_the_service_at_their_lines() {
    let service = plan("").service.unwrap();
    let good = "- {given: no token, when: GET /me, then: {status: 401}}\n- {given: x, when: she asks, then: y}\n";
    let tests = read_tests(good.as_bytes(), "t.yaml", Some(&service)).unwrap();
    let criteria = criteria_over_http(Some(&service), &tests, 4);
    assert_eq!(criteria.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["test-4"]);
    for (before, line) in [("", 1), ("tests:\n", 2)] {
        let bad = format!("{before}{}", good.replace("no token", "none"));
        let errors = read_tests(bad.as_bytes(), "t.yaml", Some(&service)).unwrap_err().errors;
        assert_eq!((errors.len(), errors[0].line, errors[0].column), (1, line, 11), "{errors:?}");
        assert!(errors[0].message.contains("`given: none` is not in the plan's `service`"));
    }
}

#[test]
fn a_plan_that_was_submitted_without_the_criteria_of_its_tests_is_refused() {
    let mut plan = plan("{given: no token, when: GET /me, then: {status: 401}}");
    assert!(validate(&plan, BUILT_IN_WORKFLOWS).is_empty());
    plan.waypoints[0].criteria[1].check.as_mut().unwrap().command = "true".to_owned();
    let found = validate(&plan, BUILT_IN_WORKFLOWS).problems;
    assert_eq!((found.len(), found[0].path.to_string().as_str()), (1, "waypoints/0/tests/0"));
    plan.waypoints[0].criteria.pop();
    assert_eq!(validate(&plan, BUILT_IN_WORKFLOWS).problems.len(), 1);
}
