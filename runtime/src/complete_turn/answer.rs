//! What an ended program means: completed, failed, a question or a call for help. Pure.
//!
//! A completion is a JSON object; a program that prints none and exits with 0 came to the workflow's default outcome, and its
//! last words are the summary (GATE-7). A completion that says too little fails the turn with what it has to say (GATE-22).

use holdpoint_core::{
    completion::{self, Said, Wanted},
    handed, shown,
};
use holdpoint_protocol::{
    artifact::{Failure, Handed},
    reason::ReasonCode,
    state::Outcome,
    turn::{CompletionRequest, Turn},
};
use holdpoint_sandbox::Ended;
use serde_json::{Map, Value};

use crate::{
    ask::Ask,
    backend::{
        BackendResult,
        markers::{self, Found},
    },
    build_turn::answer::{bad_end, with_output},
};

/// The longest summary that is made of a program's last words, in bytes.
const SUMMARY_BYTES_MAX: usize = 2 << 10;
/// The summary of a program that says nothing.
const SILENT: &str = "The program ended well and printed nothing.";

/// What a program's end and output say.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// The gate is completed.
    Completed { said: Said, named: bool },
    /// The turn failed.
    Failed(Failure),
    /// It asks, or calls for help.
    Asks(Ask),
}

/// Reads a program's end and output.
pub(super) fn answer(result: &BackendResult, turn: &Turn, request: &CompletionRequest) -> Answer {
    let Found { markers: _, envelope, question, help } = markers::read(&result.stdout, &result.stderr);
    if let Some(help) = help {
        return Answer::Asks(Ask::Help(help));
    }
    let fail = |reason, what: &str| Answer::Failed(Failure { reason, detail: with_output(what, result) });
    let completion = markers::completion(&result.stdout);
    if let (Ended::Exited(_), None, Some(question)) = (result.ended, &completion, question) {
        return match question {
            Ok(question) => Answer::Asks(Ask::Question(question)),
            Err(bad) => fail(ReasonCode::HandoffInvalid, &format!("the program's question cannot be asked: {bad}")),
        };
    }
    if let Some((reason, what)) = bad_end(result) {
        return fail(reason, &what);
    }
    let object = match (completion, envelope) {
        (Some(Ok(object)), _) => object,
        (Some(Err(bad)), _) => return fail(ReasonCode::HandoffInvalid, &bad.to_string()),
        (None, Some(_)) => {
            let what = "the program printed an answer envelope, which this version does not support";
            return fail(ReasonCode::Unsupported, what);
        }
        (None, None) => Map::from_iter([("summary".to_owned(), Value::from(last_words(&result.stdout)))]),
    };
    let default = request.default_outcome.unwrap_or(Outcome::Complete);
    let wanted = Wanted { waypoint: &turn.waypoint, gate: &turn.gate, can_reject: request.can_reject, default };
    let named = object.get("outcome").is_some_and(|outcome| !outcome.is_null());
    match completion::read(&object, wanted) {
        Err(lesson) => fail(ReasonCode::HandoffInvalid, &lesson.to_string()),
        Ok(said) => match handed::oversized(&Handed::Act(super::handoff::sized(turn, &said))) {
            Some(what) => fail(ReasonCode::HandoffInvalid, &format!("the completion is too long: {what}")),
            None => Answer::Completed { said, named },
        },
    }
}

/// The last paragraph of an output, as printable text.
fn last_words(stdout: &[u8]) -> String {
    // Twice the bytes are decoded, so that a character cut at the front does not matter.
    let start = stdout.len().saturating_sub(2 * SUMMARY_BYTES_MAX);
    let text = String::from_utf8_lossy(stdout.get(start..).unwrap_or_default());
    let text = shown::lines(&text);
    let text = text.trim();
    let last = text.rsplit("\n\n").find(|paragraph| !paragraph.trim().is_empty()).unwrap_or_default().trim();
    let from = last.ceil_char_boundary(last.len().saturating_sub(SUMMARY_BYTES_MAX));
    match last.get(from..).unwrap_or_default() {
        "" => SILENT.to_owned(),
        words => words.to_owned(),
    }
}

#[cfg(test)]
mod tests;
