//! BDD specs of a waypoint (GATE-23): what is given, what happens, and what follows. They are in the plan, or in a file
//! of the repository, and are shown to agents. Nothing runs them.

use serde_json::Value as Json;

use super::{
    FILE_BYTES_MAX, PlanErrors,
    error::Problems,
    fields::Fields,
    text_of,
    tree::{self, FileKind, Node, Value},
    waypoint::json,
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
    let spec = Fields::open(node, "a test", &["given", "when", "then"], problems)?;
    spec.demand("given", "say what holds before, such as `given: an expired token`", problems);
    spec.demand("when", "say what happens, such as `when: GET /me`", problems);
    spec.demand("then", "say what follows, in words or as `then: {status: 401}`", problems);
    spec.text("given", problems);
    spec.text("when", problems);
    if let Some(node) = spec.get("then", problems).filter(|node| !matches!(node.value, Value::Scalar { .. })) {
        let then = Fields::open(node, "`then`", &["status", "body_contains", "headers"], problems)?;
        if then.number::<u64>("status", &STATUS, problems).is_some_and(|status| !STATUS.contains(&status)) {
            problems.add(node.at, "`status` is no status code of HTTP", "write one from 100 to 599");
        }
        then.texts("body_contains", problems);
        if let Some(headers) = then.get("headers", problems) {
            Fields::free(headers, "`headers`", "write `headers: {Content-Type: application/json}`", problems);
        }
    }
    Some(json(node))
}

/// Reads a file of specs: `tests:` with a list of them, or the list alone. Of a larger file only one byte more than
/// [`FILE_BYTES_MAX`](super::FILE_BYTES_MAX) has to be given. `file` is only the name under which problems are reported.
///
/// # Errors
/// All problems of the file, in the order of their places.
pub fn read_tests(bytes: &[u8], file: &str) -> Result<Vec<Json>, PlanErrors> {
    let mut problems = Problems::default();
    let text = match text_of(bytes, &mut problems) {
        Ok(text) if text.len() <= FILE_BYTES_MAX => text,
        Ok(_) => {
            problems.add(tree::Position::START, "the file of tests is too large", "put some of them into the plan");
            return Err(problems.finish(file, ""));
        }
        Err(before) => return Err(problems.finish(file, before)),
    };
    let found = tree::load(text, &KIND, &mut problems).map(|root| match &root.value {
        Value::List(items) => items.iter().filter_map(|item| test(item, &mut problems)).collect(),
        _ => match Fields::open(&root, "a file of tests", &["tests"], &mut problems) {
            Some(fields) => {
                fields.demand("tests", "add `tests:` with a list", &mut problems);
                tests(&fields, &mut problems)
            }
            None => Vec::new(),
        },
    });
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
        assert_eq!(read_tests(b"- {given: a, when: b, then: in words}", "w").unwrap()[0]["then"], "in words");
        for text in [format!("- {spec}\n"), format!("tests:\n  - {spec}\n")] {
            assert_eq!(read_tests(text.as_bytes(), "w.tests.yaml").unwrap(), std::slice::from_ref(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_tests_is_told_all_at_once_with_its_place() {
        let text =
            "tests:\n  - {given: x, then: {status: 42}}\n  - {given: x, when: y, then: {body: z}, whan: q}\n  - word\n";
        let errors = read_tests(text.as_bytes(), "w.tests.yaml").unwrap_err().errors;
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
        assert!(read_tests(b"", "w").unwrap_err().errors[0].message.contains("is empty"));
        assert!(read_tests(b"\xff", "w").unwrap_err().errors[0].message.contains("UTF-8"));
        assert!(read_tests(&vec![b' '; FILE_BYTES_MAX + 1], "w").unwrap_err().errors[0].message.contains("too large"));
    }
}
