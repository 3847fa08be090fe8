//! What an ended program means: ready, failed, a question or a call for help. Pure.
//!
//! Structured output rules over silence (contract, "`command` backend"). What this version does not support fails the
//! turn with `unsupported`, so that it is never ignored. A malformed question fails it with `handoff_invalid`.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::{CommandRun, Confidence, CoverageClaim, Failure, LedgerSource},
    ids::{CriterionId, WaypointId},
    reason::ReasonCode,
    time::Millis,
};
use holdpoint_sandbox::Ended;

use super::{
    output::last_lines,
    unsure::{doubt, is_unsure},
};
use crate::backend::{
    BackendResult,
    markers::{self, Completion, Envelope, Found, HelpCall, Markers, first_word},
    program::program_words,
    question::{Question, confidence_word},
};

/// Exit codes by which a shell says that a program cannot be executed, or is not there.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// What a program's end and output say.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is ready for handoff.
    Ready(Said),
    /// The turn failed.
    Failed(Failure),
    /// It asks.
    Clarify(Question),
    /// It calls for help.
    Help(HelpCall),
}

/// What a ready program says of its work; claims only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Criteria it says it met.
    pub claims: Vec<CoverageClaim>,
    /// Commands it says it ran.
    pub ledger: Vec<CommandRun>,
    /// The payload of its completion marker.
    pub completion: Option<String>,
    /// How sure it says it is of it.
    pub confidence: Option<Confidence>,
}

/// What a turn wants of an answer.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The waypoint whose completion counts.
    pub waypoint: &'a WaypointId,
    /// The criteria that can be claimed.
    pub criteria: BTreeSet<CriterionId>,
    /// Below which confidence an answer becomes a question.
    pub ask_below: Option<Confidence>,
}

/// Reads a program's end and output.
#[must_use]
pub fn answer(result: &BackendResult, wanted: &Wanted<'_>) -> Answer {
    let Found { markers, envelope, question, help } = markers::read(&result.stdout, &result.stderr);
    if let Some(help) = help {
        // Also from a program that crashed or hung after it: the call is not lost.
        return Answer::Help(help);
    }
    let fail = |reason, what: String| Answer::Failed(Failure { reason, detail: with_output(&what, result) });
    if let Ended::Exited(_) = result.ended {
        match question {
            Some(Ok(question)) => return Answer::Clarify(question),
            Some(Err(bad)) => {
                let what = format!("the program's question cannot be asked: {bad}");
                return fail(ReasonCode::HandoffInvalid, what);
            }
            None => {}
        }
        if let Some(envelope) = envelope {
            return match of_envelope(&envelope, wanted.ask_below) {
                Ok(doubtful) => Answer::Clarify(doubtful),
                Err((reason, what)) => fail(reason, what),
            };
        }
    }
    if let Some((reason, what)) = bad_end(result) {
        return fail(reason, what);
    }
    match validate(&markers, wanted) {
        Ok(said) => doubtful(&said, wanted.ask_below).map_or(Answer::Ready(said), Answer::Clarify),
        Err(what) => fail(ReasonCode::HandoffInvalid, what),
    }
}

/// An envelope without a question: one that its author doubts becomes a question, no other is supported.
fn of_envelope(envelope: &Envelope, ask_below: Option<Confidence>) -> Result<Question, (ReasonCode, String)> {
    let confidence = envelope
        .confidence
        .as_ref()
        .map_err(|bad| (ReasonCode::HandoffInvalid, format!("the program's answer envelope cannot be read: {bad}")))?;
    if let Some(confidence) = confidence.filter(|_| is_unsure(*confidence, ask_below)) {
        return Ok(doubt(confidence, envelope.summary.as_deref().unwrap_or_default()));
    }
    let what = format!(
        "the program printed an answer envelope (component {:?}, status {:?}), which this version does not support",
        envelope.component, envelope.status
    );
    Err((ReasonCode::Unsupported, what))
}

/// The question that a completion becomes if its author doubts it.
fn doubtful(said: &Said, ask_below: Option<Confidence>) -> Option<Question> {
    let confidence = said.confidence.filter(|_| is_unsure(said.confidence, ask_below))?;
    Some(doubt(confidence, said.completion.as_deref().unwrap_or_default()))
}

/// Why the program's end alone fails the turn.
pub(crate) fn bad_end(result: &BackendResult) -> Option<(ReasonCode, String)> {
    let seconds = result.duration.as_secs();
    match result.ended {
        Ended::TimedOut => {
            Some((ReasonCode::AgentTimeout, format!("the program was ended after {seconds} s: its time was up")))
        }
        Ended::OutputLimit => {
            let bytes = result.stdout.len() + result.stderr.len();
            Some((
                ReasonCode::OutputLimit,
                format!("the program was ended after {bytes} bytes of output: it may print no more"),
            ))
        }
        Ended::MemoryLimit | Ended::DiskLimit => {
            let what = if result.ended == Ended::MemoryLimit { "memory" } else { "disk space" };
            Some((ReasonCode::AgentFailed, format!("the program was ended: it used more {what} than it may")))
        }
        Ended::Signalled(signal) => Some((ReasonCode::AgentFailed, format!("signal {signal} ended the program"))),
        Ended::Exited(0) if !result.tree_ended => {
            let what = "something that the program started could not be ended, so its files may still change";
            Some((ReasonCode::AgentFailed, what.to_owned()))
        }
        Ended::Exited(0) => None,
        Ended::Exited(code @ (CANNOT_EXECUTE | NOT_FOUND)) => {
            let why = if code == NOT_FOUND { "is not there" } else { "cannot be executed" };
            let program = named(&result.command);
            Some((ReasonCode::NotExecutable, format!("the program {program} {why} (exit code {code})")))
        }
        Ended::Exited(code) => Some((ReasonCode::AgentFailed, format!("the program exited with code {code}"))),
    }
}

/// The program that a command line runs, or the whole line where it is no simple one.
fn named(command: &str) -> String {
    let program = program_words(command).pop().map_or_else(|| command.trim().to_owned(), |word| word.text);
    format!("`{program}`")
}

/// The markers of a program that exited with 0: none at all, or a completion of this waypoint with valid claims.
fn validate(markers: &Markers, wanted: &Wanted<'_>) -> Result<Said, String> {
    let mut claims: Vec<CoverageClaim> = Vec::new();
    for claim in &markers.claims {
        let Some(criterion) = wanted.criteria.iter().find(|id| id.as_str() == claim.id) else {
            return Err(format!("the program claims a criterion that does not exist: {:?}", claim.id));
        };
        // The last word on a criterion counts.
        claims.retain(|earlier| &earlier.criterion != criterion);
        claims.push(CoverageClaim { criterion: criterion.clone(), claim: claim.text.clone() });
    }
    let is_ours = |said: &&Completion| first_word(&said.text).0 == wanted.waypoint.as_str();
    let completion = markers.completions.iter().find(is_ours);
    for Completion { text, .. } in markers.completions.iter().filter(|said| !is_ours(said)) {
        tracing::info!(event = "marker_ignored", marker = "waypoint-complete", %text, "ignored a marker");
    }
    if markers.any() && completion.is_none() {
        let what = "the program printed markers, but not <waypoint-complete> with this waypoint's id: it is not ready";
        return Err(what.to_owned());
    }
    let confidence = completion.and_then(|said| said.confidence.as_deref()).map(|word| {
        let unknown = || format!("the confidence of <waypoint-complete> is not low, medium or high: {word:?}");
        confidence_word(word.trim()).ok_or_else(unknown)
    });
    let ledger = markers.validations.iter().map(|validation| CommandRun {
        source: LedgerSource::Agent,
        command: validation.command.clone(),
        exit_code: validation.exit_code,
        duration: Millis(0),
        evidence: None,
    });
    let completion = completion.map(|said| said.text.clone());
    Ok(Said { claims, ledger: ledger.collect(), completion, confidence: confidence.transpose()? })
}

/// What happened, with the last lines of output: what a person or the next attempt needs.
#[must_use]
pub(crate) fn with_output(what: &str, result: &BackendResult) -> String {
    let mut text = what.to_owned();
    for (name, bytes) in [("standard output", &result.stdout), ("standard error", &result.stderr)] {
        let lines = last_lines(bytes);
        if !lines.is_empty() {
            text.push_str(&format!("\n--- last lines of {name} ---\n{lines}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
