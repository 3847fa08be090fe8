//! What a completion has to say, and what its sender learns where it does not (GATE-7, GATE-22).
//!
//! A completion comes from outside: as an artifact, or as the JSON object that a program prints. Each error names its code, what
//! is wrong, what to do, and a valid example; its details are for programs.

use std::{collections::BTreeMap, fmt};

use holdpoint_protocol::{
    artifact::Completion,
    ids::{AgentName, GateId, WaypointId},
    state::Outcome,
};
use serde_json::{Map, Value, json};

/// What a completion is held against.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The waypoint whose turn it is.
    pub waypoint: &'a WaypointId,
    /// The gate.
    pub gate: &'a GateId,
    /// Whether the gate may send work back.
    pub can_reject: bool,
    /// What a completion comes to that names no outcome.
    pub default: Outcome,
}

/// A completion that says enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What the turn came to; never `skip`.
    pub outcome: Outcome,
    /// One or two sentences.
    pub summary: String,
    /// What has to change.
    pub blockers: Vec<String>,
    /// What else whoever gets the work back has to know.
    pub rejection_notes: Option<String>,
    /// Anything.
    pub metadata: BTreeMap<String, Value>,
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
}

impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Lesson {}

impl Lesson {
    fn new(code: Code, wrong: &str, todo: &str, example: &Value) -> Self {
        let example = serde_json::to_string_pretty(example).unwrap_or_default();
        Self { code, message: format!("{wrong}\n\n{todo}\n\nExample:\n{example}"), details: Vec::new() }
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((key, value.into()));
        self
    }

    /// The error for programs: `{"error": CODE, "message": …, …details}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        all.insert("error".to_owned(), self.code.as_str().into());
        all.insert("message".to_owned(), self.message.clone().into());
        all.extend(self.details.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Value::Object(all)
    }
}

/// The words of outcomes that a gate takes.
fn outcomes(wanted: Wanted<'_>) -> Vec<&'static str> {
    let all = [Some("complete"), wanted.can_reject.then_some("needs_review"), Some("blocked")];
    all.into_iter().flatten().collect()
}

/// Reads the JSON object of a completion, as a program prints it or an artifact has it.
///
/// # Errors
/// A [`Lesson`]: the first thing that is wrong.
pub fn read(object: &Map<String, Value>, wanted: Wanted<'_>) -> Result<Said, Lesson> {
    let given = |key: &str| object.get(key).filter(|value| !value.is_null());
    let named = ["task", "taskId", "task_id", "waypoint", "waypoint_id"].into_iter().find_map(given);
    if let Some(other) = named.and_then(Value::as_str).filter(|named| *named != wanted.waypoint.as_str()) {
        return Err(wrong_task(other, wanted));
    }
    let outcome = match given("outcome") {
        None => None,
        Some(value) => {
            let read = serde_json::from_value::<Outcome>(value.clone()).ok();
            Some(read.ok_or_else(|| invalid_outcome(&word(value), wanted))?)
        }
    };
    let texts = |value: &Value| -> Option<Vec<String>> {
        let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect()
    };
    let blockers = given("blockers").and_then(texts);
    let text = |key: &str| given(key).and_then(Value::as_str).map(str::to_owned);
    let metadata = given("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let rejection_notes = text("rejectionNotes").or_else(|| text("rejection_notes"));
    let summary = text("summary").unwrap_or_default();
    check(outcome, summary, blockers, wanted).map(|said| Said {
        rejection_notes,
        metadata: metadata.into_iter().collect(),
        ..said
    })
}

/// Holds the artifact of an agent against its gate.
///
/// # Errors
/// A [`Lesson`]: the first thing that is wrong.
pub fn of_agent(completion: &Completion, wanted: Wanted<'_>) -> Result<Said, Lesson> {
    if completion.waypoint_id != *wanted.waypoint {
        return Err(wrong_task(completion.waypoint_id.as_str(), wanted));
    }
    let blockers = Some(completion.blockers.clone()).filter(|blockers| !blockers.is_empty());
    check(completion.outcome, completion.summary.clone(), blockers, wanted).map(|said| Said {
        rejection_notes: completion.rejection_notes.clone(),
        metadata: completion.metadata.clone(),
        ..said
    })
}

fn check(
    outcome: Option<Outcome>,
    summary: String,
    blockers: Option<Vec<String>>,
    wanted: Wanted<'_>,
) -> Result<Said, Lesson> {
    let (is_named, outcome) = (outcome.is_some(), outcome.unwrap_or(wanted.default));
    if outcome == Outcome::Skip {
        return Err(invalid_outcome("skip", wanted));
    }
    if outcome == Outcome::NeedsReview && !wanted.can_reject {
        return Err(reject_not_allowed(wanted));
    }
    if summary.trim().is_empty() {
        return Err(missing_summary(wanted));
    }
    let mut blockers = blockers;
    // What names no outcome says with its summary why it is not complete.
    if !is_named && outcome != Outcome::Complete && blockers.is_none() {
        blockers = Some(vec![summary.clone()]);
    }
    if outcome != Outcome::Complete {
        match &blockers {
            None => return Err(missing_blockers(outcome)),
            Some(all) if all.iter().all(|blocker| blocker.trim().is_empty()) => return Err(empty_blockers(outcome)),
            Some(_) => {}
        }
    }
    let blockers = blockers.unwrap_or_default().into_iter().filter(|blocker| !blocker.trim().is_empty()).collect();
    Ok(Said { outcome, summary, blockers, rejection_notes: None, metadata: BTreeMap::new() })
}

/// The value that stands where an outcome belongs, short enough to be quoted.
fn word(value: &Value) -> String {
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
    })
}

fn meanings(wanted: Wanted<'_>) -> String {
    let back = if wanted.can_reject { "- `needs_review` if it has to change: say what in `blockers`\n" } else { "" };
    format!(
        "Use\n- `complete` if the work can go on\n{back}- `blocked` if you cannot get any further: say what is in the way in \
         `blockers`"
    )
}

fn invalid_outcome(found: &str, wanted: Wanted<'_>) -> Lesson {
    let valid = outcomes(wanted);
    let listed: Vec<String> = valid.iter().map(|word| format!("`{word}`")).collect();
    let wrong = if found == "skip" {
        format!("The outcome `skip` is the engine's own. Valid outcomes: {}.", listed.join(", "))
    } else {
        format!("There is no outcome `{found}`. Valid outcomes: {}.", listed.join(", "))
    };
    Lesson::new(Code::InvalidOutcome, &wrong, &meanings(wanted), &completed()).with("validOutcomes", valid)
}

fn missing_summary(wanted: Wanted<'_>) -> Lesson {
    let todo = format!("Say in one or two sentences what you did at gate `{}`.", wanted.gate);
    Lesson::new(Code::MissingSummary, "The field `summary` is missing or empty.", &todo, &completed())
        .with("requiredField", "summary")
}

fn example(outcome: Outcome) -> (&'static str, Value) {
    if outcome == Outcome::NeedsReview { ("needs_review", sent_back()) } else { ("blocked", held()) }
}

fn missing_blockers(outcome: Outcome) -> Lesson {
    let (word, example) = example(outcome);
    let wrong = format!("The outcome `{word}` needs the field `blockers`: a list of texts.");
    let todo = "Name each thing by itself, so that whoever reads it knows what to do: \"The price in section 2 has no source\", \
                not \"needs work\".";
    Lesson::new(Code::MissingBlockers, &wrong, todo, &example).with("requiredField", "blockers")
}

fn empty_blockers(outcome: Outcome) -> Lesson {
    let (word, example) = example(outcome);
    let wrong = format!("The list `blockers` is empty, and the outcome `{word}` needs at least one text in it.");
    let todo = "Say what has to change, or what is in the way.";
    Lesson::new(Code::EmptyBlockers, &wrong, todo, &example).with("requiredField", "blockers")
}

fn wrong_task(attempted: &str, wanted: Wanted<'_>) -> Lesson {
    let attempted = word(&attempted.into());
    let wrong = format!(
        "This completes `{attempted}`, and your turn is about `{}` at gate `{}`.",
        wanted.waypoint, wanted.gate
    );
    let todo = "Complete the waypoint that your turn names, or leave its name out.";
    Lesson::new(Code::WrongTask, &wrong, todo, &completed())
        .with("assignedTask", wanted.waypoint.as_str())
        .with("attemptedTask", attempted)
}

fn reject_not_allowed(wanted: Wanted<'_>) -> Lesson {
    let wrong = format!("Gate `{}` may not send work back: it does not take the outcome `needs_review`.", wanted.gate);
    let todo = format!("{}.\nA later gate may find what is wrong with the work.", meanings(wanted));
    Lesson::new(Code::RejectNotAllowed, &wrong, &todo, &held())
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
    let mut lesson = Lesson::new(Code::HumanRequired, &wrong, todo, &Value::Null);
    // There is nothing that this agent could send instead.
    lesson.message = format!("{wrong}\n\n{todo}");
    lesson.with("gate", gate.as_str()).with("requireHuman", true).with("yourAgentId", agent.as_str())
}

/// What is too vague to act on, of the blockers of a completion; it is taken all the same.
#[must_use]
pub fn vague(blockers: &[String]) -> Vec<&str> {
    const PHRASES: [&str; 8] = [
        "not good enough",
        "needs more work",
        "needs some work",
        "has some issues",
        "does not work",
        "is not right",
        "could be better",
        "please fix it",
    ];
    let is_vague = |blocker: &&str| {
        let plain = blocker.trim().trim_end_matches(['.', '!', '?']).to_lowercase();
        let concrete = plain.contains(|c: char| c.is_ascii_digit() || "`'\"/_:()".contains(c));
        (plain.split_whitespace().count() <= 2 && !concrete) || PHRASES.contains(&plain.as_str())
    };
    blockers.iter().map(String::as_str).filter(is_vague).collect()
}

/// The warning for vague blockers, as errors are; `None` where there are none.
#[must_use]
pub fn warning(blockers: &[String]) -> Option<Value> {
    let vague = vague(blockers);
    if vague.is_empty() {
        return None;
    }
    let listed: Vec<String> = vague.iter().map(|blocker| format!("- {blocker:?}: what exactly?")).collect();
    let message = format!(
        "Some blockers are too vague to act on:\n{}\n\nSay what is wrong where, such as \"Section 4 names the wrong release \
         date: it was in May\". The completion was taken as it is.",
        listed.join("\n")
    );
    Some(json!({"warning": "vague_blockers", "message": message, "vagueBlockers": vague}))
}

#[cfg(test)]
mod tests;
