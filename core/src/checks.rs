//! Reading how a check ended, and what that says of its criterion (contract, "Checks").
//!
//! A check is judged by its exit code first. `expect`, counts of tests and the run with the tests of the base can only
//! take a green away. Nothing here runs anything.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};
use regex::Regex;

use crate::runners::{self, Counts};

/// The first exit code that says that the shell could not judge: 126 and 127 are "cannot run", more is a signal.
const EXIT_NOT_JUDGED: i32 = 126;

/// How a check's program ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckEnd {
    /// Its exit code, if it ended by itself.
    pub exit: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    /// Whether it was ended for a limit: memory, processes, file size, output.
    pub limit: bool,
}

/// The verdict on a check, and why it is not a plain pass.
pub type Outcome = (Verdict, Option<CriterionReason>);

/// Reads one run: exit 0 with `expect` matched is a pass, exit 1 to 125 or `expect` unmatched a fail, anything else is
/// inconclusive. A limit or time-out rules over whatever code the program ended with.
#[must_use]
pub fn classify(end: CheckEnd, expect: Option<&Regex>, output: &str) -> Outcome {
    use CriterionReason as Reason;
    let inconclusive = |reason| (Verdict::Inconclusive, Some(reason));
    if end.limit {
        return inconclusive(Reason::Limit);
    }
    if end.timed_out {
        return inconclusive(Reason::Timeout);
    }
    match (end.signal, end.exit) {
        (None, Some(0)) if expect.is_none_or(|expect| expect.is_match(output)) => (Verdict::Pass, None),
        (None, Some(0)) => (Verdict::Fail, Some(Reason::ExpectUnmatched)),
        (None, Some(1..EXIT_NOT_JUDGED)) => (Verdict::Fail, Some(Reason::ExitCode)),
        (None, Some(126 | 127)) => inconclusive(Reason::NotExecutable),
        _ => inconclusive(Reason::Signal),
    }
}

/// One run of a check, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What [`classify`] says of it.
    pub outcome: Outcome,
    /// What [`runners::counts`] reads from its output.
    pub counts: Option<Counts>,
}

impl Run {
    /// Reads a run's end and output. `whole`: nothing of the output was cut; of a cut one nothing is counted.
    #[must_use]
    pub fn read(command: &str, end: CheckEnd, expect: Option<&Regex>, output: &str, whole: bool) -> Self {
        let counts = if whole { runners::counts(command, output) } else { None };
        Self { outcome: classify(end, expect, output), counts }
    }
}

/// What is known of a criterion's check.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// On the handed-off tree.
    pub first: &'a Run,
    /// On the base, if it was run there.
    pub base: Option<&'a Run>,
    /// On the handed-off tree with the tests as on the base: only when tests or fixtures were changed.
    pub composed: Option<&'a Run>,
    /// Whether the scope names every changed test explicitly: then the first run counts.
    pub tests_named: bool,
}

/// The verdict on a criterion with a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionJudgement {
    /// Pass, fail or inconclusive.
    pub verdict: Verdict,
    /// Why it is not a plain pass.
    pub reason: Option<CriterionReason>,
    /// What counts and the tests of the base had against it, whether or not the scope lets the first run count: the
    /// difference that a report shows.
    pub difference: Option<CriterionReason>,
    /// Tests of the base, by name, that are green only with the changed tests; empty where names are not understood.
    pub lost: BTreeSet<String>,
}

/// Judges a criterion by all runs of its check.
#[must_use]
pub fn judge_criterion(runs: Runs<'_>) -> CriterionJudgement {
    let (verdict, reason) = runs.first.outcome;
    if verdict != Verdict::Pass {
        return CriterionJudgement { verdict, reason, difference: None, lost: BTreeSet::new() };
    }
    let base_counts = runs.base.and_then(|base| base.counts.as_ref());
    let counted = base_counts.and_then(|base| runners::compare(base, runs.first.counts.as_ref()));
    let (weakened, lost) = runs.composed.map_or((false, BTreeSet::new()), |composed| weakened(runs, composed));
    let difference = counted.or_else(|| weakened.then_some(CriterionReason::TestsWeakened));
    match difference {
        Some(_) if !runs.tests_named => {
            CriterionJudgement { verdict: Verdict::Fail, reason: difference, difference, lost }
        }
        _ => CriterionJudgement { verdict: Verdict::Pass, reason: None, difference, lost },
    }
}

/// Whether the run with the tests of the base speaks against the criterion, and by which tests.
///
/// A red one is excused only when it ended by an exit code, its runner was understood, it reports failed tests, and
/// none of them (nor any missing one) is a test that the first run shows green.
fn weakened(runs: Runs<'_>, composed: &Run) -> (bool, BTreeSet<String>) {
    let base = runs.base.and_then(|base| base.counts.as_ref());
    let lost = match (&runs.first.counts, &composed.counts) {
        (Some(first), Some(composed)) => runners::weakened(base, first, composed),
        _ => None,
    };
    let excused = match (&lost, &composed.counts) {
        (Some(lost), Some(counts)) => {
            let explained =
                composed.outcome == (Verdict::Fail, Some(CriterionReason::ExitCode)) && counts.total().failed > 0;
            lost.is_empty() && explained
        }
        _ => false,
    };
    let green = composed.outcome.0 == Verdict::Pass && lost.as_ref().is_none_or(BTreeSet::is_empty);
    (!green && !excused, lost.unwrap_or_default())
}
