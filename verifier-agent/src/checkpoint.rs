//! Commands of checkpoints: of gates that made the work, whose makers' own word does not settle them, and of the verifier's own gate.
//!
//! A command that may run tests is compared as a criterion's check is. Others run once, on the tree under review. Whether what a command needs
//! is there is asked on the base, where no work can hide a tool to have its check skipped.

use std::time::Duration;

use holdpoint_evidence::runners;
use holdpoint_protocol::{
    artifact::{CheckpointAsked, CheckpointReport, CriterionReport},
    checkpoint::{CheckpointCommand, NeededTool},
    facts::{CriterionResult, Verdict},
    plan::{Check, EvidenceLevel},
    reason::CriterionReason,
    time::Millis,
};

use crate::{
    criterion::{AskedBy, Named, Subject, judged, once, probed},
    error::VerifyError,
    runs::Runs,
    tree_changed,
};

/// How long a tool may take to say that it is there.
const PROBE_WALL: Duration = Duration::from_secs(60);

/// Settles one of them.
pub(crate) async fn settled(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    asked: &CheckpointAsked,
) -> Result<CheckpointReport, VerifyError> {
    let CheckpointAsked { gate, id, command: CheckpointCommand { check, needs } } = asked;
    let named = Named { id, check, by: AskedBy::Checkpoint };
    for need in needs {
        if let Some(report) = missing(runs, subject, named, need).await? {
            return Ok(CheckpointReport { gate: gate.clone(), report });
        }
    }
    let report = if runners::may_run_tests(&check.command) {
        let mut judged = judged(runs, subject, named).await?;
        tree_changed::tried(runs, subject, named, &mut judged).await?;
        judged.report
    } else {
        once(runs, subject, named).await?
    };
    Ok(CheckpointReport { gate: gate.clone(), report })
}

/// The report on a command that needs something which is not there.
async fn missing(
    runs: &mut Runs<'_>,
    subject: &Subject<'_>,
    named: Named<'_>,
    need: &NeededTool,
) -> Result<Option<CriterionReport>, VerifyError> {
    let probe = Check {
        command: need.probe.clone(),
        expect: None,
        red_first: false,
        timeout: Millis::from(PROBE_WALL),
        network: named.check.network,
        writes_tree: named.check.writes_tree,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    };
    // A tool that was not there may be so by now.
    let report = probed(runs, subject, Named { check: &probe, by: AskedBy::Guard, ..named }).await?;
    // Where the environment could not be set up nothing is known of it, and the command will say the same.
    let no_setup = [Some(CriterionReason::SetupFailed), Some(CriterionReason::SetupChanged)];
    let is_missing = report.result.verdict != Verdict::Pass && !no_setup.contains(&report.result.reason);
    Ok(is_missing.then(|| CriterionReport {
        result: CriterionResult {
            verdict: Verdict::Inconclusive,
            reason: Some(CriterionReason::ToolMissing),
            ..report.result
        },
        command: Some(named.check.command.clone()),
        note: Some(format!("`{}` is missing: `{}` does not end well on the base", need.tool, need.probe)),
        ..report
    }))
}
