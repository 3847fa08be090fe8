//! Reading how a check ended, and what that says of its criterion (contract, "Checks").
//!
//! A check is judged by its exit code first. `expect`, counts of tests and the run with the tests of the base can only
//! take a green away. Nothing here runs anything.

mod base_product;
mod no_tests;
mod own;
mod steady;
pub mod unrun;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::{facts::Verdict, plan::Check, reason::CriterionReason};
use regex::Regex;

use crate::{
    over_http,
    runners::{self, Observed, ReportTexts, Runner, TestCounts},
    telling,
    written::Softened,
};

use own::OwnRuns;

pub use base_product::{ProductRuns, ProductSays, base_product_may_say, goes_unnoticed, with_base_product};
pub use no_tests::only_new_tests;
pub use steady::{RUNS_ON_TREE_MAX, RUNS_PER_CHECK, flaky, is_run_again, rests_on_names};

/// The first exit code that judges nothing: shells give 126 and 127 where they cannot run a program, and more where a signal
/// ended it.
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
pub type CheckOutcome = (Verdict, Option<CriterionReason>);

/// Reads one run: exit 0 with `expect` matched is a pass, exit 1 to 125 or `expect` unmatched a fail, anything else is
/// inconclusive. A limit or time-out rules over whatever code the program ended with.
#[must_use]
pub fn classify(end: CheckEnd, expect: Option<&Regex>, output: &str) -> CheckOutcome {
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
        (None, Some(code)) if telling::is_not_run(code) => inconclusive(Reason::NotExecutable),
        (None, Some(_)) => inconclusive(Reason::ExitCode),
        (Some(_), _) | (None, None) => inconclusive(Reason::Signal),
    }
}

/// Bytes of an expression once compiled: the default of its crate, against expressions that use up the memory.
const EXPECT_BYTES_MAX: usize = 10 << 20;

/// What the output of a check has to match besides.
///
/// # Errors
/// It is no regular expression, or too large a one.
pub fn expect_of(check: &Check) -> Result<Option<Regex>, regex::Error> {
    let compile = |text: &String| regex::RegexBuilder::new(text).size_limit(EXPECT_BYTES_MAX).build();
    check.expect.as_ref().map(compile).transpose()
}

/// Whether the output of a check that ended well is what it expects.
#[must_use]
pub fn is_expected(check: &Check, output: &str) -> bool {
    expect_of(check).is_ok_and(|expect| expect.is_none_or(|expect| expect.is_match(output)))
}

/// One run of a check, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedRun {
    /// What [`classify`] says of it.
    pub outcome: CheckOutcome,
    /// What [`runners::counts`] reads from its output.
    pub counts: Option<TestCounts>,
    /// A runner that its command runs plainly and that showed nothing of its end ([`runners::silent`]).
    pub silent: Option<Runner>,
    /// Whether a runner reported failures, and the command does not ask for them ([`runners::expected`]).
    pub red: bool,
    /// Whether its command names no runner that is understood (`make test`): then any report in its output may be one.
    pub names_no_runner: bool,
    /// What an observer heard of it, where there was one and the command asks for no failures.
    pub observed: Option<Observed>,
}

impl JudgedRun {
    /// Reads a run's end and output. `whole`: nothing of the output was cut; of a cut one nothing is counted, nor of a test over
    /// HTTP, whose output has what the service says.
    #[must_use]
    pub fn read(command: &str, end: CheckEnd, expect: Option<&Regex>, output: &str, whole: bool) -> Self {
        let whole = whole && !over_http::is_asked_by(command);
        let counts = if whole { runners::counts(command, output) } else { None };
        let silent = if whole { runners::silent(command, counts.as_ref()) } else { None };
        let red = counts.as_ref().is_some_and(TestCounts::is_red) && !runners::expected(command);
        let names_no_runner = runners::names_none(command);
        Self { outcome: classify(end, expect, output), counts, silent, red, names_no_runner, observed: None }
    }

    /// With what it reported in files as well.
    #[must_use]
    pub fn reported(mut self, command: &str, texts: &ReportTexts) -> Self {
        if !over_http::is_asked_by(command) {
            self.counts = runners::with_reports(self.counts, texts);
            self.red = self.counts.as_ref().is_some_and(TestCounts::is_red) && !runners::expected(command);
        }
        self
    }

    /// With the recipes that its shell line stands for: a runner that they run plainly has to show its end as well. Only of a whole
    /// output.
    #[must_use]
    pub fn with_recipe(mut self, recipe: &str) -> Self {
        self.silent = self.silent.or_else(|| runners::silent(recipe, self.counts.as_ref()));
        self
    }

    /// As it was heard by an observer as well: what was heard of its tests goes before what was printed of them.
    #[must_use]
    pub fn observed(mut self, command: &str, observed: Observed) -> Self {
        if !runners::expected(command) {
            self.counts = observed.counts(self.counts);
            self.observed = Some(observed);
        }
        self
    }

    /// Whether it ended well, came to its end, and has no failures but those that a green `base` has as well.
    fn is_green(&self, base: Option<&Self>) -> bool {
        self.outcome.0 == Verdict::Pass && self.against(base).is_none()
    }

    /// Why it is not green although it ended well. Faults that a green `base` has too are the project's way.
    fn against(&self, base: Option<&Self>) -> Option<CriterionReason> {
        let base = base.filter(|base| base.outcome.0 == Verdict::Pass);
        let on_base = base.and_then(|base| base.observed.as_ref());
        let more = |of: &dyn Fn(&Observed) -> u64| self.observed.as_ref().map_or(0, of) > on_base.map_or(0, of);
        if self.red {
            let no_redder = |(now, base): (&TestCounts, &Self)| runners::no_redder(base.counts.as_ref(), now);
            if !self.counts.as_ref().zip(base).is_some_and(no_redder) {
                return Some(CriterionReason::ReportRed);
            }
        }
        if more(&|observed| observed.contradicted() as u64) || more(&Observed::failed) {
            return Some(CriterionReason::ReportMismatch);
        }
        more(&|observed| observed.unended() as u64).then_some(CriterionReason::NoEndMark)
    }

    /// Whether its tests were built and collected, so that what it counts is all there is.
    fn is_collected(&self) -> bool {
        self.outcome.0 == Verdict::Pass || self.counts.as_ref().is_some_and(|counts| !counts.total().uncollected)
    }

    /// What it says by itself, compared with nothing: a check that has to be red somewhere is red by its report as well.
    #[must_use]
    pub fn alone(&self) -> CheckOutcome {
        // A runner that never comes to its end may be the project's way.
        let against = self.against(None).filter(|reason| *reason != CriterionReason::NoEndMark);
        match against {
            Some(reason) if self.outcome.0 == Verdict::Pass => (Verdict::Fail, Some(reason)),
            _ => self.showing(),
        }
    }
}

/// Which of the changed tests may change, by `changed_tests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestsNamed {
    /// None of them, or no test was changed.
    None,
    /// Some of them.
    Some,
    /// Every one: then the first run counts.
    All,
}

/// What is known of a criterion's check.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// On the handed-off tree.
    pub first: &'a JudgedRun,
    /// On the base, if it was run there.
    pub base: Option<&'a JudgedRun>,
    /// On the handed-off tree with the tests as on the base: only when tests or fixtures were changed.
    pub composed: Option<&'a JudgedRun>,
    /// Which of them were asked for.
    pub named: TestsNamed,
    /// Whether every changed test is a new file, so that with the tests as on the base nothing of the base's is missing.
    pub only_added: bool,
    /// Whether the check had to be red on the base: failures that are reported there excuse none.
    pub red_first: bool,
    /// Whether it may run no test: a guard and a checkpoint need not show anything new.
    pub may_run_none: bool,
    /// What the change takes from tests that are in product files.
    pub softened: &'a Softened,
}

impl Runs<'_> {
    /// Whether a run of them is green, by its report as well.
    fn green(&self, run: &JudgedRun) -> bool {
        run.is_green(self.base.filter(|_| !self.red_first))
    }

    /// What the first run has against itself.
    fn against_first(&self) -> Option<CriterionReason> {
        self.first.against(self.base.filter(|_| !self.red_first))
    }
}

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
