//! What a turn has to show: every run, the bytes that stand behind it, and what the sandbox enforced.

use std::time::Duration;

use holdpoint_harness::environment::TreeMechanism;
use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, ChecklistReceipt, Doubt, IgnoredMarker, PropertyEnforced},
    ids::CriterionId,
};
use holdpoint_sandbox::{PropertyReport, RunOutcome};

use crate::evidence::Evidence;

/// The record of a turn.
#[derive(Debug, Default)]
pub(crate) struct Record {
    checks: Vec<CheckRun>,
    evidence: Vec<Evidence>,
    properties: Vec<PropertyEnforced>,
    /// Markers in its output that say nothing where they are.
    pub(crate) markers_ignored: Vec<IgnoredMarker>,
    /// Checks whose runs on one tree do not agree.
    pub(crate) flaky: Vec<Doubt>,
    /// Programs after which something may still run.
    pub(crate) left_running: u32,
}

impl Record {
    /// Adds a run with what it printed.
    pub(crate) fn ran(&mut self, run: CheckRun, evidence: Evidence) {
        self.checks.push(run);
        self.keep(evidence);
    }

    /// How long the runs of a criterion's check took so far, also when they were made for another report: whether a run is made does not
    /// depend on what is known.
    pub(crate) fn spent(&self, criterion: &CriterionId) -> Duration {
        let of = |run: &&CheckRun| run.criterion.as_ref() == Some(criterion);
        self.checks.iter().filter(of).map(|run| run.duration.duration()).sum()
    }

    /// Adds bytes to be stored and gives their reference.
    pub(crate) fn keep(&mut self, evidence: Evidence) -> Digest {
        let digest = evidence.digest;
        if !self.evidence.iter().any(|kept| kept.digest == digest) {
            self.evidence.push(evidence);
        }
        digest
    }

    /// Bytes that were kept.
    pub(crate) fn evidence(&self, digest: &Digest) -> Option<&Evidence> {
        self.evidence.iter().find(|kept| &kept.digest == digest)
    }

    /// Notes how the sandbox kept one run.
    pub(crate) fn ended(&mut self, outcome: &RunOutcome) {
        self.enforced(&outcome.properties);
        if !outcome.tree_ended {
            self.left_running += 1;
        }
    }

    /// Notes what the sandbox enforced in one run. A property that one run went without counts as not enforced.
    pub(crate) fn enforced(&mut self, properties: &[PropertyReport]) {
        for report in properties {
            let name = report.property.name();
            match self.properties.iter_mut().find(|known| known.property == name) {
                Some(known) if report.mechanism.is_none() => known.mechanism = None,
                Some(_) => {}
                None => self
                    .properties
                    .push(PropertyEnforced { property: name.to_owned(), mechanism: report.mechanism.clone() }),
            }
        }
    }

    /// Notes by what the changes of a run were kept apart from the tree.
    pub(crate) fn kept_apart_by(&mut self, mechanism: TreeMechanism) {
        let property =
            PropertyEnforced { property: "tree_thrown_away".to_owned(), mechanism: Some(mechanism.name().to_owned()) };
        if !self.properties.contains(&property) {
            self.properties.push(property);
        }
    }

    /// The receipt, and the bytes to be stored with it.
    pub(crate) fn into_parts(self) -> (ChecklistReceipt, Vec<Evidence>) {
        (ChecklistReceipt { checks: self.checks, properties: self.properties, foreign: false }, self.evidence)
    }
}
