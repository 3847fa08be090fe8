//! JSON objects in a text that mean something: answer envelopes and questions. Each begins a line.

use holdpoint_protocol::artifact::Confidence;
use serde_json::{Map, Value};

use super::{Envelope, MARKERS_MAX, Question, cut};

/// How a program may name what its object is, and the names of a question.
const TYPE_KEYS: [&str; 3] = ["type", "kind", "artifact"];
const QUESTION_NAMES: [&str; 2] = ["ClarificationRequest", "clarification_request"];

/// The most that an object may be long, in bytes. As values in memory it is up to a hundred times as large.
const OBJECT_BYTES_MAX: usize = 256 << 10;

/// The first envelope and the first question.
pub(super) fn read(text: &str) -> (Option<Envelope>, Option<Question>) {
    let (mut envelope, mut question) = (None, None);
    let worth_it = text.contains("\"component\"") || text.contains("uestion\"") || has_question_name(text);
    let mut rest = if worth_it { text } else { "" };
    while let Some((object, after)) = next_object(rest) {
        match object {
            Object::Whole(map) => {
                question = question.or_else(|| as_question(&map));
                envelope = envelope.or_else(|| as_envelope(&map));
            }
            Object::Broken(start) => envelope = envelope.or_else(|| as_broken_envelope(start)),
        }
        rest = after;
    }
    (envelope, question)
}

fn has_question_name(text: &str) -> bool {
    QUESTION_NAMES.iter().any(|name| text.contains(name))
}

enum Object<'a> {
    Whole(Map<String, Value>),
    /// A line that begins an object, and what follows: it is never ended, or is not JSON.
    Broken(&'a str),
}

/// The next object that begins a line, and the text after it.
fn next_object(text: &str) -> Option<(Object<'_>, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('{') {
            let start = text.get(at..)?;
            let window = start.get(..start.floor_char_boundary(OBJECT_BYTES_MAX))?;
            let mut values = serde_json::Deserializer::from_str(window).into_iter::<Value>();
            return match values.next() {
                Some(Ok(Value::Object(map))) => {
                    let end = values.byte_offset();
                    Some((Object::Whole(map), start.get(end..)?))
                }
                _ => Some((Object::Broken(start), text.get(at + line.len()..)?)),
            };
        }
        at += line.len();
    }
    None
}

fn as_envelope(map: &Map<String, Value>) -> Option<Envelope> {
    let is_one = map.contains_key("component") && map.contains_key("status") && map.contains_key("data");
    is_one.then(|| Envelope { component: text(map, "component"), status: text(map, "status") })
}

/// What was meant as an envelope and is not whole is an envelope all the same: it is never taken for silence.
fn as_broken_envelope(start: &str) -> Option<Envelope> {
    const LOOKED_AT: usize = 1 << 10;
    let head = start.get(..start.floor_char_boundary(LOOKED_AT))?;
    let is_one = head.contains("\"component\"") && head.contains("\"status\"");
    is_one.then(|| Envelope { component: String::new(), status: String::new() })
}

/// A question is named so, or has the fields that only a question has.
fn as_question(map: &Map<String, Value>) -> Option<Question> {
    let wrapped = QUESTION_NAMES.iter().find_map(|name| map.get(*name)).and_then(Value::as_object);
    if let Some(inner) = wrapped {
        return Some(question(inner));
    }
    let named = TYPE_KEYS.iter().any(|key| QUESTION_NAMES.contains(&text(map, key).as_str()));
    let shaped = map.contains_key("question")
        && ["options", "requested_options", "decision_context", "confidence"].iter().any(|key| map.contains_key(*key));
    (named || shaped).then(|| question(map))
}

fn question(map: &Map<String, Value>) -> Question {
    let first = |keys: &[&str]| keys.iter().map(|key| text(map, key)).find(|text| !text.is_empty()).unwrap_or_default();
    let options = ["options", "requested_options"].iter().find_map(|key| map.get(*key)).and_then(Value::as_array);
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Question {
        question: first(&["question", "blocking_question"]),
        decision_context: first(&["decision_context", "context"]),
        confidence: confidence(map),
        options: options.into_iter().flatten().take(MARKERS_MAX).map(|option| cut(&words(option))).collect(),
    }
}

/// As a word, or as a share of 1.
fn confidence(map: &Map<String, Value>) -> Confidence {
    const MEDIUM_FROM: f64 = 0.5;
    const HIGH_FROM: f64 = 0.8;
    let value = ["confidence", "confidence_level"].iter().find_map(|key| map.get(*key));
    let share = value.and_then(Value::as_f64);
    match (value.and_then(Value::as_str), share) {
        (Some("high"), _) => Confidence::High,
        (Some("medium"), _) => Confidence::Medium,
        (_, Some(share)) if share >= HIGH_FROM => Confidence::High,
        (_, Some(share)) if share >= MEDIUM_FROM => Confidence::Medium,
        _ => Confidence::Low,
    }
}

fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).map(cut).unwrap_or_default()
}
