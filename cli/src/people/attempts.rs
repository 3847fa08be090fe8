//! The attempts of a waypoint, a line each: how it was judged, why, and what followed. Pure.

use std::collections::HashMap;

use holdpoint_account::words::verdict_mark;
use holdpoint_evidence::telling;
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, BuildArtifact, VerificationReport},
    checkpoint::GateCheckpoints,
    facts::Verdict,
    reason::{CriterionReason, ReasonCode},
};
use holdpoint_text::{shown, units::seconds};
use serde_json::{Value, json};

/// Red criteria that a line names.
const NAMED_MAX: usize = 3;

/// Of an attempt that handed nothing off.
const FILES_KEPT: &str = "its files are kept";

/// What is known of one attempt.
#[derive(Debug, Default)]
struct Attempt {
    /// As its turn has it.
    number: Option<u64>,
    at: Option<Timestamp>,
    agent: String,
    /// What it did not pass, or why it failed.
    why: Vec<String>,
    /// What came of checkpoints, line by line.
    checkpoints: Vec<String>,
    /// What followed.
    ruling: Option<String>,
    /// That is only that it waits for a person, whose word follows.
    waits: bool,
    /// It was not taken, as after the end of its turn: nothing follows.
    late: bool,
}

/// A line for each attempt that was handed off, oldest first.
pub(crate) fn lines(history: &[HistoryLine]) -> Vec<String> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    for line in history.iter().filter(|line| line.standing != Some(Standing::Unsigned)) {
        let is_work = line.kind == BuildArtifact::KIND;
        let late = line.standing == Some(Standing::Conflict) || is_work && line.standing != Some(Standing::Taken);
        if let (Some(turn), Some(number)) = (line.artifact["turn_id"].as_str(), line.artifact["attempt"].as_u64()) {
            numbers.insert(turn, number);
        }
        // Of what was not taken only files are worth a line.
        if is_work && (line.artifact["bundle"].is_object() || !late) {
            let number = line.artifact["turn"].as_str().and_then(|turn| numbers.get(turn).copied());
            attempts.push(Attempt { number, ..handed_off(line, late) });
            continue;
        }
        let Some(attempt) = attempts.iter_mut().rev().find(|attempt| !attempt.late && !late) else { continue };
        if line.kind == VerificationReport::KIND && attempt.ruling.is_none() {
            attempt.why = red(&line.artifact);
        }
        // What an entry says of checkpoints follows from the report before it.
        if attempt.ruling.is_none() {
            let gates = line.artifact["record"]["state"]["checkpoints"].clone();
            let gates: Vec<GateCheckpoints> = serde_json::from_value(gates).unwrap_or_default();
            attempt.checkpoints = gates.iter().flat_map(checkpoints::lines).collect();
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
    let number = |at: usize, attempt: &Attempt| attempt.number.unwrap_or(at as u64 + 1);
    attempts.iter().enumerate().map(|(at, attempt)| shown_as(number(at, attempt), attempt)).collect()
}

fn shown_as(number: u64, Attempt { at, agent, why, checkpoints, ruling, .. }: &Attempt) -> String {
    let at = at.map(seconds).unwrap_or_default();
    let ruling = ruling.as_deref().unwrap_or("not judged yet");
    let more = why.len().saturating_sub(NAMED_MAX);
    let mut why: Vec<String> = why.iter().take(NAMED_MAX).cloned().collect();
    why.extend((more > 0).then(|| format!("{more} more")));
    let why = if why.is_empty() { String::new() } else { format!("  {}", why.join("; ")) };
    let checkpoints: String = checkpoints.iter().map(|line| format!("\n    {line}")).collect();
    format!("attempt {number}  {at}  {agent}  {ruling}{why}{checkpoints}")
}

fn handed_off(line: &HistoryLine, late: bool) -> Attempt {
    let agent = shown::line(line.artifact["agent"].as_str().unwrap_or_default()).into_owned();
    let failure = &line.artifact["failure"];
    let words = failure["reason"].as_str().map(|reason| {
        let detail = failure["detail"].as_str().unwrap_or_default();
        let last = detail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("{}: {}", shown::line(reason), shown::line(last))
    });
    let kept = (words.is_some() && line.artifact["bundle"].is_object()).then(|| FILES_KEPT.to_owned());
    let ruling = late.then(|| "not taken".to_owned());
    let why = words.into_iter().chain(kept).collect();
    Attempt { at: Some(line.at), agent, why, ruling, late, ..Attempt::default() }
}

/// The criteria and guards of a report that are not green, each with why.
fn red(report: &Value) -> Vec<String> {
    let lists = ["criteria", "guards"].into_iter().filter_map(|list| report[list].as_array()).flatten();
    let not_green = lists.filter(|one| one["result"]["verdict"] != "pass");
    not_green
        .map(|one| {
            let result = &one["result"];
            let mark = verdict_mark(if result["verdict"] == "fail" { Verdict::Fail } else { Verdict::Inconclusive });
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
    fn the_score_of_an_attempt_is_explained_line_by_line() {
        let taken = Some(Standing::Taken);
        let result = |name: &str, status: &str, message: &str| json!({"name": name, "by": "command", "status": status, "message": message});
        let audit = json!([{"gate": "audit", "score": 50, "checkpoints": [
            result("tests", "pass", ""), result("lint", "fail", ""), result("security", "skip", "`cargo-audit` is missing")]}]);
        let history = [
            line("build_artifact", taken, json!({"agent": "builder-1"})),
            line("verification_report", taken, json!({"criteria": [], "guards": []})),
            line(
                "turn",
                None,
                json!({"decision": {"disposition": "rework", "reason_code": "checkpoints_unmet"}, "record": {"state": {"checkpoints": audit}}}),
            ),
        ];
        let expected = "attempt 1  1970-01-01T00:00:00Z  builder-1  rework (checkpoints_unmet)\n    score 50 at gate audit: 1 of 2 that ran \
                        pass\n    pass tests\n    fail lint\n    skip security: `cargo-audit` is missing";
        assert_eq!(lines(&history), [expected]);
    }

    #[test]
    fn an_attempt_that_left_files_says_so_also_where_they_were_not_taken() {
        let taken = Some(Standing::Taken);
        let turn = |id: &str, attempt: u32| line("turn", None, json!({"turn_id": id, "attempt": attempt}));
        let left = |turn: &str, standing| {
            let failure = json!({"reason": "agent_timeout", "detail": "its time was up"});
            let artifact = json!({"agent": "builder-1", "turn": turn, "failure": failure, "bundle": {}});
            line("build_artifact", standing, artifact)
        };
        let rework = json!({"decision": {"disposition": "rework", "reason_code": "agent_timeout"}});
        let history = [
            turn("t1", 1),
            left("t1", taken),
            line("turn", None, rework),
            turn("t3", 3),
            line("build_artifact", Some(Standing::Conflict), json!({"agent": "builder-2", "turn": "t3"})),
            left("t3", None),
        ];
        let at = "1970-01-01T00:00:00Z";
        let why = "agent_timeout: its time was up; its files are kept";
        assert_eq!(
            lines(&history),
            [
                format!("attempt 1  {at}  builder-1  rework (agent_timeout)  {why}"),
                format!("attempt 3  {at}  builder-1  not taken  {why}"),
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
