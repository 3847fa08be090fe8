//! What is called for by one request: completions, and the turn that an agent holds.

use holdpoint_protocol::{
    completing::{CompleteAnswer, CompleteCall, CompletionRefused, CompletionTaken, TaskAnswer, TaskQuery},
    state::Outcome,
};
use serde_json::json;

use super::{Kinds, another, artifacts::turn, published, turns::agents_complete_turn, unpublished};

pub(super) fn all() -> Kinds {
    let call = CompleteCall {
        subject: "hp.v1.handoff.editor.4.demo-1.retry-backoff.completion".to_owned(),
        artifact: r#"{"schema_version":"1.0","outcome":"complete","summary":"All of it has a source."}"#.to_owned(),
        signature: "c2lnbmF0dXJl".to_owned(),
    };
    let taken = CompletionTaken {
        reference: "HP_HANDOFF_EDITOR/43".to_owned(),
        outcome: Some(Outcome::NeedsReview),
        warning: Some(json!({"warning": "vague_blockers", "message": "say more", "vagueBlockers": ["needs work"]})),
    };
    let bare = CompletionTaken { outcome: None, warning: None, ..taken.clone() };
    let refused = CompletionRefused {
        reference: "HP_HANDOFF_EDITOR/44".to_owned(),
        code: "completion_invalid".to_owned(),
        message: "the completion of turn turn-1 cannot be taken: missing_summary".to_owned(),
        hint: "correct it".to_owned(),
        details: Some(json!({"error": "missing_summary", "message": "say it", "requiredField": "summary"})),
    };
    let query =
        TaskQuery { flight: "demo-1".parse().unwrap(), waypoint: "retry-backoff".parse().unwrap(), turn: Some(turn()) };
    let held = TaskAnswer::Turn { turn: Box::new(agents_complete_turn()) };
    let task = TaskAnswer::Task { task: json!({"id": "retry-backoff", "status": "in_progress"}) };
    vec![
        published("complete_call", call),
        published("complete_answer", CompleteAnswer::Taken(taken)),
        unpublished("complete_answer_bare", CompleteAnswer::Taken(bare)),
        another("complete_answer_refused", "complete_answer", CompleteAnswer::Refused(refused)),
        published("task_query", query),
        published("task_answer", held),
        another("task_answer_people", "task_answer", task),
    ]
}
