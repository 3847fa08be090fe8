use holdpoint_protocol::ids::{GateId, WaypointId};

use super::*;
use crate::handed::Oversized;

fn wanted<'a>(waypoint: &'a WaypointId, gate: &'a GateId) -> CompletionRules<'a> {
    CompletionRules { waypoint, gate, can_reject: true, default: Outcome::Complete, demands: None }
}

fn reading(object: Value, change: impl FnOnce(&mut CompletionRules<'_>)) -> Result<ValidCompletion, Lesson> {
    let (waypoint, gate) = ("w".parse().unwrap(), "edit".parse().unwrap());
    let mut wanted = wanted(&waypoint, &gate);
    change(&mut wanted);
    read(object.as_object().unwrap(), wanted)
}

fn firm(wanted: &mut CompletionRules<'_>) {
    wanted.can_reject = false;
}

/// The JSON object behind `Example:`.
fn shown(lesson: &Lesson) -> Value {
    let (_, example) = lesson.message.split_once("Example:\n").unwrap_or_else(|| panic!("{lesson}"));
    serde_json::from_str(example).unwrap()
}

#[test]
fn each_error_has_its_code_and_details_and_an_example_that_is_taken() {
    type Change = fn(&mut CompletionRules<'_>);
    let as_is: Change = |_| {};
    let three = json!(["complete", "needs_review", "blocked"]);
    let two = json!(["complete", "blocked"]);
    type Row<'a> = (Value, Change, &'a str, &'a [(&'a str, Value)]);
    let table: [Row<'_>; 14] = [
        (json!({"outcome": "done", "summary": "x"}), as_is, "invalid_outcome", &[("validOutcomes", three.clone())]),
        (json!({"outcome": 7, "summary": "x"}), as_is, "invalid_outcome", &[("validOutcomes", three.clone())]),
        (json!({"outcome": "skip", "summary": "x"}), as_is, "invalid_outcome", &[("validOutcomes", three)]),
        (json!({"outcome": "done", "summary": "x"}), firm, "invalid_outcome", &[("validOutcomes", two.clone())]),
        (json!({"outcome": "complete"}), as_is, "missing_summary", &[("requiredField", json!("summary"))]),
        (json!({"outcome": "complete", "summary": " "}), as_is, "missing_summary", &[]),
        (
            json!({"outcome": "needs_review", "summary": "x"}),
            as_is,
            "missing_blockers",
            &[("requiredField", json!("blockers"))],
        ),
        (json!({"outcome": "blocked", "summary": "x", "blockers": "no"}), as_is, "missing_blockers", &[]),
        (json!({"outcome": "blocked", "summary": "x", "blockers": []}), firm, "empty_blockers", &[]),
        (json!({"outcome": "needs_review", "summary": "x", "blockers": [" "]}), as_is, "empty_blockers", &[]),
        (
            json!({"outcome": "needs_review", "summary": "x", "blockers": ["y"]}),
            firm,
            "reject_not_allowed",
            &[("gate", json!("edit")), ("canReject", json!(false)), ("validOutcomes", two)],
        ),
        (
            json!({"outcome": "blocked", "summary": "x", "blockers": ["y"], "block_reason": "tired"}),
            as_is,
            "invalid_block_reason",
            &[("validBlockReasons", json!(["needs_human_input", "external_dependency", "scope_change"]))],
        ),
        (
            json!({"outcome": "complete", "summary": "x", "blockReason": "scope_change"}),
            as_is,
            "invalid_block_reason",
            &[("validOutcomes", json!(["blocked"]))],
        ),
        (
            json!({"taskId": "v", "summary": "x"}),
            as_is,
            "wrong_task",
            &[("assignedTask", json!("w")), ("attemptedTask", json!("v"))],
        ),
    ];
    for (object, change, code, details) in table {
        let lesson = reading(object.clone(), change).unwrap_err();
        let json = lesson.to_json();
        assert_eq!((json["error"].as_str(), lesson.code.as_str()), (Some(code), code), "{object}");
        for (key, value) in details {
            assert_eq!(&json[*key], value, "{object}: {key}");
        }
        assert_eq!(json["example"], shown(&lesson), "{object}: programs get the example that people read");
        reading(shown(&lesson), change).unwrap_or_else(|error| panic!("the example of {code} is wrong: {error}"));
    }
}

#[test]
fn what_is_too_long_is_told_with_its_field_and_its_bound() {
    let size = Oversized { field: "summary", found: 20_000, most: 16_384, unit: "bytes" };
    let json = too_long(&size).to_json();
    assert_eq!((&json["error"], &json["requiredField"]), (&json!("too_long"), &json!("summary")));
    assert_eq!((&json["found"], &json["most"], &json["unit"]), (&json!(20_000), &json!(16_384), &json!("bytes")));
}

#[test]
fn a_turn_that_nothing_completes_says_what_ends_it_and_shows_no_completion() {
    let json = elsewhere("makes work", "End your program with exit code 0.").to_json();
    assert_eq!((&json["error"], &json["example"]), (&json!("not_completed_here"), &Value::Null));
    assert!(json["message"].as_str().unwrap().contains("it makes work"), "{json}");
}

#[test]
fn an_agent_at_a_gate_for_people_learns_whose_it_is() {
    let lesson = human_required(&"sign".parse().unwrap(), &"editor-1".parse().unwrap());
    let json = lesson.to_json();
    assert_eq!(json["error"], "human_required");
    assert_eq!(
        (&json["gate"], &json["requireHuman"], &json["yourAgentId"]),
        (&json!("sign"), &json!(true), &json!("editor-1"))
    );
}

#[test]
fn a_completion_without_an_outcome_is_the_default_and_its_summary_says_why() {
    let said = reading(json!({"summary": "done", "blockers": null}), |_| {}).unwrap();
    assert_eq!((said.outcome, said.blockers), (Outcome::Complete, Vec::new()));
    let said = reading(json!({"summary": "no access"}), |wanted| wanted.default = Outcome::Blocked).unwrap();
    assert_eq!((said.outcome, said.blockers), (Outcome::Blocked, vec!["no access".to_owned()]));
    let lesson = reading(json!({"summary": "no"}), |wanted| {
        firm(wanted);
        wanted.default = Outcome::NeedsReview;
    });
    assert_eq!(lesson.unwrap_err().code, Code::RejectNotAllowed);
}

#[test]
fn everything_that_is_said_is_kept() {
    let said = reading(
        json!({
            "outcome": "needs_review", "summary": "s", "blockers": ["b", ""], "rejectionNotes": "n",
            "metadata": {"tokens": 7}, "task": "w",
        }),
        |_| {},
    );
    let expected = ValidCompletion {
        outcome: Outcome::NeedsReview,
        summary: "s".to_owned(),
        block_reason: None,
        blockers: vec!["b".to_owned()],
        rejection_notes: Some("n".to_owned()),
        document: None,
        metadata: [("tokens".to_owned(), json!(7))].into(),
    };
    assert_eq!(said, Ok(expected));
}

#[test]
fn blockers_that_nobody_can_act_on_are_a_warning() {
    let blockers =
        ["needs improvement", "Not good.", "Missing error handling for expired tokens", "see #7", "Not good enough"];
    let blockers = blockers.map(str::to_owned);
    assert_eq!(vague(&blockers), ["needs improvement", "Not good.", "Not good enough"]);
    let warning = warning(&blockers).unwrap();
    assert_eq!(warning["warning"], "vague_blockers");
    assert_eq!(warning["vagueBlockers"].as_array().map(Vec::len), Some(3));
    assert_eq!(super::warning(&blockers[2..3]), None);
}

#[test]
fn a_document_that_is_blocked_blocks_its_gate_whatever_outcome_is_named_besides() {
    let document = "---\nstatus: blocked\nblock_reason: scope_change\nblock_details: Two products\n---\nx\n";
    for outcome in [json!(null), json!("complete"), json!("needs_review"), json!("blocked")] {
        let said = reading(json!({"outcome": outcome, "summary": "s", "document": document}), |_| {}).unwrap();
        assert_eq!(said.outcome, Outcome::Blocked, "{outcome}");
        assert_eq!(
            (said.block_reason, &said.blockers[..]),
            (Some(BlockReason::ScopeChange), &["Two products".to_owned()][..])
        );
    }
}
