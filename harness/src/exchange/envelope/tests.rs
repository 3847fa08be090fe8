use holdpoint_planfile::exchange::HandoffRules;
use serde_json::json;

use super::*;
use crate::backend::markers;

fn expected(rules: &str) -> Expected {
    let rules = HandoffRules::read(rules.as_bytes(), "h").unwrap();
    let criteria = ["unit".parse().unwrap()].into();
    Expected::work(&"builder".parse().unwrap(), &"w1".parse().unwrap(), criteria, &rules)
}

const DEFAULTS: &str = "retry_settings: {max_json_retries: 5}\n";

fn good() -> Value {
    json!({"version": "1.0", "component": "builder", "status": "success", "session_id": "s", "timestamp": "2026-01-01T00:00:00Z",
        "data": {"task_id": "w1", "success": true, "completed_normally": true, "todos": []},
        "metadata": {"retry_count": 0, "previous_errors": []}})
}

fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut object = good();
    change(&mut object);
    format!("{object}\n")
}

fn printed(text: &str, expected: &Expected, before: Before<'_>) -> Result<Option<Whole>, ResultProblem> {
    let found = markers::read(text.as_bytes(), b"", "", expected.contract(before));
    read(found.envelope.as_ref(), expected, before)
}

fn problem(text: &str) -> ResultProblem {
    printed(text, &expected(DEFAULTS), Before::default()).unwrap_err()
}

#[test]
fn a_whole_envelope_is_read_and_none_is_none() {
    let read = |text: &str| printed(text, &expected(DEFAULTS), Before::default()).unwrap();
    assert_eq!(read(&with(|_| {})).map(|whole| whole.status), Some(EnvelopeStatus::Success));
    assert_eq!(read("all done\n"), None);
    let failed = read(&with(|object| {
        *object = json!({"version": "1.0", "component": "agent", "status": "failure", "data": {}});
    }));
    assert_eq!(failed.map(|whole| whole.status), Some(EnvelopeStatus::Failure));
}

#[test]
fn each_kind_of_failure_is_told_from_the_others() {
    let text = with(|_| {});
    let cut = &text[..text.len() - 12];
    let table = [
        (text.replace("true,\"task", "true;\"task"), ExchangeErrorKind::Malformed, "is no JSON"),
        (text.replace("\"success\":true", "\"success\":yes"), ExchangeErrorKind::Malformed, "is no JSON"),
        (cut.to_owned(), ExchangeErrorKind::Partial, "was cut off"),
        (with(|o| o["status"] = "partial".into()), ExchangeErrorKind::Partial, "finish what is left"),
        (
            with(|o| o["data"]["todos"] = "none".into()),
            ExchangeErrorKind::MissingField,
            "`data.todos` has to be of type array",
        ),
        (with(|o| o["data"]["task_id"] = "w2".into()), ExchangeErrorKind::Semantic, "this waypoint is \"w1\""),
        (
            with(|o| o["component"] = "code_review".into()),
            ExchangeErrorKind::Semantic,
            "has to be one of builder, agent",
        ),
        (with(|o| o["status"] = "done".into()), ExchangeErrorKind::Semantic, "`status` is \"done\""),
        (with(|o| o["version"] = "2.0".into()), ExchangeErrorKind::Semantic, "1.0 is read"),
    ];
    for (text, kind, details) in table {
        let problem = problem(&text);
        assert_eq!(problem.kind, kind, "{text}: {problem:?}");
        assert!(problem.details.contains(details), "{}", problem.details);
    }
}

#[test]
fn all_fields_that_are_missing_are_named_at_once_and_what_is_there_is_kept() {
    let text = with(|object| {
        object["data"] = json!({"task_id": "w1"});
        object["status"] = Value::Null;
    });
    let problem = problem(&text);
    assert_eq!(problem.missing, ["status", "data.completed_normally", "data.success", "data.todos"]);
    // The next object has only these, and both together are whole.
    let rest = json!({"component": "builder", "status": "success", "data": {"success": true, "completed_normally": true, "todos": []}});
    let before = Before { asked: true, kept: problem.kept.as_ref() };
    let whole = printed(&format!("{rest}\n"), &expected(DEFAULTS), before).unwrap().unwrap();
    assert_eq!(whole.data["task_id"], "w1");
}

#[test]
fn of_an_object_that_was_cut_off_the_beginning_is_kept_only_where_the_project_wants_it() {
    let text = "{\"component\": \"builder\", \"status\": \"success\", \"data\": {\"task_id\": \"w1\", \"success\": true, \"todos\": [\"a";
    assert_eq!(problem(text).kept, None);
    let recovers = expected("retry_settings: {enable_partial_recovery: true}\n");
    let problem = printed(text, &recovers, Before::default()).unwrap_err();
    assert_eq!(problem.kind, ExchangeErrorKind::Partial);
    assert_eq!(problem.missing, ["data.completed_normally", "data.todos"]);
    assert_eq!(Value::Object(problem.kept.unwrap())["data"], json!({"task_id": "w1", "success": true}));
}

#[test]
fn an_envelope_that_was_asked_for_and_does_not_come_is_missing() {
    let asked = Before { asked: true, kept: None };
    let problem = printed("all done\n", &expected(DEFAULTS), asked).unwrap_err();
    assert_eq!((problem.kind, problem.missing.len()), (ExchangeErrorKind::MissingField, 3));
    let required = expected("components: {builder: {}}\n");
    assert!(printed("all done\n", &required, Before::default()).is_err());
}

#[test]
fn a_project_asks_for_fields_of_its_own_and_may_ask_for_none() {
    let own =
        expected("components: {builder: {fields: {files: {type: array, not_empty: true}, met: {criteria: true}}}}\n");
    let text = with(|object| object["data"]["met"] = json!(["unit", "other"]));
    let problem = printed(&text, &own, Before::default()).unwrap_err();
    assert_eq!((problem.kind, problem.missing), (ExchangeErrorKind::MissingField, vec!["data.files".to_owned()]));
    let text = with(|object| {
        object["data"]["met"] = json!(["unit", "other"]);
        object["data"]["files"] = json!([]);
    });
    let problem = printed(&text, &own, Before::default()).unwrap_err();
    assert_eq!(problem.kind, ExchangeErrorKind::Semantic);
    assert!(
        problem.details.contains("`data.files` may not be empty") && problem.details.contains("\"other\""),
        "{problem:?}"
    );
    let lenient = expected("handoff_validation: {strict_schema_validation: false}\n");
    assert!(printed(&with(|object| object["data"] = json!({})), &lenient, Before::default()).is_ok());
}
