//! What is wrong with a completion, as an error that teaches: a code, what is wrong, what to do, a valid example, and details
//! for programs (GATE-22).

use std::fmt;

use holdpoint_planfile::{checkpoints, plan::PlanErrors};
use holdpoint_protocol::{
    checkpoint::{GateDemands, GateDocument},
    ids::{AgentName, GateId, WaypointId},
    reason::BlockReason,
    state::Outcome,
};
use serde_json::{Map, Value, json};

use crate::handed::Oversized;

/// What a completion is held against.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRules<'a> {
    /// The waypoint whose turn it is.
    pub waypoint: &'a WaypointId,
    /// The gate.
    pub gate: &'a GateId,
    /// Whether the gate may send work back.
    pub can_reject: bool,
    /// What a completion comes to that names no outcome.
    pub default: Outcome,
    /// What the gate demands of what its agents hand off.
    pub demands: Option<&'a GateDemands>,
}

/// What is wrong with a completion: the words of GATE-22.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `outcome` is none of the three.
    InvalidOutcome,
    /// There is no `summary`.
    MissingSummary,
    /// `needs_review` or `blocked` without `blockers`.
    MissingBlockers,
    /// `blockers` says nothing.
    EmptyBlockers,
    /// It names another waypoint than the turn's.
    WrongTask,
    /// `needs_review` at a gate that may not send work back.
    RejectNotAllowed,
    /// Only a person completes the gate.
    HumanRequired,
    /// `block_reason` is none of the three, or there is one although the outcome is not `blocked`.
    InvalidBlockReason,
    /// A field has more than its bound.
    TooLong,
    /// The turn makes or judges work: another thing ends it.
    NotCompletedHere,
    /// The document cannot be read.
    InvalidDocument,
    /// A required checkpoint of the gate does not hold.
    CheckpointsUnmet,
}

impl Code {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidOutcome => "invalid_outcome",
            Self::MissingSummary => "missing_summary",
            Self::MissingBlockers => "missing_blockers",
            Self::EmptyBlockers => "empty_blockers",
            Self::WrongTask => "wrong_task",
            Self::RejectNotAllowed => "reject_not_allowed",
            Self::HumanRequired => "human_required",
            Self::InvalidBlockReason => "invalid_block_reason",
            Self::TooLong => "too_long",
            Self::NotCompletedHere => "not_completed_here",
            Self::InvalidDocument => "invalid_document",
            Self::CheckpointsUnmet => "checkpoints_unmet",
        }
    }
}

/// An error that teaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// What is wrong, as a word.
    pub code: Code,
    /// What is wrong, what to do, and an example.
    pub message: String,
    details: Vec<(&'static str, Value)>,
    /// A completion that is taken, as in the message.
    example: Option<Value>,
    /// The document, with what came of the gate's checkpoints, where they are what is wrong.
    pub unready: Option<Box<GateDocument>>,
}

impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Lesson {}

impl Lesson {
    fn new(code: Code, wrong: &str, todo: &str, example: Value) -> Self {
        let shown = serde_json::to_string_pretty(&example).unwrap_or_default();
        let message = format!("{wrong}\n\n{todo}\n\nExample:\n{shown}");
        Self { code, message, details: Vec::new(), example: Some(example), unready: None }
    }

    /// Where nothing that the sender could send instead would be taken.
    fn without_example(code: Code, wrong: &str, todo: &str) -> Self {
        Self { code, message: format!("{wrong}\n\n{todo}"), details: Vec::new(), example: None, unready: None }
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((key, value.into()));
        self
    }

    /// The error for programs: `{"error": CODE, "message": …, …details, "example": {…}}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        all.insert("error".to_owned(), self.code.as_str().into());
        all.insert("message".to_owned(), self.message.clone().into());
        all.extend(self.details.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        all.extend(self.example.iter().map(|example| ("example".to_owned(), example.clone())));
        Value::Object(all)
    }
}

/// The words of outcomes that a gate takes.
fn outcomes(wanted: CompletionRules<'_>) -> Vec<&'static str> {
    let all = [Some("complete"), wanted.can_reject.then_some("needs_review"), Some("blocked")];
    all.into_iter().flatten().collect()
}

/// The value in the place of an outcome, short enough to be quoted.
pub(super) fn word(value: &Value) -> String {
    const SHOWN_MAX: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(SHOWN_MAX).collect()
}

fn completed() -> Value {
    json!({"outcome": "complete", "summary": "Checked every claim of the draft against its source; all hold."})
}

fn sent_back() -> Value {
    json!({
        "outcome": "needs_review",
        "summary": "Two claims have no source.",
        "blockers": ["The price in section 2 has no source", "Section 4 names the wrong release date: it was in May"],
    })
}

fn held() -> Value {
    json!({
        "outcome": "blocked",
        "summary": "The price list that the draft refers to cannot be opened.",
        "blockers": ["The sales team has to publish the price list of this quarter"],
        "block_reason": "external_dependency",
    })
}

fn meanings(wanted: CompletionRules<'_>) -> String {
    let back = if wanted.can_reject { "- `needs_review` if it has to change: say what in `blockers`\n" } else { "" };
    format!(
        "Use\n- `complete` if the work can go on\n{back}- `blocked` if you cannot get any further: say what is in the way in \
         `blockers`"
    )
}

pub(crate) fn invalid_outcome(found: &str, wanted: CompletionRules<'_>) -> Lesson {
    let valid = outcomes(wanted);
    let listed: Vec<String> = valid.iter().map(|word| format!("`{word}`")).collect();
    let wrong = if found == "skip" {
        format!("The outcome `skip` is the engine's own. Valid outcomes: {}.", listed.join(", "))
    } else {
        format!("There is no outcome `{found}`. Valid outcomes: {}.", listed.join(", "))
    };
    Lesson::new(Code::InvalidOutcome, &wrong, &meanings(wanted), completed()).with("validOutcomes", valid)
}

pub(super) fn missing_summary(wanted: CompletionRules<'_>) -> Lesson {
    let todo = format!("Say in one or two sentences what you did at gate `{}`.", wanted.gate);
    Lesson::new(Code::MissingSummary, "The field `summary` is missing or empty.", &todo, completed())
        .with("requiredField", "summary")
}

fn example(outcome: Outcome) -> (&'static str, Value) {
    if outcome == Outcome::NeedsReview { ("needs_review", sent_back()) } else { ("blocked", held()) }
}

pub(super) fn missing_blockers(outcome: Outcome) -> Lesson {
    let (word, example) = example(outcome);
    let wrong = format!("The outcome `{word}` needs the field `blockers`: a list of texts.");
    let todo = "Name each thing by itself, so that the reader knows what to do: \"The price in section 2 has no source\", \
                not \"needs work\".";
    Lesson::new(Code::MissingBlockers, &wrong, todo, example).with("requiredField", "blockers")
}

pub(crate) fn empty_blockers(outcome: Outcome) -> Lesson {
    let (word, example) = example(outcome);
    let wrong = format!("The list `blockers` is empty, and the outcome `{word}` needs at least one text in it.");
    let todo = "Say what has to change, or what is in the way.";
    Lesson::new(Code::EmptyBlockers, &wrong, todo, example).with("requiredField", "blockers")
}

pub(super) fn invalid_block_reason(found: &str) -> Lesson {
    let valid: Vec<&str> = BlockReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let listed: Vec<String> = valid.iter().map(|word| format!("`{word}`")).collect();
    let wrong = format!("There is no block reason `{found}`. Valid block reasons: {}.", listed.join(", "));
    let todo = "Name the one that fits best, or leave `block_reason` out.";
    Lesson::new(Code::InvalidBlockReason, &wrong, todo, held()).with("validBlockReasons", valid)
}

pub(super) fn block_reason_unexpected(outcome: Outcome) -> Lesson {
    let word = serde_json::to_value(outcome).unwrap_or_default();
    let wrong = format!("The outcome {word} has no `block_reason`: only `blocked` has one.");
    let todo = "Leave `block_reason` out, or use the outcome `blocked` if you cannot get any further.";
    Lesson::new(Code::InvalidBlockReason, &wrong, todo, held()).with("validOutcomes", vec!["blocked"])
}

pub(super) fn wrong_task(attempted: &str, wanted: CompletionRules<'_>) -> Lesson {
    let attempted = word(&attempted.into());
    let wrong = format!(
        "This completes `{attempted}`, and your turn is about `{}` at gate `{}`.",
        wanted.waypoint, wanted.gate
    );
    let todo = "Complete the waypoint that your turn names, or leave its name out.";
    Lesson::new(Code::WrongTask, &wrong, todo, completed())
        .with("assignedTask", wanted.waypoint.as_str())
        .with("attemptedTask", attempted)
}

pub(crate) fn reject_not_allowed(wanted: CompletionRules<'_>) -> Lesson {
    let wrong = format!("Gate `{}` may not send work back: it does not take the outcome `needs_review`.", wanted.gate);
    let todo = format!("{}.\nA later gate may find what is wrong with the work.", meanings(wanted));
    Lesson::new(Code::RejectNotAllowed, &wrong, &todo, held())
        .with("gate", wanted.gate.as_str())
        .with("canReject", false)
        .with("validOutcomes", outcomes(wanted))
}

/// An agent completes a gate for people.
#[must_use]
pub fn human_required(gate: &GateId, agent: &AgentName) -> Lesson {
    let wrong = format!("Gate `{gate}` is completed by people, and `{agent}` is an agent.");
    let todo = "Acknowledge the delivery and take the next turn. People complete it with `holdpoint approve` or `holdpoint \
                reject`, with a key whose name begins with `human-`.";
    Lesson::without_example(Code::HumanRequired, &wrong, todo)
        .with("gate", gate.as_str())
        .with("requireHuman", true)
        .with("yourAgentId", agent.as_str())
}

/// A field of a completion has more than its bound.
#[must_use]
pub fn too_long(size: &Oversized) -> Lesson {
    let Oversized { field, found, most, unit } = size;
    let wrong = format!("The completion is too long: {size}.");
    let todo = "Shorten this field to what the next reader has to know.";
    Lesson::new(Code::TooLong, &wrong, todo, completed())
        .with("requiredField", *field)
        .with("found", *found)
        .with("most", *most)
        .with("unit", *unit)
}

/// A completion in a turn that nothing completes, and what ends that turn.
#[must_use]
pub fn elsewhere(turn: &str, ends_with: &str) -> Lesson {
    let wrong = format!("This turn is not completed: it {turn}.");
    Lesson::without_example(Code::NotCompletedHere, &wrong, ends_with).with("endsWith", ends_with)
}

/// The document of a completion cannot be read.
pub(super) fn bad_document(wrong: &PlanErrors) -> Lesson {
    let all: Vec<String> = wrong.errors.iter().map(|error| error.in_a_line()).collect();
    let wrong = format!("The document cannot be read:\n{}", all.join("\n"));
    Lesson::without_example(
        Code::InvalidDocument,
        &wrong,
        "Correct its front matter, the lines between the two `---`, and hand it in again.",
    )
    .with("requiredField", "document")
}

/// What a completion says of checkpoints cannot be read.
pub(super) fn bad_checkpoints(error: &serde_json::Error) -> Lesson {
    let wrong = format!("`checkpoints` cannot be read: {error}.");
    let todo = "Write a list, such as `[{\"name\": \"design_complete\", \"status\": \"pass\"}]`; a status is `pass`, `fail` or `skip`.";
    Lesson::without_example(Code::InvalidDocument, &wrong, todo).with("requiredField", "checkpoints")
}

/// A required checkpoint does not hold.
pub(crate) fn not_ready(demands: &GateDemands, document: GateDocument) -> Lesson {
    let wrong =
        format!("This is not ready to be handed off: {}.", checkpoints::in_one_line(demands, &document.checkpoints));
    let todo = "Put that right, and complete the gate again. Where only a person can, use the outcome `blocked`.";
    let results = serde_json::to_value(&document.checkpoints).unwrap_or_default();
    let lesson = Lesson::without_example(Code::CheckpointsUnmet, &wrong, todo).with("checkpoints", results);
    Lesson { unready: Some(Box::new(document)), ..lesson }
}
