//! Rules for tests over HTTP, and for the service that they ask.

use std::collections::HashMap;

use holdpoint_evidence::over_http::{HttpRequestLine, names_in};
use holdpoint_protocol::plan::{Criterion, HttpExpected, HttpGiven, HttpService};
use holdpoint_text::units;
use serde_json::Value as Json;

use crate::{
    plan::{
        limits::{COMMAND_BYTES_MAX, GIVEN_MAX, ITEMS_MAX, NAME_BYTES_MAX, WITHIN_MS_MAX},
        over_http::{criterion, test_of},
    },
    yaml::{findings::PlanProblems, likeness::closest, path::At, words::quoted},
};

/// The rules for a service.
pub(super) fn check_service(at: At<'_>, service: &HttpService, found: &mut PlanProblems) {
    if service.run.is_empty() {
        found.add(at.key("run"), "the service has no `run`", "say how it is started, with `$PORT` as its port");
    } else {
        found.command(at.key("run"), "`run`", &service.run);
    }
    let is_ready = |ready: &&String| HttpRequestLine::read(ready).is_some_and(|line| line.body.is_none());
    if let Some(ready) = service.ready.as_ref().filter(|ready| !is_ready(ready)) {
        let message = format!("`ready: {}` is not a method with a path", quoted(ready));
        found.add(
            at.key("ready"),
            message,
            "write one that it answers with a status of 200 to 299, such as `GET /health`",
        );
    }
    if !(1..=WITHIN_MS_MAX).contains(&service.within.0) {
        let message = format!("`within: {}` is no time that a service may take", units::written(service.within));
        found.add(at.key("within"), message, format!("write at most {}s", WITHIN_MS_MAX / 1_000));
    }
    let all = at.key("given");
    if service.given.len() > GIVEN_MAX {
        let message = format!("`given` has {} items, more than {GIVEN_MAX}", service.given.len());
        found.add(all, message, "keep those that tests name");
        return;
    }
    for (name, given) in &service.given {
        let at = all.key(name);
        found.name(at, "an item of `given`", name, NAME_BYTES_MAX);
        if let Some(command) = &given.env_from {
            found.command(at.key("env_from"), "`env_from`", command);
        }
        check_headers(at, given, found);
    }
}

fn check_headers(at: At<'_>, given: &HttpGiven, found: &mut PlanProblems) {
    let headers = at.key("headers");
    if !found.length(headers, "`headers`", given.headers.len(), ITEMS_MAX) {
        return;
    }
    for (name, value) in &given.headers {
        if !is_token(name) {
            let message = format!("`{}` is no name of a header", quoted(name));
            found.add(headers.name(name), message, "write letters, digits and `-`, such as `Authorization`");
        } else if let Some(variable) = names_in(value).next().filter(|_| given.env_from.is_none()) {
            let message =
                format!("the header `{name}` names `${{{}}}`, and nothing gives that a value", quoted(variable));
            found.add(
                headers.key(name),
                message,
                format!("add `env_from: COMMAND`, which prints a line `{variable}=…`"),
            );
        }
    }
}

/// Whether a text is a token of HTTP.
fn is_token(text: &str) -> bool {
    let odd = b"!#$%&'*+-.^_`|~";
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || odd.contains(&byte))
}

/// The rules for tests. Of those that ask the service each has to be one of these criteria, where there are any to look at.
pub(crate) fn check_tests(
    at: At<'_>,
    service: Option<&HttpService>,
    tests: &[Json],
    criteria: Option<&[Criterion]>,
    found: &mut PlanProblems,
) {
    let known: HashMap<&str, &Criterion> =
        criteria.iter().flat_map(|all| all.iter()).map(|one| (one.id.as_str(), one)).collect();
    for (i, spec) in tests.iter().enumerate() {
        let at = at.item(i);
        let Some((service, test)) = service.and_then(|service| Some((service, test_of(service, spec)?))) else {
            if spec.get("red_first").is_some_and(|red| red == true) {
                let hint = "remove it, or write `when: GET /path`, `then: {status: 200}` and the plan's `service`";
                found.add(at.key("red_first"), "`red_first` is for a test over HTTP, and nothing runs this one", hint);
            }
            continue;
        };
        if !service.given.contains_key(&test.given) {
            found.add(
                at.key("given"),
                format!("`given: {}` is not in the plan's `service`", quoted(&test.given)),
                undeclared(service, &test.given),
            );
        }
        if test.then == HttpExpected::default() {
            let hint = "write `status`, `body_contains` or `headers`, or what follows in words";
            found.add(at.key("then"), "`then` expects nothing", hint);
        }
        let Some(criterion) = criterion(service, &test, spec, i + 1) else {
            let message =
                format!("the test and the `service` are longer than {} KiB together", COMMAND_BYTES_MAX >> 10);
            found.add(at, message, "put what is long into scripts of the repository");
            continue;
        };
        if criteria.is_some() && known.get(criterion.id.as_str()) != Some(&&criterion) {
            let message = format!("the waypoint has no criterion `{}` that runs this test", criterion.id);
            found.add(at, message, "give criteria of your own other ids, and submit a plan as `holdpoint` has read it");
        }
    }
}

fn undeclared(service: &HttpService, given: &str) -> String {
    match closest(given, service.given.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            "declare it there, such as `given: {No token: {}}`: with `headers` and `env_from`, or as `{}`".to_owned()
        }
    }
}
