//! What an ended program means: ready, failed, a question or a call for help. Pure.
//!
//! Structured output rules over silence (contract, "`command` backend"). What this version does not support fails the
//! turn with `unsupported`, so that it is never ignored.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::{CommandRun, CoverageClaim, Failure, LedgerSource},
    ids::{CriterionId, WaypointId},
    reason::ReasonCode,
    time::Millis,
};
use holdpoint_sandbox::Ended;

use super::output::last_lines;
use crate::backend::{
    BackendResult,
    markers::{self, Found, HelpCall, Markers, Question, first_word},
};

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
}

/// Reads a program's end and output.
#[must_use]
pub fn answer(result: &BackendResult, waypoint: &WaypointId, criteria: &BTreeSet<CriterionId>) -> Answer {
    let Found { markers, envelope, question, help } = markers::read(&result.stdout, &result.stderr);
    if let Some(help) = help {
        // Also from a program that crashed or hung after it: the call is not lost.
        return Answer::Help(help);
    }
    let fail = |reason, what: String| Answer::Failed(Failure { reason, detail: with_output(&what, result) });
    if let Ended::Exited(_) = result.ended {
        if let Some(question) = question {
            return Answer::Clarify(question);
        }
        if let Some(envelope) = envelope {
            let what = format!(
                "the program printed an answer envelope (component {:?}, status {:?}), which this version does not support",
                envelope.component, envelope.status
            );
            return fail(ReasonCode::Unsupported, what);
        }
    }
    if let Some((reason, what)) = bad_end(result) {
        return fail(reason, what);
    }
    match validate(&markers, waypoint, criteria) {
        Ok(said) => Answer::Ready(said),
        Err(what) => fail(ReasonCode::HandoffInvalid, what),
    }
}

/// Why the program's end alone fails the turn.
fn bad_end(result: &BackendResult) -> Option<(ReasonCode, String)> {
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
        Ended::Exited(code) => Some((ReasonCode::AgentFailed, format!("the program exited with code {code}"))),
    }
}

/// The markers of a program that exited with 0: none at all, or a completion of this waypoint with valid claims.
fn validate(markers: &Markers, waypoint: &WaypointId, criteria: &BTreeSet<CriterionId>) -> Result<Said, String> {
    let mut claims: Vec<CoverageClaim> = Vec::new();
    for claim in &markers.claims {
        let Some(criterion) = criteria.iter().find(|id| id.as_str() == claim.id) else {
            return Err(format!("the program claims a criterion that does not exist: {:?}", claim.id));
        };
        // The last word on a criterion counts.
        claims.retain(|earlier| &earlier.criterion != criterion);
        claims.push(CoverageClaim { criterion: criterion.clone(), claim: claim.text.clone() });
    }
    let is_ours = |text: &&String| first_word(text).0 == waypoint.as_str();
    let completion = markers.completions.iter().find(is_ours).cloned();
    for foreign in markers.completions.iter().filter(|text| !is_ours(text)) {
        tracing::info!(event = "marker_ignored", marker = "waypoint-complete", text = %foreign, "ignored a marker");
    }
    if markers.any() && completion.is_none() {
        let what = "the program printed markers, but not <waypoint-complete> with this waypoint's id: it is not ready";
        return Err(what.to_owned());
    }
    let ledger = markers.validations.iter().map(|validation| CommandRun {
        source: LedgerSource::Agent,
        command: validation.command.clone(),
        exit_code: validation.exit_code,
        duration: Millis(0),
        evidence: None,
    });
    Ok(Said { claims, ledger: ledger.collect(), completion })
}

/// What happened, with the last lines of output: what a person or the next attempt needs.
#[must_use]
pub(super) fn with_output(what: &str, result: &BackendResult) -> String {
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
