//! What an ended program means: ready, failed, a question, a call for help, or a result that cannot be used. Pure.
//!
//! Structured output rules over silence (contract, "`command` backend"). A result that cannot be used is asked for
//! again: [`crate::exchange`] decides how often.

use holdpoint_evidence::telling;
use holdpoint_protocol::{
    artifact::{CommandRun, Confidence, CoverageClaim, ExchangeErrorKind, Failure, IgnoredMarker, LedgerSource},
    envelope::EnvelopeStatus,
    ids::WaypointId,
    reason::ReasonCode,
    time::Millis,
};
use holdpoint_sandbox::Ended;
use serde_json::Value;

use super::unsure::{doubt, is_unsure};
use crate::{
    acp,
    ask::Ask,
    backend::{
        BackendResult,
        markers::{self, Claim, Completion, Contract, Found, HelpCall, Markers, PrintedResult},
        program::{last_argument, program_words},
        question::{ValidQuestion, confidence_share, confidence_word},
    },
    exchange::{
        Expected, ResultProblem,
        envelope::{self, Before, Whole, words},
    },
    tail::last_lines,
};

/// Where an envelope's `data` says in words what was done.
const SUMMARY_KEYS: [&str; 4] = ["summary", "reason", "guidance", "findings"];

/// What a program's end and output say.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramAnswer {
    /// It is ready for handoff.
    Ready(WorkClaims),
    /// The turn failed.
    Failed(Failure),
    /// It handed over something that cannot be used.
    Unusable(ResultProblem),
    /// It asks.
    Clarify(ValidQuestion),
    /// It calls for help.
    Help(HelpCall),
}

/// What a ready program says of its work; claims only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkClaims {
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
pub struct AnswerRules<'a> {
    /// The waypoint whose completion counts.
    pub waypoint: &'a WaypointId,
    /// What an envelope has to hold, and the criteria that can be claimed.
    pub expected: &'a Expected,
    /// What is known from earlier runs in the turn.
    pub before: Before<'a>,
    /// Below which confidence an answer becomes a question.
    pub ask_below: Option<Confidence>,
}

/// Reads a program's end and output. What it says it doubts is never ready without being asked about, where the plan wants that
/// (FLY-I7).
#[must_use]
pub fn answer(result: &BackendResult, wanted: &AnswerRules<'_>) -> ProgramAnswer {
    let contract = wanted.expected.contract(wanted.before);
    let found = markers::read(&result.said.text, &result.stderr, &result.prompt, contract);
    let word = |said: &Completion| confidence_word(said.confidence.as_deref()?.trim());
    let marked: Vec<Confidence> = found.markers.completions_of(wanted.waypoint).filter_map(word).collect();
    match read(found, result, wanted) {
        ProgramAnswer::Ready(said) => {
            let mut stated = said.confidence.into_iter().chain(marked);
            match stated.find(|confidence| is_unsure(Some(*confidence), wanted.ask_below)) {
                Some(confidence) => {
                    ProgramAnswer::Clarify(doubt(confidence, said.completion.as_deref().unwrap_or_default()))
                }
                None => ProgramAnswer::Ready(said),
            }
        }
        other => other,
    }
}

fn read(found: Found, result: &BackendResult, wanted: &AnswerRules<'_>) -> ProgramAnswer {
    if let Some(call) = called(&found, result, wanted.waypoint) {
        // Also from a program that crashed or hung after it: the call is not lost.
        return ProgramAnswer::Help(call);
    }
    let Found { markers, envelope, question, .. } = found;
    let well = bad_end(result).is_none();
    if let Ended::Exited(_) = result.ended {
        match question {
            Some(Ok(question)) => return ProgramAnswer::Clarify(question),
            Some(Err(bad)) => {
                let what = format!("the program's question cannot be asked: {bad}");
                return if well {
                    ProgramAnswer::Unusable(ResultProblem::new(ExchangeErrorKind::Malformed, what))
                } else {
                    ProgramAnswer::Failed(Failure {
                        reason: ReasonCode::HandoffInvalid,
                        detail: with_output(&what, result),
                    })
                };
            }
            None => {}
        }
        // The author's doubts are asked about, no matter what else is wrong with it.
        if let Some(PrintedResult::Whole(map)) = &envelope
            && let Ok(Some(confidence)) = markers::sure(map)
            && is_unsure(Some(confidence), wanted.ask_below)
        {
            let data = map.get("data").and_then(Value::as_object).unwrap_or(map);
            return ProgramAnswer::Clarify(doubt(
                confidence,
                &markers::cut(words(data, &SUMMARY_KEYS).unwrap_or_default()),
            ));
        }
    }
    if let Some(failure) = failed_by_end(result) {
        return ProgramAnswer::Failed(failure);
    }
    // A program that was asked for an envelope may print it in a code block, as models do.
    let reply = || if wanted.before.asked { markers::reply(&result.said.text) } else { None };
    let printed = envelope.or_else(reply);
    let speak = markers.speak_of(wanted.waypoint);
    if printed.is_none() && speak && !wanted.expected.required {
        return match validate(&markers, wanted) {
            Ok(said) => ProgramAnswer::Ready(said),
            Err(problem) => ProgramAnswer::Unusable(problem),
        };
    }
    match envelope::read(printed.as_ref(), wanted.expected, wanted.before) {
        Ok(None) => ProgramAnswer::Ready(WorkClaims::default()),
        Ok(Some(whole)) => of_envelope(&whole, &markers, wanted, result),
        Err(problem) => ProgramAnswer::Unusable(problem),
    }
}

/// The call for help in an output, with all that was heard of it.
pub(crate) fn called(found: &Found, result: &BackendResult, waypoint: &WaypointId) -> Option<HelpCall> {
    let call = found.help.clone()?;
    let events = if result.help_events.is_empty() { call.events.clone() } else { result.help_events.clone() };
    Some(HelpCall { events, ignored: said_nothing(result, waypoint), ..call })
}

/// What was asked while the program ran, with what its whole output says of it.
pub(crate) fn settled(ask: Ask, result: &BackendResult, waypoint: &WaypointId) -> Ask {
    let Ask::Help(call) = ask else { return ask };
    let found = markers::read(&result.said.text, &result.stderr, &result.prompt, Contract::default());
    let printed = found.help.is_some();
    let Some(call) = markers::reconcile(Some(call.clone()), found.envelope.as_ref()) else { return Ask::Help(call) };
    // A call over the line is heard there alone.
    let events = if printed { result.help_events.clone() } else { call.events.clone() };
    Ask::Help(HelpCall { events, ignored: said_nothing(result, waypoint), ..call })
}

/// The markers of an output that say nothing (FLY-25).
pub(crate) fn said_nothing(result: &BackendResult, waypoint: &WaypointId) -> Vec<IgnoredMarker> {
    markers::read(&result.said.text, &result.stderr, &result.prompt, Contract::default()).said_nothing(waypoint)
}

/// What a whole envelope says: ready, or failed.
fn of_envelope(whole: &Whole, markers: &Markers, wanted: &AnswerRules<'_>, result: &BackendResult) -> ProgramAnswer {
    let Whole { status, data } = whole;
    let is = |key: &str, word: bool| data.get(key).and_then(Value::as_bool) == Some(word);
    if *status == EnvelopeStatus::Failure || is("success", false) {
        let errors = data.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
        let why = words(data, &SUMMARY_KEYS).map_or_else(|| errors.join("; "), str::to_owned);
        let what = format!("the program says that it failed: {}", markers::cut(&why));
        return ProgramAnswer::Failed(Failure { reason: ReasonCode::AgentFailed, detail: with_output(&what, result) });
    }
    if is("completed_normally", false) {
        let what = "`completed_normally` is false: finish the work, then hand over the result";
        return ProgramAnswer::Unusable(ResultProblem::new(ExchangeErrorKind::Partial, what));
    }
    let mut said = WorkClaims { completion: words(data, &SUMMARY_KEYS).map(markers::cut), ..WorkClaims::default() };
    let confidence = data.get("confidence").filter(|value| !value.is_null());
    if let Some(value) = confidence {
        let word = value.as_str().and_then(confidence_word).or_else(|| value.as_f64().and_then(confidence_share));
        let Some(word) = word else {
            let what = "`data.confidence` has to be `low`, `medium`, `high` or a number from 0 to 1";
            return ProgramAnswer::Unusable(ResultProblem::new(ExchangeErrorKind::Semantic, what));
        };
        said.confidence = Some(word);
    }
    let claims = data.get("claims").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let claims = claims.iter().take(markers::MARKERS_MAX).map(|claim| Claim {
        id: claim.get("criterion").and_then(Value::as_str).unwrap_or_default().to_owned(),
        text: markers::cut(claim.get("claim").and_then(Value::as_str).unwrap_or_default()),
    });
    match claimed(claims.collect::<Vec<_>>().iter().chain(&markers.claims), wanted) {
        Ok(claims) => ProgramAnswer::Ready(WorkClaims { claims, ledger: ledger(markers), ..said }),
        Err(problem) => ProgramAnswer::Unusable(problem),
    }
}

/// Why a program that ended badly has failed.
pub(crate) fn failed_by_end(result: &BackendResult) -> Option<Failure> {
    let (reason, what) = bad_end(result)?;
    Some(Failure { reason, detail: with_output(&what, result) })
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
        Ended::Signalled(signal) => {
            Some((ReasonCode::AgentFailed, format!("{} ended the program", telling::signal(signal))))
        }
        Ended::Exited(0) if !result.tree_ended => {
            let what = "something that the program started could not be ended, so its files may still change";
            Some((ReasonCode::AgentFailed, what.to_owned()))
        }
        Ended::Exited(0) => None,
        Ended::Exited(code) if telling::is_not_run(code) => {
            let program = named(&result.command);
            let what = format!("the program {program} {}: install it, or fix its command", telling::exited(code));
            Some((ReasonCode::NotExecutable, what))
        }
        Ended::Exited(code) => Some((ReasonCode::AgentFailed, format!("the program {}", telling::exited(code)))),
    }
}

/// The program that a command line runs, or the whole line where it is no simple one.
fn named(command: &str) -> String {
    let behind = last_argument(command, acp::PROGRAM);
    let command = behind.as_deref().unwrap_or(command);
    let program = program_words(command).pop().map_or_else(|| command.trim().to_owned(), |word| word.text);
    format!("`{program}`")
}

/// The markers of a program that exited with 0 and speaks of its turn in them: a completion of this waypoint with valid claims.
fn validate(markers: &Markers, wanted: &AnswerRules<'_>) -> Result<WorkClaims, ResultProblem> {
    let claims = claimed(markers.claims.iter(), wanted)?;
    let completion = markers.completions_of(wanted.waypoint).next();
    if completion.is_none() {
        let what = "the program printed markers, but not <waypoint-complete> with this waypoint's id: it is not ready";
        let kind = if markers.is_unfinished(wanted.waypoint) {
            ExchangeErrorKind::Partial
        } else if markers.completions.is_empty() {
            ExchangeErrorKind::MissingField
        } else {
            ExchangeErrorKind::Semantic
        };
        return Err(ResultProblem::new(kind, what));
    }
    let confidence = completion.and_then(|said| said.confidence.as_deref()).map(|word| {
        let unknown = || {
            let what = format!("the confidence of <waypoint-complete> is not low, medium or high: {word:?}");
            ResultProblem::new(ExchangeErrorKind::Semantic, what)
        };
        confidence_word(word.trim()).ok_or_else(unknown)
    });
    let completion = completion.map(|said| said.text.clone());
    Ok(WorkClaims { claims, ledger: ledger(markers), completion, confidence: confidence.transpose()? })
}

/// The criteria that are claimed; the last word on each counts.
fn claimed<'a>(
    said: impl Iterator<Item = &'a Claim>,
    wanted: &AnswerRules<'_>,
) -> Result<Vec<CoverageClaim>, ResultProblem> {
    let mut claims: Vec<CoverageClaim> = Vec::new();
    for claim in said {
        let Some(criterion) = wanted.expected.criteria.iter().find(|id| id.as_str() == claim.id) else {
            let what = format!("the program claims a criterion that does not exist: {:?}", claim.id);
            return Err(ResultProblem::new(ExchangeErrorKind::Semantic, what));
        };
        claims.retain(|earlier| &earlier.criterion != criterion);
        claims.push(CoverageClaim { criterion: criterion.clone(), claim: claim.text.clone() });
    }
    Ok(claims)
}

/// The commands that it says it ran.
fn ledger(markers: &Markers) -> Vec<CommandRun> {
    let ran = markers.validations.iter().map(|validation| CommandRun {
        source: LedgerSource::Agent,
        command: validation.command.clone(),
        exit_code: validation.exit_code,
        duration: Millis(0),
        evidence: None,
    });
    ran.collect()
}

/// What happened, with the last lines of output: what a person or the next attempt needs.
#[must_use]
pub(crate) fn with_output(what: &str, result: &BackendResult) -> String {
    let mut text = what.to_owned();
    if let Some(error) = &result.said.error {
        text.push_str(&format!("\n--- the program reports ---\n{error}"));
    }
    for (name, bytes) in [("standard output", &result.said.text), ("standard error", &result.stderr)] {
        let lines = last_lines(bytes);
        if !lines.is_empty() {
            text.push_str(&format!("\n--- last lines of {name} ---\n{lines}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
