//! What a run with canaries says.
//!
//! A plain answer needs nothing else: red, and every canary named as failed. Anything else may be forged, or the check does
//! not run what was planted (a filter, a configuration, a pipe that hides the exit code). A control shows that: the
//! same canaries alone on the base, where the product under review is not there to answer for them.

use std::collections::BTreeSet;

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use super::{ByFile, Seen};
use crate::{
    checks::JudgedRun,
    runners::{Observed, TestCounts},
};

/// A run with canaries on a tree on which the check was green without.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The green run without them.
    pub first: &'a JudgedRun,
    /// The run.
    pub run: &'a JudgedRun,
    /// What it printed of them.
    pub seen: &'a Seen,
    /// All that were planted.
    pub planted: &'a ByFile,
    /// Files whose canaries may not be missing ([`Sites::shown`](super::Sites::shown)).
    pub shown: &'a BTreeSet<String>,
    /// Whether the runner was asked to stop at a failure.
    pub stops_early: bool,
}

/// The same canaries alone on the base.
#[derive(Debug, Clone, Copy)]
pub struct Control<'a> {
    /// The run.
    pub run: &'a JudgedRun,
    /// What it printed of them.
    pub seen: &'a Seen,
}

/// What canaries say of a green run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanaryJudgement {
    /// A test that fails makes the check red.
    Held,
    /// Nothing: the check does not show these canaries on the base either.
    Unselected,
    /// Something else answered for the tests.
    Forged(ForgerySign),
    /// The run came to no end that says anything, for this reason.
    Unsettled(Option<CriterionReason>),
}

/// By what a forged run was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgerySign {
    /// The check ended well although tests in it had to fail.
    EndedWell,
    /// Tests that had to fail were reported as passed.
    Passed,
    /// Tests that had to fail were not reported, or not all of them.
    Vanished,
    /// Other tests were not reported any more.
    OthersVanished,
}

impl Trial<'_> {
    /// Whether the run says by itself that its green can be believed.
    #[must_use]
    pub fn holds(&self) -> bool {
        if !ended_red(self.run) || !self.seen.green.is_empty() || self.seen.red.is_empty() || self.ended_better(0) {
            return false;
        }
        let whole = |(path, marks): (&String, &BTreeSet<String>)| {
            let red = marks.intersection(&self.seen.red).count();
            red == marks.len() || (red == 0 && !self.shown.contains(path))
        };
        self.stops_early || (self.planted.iter().all(whole) && !self.others_vanished())
    }

    /// What the run says compared with a control.
    #[must_use]
    pub fn judge(&self, control: Control<'_>) -> CanaryJudgement {
        let expected: BTreeSet<&String> = control.seen.red.iter().collect();
        if expected.is_empty() || control.run.alone().0 != Verdict::Fail {
            return CanaryJudgement::Unselected;
        }
        if self.run.outcome.0 == Verdict::Inconclusive {
            return CanaryJudgement::Unsettled(self.run.outcome.1);
        }
        let ended_well = self.run.alone().0 == Verdict::Pass || (ended_red(control.run) && !ended_red(self.run));
        if ended_well || self.ended_better(too_good(control.run)) {
            return CanaryJudgement::Forged(ForgerySign::EndedWell);
        }
        if self.seen.green.iter().any(|mark| expected.contains(mark)) {
            return CanaryJudgement::Forged(ForgerySign::Passed);
        }
        let all = self.planted.values().flatten().count() == expected.len();
        if self.seen.red.is_empty() && (self.stops_early || !all) && fails(self.run) {
            // A runner that stops at a failure came to another one first: a test that looks at its own file, say.
            return CanaryJudgement::Unselected;
        }
        if self.vanished(&expected) {
            let skipped = |run: &JudgedRun| run.counts.as_ref().map_or(0, |counts| counts.total().skipped);
            let missing = expected.iter().filter(|mark| !self.seen.red.contains(**mark)).count() as u64;
            let excused = skipped(self.run) >= skipped(self.first).saturating_add(missing);
            return if excused { CanaryJudgement::Unselected } else { CanaryJudgement::Forged(ForgerySign::Vanished) };
        }
        if all && !self.stops_early && self.others_vanished() {
            return CanaryJudgement::Forged(ForgerySign::OthersVanished);
        }
        CanaryJudgement::Held
    }

    /// Whether a process was heard that ended well although canaries in it had failed: of several that the check starts
    /// another one may have ended red. Not what it does without canaries, or as often in the control.
    fn ended_better(&self, in_control: usize) -> bool {
        too_good(self.run) > too_good(self.first).max(in_control)
    }

    /// Whether canaries that the control shows are missing. As many others will do: a runner that stops at a failure need not
    /// come to the same one. Those of a whole file may be missing where others are there, unless tests in it have passed.
    fn vanished(&self, expected: &BTreeSet<&String>) -> bool {
        if self.seen.red.is_empty() {
            return true;
        }
        if self.stops_early || self.seen.red.len() >= expected.len() {
            return false;
        }
        self.planted.iter().any(|(path, marks)| {
            let of_file: Vec<&String> = marks.iter().filter(|mark| expected.contains(mark)).collect();
            let red = of_file.iter().filter(|mark| self.seen.red.contains(**mark)).count();
            red < of_file.len() && (red > 0 || self.shown.contains(path))
        })
    }

    /// Whether fewer tests ran than without canaries.
    fn others_vanished(&self) -> bool {
        let ran = |run: &JudgedRun| run.counts.as_ref().map(TestCounts::total).map(|total| total.run);
        match (ran(self.first), ran(self.run)) {
            (Some(first), Some(now)) => now < first,
            (first, now) => first.is_some() && now.is_none(),
        }
    }
}

/// Whether the check's own program said that tests failed.
fn ended_red(run: &JudgedRun) -> bool {
    run.outcome == (Verdict::Fail, Some(CriterionReason::ExitCode))
}

/// Runs of its test runners that ended better than they had come to.
fn too_good(run: &JudgedRun) -> usize {
    run.observed.as_ref().map_or(0, Observed::ended_too_well)
}

/// Whether it is red, and reports a failure.
fn fails(run: &JudgedRun) -> bool {
    ended_red(run) && run.counts.as_ref().is_some_and(TestCounts::is_red)
}
