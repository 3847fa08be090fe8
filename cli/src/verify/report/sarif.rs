//! SARIF 2.1.0, for code scanning (OASIS, sarif-v2.1.0).

use std::collections::BTreeSet;

use form_urlencoded::byte_serialize;
use serde_json::{Value, json};

use super::problems;
use crate::verify::verdict::ChangeVerdict;

/// A result for each problem.
pub(crate) fn sarif(verdict: &ChangeVerdict) -> Value {
    let problems = problems(verdict);
    let rules: BTreeSet<&str> = problems.iter().map(|problem| problem.rule).collect();
    let rules: Vec<Value> = rules.into_iter().map(|rule| json!({"id": rule})).collect();
    let results: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let level = if problem.decides { "error" } else { "warning" };
            let mut result =
                json!({"ruleId": problem.rule, "level": level, "message": {"text": problem.text}, "locations": []});
            if let Some((path, line)) = problem.place {
                result["locations"] = json!([{"physicalLocation": {
                    "artifactLocation": {"uri": uri(path), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line},
                }}]);
            }
            result
        })
        .collect();
    let driver = json!({"name": "holdpoint", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    })
}

/// A path as a relative address (RFC 3986).
fn uri(path: &str) -> String {
    let segment = |segment: &str| byte_serialize(segment.as_bytes()).collect::<String>().replace('+', "%20");
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}
