//! A report of GitLab's Code Quality: the problems that have a place, for the diff of a merge request.

use holdpoint_protocol::Digest;
use serde_json::{Value, json};

use super::problems;
use crate::verify::verdict::ChangeVerdict;

/// An issue for each problem with a place. JUnit has the others.
pub(crate) fn codequality(verdict: &ChangeVerdict) -> Value {
    let issues = problems(verdict).into_iter().filter_map(|problem| {
        let (path, line) = problem.place?;
        let of = format!("{}\n{path}\n{line}\n{}", problem.rule, problem.text);
        Some(json!({
            "description": problem.text, "check_name": problem.rule, "fingerprint": Digest::of(of.as_bytes()).hex(),
            "severity": if problem.decides { "blocker" } else { "major" },
            "location": {"path": path, "lines": {"begin": line}},
        }))
    });
    issues.collect()
}
