//! Checks that ran no test: their runners were understood, came to their ends, and had nothing to run. Skipped tests did not run.

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use super::run::{CheckOutcome, JudgedRun};
use crate::runners::TestCounts;

impl JudgedRun {
    /// Whether it ran no test, so that its green shows nothing.
    #[must_use]
    pub fn ran_no_test(&self) -> bool {
        self.counts.as_ref().is_some_and(TestCounts::ran_none)
    }

    /// How it ended, where it has to show something: a green run of no test is red.
    #[must_use]
    pub fn showing(&self) -> CheckOutcome {
        if self.outcome.0 == Verdict::Pass && self.ran_no_test() {
            return (Verdict::Fail, Some(CriterionReason::NoTests));
        }
        self.outcome
    }

    /// Whether it had nothing to run. `none_was_changed`: every test of the base is there, so a plain red of a runner that is
    /// not understood is one that found none of what it was asked for.
    fn had_nothing(&self, none_was_changed: bool) -> bool {
        match &self.counts {
            Some(counts) => counts.found_none() && self.outcome.0 != Verdict::Inconclusive,
            None => none_was_changed && self.outcome == (Verdict::Fail, Some(CriterionReason::ExitCode)),
        }
    }
}

/// Whether a check that runs tests on the tree under review runs none of the base's: neither the base nor that tree with the
/// tests as on the base has one for it. Then the added ones speak for themselves, whatever those two runs ended with.
#[must_use]
pub fn only_new_tests(
    first: &JudgedRun,
    base: Option<&JudgedRun>,
    composed: Option<&JudgedRun>,
    none_was_changed: bool,
) -> bool {
    let had_nothing = |run: Option<&JudgedRun>| run.is_some_and(|run| run.had_nothing(none_was_changed));
    first.counts.is_some() && !first.ran_no_test() && had_nothing(base) && had_nothing(composed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{CheckEnd, CriterionJudgement, Runs, TestsNamed, judge_criterion};

    fn run(command: &str, exit: i32, output: &str) -> JudgedRun {
        JudgedRun::read(command, CheckEnd { exit: Some(exit), ..CheckEnd::default() }, None, output, true)
    }

    fn go(exit: i32, output: &str) -> JudgedRun {
        run("go test -run TestFind -v ./stock", exit, output)
    }

    const NONE: &str = "testing: warning: no tests to run\nPASS\nok  \texample.com/stock\t0.002s [no tests to run]\n";
    const SOME: &str = "=== RUN   TestFind\n--- PASS: TestFind (0.00s)\nPASS\nok  \texample.com/stock\t0.003s\n";

    fn judged(
        first: &JudgedRun,
        base: &JudgedRun,
        composed: Option<&JudgedRun>,
        may_run_none: bool,
    ) -> CriterionJudgement {
        let softened = crate::written::Softened::default();
        judge_criterion(Runs {
            first,
            base: Some(base),
            composed,
            named: TestsNamed::None,
            only_added: false,
            red_first: false,
            may_run_none,
            softened: &softened,
        })
    }

    #[test]
    fn a_green_run_of_no_test_is_red_for_a_criterion_and_green_for_a_guard() {
        let none = go(0, NONE);
        assert_eq!(none.alone(), (Verdict::Fail, Some(CriterionReason::NoTests)), "red first");
        let judgement = judged(&none, &none, None, false);
        assert_eq!((judgement.verdict, judgement.reason), (Verdict::Fail, Some(CriterionReason::NoTests)));
        assert_eq!(judged(&none, &none, None, true).verdict, Verdict::Pass);
        assert_eq!(judged(&go(0, SOME), &none, None, false).verdict, Verdict::Pass);
        let fewer = judged(&none, &go(0, SOME), None, false);
        assert_eq!(fewer.reason, Some(CriterionReason::FewerTests), "the base had some");
        assert_eq!(run("make", 0, "built\n").alone().0, Verdict::Pass, "no runner is there");
    }

    #[test]
    fn a_runner_of_a_recipe_has_to_show_its_end() {
        let ended = run("npm test", 0, "  range\n    \u{2714} has its ends\n");
        assert_eq!(
            (ended.silent, ended.with_recipe("npm test\nmocha").silent),
            (None, Some(crate::runners::Runner::Mocha))
        );
        let whole = run("npm test", 0, "  1 passing (2ms)\n");
        assert_eq!(whole.with_recipe("npm test\nmocha").silent, None);
        let other = run("npm test", 0, "built\n");
        assert_eq!(other.with_recipe("npm test\nmocha | tee log").silent, None);
    }

    #[test]
    fn added_tests_speak_for_themselves_where_the_base_has_none_for_the_check() {
        let (first, none) = (go(0, SOME), go(0, NONE));
        let unmatched = JudgedRun { outcome: (Verdict::Fail, Some(CriterionReason::ExpectUnmatched)), ..none.clone() };
        let broken = go(1, "FAIL\texample.com/stock [build failed]\nFAIL\n");
        let unknown = run("sh t.sh", 1, "");
        let crashed = run("sh t.sh", 139, "");
        for (base, composed, none_was_changed, only_new) in [
            (&none, &none, false, true),
            (&unmatched, &none, false, true),
            (&none, &first, false, false),
            (&none, &broken, true, false),
            (&broken, &broken, true, false),
            (&unknown, &unknown, true, true),
            (&unknown, &unknown, false, false),
            (&crashed, &crashed, true, false),
        ] {
            assert_eq!(only_new_tests(&first, Some(base), Some(composed), none_was_changed), only_new, "{composed:?}");
        }
        assert!(!only_new_tests(&none, Some(&none), Some(&none), true), "nothing speaks");
        assert!(!only_new_tests(&first, None, Some(&none), true) && !only_new_tests(&first, Some(&none), None, true));
    }
}
