//! What a run with a mutant says.

use std::time::Duration;

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use super::language::Language;
use crate::checks::{self, JudgedRun};

/// A mutant that is not ended in time was caught if the check itself takes this part of its time at most.
const TIMEOUT_FACTOR: u32 = 3;

/// A run of a check on a tree with a mutant.
#[derive(Debug, Clone, Copy)]
pub struct MutantRun<'a> {
    /// The file that is broken.
    pub path: &'a str,
    /// The green run without the mutant, and what it printed.
    pub first: (&'a JudgedRun, &'a str),
    /// How long that took.
    pub first_took: Duration,
    /// The run, and what it printed.
    pub run: (&'a JudgedRun, &'a str),
    /// How long either may take.
    pub limit: Duration,
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The check turned red.
    Killed,
    /// The check stayed green, and as many tests ran.
    Survived,
    /// Nothing: it did not build, no test ran, or the check had little time left without it.
    Void,
}

/// Says what became of a mutant.
#[must_use]
pub fn fate(mutant: MutantRun<'_>) -> Fate {
    let ((first, printed), (run, output)) = (mutant.first, mutant.run);
    if checks::goes_unnoticed(first, run) {
        return Fate::Survived;
    }
    match run.outcome.1 {
        Some(CriterionReason::Timeout) if mutant.first_took.saturating_mul(TIMEOUT_FACTOR) > mutant.limit => Fate::Void,
        // An endless loop, a flood, a crash: the check itself stayed clear of them.
        Some(CriterionReason::Timeout | CriterionReason::Limit | CriterionReason::Signal) => Fate::Killed,
        Some(CriterionReason::ExitCode) if run.outcome.0 == Verdict::Inconclusive => Fate::Killed,
        Some(CriterionReason::NotExecutable) => Fate::Void,
        _ if complaints(mutant.path, output) > complaints(mutant.path, printed) => Fate::Void,
        _ if tests_began(first, run) => Fate::Killed,
        _ => Fate::Void,
    }
}

/// Whether tests ran, or at least began, with all of them built and collected. Where the check's runner is not
/// understood, nothing shows it.
fn tests_began(first: &JudgedRun, run: &JudgedRun) -> bool {
    let Some(before) = first.counts.as_ref().map(crate::runners::TestCounts::total).filter(|total| total.run > 0)
    else {
        return true;
    };
    let Some(total) = run.counts.as_ref().map(crate::runners::TestCounts::total) else { return false };
    (before.uncollected || !total.uncollected) && (total.run > 0 || total.unended > 0)
}

fn complaints(path: &str, output: &str) -> usize {
    let Some(language) = Language::of(path) else { return 0 };
    output.lines().filter(|line| language.is_complaint(line)).count()
}
