//! What an ended program means: completed, failed, a question or a call for help. Pure.
//!
//! A completion is a JSON object; a program that prints none and exits with 0 came to the workflow's default outcome, and its
//! last words are the summary (GATE-7). A completion that says too little fails the turn with what it has to say (GATE-22).

use holdpoint_engine::{
    completion::{self, CompletionRules, Lesson, ValidCompletion},
    handed,
};
use holdpoint_protocol::{
    artifact::{ExchangeErrorKind, Failure, Handed},
    envelope::EnvelopeStatus,
    reason::ReasonCode,
    state::Outcome,
    turn::{CompletionRequest, Turn},
};
use holdpoint_sandbox::Ended;
use serde_json::{Map, Value};

use super::advice;
use crate::{
    ask::{Ask, Completed},
    backend::{
        BackendResult,
        markers::{self, BadCompletion, Found, PrintedResult},
    },
    build_turn::{
        answer::{called, failed_by_end, with_output},
        output::last_words,
    },
    exchange::{
        Expected, ResultProblem,
        envelope::{self, Before, Whole, words},
    },
};

/// The summary of a program that says nothing.
const SILENT: &str = "The program ended well and printed nothing.";

/// What a program's end and output say.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// The gate is completed.
    Completed { said: ValidCompletion, named: bool },
    /// The turn failed.
    Failed(Failure),
    /// It handed over something that cannot be used.
    Unusable(ResultProblem),
    /// It asks, or calls for help.
    Asks(Ask),
}

/// What a program's output is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) turn: &'a Turn,
    pub(super) request: &'a CompletionRequest,
    pub(super) expected: &'a Expected,
    /// What is known from earlier runs in the turn.
    pub(super) before: Before<'a>,
    /// The document that the program wrote.
    pub(super) document: Option<&'a str>,
}

/// Reads a program's end and output. What it completed over the line counts if it ended well, whatever it printed.
pub(super) fn answer(result: &BackendResult, held: Held<'_>, recorded: Option<&Completed>) -> Answer {
    let bad_end = failed_by_end(result);
    if let (Some(Completed { said, named }), None) = (recorded, &bad_end) {
        return Answer::Completed { said: said.clone(), named: *named };
    }
    let contract = held.expected.contract(held.before);
    let found = markers::read(&result.said.text, &result.stderr, &result.prompt, contract);
    if let Some(call) = called(&found, result, &held.turn.waypoint) {
        return Answer::Asks(Ask::Help(call));
    }
    let Found { envelope, question, .. } = found;
    let completion = markers::completion(&result.said.text);
    if let (Some(_), None, None) = (&held.request.advice, &bad_end, &completion) {
        // An advisor's words are its advice, in any form.
        return advised(result, held);
    }
    if let (Ended::Exited(_), None, Some(question)) = (result.ended, &completion, question) {
        return match (question, bad_end) {
            (Ok(question), _) => Answer::Asks(Ask::Question(question)),
            (Err(_), Some(failure)) => Answer::Failed(failure),
            (Err(bad), None) => {
                let what = format!("the program's question cannot be asked: {bad}");
                Answer::Unusable(ResultProblem::new(ExchangeErrorKind::Malformed, what))
            }
        };
    }
    if let Some(failure) = bad_end {
        return Answer::Failed(failure);
    }
    match object(completion, envelope, result, held) {
        Ok(object) => match completed(&object, (held.turn, held.request), held.document) {
            Ok(Completed { said, named }) => Answer::Completed { said, named },
            Err(lesson) => Answer::Unusable(of_lesson(&lesson)),
        },
        Err(Bad::Unusable(problem)) => Answer::Unusable(problem),
        Err(Bad::Failed(what)) => {
            Answer::Failed(Failure { reason: ReasonCode::AgentFailed, detail: with_output(&what, result) })
        }
    }
}

/// The completion of an advisor: all that it says.
fn advised(result: &BackendResult, held: Held<'_>) -> Answer {
    let Some(summary) = advice::said(&result.said.text) else {
        let detail = with_output("the advisor said nothing", result);
        return Answer::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail });
    };
    match completed(&Map::from_iter([("summary".to_owned(), summary.into())]), (held.turn, held.request), None) {
        Ok(Completed { said, named }) => Answer::Completed { said, named },
        Err(lesson) => Answer::Unusable(of_lesson(&lesson)),
    }
}

/// Why there is no completion.
enum Bad {
    Unusable(ResultProblem),
    /// The program says that it failed.
    Failed(String),
}

/// The completion as the program printed it: by itself, as an envelope's data, or as its last words.
fn object(
    completion: Option<Result<Map<String, Value>, BadCompletion>>,
    envelope: Option<PrintedResult>,
    result: &BackendResult,
    held: Held<'_>,
) -> Result<Map<String, Value>, Bad> {
    let Held { expected, before, .. } = held;
    // An envelope whose data is a completion is an envelope.
    match completion.filter(|_| envelope.is_none()) {
        Some(Ok(object)) if !expected.required => return Ok(object),
        Some(Err(bad)) => {
            let kind = if bad.cut_off { ExchangeErrorKind::Partial } else { ExchangeErrorKind::Malformed };
            return Err(Bad::Unusable(ResultProblem::new(kind, bad.to_string())));
        }
        Some(Ok(_)) | None => {}
    }
    let reply = || if before.asked { markers::reply(&result.said.text) } else { None };
    match envelope::read(envelope.or_else(reply).as_ref(), expected, before).map_err(Bad::Unusable)? {
        None => Ok(Map::from_iter([(
            "summary".to_owned(),
            Value::from(last_words(result.said.answer()).unwrap_or_else(|| SILENT.to_owned())),
        )])),
        Some(Whole { status: EnvelopeStatus::Failure, data }) => {
            let why = words(&data, &["summary", "reason", "guidance"]).unwrap_or_default();
            Err(Bad::Failed(format!("the program says that it failed: {}", markers::cut(why))))
        }
        Some(Whole { data, .. }) => Ok(of_data(data)),
    }
}

/// A completion in the words of a supervisor, as an artifact has it.
fn of_data(mut data: Map<String, Value>) -> Map<String, Value> {
    let action = data.remove("action");
    let outcome = match action.as_ref().and_then(Value::as_str) {
        Some("execute" | "complete") => Some("complete"),
        Some("review") => Some("needs_review"),
        Some("error") => Some("blocked"),
        _ => None,
    };
    if let (Some(outcome), false) = (outcome, data.contains_key("outcome")) {
        data.insert("outcome".to_owned(), outcome.into());
    }
    for (from, to) in [("reason", "summary"), ("guidance", "rejectionNotes")] {
        if let (Some(words), false) = (data.remove(from), data.contains_key(to)) {
            data.insert(to.to_owned(), words);
        }
    }
    data
}

/// What a lesson is to the exchange: something is missing, or it is wrong.
fn of_lesson(lesson: &Lesson) -> ResultProblem {
    let missing = lesson.to_json().get("requiredField").and_then(Value::as_str).map(|field| format!("data.{field}"));
    let kind = match &lesson.unready {
        Some(_) => ExchangeErrorKind::NotReady,
        None if missing.is_some() => ExchangeErrorKind::MissingField,
        None => ExchangeErrorKind::Semantic,
    };
    let unready = lesson.unready.clone();
    ResultProblem { unready, missing: missing.into_iter().collect(), ..ResultProblem::new(kind, lesson.to_string()) }
}

/// Holds a completion against its turn, by the rule by which orchestrators take one. `document` is what the program wrote as
/// its gate's document, and counts where the completion has none in it.
///
/// # Errors
/// A [`Lesson`]: the first thing that is wrong.
pub(crate) fn completed(
    object: &Map<String, Value>,
    (turn, request): (&Turn, &CompletionRequest),
    document: Option<&str>,
) -> Result<Completed, Lesson> {
    let mut object = object.clone();
    if let (Some(document), None) = (document, object.get("document")) {
        object.insert("document".to_owned(), document.into());
    }
    let object = &object;
    let default = request.default_outcome.unwrap_or(Outcome::Complete);
    let demands = Some(&request.context.demands);
    let can_reject = request.can_reject;
    let wanted = CompletionRules { waypoint: &turn.waypoint, gate: &turn.gate, can_reject, default, demands };
    let said = completion::read(object, wanted)?;
    if let Some(size) = handed::oversized(&Handed::Act(super::handoff::sized(turn, &said))) {
        return Err(completion::too_long(&size));
    }
    // A document that is blocked names its outcome.
    let named = object.get("outcome").is_some_and(|outcome| !outcome.is_null()) || said.outcome != default;
    Ok(Completed { said, named })
}

#[cfg(test)]
mod tests;
