//! Which runners are a check's own, where its shell line names none: a test may print what another runner reports.
//!
//! A green base says it, in which nobody who made the work has a part. Each runner whose tests all passed there is the check's
//! own; a report with failures in it, of a base that ended well, is not, and neither is one that only the work prints.

use holdpoint_protocol::facts::Verdict;

use super::{run::JudgedRun, runs::Runs};
use crate::runners::{Runner, Tally, TestCounts};

/// Runs without the reports that their tests printed.
pub(super) struct OwnRuns {
    pub(super) first: JudgedRun,
    pub(super) base: JudgedRun,
    pub(super) composed: Option<JudgedRun>,
}

impl OwnRuns {
    /// `None`: nothing tells a check's own runners.
    pub(super) fn of(runs: Runs<'_>) -> Option<Self> {
        let base =
            runs.base.filter(|base| base.names_no_runner && base.outcome.0 == Verdict::Pass && !runs.red_first)?;
        let on_base = base.counts.as_ref()?;
        let own = |runner: Runner| on_base.by_runner.get(&runner).is_some_and(|tally| is_sound(tally) && tally.run > 0);
        let is_own = |runner: Runner, tally: &Tally| match on_base.by_runner.get(&runner) {
            Some(_) => own(runner),
            None => is_sound(tally),
        };
        let without = |run: &JudgedRun| {
            let counts =
                run.counts.as_ref().map(|counts| counts.of(is_own)).filter(|counts| !counts.by_runner.is_empty());
            let red = run.red && counts.as_ref().is_some_and(TestCounts::is_red);
            JudgedRun { counts, red, ..run.clone() }
        };
        let any_own = on_base.by_runner.keys().any(|runner| own(*runner));
        any_own.then(|| Self { first: without(runs.first), base: without(base), composed: runs.composed.map(without) })
    }
}

fn is_sound(tally: &Tally) -> bool {
    tally.red == 0 && tally.unended == 0
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::reason::CriterionReason;

    use super::*;
    use crate::{
        checks::{CheckEnd, TestsNamed, judge_criterion},
        written::Softened,
    };

    /// Recorded: tests that print what go and cargo report.
    const PRINTS_REPORTS: &str = include_str!("../runners/fixtures/unittest_prints_reports.txt");

    fn run(command: &str, output: &str) -> JudgedRun {
        JudgedRun::read(command, CheckEnd { exit: Some(0), ..CheckEnd::default() }, None, output, true)
    }

    fn judged(first: &JudgedRun, base: &JudgedRun) -> (Verdict, Option<CriterionReason>) {
        let softened = Softened::default();
        let (composed, named) = (None, TestsNamed::None);
        let (only_added, red_first) = (false, false);
        let runs = Runs {
            first,
            base: Some(base),
            composed,
            named,
            only_added,
            red_first,
            may_run_none: false,
            softened: &softened,
        };
        let judgement = judge_criterion(runs);
        (judgement.verdict, judgement.reason)
    }

    fn plain(tests: usize, end: &str) -> String {
        format!("\n{}\nRan {tests} tests in 0.000s\n\n{end}\n", "-".repeat(70))
    }

    #[test]
    fn a_report_that_a_test_prints_is_none_of_the_checks_own() {
        let with = |tests, end: &str, printed: &str| run("make test", &format!("{printed}{}", plain(tests, end)));
        let before = with(2, "OK", "");
        assert_eq!(
            judged(&run("make test", PRINTS_REPORTS), &before),
            (Verdict::Pass, None),
            "the work prints it first"
        );
        let go = "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.003s\n";
        let more = "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample.com/b\t0.003s\n";
        let base = with(2, "OK", go);
        assert_eq!(judged(&with(3, "OK", &format!("{go}{more}")), &base), (Verdict::Pass, None), "and one more");
        assert_eq!(judged(&with(3, "OK", ""), &base), (Verdict::Pass, None), "or none");
        let fewer = judged(&with(1, "OK", go), &base);
        assert_eq!(fewer, (Verdict::Fail, Some(CriterionReason::FewerTests)), "its own tests count as before");
        let red = judged(&with(3, "FAILED (failures=1)", go), &base);
        assert_eq!(red, (Verdict::Fail, Some(CriterionReason::ReportRed)), "and so do their failures");
    }

    #[test]
    fn where_the_line_names_its_runner_or_no_base_is_green_every_report_speaks() {
        let red = (Verdict::Fail, Some(CriterionReason::ReportRed));
        let unittest = |tests, end: &str| run("python3 -m unittest", &plain(tests, end));
        assert_eq!(judged(&unittest(2, "FAILED (failures=1)"), &unittest(2, "OK")), red);
        let printed = run("make test", PRINTS_REPORTS);
        assert_eq!(judged(&printed, &run("make test", "fine\n")), red, "the base has no runner to tell it by");
        let base = JudgedRun {
            outcome: (Verdict::Fail, Some(CriterionReason::ExitCode)),
            ..run("make test", &plain(2, "OK"))
        };
        assert_eq!(judged(&printed, &base), red);
    }
}
