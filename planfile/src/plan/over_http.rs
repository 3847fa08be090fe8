//! Tests over HTTP in plans: reading the service, and the criterion that a test becomes. Their rules are in [`super::rules`].

use std::collections::BTreeMap;

use holdpoint_evidence::over_http::{self, HttpRequestLine};
use holdpoint_protocol::{
    ids::CriterionId,
    plan::{CHECK_TIMEOUT_DEFAULT, Check, Criterion, EvidenceLevel, HttpExpected, HttpGiven, HttpService, HttpTest},
    time::Millis,
};
use holdpoint_text::shown;
use serde_json::Value as Json;

use super::limits::COMMAND_BYTES_MAX;
use crate::yaml::{
    error::Problems,
    fields::{Fields, word},
    tree::{Key, Node},
};

/// The keys of a service.
pub(crate) const SERVICE_KEYS: &[&str] = &["run", "ready", "within", "given", "network", "writes_tree"];
/// The keys of what a test may be given.
pub(crate) const GIVEN_KEYS: &[&str] = &["env_from", "headers"];

/// How long a service may take to be ready unless the plan says otherwise.
const WITHIN_DEFAULT: Millis = Millis(20_000);
/// Characters of a text of a test that its criterion's statement quotes.
const QUOTED_CHARS_MAX: usize = 200;

/// Reads the plan's service, whose tests have the plan's `evidence`.
pub(crate) fn service(fields: &Fields<'_>, evidence: EvidenceLevel, problems: &mut Problems) -> Option<HttpService> {
    let node = fields.get("service", problems)?;
    let service = Fields::open(node, "`service`", SERVICE_KEYS, problems)?;
    Some(HttpService {
        run: service.text("run", problems).unwrap_or_default(),
        ready: service.text("ready", problems),
        within: service.duration("within", problems).unwrap_or(WITHIN_DEFAULT),
        given: given(&service, problems),
        network: service.flag("network", problems).unwrap_or(false),
        writes_tree: service.flag("writes_tree", problems).unwrap_or(false),
        evidence,
    })
}

fn given(service: &Fields<'_>, problems: &mut Problems) -> BTreeMap<String, HttpGiven> {
    let Some(node) = service.get("given", problems) else { return BTreeMap::new() };
    let words = Fields::free(node, "`given`", "write `given: {No token: {}}`", problems);
    let mut all = BTreeMap::new();
    for (key, node) in words.iter().flat_map(Fields::entries) {
        // Words alone are what a test may be given as well.
        let one =
            if node.value.is_null() { None } else { Fields::open(node, "an item of `given`", GIVEN_KEYS, problems) };
        let read =
            |one: Fields<'_>| HttpGiven { env_from: one.text("env_from", problems), headers: headers(&one, problems) };
        all.insert(key.name.clone(), one.map(read).unwrap_or_default());
    }
    all
}

/// Headers by name.
pub(crate) fn headers(fields: &Fields<'_>, problems: &mut Problems) -> BTreeMap<String, String> {
    let Some(node) = fields.get("headers", problems) else { return BTreeMap::new() };
    let all = Fields::free(node, "`headers`", "write `headers: {Content-Type: application/json}`", problems);
    let entries = all.iter().flat_map(Fields::entries);
    let read = |(key, node): &(Key, Node)| {
        let value = word(node, "a header", problems);
        (key.name.clone(), value.map(|value| value.text.to_owned()).unwrap_or_default())
    };
    entries.map(read).collect()
}

/// The criteria of those of these tests that ask the service, the first of which is number `first` of its waypoint.
#[must_use]
pub fn criteria_over_http(service: Option<&HttpService>, tests: &[Json], first: usize) -> Vec<Criterion> {
    let Some(service) = service else { return Vec::new() };
    let numbered = (first..).zip(tests);
    numbered.filter_map(|(number, spec)| criterion(service, &test_of(service, spec)?, spec, number)).collect()
}

/// `None`: its command would be too long.
pub(crate) fn criterion(service: &HttpService, test: &HttpTest, spec: &Json, number: usize) -> Option<Criterion> {
    let command = over_http::command(test);
    let id = CriterionId::try_new(format!("test-{number}")).ok()?;
    let check = Check {
        command,
        expect: None,
        red_first: spec.get("red_first").and_then(Json::as_bool).unwrap_or_default(),
        timeout: CHECK_TIMEOUT_DEFAULT,
        network: service.network,
        writes_tree: service.writes_tree,
        evidence: service.evidence,
        mutants: None,
    };
    let fits = check.command.len() <= COMMAND_BYTES_MAX;
    fits.then(|| Criterion { id, statement: statement(test), check: Some(check) })
}

fn statement(test: &HttpTest) -> String {
    let HttpExpected { status, body_contains, headers } = &test.then;
    let status = status.iter().map(|status| format!("status {status}"));
    let texts = body_contains.iter().map(|text| format!("a body with {:?}", start(text)));
    let headers = headers.iter().map(|(name, value)| format!("the header {}: {}", start(name), start(value)));
    let mut all: Vec<String> = status.chain(texts).chain(headers).collect();
    let more = all.len().saturating_sub(10);
    all.truncate(10);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("given {}: {} is answered with {}{more}", start(&test.given), start(&test.when), all.join(", "))
}

fn start(text: &str) -> String {
    let end = text.char_indices().nth(QUOTED_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", shown::line(text.get(..end).unwrap_or_default()))
}

/// The test that a spec is; `None`: it is for the judge.
pub(crate) fn test_of(service: &HttpService, spec: &Json) -> Option<HttpTest> {
    let when = spec.get("when")?.as_str().filter(|when| HttpRequestLine::read(when).is_some())?;
    let then = spec.get("then")?.as_object()?;
    let texts = |value: &Json| value.as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default();
    let pairs = |value: &Json| {
        let all = value.as_object().into_iter().flatten();
        all.map(|(name, value)| (name.clone(), text(value))).collect()
    };
    let given = spec.get("given").map(text).unwrap_or_default();
    Some(HttpTest {
        run: service.run.clone(),
        ready: service.ready.clone(),
        within: service.within,
        with: service.given.get(&given).cloned().unwrap_or_default(),
        given,
        when: when.to_owned(),
        then: HttpExpected {
            status: then.get("status").and_then(Json::as_u64).and_then(|status| u16::try_from(status).ok()),
            body_contains: then.get("body_contains").map(texts).unwrap_or_default(),
            headers: then.get("headers").map(pairs).unwrap_or_default(),
        },
    })
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
