//! What goes over the line: a request in one line of JSON, a reply in one.
//!
//! Pure. Requests come from programs that are not ours: they are bounded, and read again by the same rules by which
//! printed questions are.

use std::time::Duration;

use holdpoint_protocol::{
    Timestamp,
    artifact::{Clarified, Confidence},
    ids::{FlightId, GateId, RoleId, WaypointId},
    reason::BlockReason,
    state::Outcome,
};
use holdpoint_text::lenient;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    backend::{
        markers::HelpCall,
        question::{BadQuestion, ValidQuestion, help_text},
    },
    context::pull::{NAME_BYTES_MAX, Pulled, Slice},
};

/// The longest request, in bytes with its line feed: a question with everything at its bound, written with escapes.
pub const REQUEST_BYTES_MAX: usize = 128 << 10;
/// How long a question waits whose asker does not say, in seconds.
pub const PATIENCE_DEFAULT: u64 = 60;
/// The longest id that a request may give itself.
const ID_BYTES_MAX: usize = 64;

/// Paths, commands and criteria that a plan names, of each kind, and the bytes of one.
const PLAN_ITEMS_MAX: usize = 100;
const PLAN_ITEM_BYTES_MAX: usize = 1 << 10;

fn default_patience() -> u64 {
    PATIENCE_DEFAULT
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Names it, so that its reply differs from another's. The asker chooses it.
    pub id: String,
    /// What is wanted.
    #[serde(flatten)]
    pub wanted: RequestKind,
}

/// What a request wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum RequestKind {
    /// An answer.
    Question {
        /// The question.
        text: String,
        /// The answers it can work with.
        #[serde(default)]
        options: Vec<String>,
        /// How sure the asker is of its own best guess.
        #[serde(default)]
        confidence: Option<Confidence>,
        /// What depends on the answer.
        #[serde(default)]
        context: String,
        /// How long it waits for the answer while the turn goes on, in seconds; 0: the question ends the turn at once.
        #[serde(default = "default_patience")]
        patience: u64,
    },
    /// Help.
    Help {
        /// With what.
        text: String,
    },
    /// To complete the turn's gate.
    Complete {
        /// The completion as a program prints it: `outcome`, `summary`, `blockers`, `rejectionNotes`, `metadata`.
        completion: Map<String, Value>,
    },
    /// To know whether such a completion would be taken.
    Validate {
        /// The completion.
        completion: Map<String, Value>,
    },
    /// To say what is meant to be done.
    Plan {
        /// Paths that it means to touch.
        #[serde(default)]
        targets: Vec<String>,
        /// Commands that it means to validate with.
        #[serde(default)]
        validation: Vec<String>,
        /// Criteria that it means to meet.
        #[serde(default)]
        coverage: Vec<String>,
    },
    /// To know how the turn stands.
    Status,
    /// A slice of the repository.
    Pull {
        /// Of what.
        slice: Slice,
        /// Its name: a path, a text or a symbol.
        name: String,
    },
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Of the request; empty where that could not be read.
    pub id: String,
    /// What became of it.
    #[serde(flatten)]
    pub became: Became,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// It was answered, and the turn goes on.
    Answer(Box<Clarified>),
    /// It is the turn's result: the program should end.
    Result,
    /// It is none, and why.
    Refused(String),
    /// It is the turn's completion, unless another one follows.
    Completed(Box<Recorded>),
    /// Such a completion would be taken. Nothing is recorded.
    Valid(Box<Recorded>),
    /// The completion cannot be taken: `{"error": CODE, "message": …, …}` (GATE-22). The turn goes on.
    Wrong(Value),
    /// It is recorded as the plan of the turn.
    Planned,
    /// How the turn stands.
    Status(Box<TurnStanding>),
    /// A slice of the repository.
    Pulled(Pulled),
}

/// A completion that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// What the turn comes to.
    pub outcome: Outcome,
    /// What could be better: `{"warning": CODE, "message": …, …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Value>,
}

/// What a program asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// An answer.
    Question(ValidQuestion),
    /// Help.
    Help(HelpCall),
}

/// What is asked, and how long its asker waits for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patient {
    /// What is asked.
    pub ask: Ask,
    /// How long; nothing: it ends the turn at once.
    pub patience: Duration,
}

/// What a program means to do, within the bounds (FLY-7). It decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredPlan {
    /// Paths that it means to touch.
    pub targets: Vec<String>,
    /// Commands that it means to validate with.
    pub validation: Vec<String>,
    /// Criteria that it means to meet, by the names it gives them.
    pub coverage: Vec<String>,
}

impl DeclaredPlan {
    fn checked(self) -> Result<Self, BadQuestion> {
        let parts = [("targets", &self.targets), ("validation", &self.validation), ("coverage", &self.coverage)];
        if parts.iter().all(|(_, items)| items.is_empty()) {
            return Err(BadQuestion::Empty);
        }
        for (part, items) in parts {
            if items.len() > PLAN_ITEMS_MAX {
                return Err(BadQuestion::TooMany { part, count: items.len(), max: PLAN_ITEMS_MAX });
            }
            if let Some(item) = items.iter().find(|item| item.len() > PLAN_ITEM_BYTES_MAX) {
                return Err(BadQuestion::TooLong { part, bytes: item.len(), max: PLAN_ITEM_BYTES_MAX });
            }
            if items.iter().any(|item| item.trim().is_empty()) {
                return Err(BadQuestion::Empty);
            }
        }
        Ok(self)
    }
}

/// A request that keeps to the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValidRequest {
    /// A question or a call for help.
    Ask(Patient),
    /// A completion, which the harness holds against the turn.
    Complete(Map<String, Value>),
    /// Whether such a completion would be taken.
    Validate(Map<String, Value>),
    /// What is meant to be done.
    Plan(DeclaredPlan),
    /// How the turn stands.
    Status,
    /// A slice of the repository.
    Pull(Slice, String),
}

/// Reads a request as it came: its id, and what is wanted or why that cannot be.
pub fn read(line: &[u8]) -> (String, Result<ValidRequest, String>) {
    if line.len() > REQUEST_BYTES_MAX {
        return (String::new(), Err(format!("the request is longer than {REQUEST_BYTES_MAX} bytes")));
    }
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let value = lenient::value(line).unwrap_or_default();
            let id = value.get("id").and_then(Value::as_str).filter(|id| id.len() <= ID_BYTES_MAX).map(str::to_owned);
            match serde_json::from_value(value) {
                Ok(request) => request,
                Err(_) => return (id.unwrap_or_default(), Err(format!("the request cannot be read: {error}"))),
            }
        }
    };
    if request.id.len() > ID_BYTES_MAX {
        return (String::new(), Err(format!("the request's id is longer than {ID_BYTES_MAX} bytes")));
    }
    let called = checked(request.wanted).map_err(|bad| format!("this cannot be asked: {bad}"));
    (request.id, called)
}

/// What is wanted, if it keeps to the bounds.
///
/// # Errors
/// [`BadQuestion`].
pub fn checked(wanted: RequestKind) -> Result<ValidRequest, BadQuestion> {
    Ok(match wanted {
        RequestKind::Question { text, options, confidence, context, patience } => {
            let confidence = confidence.unwrap_or(Confidence::Low);
            let question = ValidQuestion {
                question: text,
                decision_context: context,
                confidence,
                options,
                block_reason: BlockReason::default(),
            };
            ValidRequest::Ask(Patient {
                ask: Ask::Question(question.checked()?),
                patience: Duration::from_secs(patience),
            })
        }
        RequestKind::Help { text } => {
            let ask = Ask::Help(HelpCall::of_line(help_text(&text)?));
            ValidRequest::Ask(Patient { ask, patience: Duration::ZERO })
        }
        RequestKind::Complete { completion } => ValidRequest::Complete(completion),
        RequestKind::Validate { completion } => ValidRequest::Validate(completion),
        RequestKind::Plan { targets, validation, coverage } => {
            ValidRequest::Plan(DeclaredPlan { targets, validation, coverage }.checked()?)
        }
        RequestKind::Status => ValidRequest::Status,
        RequestKind::Pull { slice, name } => ValidRequest::Pull(slice, named(name)?),
    })
}

/// A name of a slice within its bounds.
fn named(name: String) -> Result<String, BadQuestion> {
    if name.is_empty() {
        return Err(BadQuestion::Empty);
    }
    let bytes = name.len();
    if bytes > NAME_BYTES_MAX {
        return Err(BadQuestion::TooLong { part: "name", bytes, max: NAME_BYTES_MAX });
    }
    Ok(name)
}

/// How a turn stands. Of a judge's run, which is a part of a turn, only what ends it and what was answered in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStanding {
    /// The flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<FlightId>,
    /// The waypoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waypoint: Option<WaypointId>,
    /// The gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// The role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// Which attempt at the waypoint, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// When the turn is opened for another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What ends the turn.
    pub ends_with: String,
    /// Questions of this role that were answered, oldest first, with their answers.
    pub answered: Vec<Clarified>,
    /// The completion that counts if the program ends well now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<InForce>,
}

/// The completion that is recorded, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// What the turn comes to.
    pub outcome: Outcome,
    /// Its summary.
    pub summary: String,
    /// Its blockers.
    pub blockers: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_its_id() {
        let line = br#"{"id": "7", "ask": "question", "text": "Which?", "options": ["a", "b"], "confidence": "high"}"#;
        let (id, asked) = read(line);
        let Ok(ValidRequest::Ask(Patient { ask: Ask::Question(question), patience })) = asked else {
            panic!("{asked:?}")
        };
        assert_eq!(patience.as_secs(), PATIENCE_DEFAULT, "it does not say");
        assert_eq!((id.as_str(), question.question.as_str(), question.options.len()), ("7", "Which?", 2));
        assert_eq!(question.confidence, Confidence::High);
        let (_, asked) = read(br#"{"id": "8", "ask": "help", "text": "stuck"}"#);
        assert!(
            matches!(asked, Ok(ValidRequest::Ask(Patient { ask: Ask::Help(call), .. })) if call.raw_line == "stuck")
        );
        let (_, asked) = read(br#"{"id": "9", "ask": "question", "text": "Which?", "patience": 5}"#);
        assert!(matches!(asked, Ok(ValidRequest::Ask(asked)) if asked.patience == Duration::from_secs(5)));
        let (_, asked) = read(br#"{"id": "10", "ask": "complete", "completion": {"outcome": 7}}"#);
        assert!(
            matches!(asked, Ok(ValidRequest::Complete(said)) if said["outcome"] == 7),
            "the harness says what is wrong"
        );
        assert_eq!(read(br#"{"id": "11", "ask": "status"}"#), ("11".to_owned(), Ok(ValidRequest::Status)));
        let (_, asked) = read(br#"{"id": "12", "ask": "pull", "slice": "file", "name": "a.rs"}"#);
        assert_eq!(asked, Ok(ValidRequest::Pull(Slice::File, "a.rs".to_owned())));
    }

    #[test]
    fn what_breaks_a_bound_or_is_no_request_is_refused_with_the_reason() {
        let long = format!(r#"{{"id": "1", "ask": "help", "text": "{}"}}"#, "x".repeat(REQUEST_BYTES_MAX));
        let many = serde_json::json!({"id": "1", "ask": "plan", "validation": vec!["make"; 101]}).to_string();
        for (line, why) in [
            ("", "cannot be read"),
            (r#"{"id": "1", "ask": "context", "text": "x"}"#, "cannot be read"),
            (r#"{"id": "1", "ask": "complete", "completion": "done"}"#, "cannot be read"),
            (r#"{"id": "1", "ask": "help", "text": " "}"#, "no text"),
            (r#"{"id": "1", "ask": "plan"}"#, "no text"),
            (r#"{"id": "1", "ask": "plan", "targets": ["a", " "]}"#, "no text"),
            (&many, "validation has 101"),
            (r#"{"id": "1", "ask": "pull", "slice": "log", "name": "x"}"#, "cannot be read"),
            (r#"{"id": "1", "ask": "pull", "slice": "file", "name": ""}"#, "no text"),
            (r#"{"id": "1", "ask": "question", "text": "q", "options": ["a", "a"]}"#, "twice"),
            (r#"{"id": "1", "ask": "question", "text": "q", "confidence": "sure"}"#, "cannot be read"),
            (r#"{"id": "1", "ask": "question", "text": "q", "patience": -1}"#, "cannot be read"),
            (&long, "longer than"),
        ] {
            let refused = read(line.as_bytes()).1.unwrap_err();
            assert!(refused.contains(why), "{line}: {refused}");
        }
    }
}
