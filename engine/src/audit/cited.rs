//! Runs that a report has from another one: the same run is there, and was made for it.
//!
//! A verifier may have judged another flight before, whose reports this account does not hold: such runs are counted.

use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, Handed, TreeTested},
    ids::WaypointId,
    journal::Cause,
};

use super::{Auditor, BrokenLink, HandoffLine};

impl Auditor {
    /// Keeps the runs of a report that its sender signed.
    pub(super) fn remember_runs(&mut self, line: &HandoffLine) {
        if let (Ok((head, Handed::Reported(report))), Ok(_)) = (&line.body, &line.sender) {
            let runs = report.receipt.checks.iter().map(bare);
            self.runs.entry(head.artifact_id.clone()).or_default().extend(runs);
        }
    }

    /// Looks for the runs that a report has from others.
    pub(super) fn cited(&mut self, cause: &Cause, waypoint: &WaypointId) {
        let mut wrong = Vec::new();
        for run in self.runs.get(&cause.artifact).into_iter().flatten() {
            let Some(report) = &run.known_from else { continue };
            let Some(theirs) = self.runs.get(report) else {
                self.counts.cited_elsewhere += 1;
                continue;
            };
            if let Some(found) = unlike(run, theirs) {
                let (output, tree) = (run.output, &run.tree);
                wrong.push((format!("report {report} to have the run on tree {tree} with output {output}"), found));
            }
        }
        for (expected, found) in wrong {
            self.broken(BrokenLink::Citation, cause.reference(), Some(waypoint.clone()), expected, found);
        }
    }
}

/// A run without what each report says of its own, and with its command as a digest, so that many fit into memory.
fn bare(run: &CheckRun) -> CheckRun {
    let command = Digest::of(run.command.as_bytes()).to_string();
    CheckRun { criterion: None, command, tested: TreeTested::Handoff, after: None, ..run.clone() }
}

/// Why a run is none of those that a report made.
fn unlike(cited: &CheckRun, theirs: &[CheckRun]) -> Option<String> {
    let cited = CheckRun { known_from: None, ..cited.clone() };
    if theirs.contains(&cited) {
        return None;
    }
    let Some(like) = theirs.iter().find(|run| run.output == cited.output) else {
        return Some("it has no such run".to_owned());
    };
    Some(match &like.known_from {
        Some(report) => format!("it has that run from report {report} itself"),
        None if like.tree != cited.tree => format!("its run with that output is on tree {}", like.tree),
        None if like.command != cited.command => "its run with that output is of another command".to_owned(),
        None => "its run with that output ended otherwise".to_owned(),
    })
}
