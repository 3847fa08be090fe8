//! One run of a check, read: how it ended, and what its output and its reports count.

use holdpoint_protocol::{facts::Verdict, plan::Check, reason::CriterionReason};
use regex::Regex;

use crate::{
    over_http,
    runners::{self, Observed, ReportTexts, Runner, TestCounts},
    telling,
};

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
    pub(super) fn is_green(&self, base: Option<&Self>) -> bool {
        self.outcome.0 == Verdict::Pass && self.against(base).is_none()
    }

    /// Why it is not green although it ended well. Faults that a green `base` has too are the project's way.
    pub(super) fn against(&self, base: Option<&Self>) -> Option<CriterionReason> {
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
    pub(super) fn is_collected(&self) -> bool {
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
