//! Findings on trees of earlier attempts: the same tree gets the same verdict, and nothing runs again for it.
//!
//! What was settled is kept, and only while nobody but agents acted on the waypoint: a person who has it tried again may have
//! changed what no tree shows.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use holdpoint_engine::handed::DOUBTS_MAX;
use holdpoint_protocol::{
    Digest,
    artifact::{Doubt, VerificationPurpose, VerificationRequest},
    facts::Verdict,
    ids::ArtifactId,
    turn::Turn,
};
use holdpoint_runtime::fresh;

use crate::{findings::Findings, known_runs::KnownRuns};

/// Findings kept, the most recently used ones: those of a few waypoints.
const FINDINGS_MAX: usize = 8;
/// Bytes of evidence that findings may have to be kept: they are stored again with each report.
const EVIDENCE_BYTES_MAX: usize = 16 << 20;

/// Whose attempts they are: findings are kept for these alone.
#[derive(Debug, Clone, Copy)]
pub struct Attempts<'a> {
    /// The flight.
    pub flight: &'a str,
    /// How often people acted on the waypoint.
    pub interventions: u32,
}

impl<'a> Attempts<'a> {
    /// Those among which a turn is.
    pub(crate) fn of(turn: &'a Turn) -> Self {
        let interventions = turn.record.state.as_ref().map_or(0, |state| state.counters.interventions);
        Self { flight: turn.flight.as_str(), interventions }
    }
}

/// The findings of this process.
#[derive(Debug, Default)]
pub(crate) struct JudgedBefore(Mutex<VecDeque<Kept>>);

#[derive(Debug, Clone)]
struct Kept {
    key: Digest,
    findings: Findings,
    /// Their report is made. Until then another delivery of the turn may make it.
    is_reported: bool,
}

impl JudgedBefore {
    /// What was found of such a request, as findings on this one.
    pub(crate) fn get(&self, attempts: Attempts<'_>, request: &VerificationRequest) -> Option<Findings> {
        let key = key(attempts, request);
        let mut kept = self.kept();
        let at = kept.iter().position(|one| one.key == key)?;
        let one = kept.remove(at)?;
        kept.push_back(one.clone());
        Some(if one.is_reported { again(one.findings) } else { one.findings })
    }

    /// Keeps findings that another verification would only repeat.
    pub(crate) fn put(&self, attempts: Attempts<'_>, request: &VerificationRequest, findings: &Findings) {
        if !is_settled(request, findings) {
            return;
        }
        let findings = Findings { known: KnownRuns::default(), ..findings.clone() };
        let mut kept = self.kept();
        kept.push_back(Kept { key: key(attempts, request), findings, is_reported: false });
        while kept.len() > FINDINGS_MAX {
            kept.pop_front();
        }
    }

    /// A report is made.
    pub(crate) fn reported(&self, report: &ArtifactId) {
        self.kept().iter_mut().filter(|one| one.findings.report == *report).for_each(|one| one.is_reported = true);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a verdict follows from: all of a request but its name, its time and the commit that has the tree.
fn key(attempts: Attempts<'_>, request: &VerificationRequest) -> Digest {
    let bounds = (&request.scope, &request.new_tests, &request.changed_tests, &request.protected);
    let tree = (&request.base, &request.tree, bounds, &request.covenant);
    let checks = (&request.criteria, &request.guards, &request.checkpoints, &request.environment, request.purpose);
    let judge = (&request.clarifications, &request.tests, &request.gate, &request.judged);
    let all = (attempts.flight, attempts.interventions, &request.waypoint_id, tree, checks, judge);
    Digest::of(&serde_json::to_vec(&all).expect("plain data has a JSON form"))
}

/// Whether each verdict stands on the tree alone: none is open, no check asked the world outside, and its runs agreed.
fn is_settled(request: &VerificationRequest, findings: &Findings) -> bool {
    let of_criteria = request.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    let commands = request.checkpoints.iter().map(|asked| &asked.command.check);
    let mut checks = of_criteria.chain(request.guards.iter().map(|guard| &guard.check)).chain(commands);
    let of_checkpoints = findings.checkpoints.iter().map(|one| &one.report);
    let mut reports = findings.criteria.iter().chain(&findings.guards).chain(of_checkpoints);
    let bytes: usize = findings.evidence.iter().map(|evidence| evidence.bytes.len()).sum();
    request.purpose == VerificationPurpose::Handoff
        && findings.asks.is_none()
        && !findings.flaky
        && !findings.doubts.iter().any(|doubt| doubt.blocking)
        && !checks.any(|check| check.network)
        && reports.all(|report| report.result.verdict != Verdict::Inconclusive)
        && bytes <= EVIDENCE_BYTES_MAX
}

/// Findings as those of another report, which has its runs from theirs.
fn again(mut findings: Findings) -> Findings {
    let text = "an earlier attempt handed off the same tree: its verdict stands, and nothing was run again".to_owned();
    findings.doubts.insert(0, Doubt::note(text));
    findings.doubts.truncate(DOUBTS_MAX);
    for run in &mut findings.receipt.checks {
        run.after = None;
        run.known_from.get_or_insert_with(|| findings.report.clone());
    }
    // What its judge used up was reported then.
    Findings { report: fresh::artifact(), metered: None, ..findings }
}
