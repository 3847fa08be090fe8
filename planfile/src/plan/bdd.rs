//! BDD specs of a waypoint (GATE-23): what is given, what happens, and what follows. They are in the plan, or in a file
//! of the repository, and are shown to agents. Those that ask the plan's service are criteria as well ([`super::over_http`]).

use holdpoint_protocol::plan::HttpService;
use serde_json::{Value as Json, json};

use super::{FILE_BYTES_MAX, over_http, rules};
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::Fields,
    findings::PlanProblems,
    path::At,
    place::Position,
    source::text_of,
    tree::{self, FileKind, Node, Value},
};

/// What messages about files of specs say.
const KIND: FileKind = FileKind {
    name: "file of tests",
    least: "a file of tests has at least `tests:` with one item of `given`, `when` and `then`",
    depth: "a test needs five levels",
};

/// Status codes of HTTP.
const STATUS: std::ops::RangeInclusive<u64> = 100..=599;

/// Reads the specs of a waypoint.
pub(super) fn tests(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Json> {
    fields.list("tests", problems, test)
}

fn test(node: &Node, problems: &mut Problems) -> Option<Json> {
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

/// Reads a file of specs: `tests:` with a list of them, or the list alone. Of a larger file only one byte more than
/// [`FILE_BYTES_MAX`](super::FILE_BYTES_MAX) has to be given. `file` is only the name under which problems are reported, and
/// `service` what the tests of its plan ask.
///
/// # Errors
/// All problems of the file, in the order of their places.
pub fn read_tests(bytes: &[u8], file: &str, service: Option<&HttpService>) -> Result<Vec<Json>, PlanErrors> {
    let mut problems = Problems::default();
    let text = match text_of(bytes, &mut problems) {
        Ok(text) if text.len() <= FILE_BYTES_MAX => text,
        Ok(_) => {
            problems.add(Position::START, "the file of tests is too large", "put some of them into the plan");
            return Err(problems.finish(file, ""));
        }
        Err(before) => return Err(problems.finish(file, before)),
    };
    let root = tree::load(text, &KIND, &mut problems);
    let found = root.as_ref().map(|root| match &root.value {
        Value::List(items) => items.iter().filter_map(|item| test(item, &mut problems)).collect(),
        _ => match Fields::open(root, "a file of tests", &["tests"], &mut problems) {
            Some(fields) => {
                fields.demand("tests", "add `tests:` with a list", &mut problems);
                tests(&fields, &mut problems)
            }
            None => Vec::new(),
        },
    });
    // With a test that could not be read the others would have wrong numbers.
    if let (Some(root), Some(tests), true) = (&root, &found, problems.is_empty()) {
        let (at, mut wrong) = (At::ROOT, PlanProblems::default());
        let at = if matches!(root.value, Value::List(_)) { at } else { at.key("tests") };
        rules::over_http::check_tests(at, service, tests, None, &mut wrong);
        problems.locate(wrong, root);
    }
    match (found, problems.is_empty()) {
        (Some(found), true) => Ok(found),
        _ => Err(problems.finish(file, text)),
    }
}

#[cfg(test)]
mod cases {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_of_tests_is_a_list_or_has_one_and_keeps_what_its_specs_say() {
        let spec = "{given: a token, when: GET /me, then: {status: 200, body_contains: [ann], headers: {X: y}}}";
        let expected = json!({
            "given": "a token", "when": "GET /me",
            "then": {"status": 200, "body_contains": ["ann"], "headers": {"X": "y"}},
        });
        assert_eq!(read_tests(b"- {given: a, when: b, then: in words}", "w", None).unwrap()[0]["then"], "in words");
        for text in [format!("- {spec}\n"), format!("tests:\n  - {spec}\n")] {
            assert_eq!(
                read_tests(text.as_bytes(), "w.tests.yaml", None).unwrap(),
                std::slice::from_ref(&expected),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_with_tests_is_told_all_at_once_with_its_place() {
        let text =
            "tests:\n  - {given: x, then: {status: 42}}\n  - {given: x, when: y, then: {body: z}, whan: q}\n  - word\n";
        let errors = read_tests(text.as_bytes(), "w.tests.yaml", None).unwrap_err().errors;
        let told: Vec<_> = errors.iter().map(|error| format!("{}:{}", error.line, error.message)).collect();
        for part in [
            "2:a test has no `when`",
            "2:`status` is no status code",
            "3:unknown key `body` in `then`",
            "3:unknown key `whan`",
            "4:",
        ] {
            assert!(told.iter().any(|line| line.starts_with(part)), "{part}: {told:?}");
        }
        assert!(read_tests(b"", "w", None).unwrap_err().errors[0].message.contains("is empty"));
        assert!(read_tests(b"\xff", "w", None).unwrap_err().errors[0].message.contains("UTF-8"));
        assert!(
            read_tests(&vec![b' '; FILE_BYTES_MAX + 1], "w", None).unwrap_err().errors[0].message.contains("too large")
        );
    }
}
