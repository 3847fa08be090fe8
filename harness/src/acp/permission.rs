//! What an agent may do without a person: inside the sandbox everything, unless its role is configured to ask. Pure.

use serde_json::{Value, json};

use super::event::beginning;
use crate::{
    ask::message::{PATIENCE_DEFAULT, RequestKind},
    backend::question::{CONTEXT_BYTES_MAX, OPTION_BYTES_MAX, OPTIONS_MAX, QUESTION_BYTES_MAX},
};

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
    /// What a request asks for; `None`: it offers no answer.
    #[must_use]
    pub fn of(params: &Value) -> Option<Self> {
        let call = params.get("toolCall").unwrap_or(&Value::Null);
        let text = |name: &str| call.get(name).and_then(Value::as_str);
        let tool = text("title").or_else(|| text("kind")).or_else(|| text("toolCallId")).unwrap_or("a tool");
        let details = call.get("rawInput").filter(|input| !input.is_null()).map(Value::to_string).unwrap_or_default();
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
        let tool = beginning(tool, QUESTION_BYTES_MAX / 2);
        (!choices.is_empty()).then(|| Self { tool, details: beginning(&details, CONTEXT_BYTES_MAX / 4), choices })
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
    fn requests_without_a_usable_answer_are_none() {
        assert_eq!(asked(&[]), None);
        assert_eq!(PermissionRequest::of(&json!({"options": [{"optionId": 7}]})), None);
        let many: Vec<String> = (0..100).map(|n| format!("o{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(asked(&many).unwrap().choices.len(), OPTIONS_MAX);
        assert_eq!(asked(&["same", "same"]).unwrap().choices.len(), 1);
    }
}
