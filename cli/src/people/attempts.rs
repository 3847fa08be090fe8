//! The attempts of a waypoint, a line each: how it was judged, why, and what followed. Pure.

use holdpoint_core::{shown, telling};
use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, BuildArtifact, VerificationReport},
    reason::{CriterionReason, ReasonCode},
};
use serde_json::{Value, json};

use crate::view::seconds;

/// Red criteria that a line names.
const NAMED_MAX: usize = 3;

/// What is known of one attempt.
#[derive(Debug, Default)]
struct Attempt {
    at: Option<Timestamp>,
    agent: String,
    /// What it did not pass, or why it failed.
    why: Vec<String>,
    /// What followed.
    ruling: Option<String>,
    /// That is only that it waits for a person, whose word follows.
    waits: bool,
}

/// A line for each attempt that was handed off, oldest first.
pub(crate) fn lines(history: &[HistoryLine]) -> Vec<String> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for line in history.iter().filter(|line| !matches!(line.standing, Some(Standing::Unsigned | Standing::Conflict))) {
        if line.kind == BuildArtifact::KIND && line.standing == Some(Standing::Taken) {
            attempts.push(handed_off(line));
            continue;
        }
        let Some(attempt) = attempts.last_mut() else { continue };
        if line.kind == VerificationReport::KIND && attempt.ruling.is_none() {
            attempt.why = red(&line.artifact);
        }
        let decision = &line.artifact["decision"];
        let is_judged = attempt.ruling.is_some() && !attempt.waits;
        if let Some(disposition) = decision["disposition"].as_str().filter(|_| !is_judged) {
            let reason = &decision["reason_code"];
            attempt.waits = *reason == json!(ReasonCode::ApprovalOpen);
            let reason = reason.as_str().unwrap_or_default();
            attempt.ruling = Some(format!("{} ({})", shown::line(disposition), shown::line(reason)));
        }
    }
    attempts.iter().enumerate().map(|(number, attempt)| shown_as(number + 1, attempt)).collect()
}

fn shown_as(number: usize, Attempt { at, agent, why, ruling, .. }: &Attempt) -> String {
    let at = at.map(seconds).unwrap_or_default();
    let ruling = ruling.as_deref().unwrap_or("not judged yet");
    let more = why.len().saturating_sub(NAMED_MAX);
    let mut why: Vec<String> = why.iter().take(NAMED_MAX).cloned().collect();
    why.extend((more > 0).then(|| format!("{more} more")));
    let why = if why.is_empty() { String::new() } else { format!("  {}", why.join("; ")) };
    format!("attempt {number}  {at}  {agent}  {ruling}{why}")
}

fn handed_off(line: &HistoryLine) -> Attempt {
    let agent = shown::line(line.artifact["agent"].as_str().unwrap_or_default()).into_owned();
    let failure = &line.artifact["failure"];
    let words = failure["reason"].as_str().map(|reason| {
        let detail = failure["detail"].as_str().unwrap_or_default();
        let last = detail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("{}: {}", shown::line(reason), shown::line(last))
    });
    Attempt { at: Some(line.at), agent, why: words.into_iter().collect(), ruling: None, waits: false }
}

/// The criteria and guards of a report that are not green, each with why.
fn red(report: &Value) -> Vec<String> {
    let lists = ["criteria", "guards"].into_iter().filter_map(|list| report[list].as_array()).flatten();
    let not_green = lists.filter(|one| one["result"]["verdict"] != "pass");
    not_green
        .map(|one| {
            let result = &one["result"];
            let mark = if result["verdict"] == "fail" { "✗" } else { "?" };
            let reason = serde_json::from_value::<CriterionReason>(result["reason"].clone()).ok();
            let note = one["note"].as_str().map(|note| shown::line(note).into_owned());
            let why = note.or_else(|| reason.map(|reason| telling::in_words(reason).to_owned()));
            let id = shown::line(result["id"].as_str().unwrap_or_default()).into_owned();
            why.map_or_else(|| format!("{mark} {id}"), |why| format!("{mark} {id}: {why}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, standing: Option<Standing>, artifact: Value) -> HistoryLine {
        let at = Timestamp::from_millis(0);
        HistoryLine { at, kind: kind.to_owned(), reference: "S/1".to_owned(), artifact, standing }
    }

    #[test]
    fn each_attempt_is_a_line_with_its_verdict_and_why() {
        let taken = Some(Standing::Taken);
        let report = |verdict: &str, note: &str| json!({"criteria": [{"result": {"id": "unit", "verdict": verdict, "reason": null}, "note": note}], "guards": []});
        let decision = |what: &str, why: &str| json!({"decision": {"disposition": what, "reason_code": why}});
        let history = [
            line("verification_report", taken, report("fail", "red before any work, as it should be")),
            line("build_artifact", taken, json!({"agent": "builder-1"})),
            line("verification_report", taken, report("fail", "447 tests ran, 455 on the base\u{1b}[2J")),
            line("turn", None, decision("rework", "criteria_failed")),
            line("build_artifact", Some(Standing::Conflict), json!({"agent": "late-1"})),
            line(
                "build_artifact",
                taken,
                json!({"agent": "builder-2", "failure": {"reason": "agent_failed", "detail": "x\nno model\n"}}),
            ),
            line("turn", None, decision("rework", "agent_failed")),
            line("build_artifact", taken, json!({"agent": "builder-1"})),
            line("verification_report", taken, report("pass", "")),
            line("decided", Some(Standing::Unsigned), decision("rollback", "forged")),
            line("decided", None, decision("accept", "criteria_met")),
        ];
        let at = "1970-01-01T00:00:00Z";
        assert_eq!(
            lines(&history),
            [
                format!(
                    "attempt 1  {at}  builder-1  rework (criteria_failed)  ✗ unit: 447 tests ran, 455 on the base\\u{{1b}}[2J"
                ),
                format!("attempt 2  {at}  builder-2  rework (agent_failed)  agent_failed: no model"),
                format!("attempt 3  {at}  builder-1  accept (criteria_met)"),
            ]
        );
    }

    #[test]
    fn what_a_person_says_of_work_that_waits_for_it_is_what_followed() {
        let taken = Some(Standing::Taken);
        let decision = |what: &str, why: &str| json!({"decision": {"disposition": what, "reason_code": why}});
        let mut history = vec![
            line("build_artifact", taken, json!({"agent": "builder-1"})),
            line("turn", None, decision("escalate", "approval_open")),
        ];
        assert!(lines(&history)[0].ends_with("builder-1  escalate (approval_open)"));
        history.push(line("turn", None, decision("rework", "approval_rejected")));
        history.push(line("decided", None, decision("escalate", "approval_open")));
        assert!(lines(&history)[0].ends_with("builder-1  rework (approval_rejected)"));
    }
}
