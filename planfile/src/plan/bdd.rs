//! BDD specs of a waypoint (GATE-23): what is given, what happens, and what follows. They are in the plan, or in a file
//! of the repository, and are shown to agents. Those that ask the plan's service are criteria as well ([`super::over_http`]).

use serde_json::{Value as Json, json};

use super::over_http;
use crate::yaml::{
    error::Problems,
    fields::Fields,
    tree::{Node, Value},
};

/// Status codes of HTTP.
const STATUS: std::ops::RangeInclusive<u64> = 100..=599;

/// Reads the specs of a waypoint.
pub(super) fn tests(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Json> {
    fields.list("tests", problems, test)
}

/// Reads one spec.
pub(super) fn test(node: &Node, problems: &mut Problems) -> Option<Json> {
    let spec = Fields::open(node, "a test", &["given", "when", "then", "red_first"], problems)?;
    spec.demand("given", "say what holds before, such as `given: an expired token`", problems);
    spec.demand("when", "say what happens, such as `when: GET /me`", problems);
    spec.demand("then", "say what follows, in words or as `then: {status: 401}`", problems);
    let mut read = json!({
        "given": spec.text("given", problems).unwrap_or_default(),
        "when": spec.text("when", problems).unwrap_or_default(),
    });
    read["then"] = match spec.get("then", problems) {
        Some(node) if matches!(node.value, Value::Scalar { .. }) => json!(spec.text("then", problems)),
        Some(node) => then(node, problems)?,
        None => Json::Null,
    };
    if spec.flag("red_first", problems) == Some(true) {
        read["red_first"] = json!(true);
    }
    Some(read)
}

fn then(node: &Node, problems: &mut Problems) -> Option<Json> {
    let then = Fields::open(node, "`then`", &["status", "body_contains", "headers"], problems)?;
    let mut read = json!({});
    if let Some(status) = then.number::<u64>("status", &STATUS, problems) {
        if !STATUS.contains(&status) {
            problems.add(node.at, "`status` is no status code of HTTP", "write one from 100 to 599");
        }
        read["status"] = json!(status);
    }
    if then.has("body_contains") {
        read["body_contains"] = json!(then.texts("body_contains", problems));
    }
    if then.has("headers") {
        read["headers"] = json!(over_http::headers(&then, problems));
    }
    Some(read)
}
