//! JSON objects in a text that mean something: answer envelopes and questions. Each begins a line.

use holdpoint_protocol::{artifact::Confidence, reason::BlockReason};
use holdpoint_text::lenient;
use serde_json::{Map, Value};

use super::{Contract, PrintedQuestion, PrintedResult};
use crate::backend::question::{BadQuestion, ValidQuestion, confidence_share, confidence_word};

/// How a program may name what its object is, and the names of a question.
const TYPE_KEYS: [&str; 3] = ["type", "kind", "artifact"];
const QUESTION_NAMES: [&str; 2] = ["ClarificationRequest", "clarification_request"];
/// Where an answer says how sure its author is.
const CONFIDENCE_KEYS: [&str; 2] = ["confidence", "confidence_level"];

/// The most that an object may be long, in bytes. As values in memory it is up to a hundred times as large.
const OBJECT_BYTES_MAX: usize = 256 << 10;

/// How much of an object that is not whole is looked at.
const LOOKED_AT: usize = 1 << 10;

/// The last envelope and the first question. Programs show what they are about to print before they print it.
pub(super) fn read(text: &str, contract: Contract<'_>) -> (Option<PrintedResult>, Option<PrintedQuestion>) {
    let (mut envelope, mut question) = (None, None);
    let worth_it = text.contains("\"component\"") || text.contains("uestion\"") || has_question_name(text);
    let mut rest = if worth_it { text } else { "" };
    while let Some((object, after)) = next_object(rest) {
        match object {
            Object::Whole(map) => {
                let is_envelope = contract.is_envelope(&map);
                question = question.or_else(|| as_question(&map, contract));
                question = question.or_else(|| in_data(&map).filter(|_| is_envelope));
                envelope = if is_envelope { Some(Object::Whole(map)) } else { envelope };
            }
            Object::Broken(start) => {
                question = question.or_else(|| as_broken_question(start, contract));
                let head = start.get(..start.floor_char_boundary(LOOKED_AT)).unwrap_or_default();
                envelope = if contract.is_broken_envelope(head) { Some(Object::Broken(start)) } else { envelope };
            }
        }
        rest = after;
    }
    // Only the one that counts is looked at closely: there may be as many as lines.
    let is_whole = matches!(envelope, Some(Object::Whole(_)));
    let envelope = envelope.map(Object::into_printed);
    let mended =
        if let Some(PrintedResult::Whole(map)) = envelope.as_ref().filter(|_| !is_whole) { in_data(map) } else { None };
    (envelope, question.or(mended))
}

/// The question that an envelope's data is, or holds.
fn in_data(map: &Map<String, Value>) -> Option<PrintedQuestion> {
    let data = map.get("data").and_then(Value::as_object)?;
    as_question(data, Contract { answers_only: true, ..Contract::default() })
}

fn has_question_name(text: &str) -> bool {
    QUESTION_NAMES.iter().any(|name| text.contains(name))
}

/// What begins a line.
pub(super) enum Object<'a> {
    Whole(Map<String, Value>),
    /// A line that begins an object, and what follows: it is never ended, or is not JSON.
    Broken(&'a str),
}

impl Object<'_> {
    pub(super) fn into_printed(self) -> PrintedResult {
        match self {
            Self::Whole(map) => PrintedResult::Whole(map),
            Self::Broken(start) => broken(start),
        }
    }
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

/// What begins an object that serde_json refuses: a whole one where what is wrong with it can be replaced, else why it is none.
fn broken(start: &str) -> PrintedResult {
    let window = start.get(..start.floor_char_boundary(OBJECT_BYTES_MAX)).unwrap_or_default();
    let error = match lenient::first(window) {
        Ok((Value::Object(map), _)) => return PrintedResult::Whole(map),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    let too_long = start.len() > window.len();
    let cut_off = error.as_ref().is_some_and(serde_json::Error::is_eof) && !too_long;
    let details = match error {
        Some(error) if error.is_eof() && too_long => {
            format!("it is longer than {} KiB", OBJECT_BYTES_MAX >> 10)
        }
        Some(error) => error.to_string(),
        None => "it is no object".to_owned(),
    };
    PrintedResult::Broken { cut_off, details, start: window.to_owned() }
}

/// How sure the author of an envelope is, as its data or the envelope says.
pub(crate) fn sure(envelope: &Map<String, Value>) -> Result<Option<Confidence>, BadQuestion> {
    let data = envelope.get("data").and_then(Value::as_object);
    [data, Some(envelope)].into_iter().flatten().find_map(|map| confidence(map).transpose()).transpose()
}

/// The same for a question that says it is one.
fn as_broken_question(start: &str, contract: Contract<'_>) -> Option<PrintedQuestion> {
    let first = start.lines().next()?;
    let head = first.get(..first.floor_char_boundary(LOOKED_AT))?;
    let is_one = QUESTION_NAMES.iter().any(|name| head.contains(&format!("\"{name}\"")));
    let whole = || match broken(start) {
        PrintedResult::Whole(map) => as_question(&map, contract),
        PrintedResult::Broken { .. } => Some(Err(BadQuestion::NotWhole)),
    };
    is_one.then(whole).flatten()
}

/// A question is named so, or has the fields of one and names the contract.
fn as_question(map: &Map<String, Value>, contract: Contract<'_>) -> Option<PrintedQuestion> {
    if let Some(inner) = QUESTION_NAMES.iter().find_map(|name| map.get(*name)) {
        let whole = inner.as_object().ok_or(BadQuestion::Type { part: "ClarificationRequest", wanted: "an object" });
        return Some(whole.and_then(question));
    }
    let named = TYPE_KEYS.iter().any(|key| QUESTION_NAMES.contains(&text(map, key).as_str()));
    let shaped = ["question", "blocking_question"].iter().any(|key| map.contains_key(*key))
        && ["options", "requested_options", "decision_context", "confidence"].iter().any(|key| map.contains_key(*key));
    (named || shaped && contract.is_question(map)).then(|| question(map))
}

fn question(map: &Map<String, Value>) -> PrintedQuestion {
    let first = |part: &'static str, keys: [&str; 2]| match keys.iter().find_map(|key| map.get(*key)) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(BadQuestion::Type { part, wanted: "a text" }),
    };
    let question = ValidQuestion {
        question: first("question", ["question", "blocking_question"])?,
        decision_context: first("decision_context", ["decision_context", "context"])?,
        confidence: confidence(map)?.unwrap_or(Confidence::Low),
        options: options(map)?,
        block_reason: BlockReason::default(),
    };
    question.checked()
}

fn options(map: &Map<String, Value>) -> Result<Vec<String>, BadQuestion> {
    let bad = BadQuestion::Type { part: "options", wanted: "a list of texts or numbers" };
    let options = match ["options", "requested_options"].iter().find_map(|key| map.get(*key)) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(options)) => options,
        Some(_) => return Err(bad),
    };
    let words = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    options.iter().map(words).collect::<Option<_>>().ok_or(bad)
}

/// As a word, or as a share of 1.
fn confidence(map: &Map<String, Value>) -> Result<Option<Confidence>, BadQuestion> {
    let found = match CONFIDENCE_KEYS.iter().find_map(|key| map.get(*key)) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(word)) => confidence_word(word),
        Some(value) => value.as_f64().and_then(confidence_share),
    };
    let wanted = "`low`, `medium`, `high` or a number from 0 to 1";
    found.map(Some).ok_or(BadQuestion::Type { part: "confidence", wanted })
}

fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).map(super::cut).unwrap_or_default()
}
