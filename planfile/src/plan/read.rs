//! Reading whole files: a plan, and a file of tests that a plan names. A file is read first, and then held to the rules.

use holdpoint_protocol::plan::{HttpService, Plan};
use holdpoint_text::bom;
use serde_json::Value as Json;

use super::{bdd, whole, workflows::KnownWorkflow};
use crate::{
    rules::{self},
    yaml::{
        error::{PlanErrors, Problems},
        fields::Fields,
        findings::PlanProblems,
        path::At,
        place::Position,
        source::text_of,
        tree::{self, FileKind, Value},
    },
};

/// What messages about plan files say.
const PLAN_KIND: FileKind = FileKind {
    name: "plan",
    least: "a plan has at least `plan: NAME` and `waypoints:` with one waypoint",
    depth: "a plan needs six levels; only `metadata` and `tests` may have a few more",
};

/// The largest plan file in bytes. A plan is written by people or small scripts; 4 MiB holds some 10,000 waypoints.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// What messages about files of specs say.
const TESTS_KIND: FileKind = FileKind {
    name: "file of tests",
    least: "a file of tests has at least `tests:` with one item of `given`, `when` and `then`",
    depth: "a test needs five levels",
};

/// Reads a plan from a file's bytes. Of a larger file only one byte more than [`FILE_BYTES_MAX`] has to be given.
///
/// # Errors
/// As [`read`]; bytes that are not UTF-8 have only one problem.
pub fn read_bytes(bytes: &[u8], file: &str, workflows: &[KnownWorkflow<'_>]) -> Result<Plan, PlanErrors> {
    let mut problems = Problems::default();
    if bytes.len() > FILE_BYTES_MAX {
        refuse_size(&mut problems);
        return Err(problems.finish(file, ""));
    }
    match text_of(bytes, &mut problems) {
        Ok(text) => read(text, file, workflows),
        Err(before) => Err(problems.finish(file, before)),
    }
}

/// A plan from a file's bytes as far as it can be read, held against no rule: what workflows it names, and on what it stands.
/// `None`: [`read_bytes`] says why.
#[must_use]
pub fn glance(bytes: &[u8]) -> Option<Plan> {
    let mut problems = Problems::default();
    let text = text_of(bytes.get(..FILE_BYTES_MAX.min(bytes.len()))?, &mut problems).ok()?;
    let root = tree::load(text, &PLAN_KIND, &mut problems)?;
    whole::read(&root, &mut problems)
}

/// Reads a plan. `file` is only the name under which problems are reported.
///
/// # Errors
/// All problems of the file, in the order of their places; a text that is not YAML has only one.
pub fn read(text: &str, file: &str, workflows: &[KnownWorkflow<'_>]) -> Result<Plan, PlanErrors> {
    let text = bom::stripped(text);
    let mut problems = Problems::default();
    let plan = parse(text, workflows, &mut problems);
    match (plan, problems.is_empty()) {
        (Some(plan), true) => Ok(plan),
        _ => Err(problems.finish(file, text)),
    }
}

fn parse(text: &str, workflows: &[KnownWorkflow<'_>], problems: &mut Problems) -> Option<Plan> {
    if text.len() > FILE_BYTES_MAX {
        refuse_size(problems);
        return None;
    }
    let root = tree::load(text, &PLAN_KIND, problems)?;
    let plan = whole::read(&root, problems)?;
    problems.locate(rules::plan::validate(&plan, workflows), &root);
    Some(plan)
}

fn refuse_size(problems: &mut Problems) {
    let hint = "split it into several plans, and keep long texts in documents that `sources` names";
    problems.add(Position::START, format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20), hint);
}

/// What was found, at its lines in the plan's file.
#[must_use]
pub fn located(text: &str, file: &str, found: PlanProblems) -> PlanErrors {
    let text = bom::stripped(text);
    let mut problems = Problems::default();
    if let Some(root) = tree::load(text, &PLAN_KIND, &mut problems) {
        problems.locate(found, &root);
    }
    problems.finish(file, text)
}

/// Reads a file of specs: `tests:` with a list of them, or the list alone. Of a larger file only one byte more than
/// [`FILE_BYTES_MAX`] has to be given. `file` is only the name under which problems are reported, and
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
    let root = tree::load(text, &TESTS_KIND, &mut problems);
    let found = root.as_ref().map(|root| match &root.value {
        Value::List(items) => items.iter().filter_map(|item| bdd::test(item, &mut problems)).collect(),
        _ => match Fields::open(root, "a file of tests", &["tests"], &mut problems) {
            Some(fields) => {
                fields.demand("tests", "add `tests:` with a list", &mut problems);
                bdd::tests(&fields, &mut problems)
            }
            None => Vec::new(),
        },
    });
    // With a test that could not be read the others would have wrong numbers.
    if let (Some(root), Some(tests), true) = (&root, &found, problems.is_empty()) {
        let (at, mut wrong) = (At::ROOT, PlanProblems::default());
        let at = if matches!(root.value, Value::List(_)) { at } else { at.key("tests") };
        rules::plan::over_http::check_tests(at, service, tests, None, &mut wrong);
        problems.locate(wrong, root);
    }
    match (found, problems.is_empty()) {
        (Some(found), true) => Ok(found),
        _ => Err(problems.finish(file, text)),
    }
}

#[cfg(test)]
mod tests {
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
