//! The lines that `holdpoint-acp` prints. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest update that is printed as it came, in bytes; of a longer one only what it is about.
pub const UPDATE_BYTES_MAX: usize = 64 << 10;

/// One line: something that the agent said, or what was done for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AcpEvent {
    /// The conversation is open.
    Session {
        /// Its id.
        session: String,
        /// What the agent calls itself.
        #[serde(default)]
        agent: Option<String>,
        /// Whether it is the one that was to be gone on with.
        continued: bool,
    },
    /// The agent's words: whole lines of a message, or its end.
    Message {
        /// The words.
        text: String,
        /// Whether a message begins with them.
        begins: bool,
    },
    /// What the agent thinks. Not its words.
    Thought {
        /// Its thoughts.
        text: String,
    },
    /// Anything else that it reports: tool calls, plans, what it uses up.
    Update {
        /// The update as it came, or what is kept of it.
        update: Value,
    },
    /// It asked for a permission.
    Permission {
        /// For what.
        tool: String,
        /// Whether it got it.
        allowed: bool,
    },
    /// It works in a mode in which it only reads.
    Reads {
        /// The mode, or why it does not leave it.
        mode: String,
    },
    /// It asked for a file and did not get it.
    Refused {
        /// What it asked for.
        request: String,
        /// Why it was refused.
        why: String,
    },
    /// A line that says nothing was passed over.
    Passed {
        /// Why.
        why: String,
        /// Its beginning.
        line: String,
    },
    /// The conversation failed.
    Error {
        /// Why.
        message: String,
        /// The agent's code for it.
        #[serde(default)]
        code: Option<i64>,
    },
    /// The agent has answered the prompt.
    End {
        /// Why it stopped.
        stop_reason: String,
        /// Tokens of its answer, where the agent says.
        #[serde(default)]
        usage: Option<Value>,
    },
}

/// An update as it is printed.
#[must_use]
pub fn of_update(update: Value, bytes: usize) -> AcpEvent {
    if bytes <= UPDATE_BYTES_MAX {
        return AcpEvent::Update { update };
    }
    let kept = ["sessionUpdate", "toolCallId", "name", "kind", "status"];
    let short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= 256) && !value.is_object();
    let mut about: serde_json::Map<String, Value> = kept
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), update.get(name).filter(|value| short(value))?.clone())))
        .collect();
    if let Some(title) = update.get("title").and_then(Value::as_str) {
        about.insert("title".to_owned(), beginning(title, 256).into());
    }
    about.insert("leftOutBytes".to_owned(), bytes.into());
    AcpEvent::Update { update: about.into() }
}

/// The beginning of a text, cut between characters.
#[must_use]
pub fn beginning(text: &str, bytes: usize) -> String {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_large_update_only_what_it_is_about_is_printed() {
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "t".repeat(300), "rawInput": {"text": "x".repeat(UPDATE_BYTES_MAX)}});
        let bytes = update.to_string().len();
        let AcpEvent::Update { update: kept } = of_update(update.clone(), bytes) else { panic!() };
        assert_eq!(kept["toolCallId"], "c1");
        assert_eq!((kept["title"].as_str().unwrap().len(), &kept["leftOutBytes"]), (256, &json!(bytes)));
        assert!(kept.to_string().len() < 1_000);
        assert_eq!(of_update(update.clone(), 10), AcpEvent::Update { update });
    }
}
