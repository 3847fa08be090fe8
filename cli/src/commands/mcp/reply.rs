//! What a call comes to. A refusal is the tool's own error, so that the caller reads it and can correct the call.

use holdpoint_engine::completion::Lesson;
use holdpoint_text::shown;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::failure::Failure;

/// What a call gives.
#[derive(Debug)]
pub(super) enum Reply {
    /// A document.
    Text(String),
    /// An object.
    Json(Value),
}

/// Why a call gives nothing.
#[derive(Debug)]
pub(super) enum Refusal {
    /// In the words of commands.
    Failed(Failure),
    /// What a completion lacks, with an example: `{"error", "message", …}`.
    Taught(Value),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Lesson> for Refusal {
    fn from(lesson: Lesson) -> Self {
        Self::Taught(lesson.to_json())
    }
}

impl Refusal {
    /// Arguments that cannot be read.
    pub(super) fn arguments(tool: &str, error: &serde_json::Error) -> Self {
        let message = format!("the arguments of {tool} cannot be read: {error}");
        Failure::usage("invalid_arguments", message, "the tool's inputSchema says what it takes").into()
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Failed(failure) => failure.to_json(),
            Self::Taught(lesson) => taught(lesson),
        }
    }
}

/// A lesson in the form of all refusals: what is wrong, then what to do with the example.
fn taught(lesson: &Value) -> Value {
    let mut details = lesson.clone();
    let mut fields = details.as_object_mut();
    let mut text = |key: &str| {
        let value = fields.as_mut().and_then(|fields| fields.remove(key));
        value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (code, said) = (text("error"), text("message"));
    let (message, hint) = said.split_once("\n\n").unwrap_or((&said, ""));
    json!({"error": {"code": code, "message": message, "hint": hint, "details": details}})
}

/// The result as the protocol has it. Nothing in it is invisible: characters of others that move a cursor are written out.
pub(super) fn result(said: Result<Reply, Refusal>) -> CallToolResult {
    let json = |value: &Value| shown::json(&value.to_string()).into_owned();
    match said {
        Ok(Reply::Text(text)) => CallToolResult::success(vec![ContentBlock::text(shown::lines(&text))]),
        Ok(Reply::Json(value)) => CallToolResult::success(vec![ContentBlock::text(json(&value))]),
        Err(refusal) => CallToolResult::error(vec![ContentBlock::text(json(&refusal.to_json()))]),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::completion::{CompletionRules, read};
    use holdpoint_protocol::{api::ActRefused, artifact::ActCode, state::Outcome};

    use super::*;

    fn error(said: Refusal) -> Value {
        let sent = serde_json::to_value(result(Err(said))).unwrap();
        assert_eq!(sent["isError"], true);
        let text = sent["content"][0]["text"].as_str().unwrap();
        serde_json::from_str::<Value>(text).unwrap()["error"].clone()
    }

    #[test]
    fn a_refused_act_is_an_error_of_the_tool_with_code_message_hint_and_details() {
        let refused = ActRefused {
            code: ActCode::AnswerLate,
            message: "human-eve did `approve` on w".to_owned(),
            hint: "look at the inbox".to_owned(),
            details: json!({"by": "human-eve"}),
        };
        let error = error(Failure::Act(Box::new(refused)).into());
        assert_eq!((&error["code"], &error["details"]["by"]), (&json!("answer_late"), &json!("human-eve")));
        assert_eq!(
            (&error["message"], &error["hint"]),
            (&json!("human-eve did `approve` on w"), &json!("look at the inbox"))
        );
    }

    #[test]
    fn a_completion_that_lacks_something_is_answered_with_an_example() {
        let (waypoint, gate) = ("w".parse().unwrap(), "edit".parse().unwrap());
        let default = Outcome::Complete;
        let wanted = CompletionRules { waypoint: &waypoint, gate: &gate, can_reject: true, default, demands: None };
        let said = json!({"outcome": "needs_review", "summary": "Two claims have no source."});
        let error = error(read(said.as_object().unwrap(), wanted).unwrap_err().into());
        assert_eq!(
            (&error["code"], &error["details"]["requiredField"]),
            (&json!("missing_blockers"), &json!("blockers"))
        );
        assert!(error["message"].as_str().unwrap().contains("`needs_review` needs the field `blockers`"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("Example:\n{"), "{error}");
    }

    #[test]
    fn what_moves_a_cursor_is_written_out_and_json_says_the_same() {
        let value = json!({"title": "a\u{202e}b\u{9b}c"});
        let sent = serde_json::to_value(result(Ok(Reply::Json(value.clone())))).unwrap();
        let text = sent["content"][0]["text"].as_str().unwrap();
        assert!(text.is_ascii() && sent["isError"] == false, "{text}");
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
    }
}
