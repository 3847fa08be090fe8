//! What a verifier's report says of checkpoints: of the commands that it ran, and of what it found (DOC-3, SDLC-3).

use holdpoint_evidence::telling;
use holdpoint_protocol::{
    artifact::{CriterionReport, VerificationReport},
    checkpoint::{CheckpointResult, CheckpointSpec, CheckpointStatus, EstablishedBy, ReportPart},
    facts::Verdict,
    ids::{CriterionId, GateId},
    plan::Criterion,
    reason::CriterionReason,
};

use super::MESSAGE_BYTES_MAX;

/// Criteria that one message names.
const NAMED_MAX: usize = 5;

/// A report, with what was asked.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What was found.
    pub report: &'a VerificationReport,
    /// The criteria that were asked.
    pub criteria: &'a [Criterion],
    /// The guards that were asked.
    pub guards: &'a [CriterionId],
    /// Whether the flight has a judge.
    pub has_judge: bool,
    /// Whether the work is one commit on its base, and not the base itself.
    pub changed: bool,
}

/// What a report says of a checkpoint.
pub(super) fn found(spec: &CheckpointSpec, part: ReportPart, judged: Option<Judged<'_>>) -> CheckpointResult {
    let (status, message) = match judged.map(|judged| of_part(part, judged)) {
        Some(Ok(())) => (CheckpointStatus::Pass, String::new()),
        Some(Err((status, why))) => (status, why),
        None => (CheckpointStatus::Fail, "no verifier has judged the work".to_owned()),
    };
    CheckpointResult { name: spec.name.clone(), by: EstablishedBy::Predicate, status, message }
}

fn of_part(part: ReportPart, judged: Judged<'_>) -> Result<(), (CheckpointStatus, String)> {
    let fail = |why: String| Err((CheckpointStatus::Fail, why));
    let skip = |why: &str| Err((CheckpointStatus::Skip, why.to_owned()));
    let all = |asked: &mut dyn Iterator<Item = &CriterionId>, reports: &[CriterionReport], what: &str| {
        let not_shown: Vec<&str> = asked.filter(|id| !is_shown(id, reports)).map(CriterionId::as_str).collect();
        if not_shown.is_empty() {
            return Ok(());
        }
        let more = if not_shown.len() > NAMED_MAX { ", …" } else { "" };
        let named = not_shown.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
        fail(format!("{what} that are not shown: {named}{more}"))
    };
    let report = judged.report;
    match part {
        ReportPart::Criteria => all(&mut judged.criteria.iter().map(|one| &one.id), &report.criteria, "criteria"),
        ReportPart::Guards => all(&mut judged.guards.iter(), &report.guards, "guards"),
        ReportPart::NoBlockingDoubts => match report.doubts.iter().find(|doubt| doubt.blocking) {
            None => Ok(()),
            Some(doubt) => fail(bounded(format!("a doubt blocks: {}", doubt.text))),
        },
        ReportPart::Review if !judged.has_judge => skip("the flight has no judge"),
        ReportPart::Review => {
            let asked = || judged.criteria.iter().filter(|one| one.check.is_none()).map(|one| &one.id);
            match asked().next() {
                None => skip("the waypoint has no criterion for a judge"),
                Some(_) => all(&mut asked(), &report.criteria, "judged criteria"),
            }
        }
        ReportPart::OneCommit if judged.changed => Ok(()),
        ReportPart::OneCommit => fail("the work is no commit on its base: nothing changed".to_owned()),
    }
}

fn is_shown(id: &CriterionId, reports: &[CriterionReport]) -> bool {
    reports.iter().any(|report| report.result.id == *id && report.result.is_shown())
}

/// What came of the commands of a gate's checkpoints, as the verifier ran them. A missing tool is a skip that names it; whatever else is no
/// pass with evidence does not hold.
#[must_use]
pub fn ran(report: &VerificationReport, gate: &GateId) -> Vec<CheckpointResult> {
    let of_gate = report.checkpoints.iter().filter(|one| one.gate == *gate);
    of_gate.map(|one| result(&one.report)).collect()
}

fn result(report: &CriterionReport) -> CheckpointResult {
    let said = &report.result;
    let status = match (said.verdict, said.reason) {
        _ if said.is_shown() => CheckpointStatus::Pass,
        (Verdict::Inconclusive, Some(CriterionReason::ToolMissing)) => CheckpointStatus::Skip,
        _ => CheckpointStatus::Fail,
    };
    let why = || match (&report.note, said.reason) {
        (Some(note), _) => note.clone(),
        (None, Some(reason)) => telling::in_words(reason).to_owned(),
        (None, None) => "the verifier brings no evidence for it".to_owned(),
    };
    let message = if status == CheckpointStatus::Pass { String::new() } else { bounded(why()) };
    CheckpointResult { name: said.id.clone(), by: EstablishedBy::Command, status, message }
}

fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MESSAGE_BYTES_MAX));
    text
}
