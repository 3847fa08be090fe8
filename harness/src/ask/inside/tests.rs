use holdpoint_engine::waypoint;
use holdpoint_protocol::state::Outcome;
use serde_json::json;

use super::*;
use crate::{ask::desk::Nobody, complete_turn::samples::turn};

fn call(object: Value) -> ValidRequest {
    ValidRequest::Complete(object.as_object().unwrap().clone())
}

fn wrong(became: Became) -> Value {
    match became {
        Became::Wrong(error) => error,
        other => panic!("{other:?}"),
    }
}

fn recorded(became: Became) -> Recorded {
    match became {
        Became::Completed(recorded) => *recorded,
        other => panic!("{other:?}"),
    }
}

fn standing(inside: &mut Inside<'_>) -> TurnStanding {
    match inside.answer(&ValidRequest::Status) {
        Became::Status(standing) => *standing,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_completion_is_taught_the_last_right_one_is_kept_and_a_wrong_one_behind_it_changes_nothing() {
    let turn = turn();
    let mut inside = Inside::of(&turn, &Nobody);
    let error = wrong(inside.answer(&call(json!({"outcome": "needs_review", "summary": "no"}))));
    assert_eq!((&error["error"], &error["requiredField"]), (&json!("missing_blockers"), &json!("blockers")));
    let long = call(json!({"outcome": "complete", "summary": "x".repeat(20_000)}));
    assert_eq!(wrong(inside.answer(&long))["error"], "too_long");
    assert_eq!(standing(&mut inside).completion, None);

    let vague = call(json!({"outcome": "needs_review", "summary": "no", "blockers": ["needs work"]}));
    let taken = recorded(inside.answer(&vague));
    assert_eq!((taken.outcome, &taken.warning.unwrap()["warning"]), (Outcome::NeedsReview, &json!("vague_blockers")));
    let last = call(json!({"summary": "All of it has a source."}));
    assert_eq!(recorded(inside.answer(&last)), Recorded { outcome: Outcome::Complete, warning: None });
    wrong(inside.answer(&call(json!({"outcome": "done", "summary": "x"}))));
    let in_force = standing(&mut inside).completion.unwrap();
    assert_eq!((in_force.outcome, in_force.summary.as_str()), (Outcome::Complete, "All of it has a source."));
    let completed = inside.into_completed().unwrap();
    assert_eq!((completed.said.outcome, completed.named), (Outcome::Complete, false));
}

#[test]
fn a_completion_is_tried_by_the_same_rules_and_nothing_is_recorded() {
    let turn = turn();
    let mut inside = Inside::of(&turn, &Nobody);
    let tried = |object: Value| ValidRequest::Validate(object.as_object().unwrap().clone());
    let error = wrong(inside.answer(&tried(json!({"outcome": "needs_review"}))));
    assert_eq!(error["error"], "missing_blockers");
    let valid = inside.answer(&tried(json!({"outcome": "needs_review", "blockers": ["name the source in section 2"]})));
    assert_eq!(valid, Became::Valid(Box::new(Recorded { outcome: Outcome::NeedsReview, warning: None })));
    assert_eq!(standing(&mut inside).completion, None);
    assert_eq!(inside.into_completed(), None);
}

#[test]
fn a_turn_says_where_it_stands_what_was_answered_and_what_ends_it() {
    let mut turn = turn();
    let answer = |option: &str| Clarified {
        question: "Which?".to_owned(),
        option: Some(option.to_owned()),
        text: None,
        rationale: None,
        constraints: Vec::new(),
        by: "human-ann".to_owned(),
    };
    waypoint::reply(&mut turn, &answer("a"));
    let mut inside = Inside::of(&turn, &Nobody);
    inside.learn(&answer("b"));
    let standing = standing(&mut inside);
    assert_eq!((standing.attempt, standing.deadline), (Some(1), Some(turn.deadline)));
    let options: Vec<_> = standing.answered.iter().filter_map(|answer| answer.option.as_deref()).collect();
    assert_eq!(options, ["a", "b"]);
    assert!(standing.ends_with.contains("holdpoint-ask complete"), "{}", standing.ends_with);
}

#[test]
fn a_judge_cannot_complete_and_is_told_what_it_does_instead() {
    let mut judge = Inside::judge(&Nobody);
    let error = wrong(judge.answer(&call(json!({"outcome": "complete", "summary": "x"}))));
    assert_eq!(error["error"], "not_completed_here");
    assert!(error["message"].as_str().unwrap().contains("Print your verdict"), "{error}");
    let standing = standing(&mut judge);
    assert_eq!((standing.flight, standing.deadline), (None, None));
    assert_eq!(standing.ends_with, error["endsWith"].as_str().unwrap());
    assert_eq!(judge.into_completed(), None);
}
