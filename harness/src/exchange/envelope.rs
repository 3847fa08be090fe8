//! Reading the envelope that a program printed (RETRY-1, RETRY-2). Pure.

use holdpoint_planfile::exchange::Lack;
use holdpoint_protocol::{
    artifact::ExchangeErrorKind,
    envelope::{ENVELOPE_VERSION, EnvelopeStatus},
    version::SchemaVersion,
};
use serde_json::{Map, Value};

use super::{
    component::Expected,
    problem::ResultProblem,
    salvage::{merged, salvage},
};
use crate::backend::markers::PrintedResult;

/// How many todos of a partial result are passed on.
const TODOS_SHOWN: usize = 8;

/// What is known from earlier tries of the same exchange.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before<'a> {
    /// The program was asked for an envelope: printing none has failed.
    pub asked: bool,
    /// What was kept of an earlier object; the next one fills in the rest.
    pub kept: Option<&'a Map<String, Value>>,
}

/// An envelope that holds all it has to.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// `success` or `failure`.
    pub status: EnvelopeStatus,
    /// Its `data`.
    pub data: Map<String, Value>,
}

/// Reads what was printed. `None`: no envelope, and none was asked for.
///
/// # Errors
/// What is wrong with it, all fields that are missing at once.
pub fn read(
    printed: Option<&PrintedResult>,
    expected: &Expected,
    before: Before<'_>,
) -> Result<Option<Whole>, ResultProblem> {
    match printed {
        None if before.asked || expected.required => Err(none(expected, before)),
        None => Ok(None),
        Some(PrintedResult::Broken { cut_off, details, start }) => {
            Err(broken(*cut_off, details, start, expected, before))
        }
        Some(PrintedResult::Whole(object)) => {
            let object = before.kept.map_or_else(|| object.clone(), |kept| merged(kept.clone(), object.clone()));
            whole(object, expected).map(Some)
        }
    }
}

fn none(expected: &Expected, before: Before<'_>) -> ResultProblem {
    let missing = before.kept.map_or_else(
        || vec!["component".to_owned(), "status".to_owned(), "data".to_owned()],
        |kept| missing(kept, expected),
    );
    let details = "the program exited and printed no envelope: one JSON object with `component`, `status` and `data`, which begins \
                   a line";
    ResultProblem {
        missing,
        kept: before.kept.cloned(),
        ..ResultProblem::new(ExchangeErrorKind::MissingField, details)
    }
}

fn broken(cut_off: bool, details: &str, start: &str, expected: &Expected, before: Before<'_>) -> ResultProblem {
    if !cut_off {
        let details = format!("the envelope is no JSON: {details}");
        return ResultProblem {
            kept: before.kept.cloned(),
            ..ResultProblem::new(ExchangeErrorKind::Malformed, details)
        };
    }
    let recovered = if expected.settings.enable_partial_recovery { salvage(start) } else { None };
    let kept = match (before.kept.cloned(), recovered) {
        (Some(kept), Some(more)) => Some(merged(kept, more)),
        (kept, recovered) => kept.or(recovered),
    };
    let missing = kept.as_ref().map(|kept| missing(kept, expected)).unwrap_or_default();
    let details = format!("the envelope was cut off: {details}");
    ResultProblem { missing, kept, ..ResultProblem::new(ExchangeErrorKind::Partial, details) }
}

/// The required fields that an object does not have.
fn missing(object: &Map<String, Value>, expected: &Expected) -> Vec<String> {
    let lacks = lacks(object, expected).into_iter();
    lacks.filter(|lack| lack.kind == ExchangeErrorKind::MissingField).map(|lack| lack.field).collect()
}

fn lacks(object: &Map<String, Value>, expected: &Expected) -> Vec<Lack> {
    let mut lacks = Vec::new();
    let mut lack = |kind, field: &str, what: &str| {
        lacks.push(Lack { kind, field: field.to_owned(), what: what.to_owned() });
    };
    for field in ["component", "status"] {
        match object.get(field) {
            Some(Value::String(_)) => {}
            None | Some(Value::Null) => lack(ExchangeErrorKind::MissingField, field, "is missing"),
            Some(_) => lack(ExchangeErrorKind::MissingField, field, "has to be of type string"),
        }
    }
    let empty = Map::new();
    let data = match object.get("data") {
        Some(Value::Object(data)) => data,
        None | Some(Value::Null) => {
            lack(ExchangeErrorKind::MissingField, "data", "is missing");
            &empty
        }
        Some(_) => {
            lack(ExchangeErrorKind::MissingField, "data", "has to be of type object");
            &empty
        }
    };
    // A failure may have nothing to report but its errors.
    let failed = object.get("status").and_then(Value::as_str) == Some("failure");
    if expected.settings.strict_schema_validation && !failed && object.contains_key("data") {
        let known = |id: &str| expected.criteria.iter().any(|criterion| criterion.as_str() == id);
        let of_data = expected.shape.lacks(data, &known).into_iter();
        lacks.extend(of_data.map(|lack| Lack { field: format!("data.{}", lack.field), ..lack }));
    }
    lacks
}

fn whole(object: Map<String, Value>, expected: &Expected) -> Result<Whole, ResultProblem> {
    let lacks = lacks(&object, expected);
    let told = |lacks: &[&Lack]| -> String {
        lacks.iter().map(|lack| format!("`{}` {}", lack.field, lack.what)).collect::<Vec<_>>().join("; ")
    };
    let absent: Vec<&Lack> = lacks.iter().filter(|lack| lack.kind == ExchangeErrorKind::MissingField).collect();
    if !absent.is_empty() {
        let missing: Vec<String> = absent.iter().map(|lack| lack.field.clone()).collect();
        let details = format!("of the required fields {} cannot be used: {}", missing.len(), told(&absent));
        return Err(ResultProblem {
            missing,
            kept: Some(object),
            ..ResultProblem::new(ExchangeErrorKind::MissingField, details)
        });
    }
    if !lacks.is_empty() {
        return Err(semantic(told(&lacks.iter().collect::<Vec<_>>())));
    }
    let status = checked_head(&object, expected)?;
    let Some(Value::Object(data)) = object.get("data") else { return Err(semantic("`data` is no object".to_owned())) };
    if status == EnvelopeStatus::Partial {
        return Err(ResultProblem::new(ExchangeErrorKind::Partial, not_done(data)));
    }
    Ok(Whole { status, data: data.clone() })
}

/// Version, component, waypoint and status.
fn checked_head(object: &Map<String, Value>, expected: &Expected) -> Result<EnvelopeStatus, ResultProblem> {
    let text =
        |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().chars().take(80).collect::<String>();
    if let Some(version) = object.get("version").filter(|version| !version.is_null()) {
        let read = version.as_str().and_then(|version| version.parse::<SchemaVersion>().ok());
        if read.is_none_or(|read| read.major != ENVELOPE_VERSION.major) {
            return Err(semantic(format!("`version` is {version}, and {ENVELOPE_VERSION} is read")));
        }
    }
    let component = text(object.get("component"));
    if !expected.names.contains(&component) {
        return Err(semantic(format!(
            "`component` is {component:?}, and has to be one of {}",
            expected.names.join(", ")
        )));
    }
    let task = object.get("data").and_then(|data| data.get("task_id")).filter(|task| !task.is_null());
    if let (Some(task), Some(waypoint)) = (task, &expected.waypoint)
        && task.as_str() != Some(waypoint.as_str())
    {
        return Err(semantic(format!(
            "`data.task_id` is {:?}, and this waypoint is {waypoint:?}",
            text(Some(task)),
            waypoint = waypoint.as_str()
        )));
    }
    match text(object.get("status")).as_str() {
        "success" => Ok(EnvelopeStatus::Success),
        "failure" => Ok(EnvelopeStatus::Failure),
        "partial" => Ok(EnvelopeStatus::Partial),
        other => Err(semantic(format!("`status` is {other:?}, and has to be `success`, `failure` or `partial`"))),
    }
}

fn semantic(details: String) -> ResultProblem {
    ResultProblem::new(ExchangeErrorKind::Semantic, details)
}

/// What a partial result says is left: with other words each time it makes progress, with the same it stalls.
fn not_done(data: &Map<String, Value>) -> String {
    let todos = data.get("todos").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let todos: Vec<&str> = todos.iter().filter_map(Value::as_str).take(TODOS_SHOWN).collect();
    format!("`status` is `partial`: finish what is left, then hand over the result. Left: {}", todos.join("; "))
}

/// What a result's `data` says in words, by the first of these keys that has some.
#[must_use]
pub fn words<'a>(data: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().filter_map(|key| data.get(*key)).filter_map(Value::as_str).find(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
