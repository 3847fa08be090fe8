//! Reading how a check ended, and what that says of its criterion (contract, "Checks").
//!
//! A check is judged by its exit code first. `expect`, counts of tests and the run with the tests of the base can only
//! take a green away. Nothing here runs anything.

mod base_product;
mod no_tests;
mod own;
mod run;
mod runs;
mod steady;
pub mod unrun;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use crate::{
    runners::{self, Observed, Runner, TestCounts},
    written::Softened,
};

use own::OwnRuns;

pub use base_product::{ProductRuns, ProductSays, base_product_may_say, goes_unnoticed, with_base_product};
pub use no_tests::only_new_tests;
pub use run::{CheckEnd, CheckOutcome, JudgedRun, classify, expect_of, is_expected};
pub use runs::{Runs, TestsNamed};
pub use steady::{RUNS_ON_TREE_MAX, RUNS_PER_CHECK, flaky, is_run_again, rests_on_names};

/// The verdict on a criterion with a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionJudgement {
    /// Pass, fail or inconclusive.
    pub verdict: Verdict,
    /// Why it is not a plain pass.
    pub reason: Option<CriterionReason>,
    /// What counts and the tests of the base had against it, whether or not `changed_tests` lets the first run count: the
    /// difference that a report shows.
    pub difference: Option<CriterionReason>,
    /// Whether a runner was begun and did not come to its end: what [`CriterionReason::FewerTests`] means then.
    pub ended_early: bool,
    /// Whether the difference was read in the text of product files.
    pub in_text: bool,
    /// Tests by name that the difference is about, most of them the base's; empty where names are not understood.
    pub lost: BTreeSet<String>,
}

impl CriterionJudgement {
    fn of((verdict, reason): CheckOutcome) -> Self {
        Self { verdict, reason, difference: None, ended_early: false, in_text: false, lost: BTreeSet::new() }
    }

    /// The same where tests of these names may change or go: a difference that is about no others does not count.
    #[must_use]
    pub fn allowing(self, names: &BTreeSet<String>) -> Self {
        use CriterionReason::{FewerTests, MoreSkipped, TestsWeakened};
        let allowed = |lost: &String| names.iter().any(|name| has_name(lost, name));
        let about_tests = matches!(self.difference, Some(FewerTests | MoreSkipped | TestsWeakened));
        let all = about_tests && !self.ended_early && !self.in_text && !self.lost.is_empty();
        if all && self.lost.iter().all(allowed) {
            return Self { verdict: Verdict::Pass, reason: None, ..self };
        }
        self
    }

    fn failed(reason: CriterionReason, lost: BTreeSet<String>) -> Self {
        Self { difference: Some(reason), lost, ..Self::of((Verdict::Fail, Some(reason))) }
    }
}

/// Tests of the base that a green work no longer runs under their names, where its own tests were held for theirs: who looks at
/// the report decides whether they were renamed or replaced.
#[must_use]
pub fn without_their_names(base: &JudgedRun, first: &JudgedRun, may_go: &BTreeSet<String>) -> BTreeSet<String> {
    let (Some(base), Some(first)) = (&base.counts, &first.counts) else { return BTreeSet::new() };
    let mut gone = runners::missing(base, &[first]);
    gone.retain(|gone| !may_go.iter().any(|name| has_name(gone, name)));
    gone
}

/// Whether a runner's name of a test, with its place, is that of the test `name`.
fn has_name(whole: &str, name: &str) -> bool {
    let place = |rest: &str| rest.is_empty() || rest.ends_with(|c: char| !c.is_alphanumeric() && c != '_');
    // unittest has the place behind the name.
    whole.strip_suffix(name).is_some_and(place) || whole.strip_prefix(name).is_some_and(|rest| rest.starts_with(" ("))
}

/// Judges a criterion by all runs of its check.
#[must_use]
pub fn judge_criterion(runs: Runs<'_>) -> CriterionJudgement {
    match OwnRuns::of(runs) {
        Some(OwnRuns { first, base, composed }) => {
            judge_own(Runs { first: &first, base: Some(&base), composed: composed.as_ref(), ..runs })
        }
        None => judge_own(runs),
    }
}

fn judge_own(runs: Runs<'_>) -> CriterionJudgement {
    if runs.first.outcome.0 != Verdict::Pass {
        return CriterionJudgement::of(runs.first.outcome);
    }
    let against = runs.against_first();
    if let Some(reason) = against.filter(|reason| *reason != CriterionReason::NoEndMark) {
        let names = runs.first.counts.as_ref().map(TestCounts::red_names).unwrap_or_default();
        return CriterionJudgement::failed(reason, names);
    }
    if ended_early(runs.first, runs.base) {
        let judgement = CriterionJudgement::failed(CriterionReason::FewerTests, BTreeSet::new());
        return CriterionJudgement { ended_early: true, ..judgement };
    }
    if let Some(reason) = against {
        return CriterionJudgement::failed(reason, BTreeSet::new());
    }
    let replaced = replaced(runs);
    if !replaced.is_empty() {
        return CriterionJudgement::failed(CriterionReason::ReportMismatch, replaced);
    }
    if let Some((reason, lost)) = counted(runs) {
        return CriterionJudgement::failed(reason, lost);
    }
    if let Some((reason, lost)) = taken_in_text(runs) {
        return CriterionJudgement { in_text: true, ..CriterionJudgement::failed(reason, lost) };
    }
    if let (Verdict::Fail, Some(reason)) = runs.first.showing()
        && !runs.may_run_none
    {
        return CriterionJudgement::failed(reason, BTreeSet::new());
    }
    if skips_what_was_put_back(runs) {
        return CriterionJudgement::failed(CriterionReason::MoreSkipped, BTreeSet::new());
    }
    if let Some(lost) = not_put_back(runs) {
        return CriterionJudgement::failed(CriterionReason::FewerTests, lost);
    }
    let Some(lost) = runs.composed.and_then(|composed| weakened(runs, composed)) else {
        return CriterionJudgement::of(runs.first.outcome);
    };
    let judgement = CriterionJudgement::failed(CriterionReason::TestsWeakened, lost);
    match runs.named {
        TestsNamed::All => CriterionJudgement { verdict: Verdict::Pass, reason: None, ..judgement },
        TestsNamed::None | TestsNamed::Some => judgement,
    }
}

/// Functions of the test library that were replaced in the first run, and not on the base, be that green or red.
fn replaced(runs: Runs<'_>) -> BTreeSet<String> {
    let of = |run: &JudgedRun| run.observed.as_ref().map(Observed::replaced).unwrap_or_default();
    let on_base = runs.base.map(of).unwrap_or_default();
    of(runs.first).difference(&on_base).cloned().collect()
}

/// Whether the code under test ended the runner. That needs no base, and no scope asks for it; a base that is green in
/// the same way shows that it is the project's way.
fn ended_early(first: &JudgedRun, base: Option<&JudgedRun>) -> bool {
    let so_on_base = base.is_some_and(|base| base.outcome.0 == Verdict::Pass && base.silent == first.silent);
    let silent = first.silent.is_some() && !so_on_base;
    let counts = base.and_then(|base| base.counts.as_ref());
    silent || first.counts.as_ref().is_some_and(|first| runners::ended_early(counts, first))
}

/// What the counts and names of the base have against a run. Where every changed test may change, the run with the
/// tests as on the base is compared instead, if it is green: a loss there is not what the scope asked for.
fn counted(runs: Runs<'_>) -> Option<(CriterionReason, BTreeSet<String>)> {
    let base = runs.base?.counts.as_ref()?;
    let composed = runs.composed.filter(|composed| runs.green(composed));
    let run = match runs.named {
        TestsNamed::All => composed?,
        TestsNamed::None | TestsNamed::Some => runs.first,
    };
    let mut reason = runners::compare(base, run.counts.as_ref());
    if reason == Some(CriterionReason::MoreSkipped) {
        if runs.named == TestsNamed::All {
            return None;
        }
        // With all tests of the base as they were no more are skipped: the others are new.
        let without_new = composed.filter(|_| runs.only_added);
        if without_new.is_some_and(|composed| runners::compare(base, composed.counts.as_ref()).is_none()) {
            reason = None;
        }
    }
    // Where a part of the changed tests may change, which names may go is not known.
    let lost = match runs.named {
        TestsNamed::Some => BTreeSet::new(),
        TestsNamed::None | TestsNamed::All => {
            let others = runs.composed.and_then(|composed| composed.counts.as_ref());
            let now: Vec<&TestCounts> = run.counts.iter().chain(others).collect();
            if run.counts.is_some() { runners::missing(base, &now) } else { BTreeSet::new() }
        }
    };
    match reason {
        Some(reason) => Some((reason, lost)),
        None => (!lost.is_empty()).then_some((CriterionReason::FewerTests, lost)),
    }
}

/// What the text of the change takes from tests, where names do not show it: tests behind a base that was not built or
/// collected, attributes on tests, macros that tests would assert with, and tests of the same name that do nothing now.
fn taken_in_text(runs: Runs<'_>) -> Option<(CriterionReason, BTreeSet<String>)> {
    let Softened { lost, reversed, conditioned, shadows, skips, emptied, told: _ } = runs.softened;
    let unknown = runs.base.is_some_and(|base| !base.is_collected());
    let some = |reason, names: BTreeSet<String>| (!names.is_empty()).then_some((reason, names));
    let counts = runs.first.counts.as_ref()?;
    if unknown && *skips && counts.total().skipped > 0 {
        return Some((CriterionReason::MoreSkipped, BTreeSet::new()));
    }
    let rust = |runner: Runner| counts.by_runner.get(&runner);
    let (libtest, nextest) = (rust(Runner::CargoTest), rust(Runner::Nextest));
    libtest.or(nextest)?;
    // libtest writes on a test's name that it should panic; of the others all names would have to be there again.
    let named = |run: &JudgedRun, runner| {
        let tally = run.counts.as_ref().and_then(|counts| counts.by_runner.get(&runner));
        tally.is_some_and(|tally| tally.names.is_some())
    };
    let both = |runner| named(runs.first, runner) && runs.base.is_some_and(|base| named(base, runner));
    let by_name = both(Runner::CargoTest) || both(Runner::Nextest);
    let mut bent: BTreeSet<String> = shadows.union(emptied).cloned().collect();
    if runs.base.is_some() && !both(Runner::CargoTest) {
        bent.extend(reversed.iter().cloned());
    }
    if runs.base.is_some() && !by_name {
        bent.extend(conditioned.iter().cloned());
    }
    let gone = || lost.iter().filter(|_| unknown).cloned().collect();
    some(CriterionReason::TestsWeakened, bent).or_else(|| some(CriterionReason::FewerTests, gone()))
}

/// Whether more is skipped than with the tests as on the base, where the base itself could not collect or build them and
/// says nothing of skipped ones.
fn skips_what_was_put_back(runs: Runs<'_>) -> bool {
    if runs.named != TestsNamed::None || runs.only_added || runs.base.is_none_or(JudgedRun::is_collected) {
        return false;
    }
    let composed = runs.composed.filter(|composed| runs.green(composed));
    let compared = composed.and_then(|composed| composed.counts.as_ref());
    compared.is_some_and(|composed| {
        runners::compare(composed, runs.first.counts.as_ref()) == Some(CriterionReason::MoreSkipped)
    })
}

/// What a green run with the tests as on the base shows, and the first one does not. A base that is not green may have
/// stopped before all of its tests were seen (`cargo test` does at the first red target, others by an option), so what
/// became of the rest is known from that run alone.
fn not_put_back(runs: Runs<'_>) -> Option<BTreeSet<String>> {
    if runs.named == TestsNamed::All || runs.base.is_some_and(|base| base.is_green(None)) {
        return None;
    }
    let composed = runs.composed.filter(|composed| runs.green(composed))?;
    runners::short_of(composed.counts.as_ref()?, runs.first.counts.as_ref())
}

/// Whether the run with the tests of the base speaks against the criterion, and by which tests. It has to be green: what
/// is red there is a test that was bent, or taken away, because the new code does not pass it.
fn weakened(runs: Runs<'_>, composed: &JudgedRun) -> Option<BTreeSet<String>> {
    let base = runs.base.and_then(|base| base.counts.as_ref());
    let lost = match (&runs.first.counts, &composed.counts) {
        (Some(first), Some(composed)) => runners::weakened(base, first, composed),
        _ => None,
    };
    let lost = lost.unwrap_or_default();
    (!runs.green(composed) || !lost.is_empty()).then_some(lost)
}
