//! What happened to a waypoint, attempt by attempt: turns, work, verdicts with their evidence, decisions.

use holdpoint_account::words::why;
use holdpoint_evidence::telling;
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, BuildArtifact, BuildStatus, CheckRun, CriterionReport, TreeTested, VerificationReport},
    facts::Verdict,
    ids::CriterionId,
    journal::Decided,
    turn::{Feedback, Turn, TurnRequest},
    view::{FlightView, WaypointView},
};
use holdpoint_text::units::{counted, span};
use maud::{Markup, html};
use serde_json::Value;

use super::{
    frame::Frame,
    parts::{beginning, lines, time, verdict, word},
};
use crate::view::View;

/// Steps that are shown: the newest; `holdpoint history` has all.
const STEPS_MAX: usize = 400;
/// Paths and commands of one work that are listed.
const PATHS_MAX: usize = 200;

/// What pages need of whose history it is.
#[derive(Debug, Clone, Copy)]
struct Of<'a> {
    frame: &'a Frame,
    view: &'a FlightView,
    waypoint: &'a WaypointView,
}

/// Everything, a section for each attempt, newest first.
pub(super) fn attempts(frame: &Frame, view: &FlightView, waypoint: &WaypointView, history: &[HistoryLine]) -> Markup {
    let of = Of { frame, view, waypoint };
    let shown = history.get(history.len().saturating_sub(STEPS_MAX)..).unwrap_or_default();
    let sections = sections(shown);
    html! {
        @if history.len() > shown.len() { p.hint { "The newest " (shown.len()) " of " (history.len()) " steps; " code { "holdpoint history " (waypoint.id) } " has all." } }
        @if sections.is_empty() { p.empty { "It has not begun." } }
        @for (at, (attempt, steps)) in sections.iter().rev().enumerate() {
            details.attempt open[at == 0] {
                summary { @if *attempt == 0 { "Before the first attempt" } @else { "Attempt " (attempt) } " " span.dim { (counted(steps.len(), "step")) } }
                ol.steps { @for line in steps { li { (step(of, line)) } } }
            }
        }
    }
}

/// What belongs to each attempt. A gate that only completes comes after the work that it looks at, and begins no attempt: its turn counts
/// the one that would be next.
fn sections(shown: &[HistoryLine]) -> Vec<(u64, Vec<&HistoryLine>)> {
    let wants = |line: &HistoryLine, wanted: &str| line.kind == "turn" && line.artifact["request"]["wanted"] == wanted;
    let builds = shown.iter().any(|line| wants(line, "build"));
    let mut sections: Vec<(u64, Vec<&HistoryLine>)> = Vec::new();
    for line in shown {
        let may_begin = line.kind == "turn" && !(builds && wants(line, "complete"));
        let attempt = may_begin.then(|| line.artifact["attempt"].as_u64()).flatten();
        match (attempt, sections.last_mut()) {
            (Some(attempt), Some((last, lines))) if attempt == *last => lines.push(line),
            (Some(attempt), _) => sections.push((attempt, vec![line])),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => sections.push((0, vec![line])),
        }
    }
    sections
}

fn step(of: Of<'_>, line: &HistoryLine) -> Markup {
    let document = View::Document(of.view.flight.clone(), of.waypoint.id.clone(), line.reference.clone(), None);
    html! {
        div.sub { (time(line.at)) " · " (word(&line.kind)) " · " a href=(of.frame.href(&document)) { (word(&line.reference)) }
            @match line.standing {
                Some(Standing::Conflict) => { " · " strong { "came too late, or second" } }
                Some(Standing::Unsigned) => { " · " strong { "not signed: nothing heeds it" } }
                Some(Standing::Taken) | None => {}
            }
        }
        (body(of, line))
    }
}

fn body(of: Of<'_>, line: &HistoryLine) -> Markup {
    fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
        serde_json::from_value(value.clone()).ok()
    }
    let known = match line.kind.as_str() {
        "turn" => read::<Turn>(&line.artifact).map(|turn| of_turn(&turn)),
        "decided" => read::<Decided>(&line.artifact).map(|decided| of_decided(&decided)),
        BuildArtifact::KIND => read::<BuildArtifact>(&line.artifact).map(|built| work(of, line, &built)),
        VerificationReport::KIND => read::<VerificationReport>(&line.artifact).map(|report| report_of(of, &report)),
        _ => None,
    };
    known.unwrap_or_else(|| other(&line.artifact))
}

fn of_turn(turn: &Turn) -> Markup {
    let wants = match &turn.request {
        TurnRequest::Build(_) => "builds",
        TurnRequest::Verify(_) => "verifies",
        TurnRequest::Complete(_) => "completes the gate",
    };
    html! {
        p { strong { (turn.role) } " " (wants) " at gate " (turn.gate) ", deadline " (time(turn.deadline)) }
        @if let Some(feedback) = turn.told() { (of_feedback(feedback)) }
    }
}

fn of_feedback(feedback: &Feedback) -> Markup {
    html! {
        div.feedback {
            p { "Feedback for the next turn: " (feedback.disposition) " (" (feedback.reason_code) ")" }
            @for note in &feedback.notes { pre.words { (lines(note)) } }
            @for failing in &feedback.failing { (criterion(None, failing, &[])) }
            @for clarified in &feedback.clarifications {
                pre.words { (lines(&clarified.question)) }
                p { "answered by " (word(&clarified.by)) ": "
                    @if let Some(option) = &clarified.option { (word(option)) " " }
                    @if let Some(text) = &clarified.text { (word(text)) } }
            }
        }
    }
}

fn of_decided(decided: &Decided) -> Markup {
    let decision = &decided.decision;
    html! {
        p { "Decided: " strong { (decision.disposition) } " (" (decision.reason_code) ")" }
        @if let Some(remediation) = &decision.remediation { p { (word(remediation)) } }
        @if let Some(feedback) = &decided.feedback { (of_feedback(feedback)) }
    }
}

fn work(of: Of<'_>, line: &HistoryLine, built: &BuildArtifact) -> Markup {
    let diff = View::Patch(of.view.flight.clone(), of.waypoint.id.clone(), line.reference.clone());
    html! {
        p {
            strong { (built.agent) } " " @if built.status == BuildStatus::Ok { "handed off" } @else { "failed" }
            @if let Some(failure) = &built.failure { " (" (failure.reason) "): " (word(&failure.detail)) }
            ", " (span(built.metered.wall.duration()))
        }
        @if built.commit.is_some() {
            p { (counted(built.diff.files, "file")) ", +" (built.diff.insertions) " −" (built.diff.deletions) ": "
                a href=(of.frame.href(&diff)) { "diff" } }
            details { summary { "Paths" } ul { @for path in built.touched.iter().take(PATHS_MAX) { li { code { (word(&path.path)) } } } } }
        }
        @if !built.left_out.is_empty() {
            details { summary { "Left out" } ul { @for one in &built.left_out { li { code { (word(&one.what)) } " " (word(&one.why)) } } } }
        }
        @if let Some(words) = built.completion_claim.as_deref().or(built.last_words.as_deref()) {
            details { summary { "What it said in the end" } pre.words { (lines(words)) } }
        }
        @if !built.ledger.is_empty() {
            details { summary { (counted(built.ledger.len(), "command")) } ul { @for run in built.ledger.iter().take(PATHS_MAX) {
                li { code.long { (word(&run.command)) } " " @match run.exit_code { Some(code) => { "exit " (code) } None => { "no exit code" } } ", " (span(run.duration.duration()))
                    @if let Some(digest) = run.evidence { " " a href=(of.frame.href(&View::Evidence(digest))) { "output" } } }
            } } }
        }
    }
}

fn report_of(of: Of<'_>, report: &VerificationReport) -> Markup {
    let checks = |id: &CriterionId| -> Vec<&CheckRun> {
        report.receipt.checks.iter().filter(|run| run.criterion.as_ref() == Some(id)).collect()
    };
    let purpose = serde_json::to_value(report.purpose).ok();
    html! {
        p { strong { (report.agent) } " judged the " (purpose.as_ref().and_then(Value::as_str).unwrap_or("work"))
            @if report.receipt.foreign { " " span.tag { "foreign receipt" } }
            @if report.self_checked { " " span.tag { (telling::SELF_CHECKED) } } }
        @for one in &report.criteria { (criterion(Some(of.frame), one, &checks(&one.result.id))) }
        @if !report.guards.is_empty() { h3 { "Guards" } @for one in &report.guards { (criterion(Some(of.frame), one, &checks(&one.result.id))) } }
        @if !report.checkpoints.is_empty() { h3 { "Commands of checkpoints" } @for one in &report.checkpoints { (criterion(Some(of.frame), &one.report, &checks(&one.report.result.id))) } }
        @if !report.violations.is_empty() { p.warn { "Paths that it may not touch: " @for (at, one) in report.violations.iter().enumerate() { @if at > 0 { ", " } code { (word(&one.path)) } } } }
        @if !report.doubts.is_empty() { h3 { "Doubts" } ul { @for doubt in &report.doubts { li { (word(&doubt.text)) @if doubt.blocking { " " span.tag { "blocking" } } } } } }
    }
}

fn criterion(frame: Option<&Frame>, report: &CriterionReport, checks: &[&CheckRun]) -> Markup {
    let result = &report.result;
    let passed = result.verdict == Verdict::Pass;
    html! {
        details.criterion open[!passed] {
            summary { (verdict(result.verdict)) " " (result.id) @if let Some(why) = why(result, None) { " · " (why) } }
            @if let Some(command) = &report.command { p { code.long { (word(command)) } @if let Some(code) = report.exit_code { " exit " (code) } } }
            @if let Some(note) = &report.note { pre.words { (lines(note)) } }
            @if !report.output_tail.trim().is_empty() { pre.output tabindex="0" { (lines(&report.output_tail)) } }
            @if let Some(frame) = frame {
                @if !checks.is_empty() { ul.runs { @for run in checks { li { (of_run(frame, run)) } } } }
                @else { @for digest in &result.evidence { a href=(frame.href(&View::Evidence(*digest))) { "evidence" } " " } }
            }
        }
    }
}

/// The tree of a run, in words.
pub(super) fn tree_in_words(tested: TreeTested) -> &'static str {
    match tested {
        TreeTested::Handoff => "the work",
        TreeTested::Base => "the base",
        TreeTested::TestsAsOnBase => "the work with the tests of the base",
        TreeTested::Canaries => "the work with tests that have to fail",
        TreeTested::CanariesAlone => "tests that have to fail, alone",
        TreeTested::ProductAsOnBase => "the base with the tests of the work",
        TreeTested::FileAsOnBase => "the work with one file of the base",
        TreeTested::Mutant => "the work with one line broken",
        TreeTested::Watched => "the work, observed",
    }
}

/// One run of a check: on which tree, and how it ended.
fn of_run(frame: &Frame, run: &CheckRun) -> Markup {
    html! {
        "on " (tree_in_words(run.tested)) ": " (run.verdict.as_str())
        @if let Some(code) = run.exit_code { ", exit " (code) }
        @if let Some(signal) = run.signal { ", signal " (signal) }
        @if let Some(reason) = run.reason { " (" (reason) ")" }
        ", " (span(run.duration.duration()))
        @if let Some(report) = &run.known_from { ", known from " (report) }
        " " a href=(frame.href(&View::Evidence(run.output))) { "output" }
    }
}

/// What this console has no words of its own for: the few fields that say most.
fn other(artifact: &Value) -> Markup {
    const TELLING: [&str; 14] = [
        "agent",
        "role",
        "verb",
        "by",
        "status",
        "disposition",
        "reason_code",
        "outcome",
        "commit",
        "question",
        "option",
        "text",
        "summary",
        "note",
    ];
    let field = |name: &str| artifact.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let fields: Vec<(&str, &str)> = TELLING.iter().filter_map(|name| Some((*name, field(name)?))).collect();
    let blockers = artifact.get("blockers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    html! {
        p { @for (at, (name, text)) in fields.iter().enumerate() { @if at > 0 { " · " } span.dim { (name) } " " (beginning(text, 2_000)) } }
        @for blocker in blockers.take(PATHS_MAX) { p { "blocker: " (beginning(blocker, 2_000)) } }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    fn turn(attempt: u64, wanted: &str) -> HistoryLine {
        let artifact = json!({"attempt": attempt, "request": {"wanted": wanted}});
        let kind = "turn".to_owned();
        HistoryLine { at: Timestamp::from_millis(0), kind, reference: String::new(), artifact, standing: None }
    }

    #[test]
    fn an_approval_belongs_to_the_attempt_that_it_looks_at() {
        let flown = [turn(1, "build"), turn(1, "verify"), turn(2, "complete"), turn(2, "build"), turn(3, "complete")];
        let found: Vec<(u64, usize)> =
            sections(&flown).into_iter().map(|(attempt, lines)| (attempt, lines.len())).collect();
        assert_eq!(found, [(1, 3), (2, 2)]);
        let completed = [turn(1, "complete"), turn(2, "complete")];
        assert_eq!(sections(&completed).len(), 2, "where nobody builds, what is completed again is an attempt");
    }
}
