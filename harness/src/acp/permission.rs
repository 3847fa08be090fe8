//! What an agent may do without a person: inside the sandbox everything, unless its role is configured to ask. Pure.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::event::beginning;
use crate::{
    ask::message::{PATIENCE_DEFAULT, RequestKind},
    backend::question::{CONTEXT_BYTES_MAX, OPTION_BYTES_MAX, OPTIONS_MAX, QUESTION_BYTES_MAX},
};

/// Calls that are remembered.
const CALLS_MAX: usize = 64;
/// Bytes of what a call is for, and of its input.
const TITLE_BYTES_MAX: usize = QUESTION_BYTES_MAX / 2;
const INPUT_BYTES_MAX: usize = CONTEXT_BYTES_MAX / 4;

/// A tool call as the agent reported it.
#[derive(Debug)]
struct ToolCall {
    id: String,
    title: String,
    input: String,
}

/// The last tool calls that an agent reported: some name only the call's id when they ask for its permission.
#[derive(Debug, Default)]
pub struct ToolCalls(VecDeque<ToolCall>);

impl ToolCalls {
    /// Takes note of an update, if it is about a tool call.
    pub fn note(&mut self, update: &Value) {
        let text = |name: &str| update.get(name).and_then(Value::as_str);
        let (Some("tool_call" | "tool_call_update"), Some(id)) = (text("sessionUpdate"), text("toolCallId")) else {
            return;
        };
        let id = beginning(id, OPTION_BYTES_MAX);
        let at = self.0.iter().position(|call| call.id == id);
        let known = at.and_then(|at| self.0.remove(at));
        let mut call = known.unwrap_or(ToolCall { id, title: String::new(), input: String::new() });
        if let Some(title) = text("title") {
            call.title = beginning(title, TITLE_BYTES_MAX);
        }
        if let Some(input) = input_of(update) {
            call.input = beginning(&input, INPUT_BYTES_MAX);
        }
        self.0.push_back(call);
        if self.0.len() > CALLS_MAX {
            self.0.pop_front();
        }
    }

    /// Whether the call that this is about was reported before.
    #[must_use]
    pub fn knows(&self, call: &Value) -> bool {
        call.get("toolCallId").and_then(Value::as_str).is_none_or(|id| self.of(id).is_some())
    }

    fn of(&self, id: &str) -> Option<&ToolCall> {
        self.0.iter().find(|call| call.id == beginning(id, OPTION_BYTES_MAX))
    }
}

fn input_of(call: &Value) -> Option<String> {
    call.get("rawInput").filter(|input| !input.is_null()).map(Value::to_string)
}

/// One of the answers that an agent can work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// How the agent knows it.
    pub id: String,
    /// How people know it.
    pub name: String,
    /// Whether it allows, or refuses; `None`: neither.
    pub allows: Option<bool>,
}

/// What an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// For what, in a line.
    pub tool: String,
    /// What it would do.
    pub details: String,
    /// The answers, those that hold for this time first.
    pub choices: Vec<Choice>,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionDecision {
    /// This answer.
    Choose(Choice),
    /// A person says.
    Ask,
}

impl PermissionRequest {
    /// What a request asks for, as it says or as the call was reported before; `None`: it offers no answer.
    #[must_use]
    pub fn of(params: &Value, calls: &ToolCalls) -> Option<Self> {
        let call = params.get("toolCall").unwrap_or(&Value::Null);
        let text = |name: &str| call.get(name).and_then(Value::as_str);
        let known = text("toolCallId").and_then(|id| calls.of(id));
        let title = text("title").or_else(|| known.map(|known| known.title.as_str()).filter(|title| !title.is_empty()));
        let tool = title.or_else(|| text("kind")).or_else(|| text("toolCallId")).unwrap_or("a tool");
        let details = input_of(call).or_else(|| known.map(|known| known.input.clone())).unwrap_or_default();
        let mut choices: Vec<(bool, Choice)> = Vec::new();
        for option in params.get("options")?.as_array()?.iter().take(OPTIONS_MAX) {
            let text = |name: &str| option.get(name).and_then(Value::as_str);
            let (Some(id), Some(name)) = (text("optionId"), text("name")) else { continue };
            let kind = text("kind").unwrap_or_default();
            let allows = match kind.split('_').next() {
                Some("allow") => Some(true),
                Some("reject") => Some(false),
                _ => None,
            };
            let (id, name) = (id.to_owned(), beginning(name.trim(), OPTION_BYTES_MAX));
            // Names are how a person chooses, so each stands for one answer.
            if id.len() > OPTION_BYTES_MAX || name.is_empty() || choices.iter().any(|(_, other)| other.name == name) {
                continue;
            }
            choices.push((kind.ends_with("_always"), Choice { id, name, allows }));
        }
        choices.sort_by_key(|(always, _)| *always);
        let choices: Vec<Choice> = choices.into_iter().map(|(_, choice)| choice).collect();
        let (tool, details) = (beginning(tool, TITLE_BYTES_MAX), beginning(&details, INPUT_BYTES_MAX));
        (!choices.is_empty()).then_some(Self { tool, details, choices })
    }

    /// What becomes of it. A request that offers no way to allow is a question of another kind.
    #[must_use]
    pub fn decide(&self, asks: bool) -> PermissionDecision {
        match self.by(true) {
            Some(choice) if !asks => PermissionDecision::Choose(choice.clone()),
            _ => PermissionDecision::Ask,
        }
    }

    /// The narrowest answer that allows, or refuses.
    #[must_use]
    pub fn by(&self, allows: bool) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.allows == Some(allows))
    }

    /// The answer with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.name == name)
    }

    /// The question to a person.
    #[must_use]
    pub fn question(&self) -> RequestKind {
        RequestKind::Question {
            text: format!("The agent asks: {}", self.tool),
            options: self.choices.iter().map(|choice| choice.name.clone()).collect(),
            confidence: None,
            context: self.details.clone(),
            patience: PATIENCE_DEFAULT,
        }
    }
}

/// The answer to the request; `None`: nobody chose.
#[must_use]
pub fn outcome(choice: Option<&Choice>) -> Value {
    match choice {
        Some(choice) => json!({"outcome": {"outcome": "selected", "optionId": choice.id}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kinds: &[&str]) -> Option<PermissionRequest> {
        let options: Vec<Value> =
            kinds.iter().map(|kind| json!({"optionId": kind, "name": format!("{kind}!"), "kind": kind})).collect();
        PermissionRequest::of(
            &json!({"toolCall": {"title": "Run ls", "rawInput": {"command": "ls"}}, "options": options}),
            &ToolCalls::default(),
        )
    }

    #[test]
    fn inside_the_sandbox_the_narrowest_permission_is_given() {
        let asked = asked(&["allow_always", "reject_once", "allow_once"]).unwrap();
        assert_eq!(asked.by(true).unwrap().id, "allow_once");
        assert!(matches!(asked.decide(false), PermissionDecision::Choose(choice) if choice.id == "allow_once"));
        assert_eq!(asked.decide(true), PermissionDecision::Ask);
        assert_eq!(asked.by(false).unwrap().id, "reject_once");
    }

    #[test]
    fn what_offers_no_permission_is_a_persons_to_answer() {
        let asked = asked(&["left", "right"]).unwrap();
        assert_eq!(asked.decide(false), PermissionDecision::Ask);
        let RequestKind::Question { text, options, context, .. } = asked.question() else { panic!() };
        assert_eq!((text.as_str(), context.as_str()), ("The agent asks: Run ls", r#"{"command":"ls"}"#));
        assert_eq!(options, ["left!", "right!"]);
        assert_eq!(outcome(asked.named("right!"))["outcome"]["optionId"], "right");
        assert_eq!(outcome(None)["outcome"]["outcome"], "cancelled");
    }

    #[test]
    fn of_calls_the_last_are_known_by_all_that_was_reported_of_them() {
        let mut calls = ToolCalls::default();
        calls.note(&json!({"sessionUpdate": "plan", "toolCallId": "c"}));
        assert!(calls.of("c").is_none());
        calls.note(&json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "rawInput": {"text": "x".repeat(1 << 20)}}));
        calls.note(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"}));
        let call = calls.of("c").unwrap();
        assert_eq!((call.title.as_str(), call.input.len()), ("t", INPUT_BYTES_MAX));
        for n in 0..CALLS_MAX {
            calls.note(&json!({"sessionUpdate": "tool_call", "toolCallId": n.to_string()}));
        }
        assert!(calls.of("c").is_none() && calls.of("0").is_some() && calls.0.len() == CALLS_MAX);
    }

    #[test]
    fn requests_without_a_usable_answer_are_none() {
        assert_eq!(asked(&[]), None);
        assert_eq!(PermissionRequest::of(&json!({"options": [{"optionId": 7}]}), &ToolCalls::default()), None);
        let many: Vec<String> = (0..100).map(|n| format!("o{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(asked(&many).unwrap().choices.len(), OPTIONS_MAX);
        assert_eq!(asked(&["same", "same"]).unwrap().choices.len(), 1);
    }
}
