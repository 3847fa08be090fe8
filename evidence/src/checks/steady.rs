//! Runs that do not agree: a check that is red where it was green before, and names of tests that differ from run to run.
//!
//! A run says nothing that another run on the same tree does not say as well. So what was green before runs again before its
//! red decides, and names weigh only where two runs of the base have them.

use std::collections::BTreeSet;

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use super::{CheckOutcome, CriterionJudgement, JudgedRun};
use crate::runners::{self, TestCounts};

/// How often a check that was green before runs on one tree, before its red decides.
pub const RUNS_ON_TREE_MAX: usize = 3;
/// How often one check may take its whole time for one verdict: on the tree, on the base, with the tests as on the base. A
/// run that is made again has to fit into that.
pub const RUNS_PER_CHECK: u32 = 3;

/// Whether a check that was green before runs again on a tree, by how its runs there ended. An end that another run would
/// hardly change, and that costs its whole time or nothing at all, decides at once.
#[must_use]
pub fn is_run_again(ends: &[CheckOutcome]) -> bool {
    let decides =
        |reason| matches!(reason, CriterionReason::Timeout | CriterionReason::Limit | CriterionReason::NotExecutable);
    let red = |(verdict, reason): &CheckOutcome| *verdict != Verdict::Pass && !reason.is_some_and(decides);
    ends.len() < RUNS_ON_TREE_MAX && ends.last().is_some_and(red)
}

/// What is wrong with a check whose last run on a tree is green and whose earlier ones are not, as the end of a sentence about
/// it; `where_`: what the tree is.
#[must_use]
pub fn flaky(ends: &[CheckOutcome], where_: &str) -> Option<String> {
    let (last, earlier) = ends.split_last()?;
    let (red, all) = (earlier.iter().filter(|(verdict, _)| *verdict != Verdict::Pass).count(), ends.len());
    (last.0 == Verdict::Pass && red > 0)
        .then(|| format!("is flaky: it was red in {red} of {all} runs {where_}, and green in the last one"))
}

/// Whether nothing but names of the base speaks against the work, so that the base has to have them in another run as well.
/// `judge` judges the work by another base.
#[must_use]
pub fn rests_on_names(
    judgement: &CriterionJudgement,
    base: &JudgedRun,
    judge: impl Fn(&JudgedRun) -> CriterionJudgement,
) -> bool {
    let mut nameless = base.clone();
    nameless.counts.iter_mut().for_each(TestCounts::forget_names);
    judgement.verdict != Verdict::Pass && judge(&nameless).verdict == Verdict::Pass
}

impl JudgedRun {
    /// This run of a base with the names that `again`, another run of it, has as well; and the other names. An end that
    /// differs shows what became of the base and not that its names differ.
    #[must_use]
    pub fn steadied(&self, again: &Self) -> (Self, BTreeSet<String>) {
        let mut steady = self.clone();
        let other = again.counts.as_ref().filter(|_| again.outcome == self.outcome);
        let unsteady = match (&mut steady.counts, other) {
            (Some(counts), Some(other)) => runners::keep_steady(counts, other),
            _ => BTreeSet::new(),
        };
        (steady, unsteady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{CheckEnd, Runs, TestsNamed, judge_criterion};

    const PASS: CheckOutcome = (Verdict::Pass, None);
    const RED: CheckOutcome = (Verdict::Fail, Some(CriterionReason::ExitCode));
    const SLOW: CheckOutcome = (Verdict::Inconclusive, Some(CriterionReason::Timeout));
    const CRASH: CheckOutcome = (Verdict::Inconclusive, Some(CriterionReason::Signal));

    #[test]
    fn a_red_that_was_green_runs_again_within_its_bound_and_two_results_are_flaky() {
        for (ends, again) in [
            (&[][..], false),
            (&[PASS], false),
            (&[RED], true),
            (&[CRASH, RED], true),
            (&[RED, RED, RED], false),
            (&[RED, PASS], false),
            (&[SLOW], false),
            (&[RED, SLOW], false),
        ] {
            assert_eq!(is_run_again(ends), again, "{ends:?}");
        }
        assert_eq!(flaky(&[RED, RED, RED], "here"), None);
        assert_eq!(flaky(&[PASS], "here"), None);
        let said = "is flaky: it was red in 2 of 3 runs here, and green in the last one";
        assert_eq!(flaky(&[RED, CRASH, PASS], "here").as_deref(), Some(said));
    }

    fn node(exit: i32, names: &[&str]) -> JudgedRun {
        let tests: String = names.iter().map(|name| format!("✔ {name} (0.1ms)\n")).collect();
        let output = format!("{tests}ℹ tests {0}\nℹ pass {0}\nℹ fail 0\n", names.len());
        JudgedRun::read("node --test", CheckEnd { exit: Some(exit), ..CheckEnd::default() }, None, &output, true)
    }

    fn judged(first: &JudgedRun, base: &JudgedRun) -> CriterionJudgement {
        judge_criterion(Runs {
            first,
            base: Some(base),
            composed: None,
            named: TestsNamed::None,
            only_added: false,
            red_first: false,
            may_run_none: false,
            softened: &crate::written::Softened::default(),
        })
    }

    #[test]
    fn a_name_that_two_runs_of_the_base_do_not_share_carries_no_weight_and_its_count_does() {
        let (base, again) = (node(0, &["adds", "begun at 17"]), node(0, &["adds", "begun at 23"]));
        let first = node(0, &["adds", "begun at 42"]);
        let refused = judged(&first, &base);
        assert_eq!(refused.reason, Some(CriterionReason::FewerTests));
        assert!(rests_on_names(&refused, &base, |base| judged(&first, base)));
        let (steady, unsteady) = base.steadied(&again);
        assert_eq!(Vec::from_iter(unsteady), ["begun at 17"]);
        assert_eq!(judged(&first, &steady).verdict, Verdict::Pass);
        let one = node(0, &["adds"]);
        let fewer = judged(&one, &steady);
        assert_eq!(fewer.reason, Some(CriterionReason::FewerTests), "one of two tests is gone");
        assert!(!rests_on_names(&fewer, &base, |base| judged(&one, base)), "another run of the base changes nothing");
        let lost = judged(&node(0, &["subtracts", "begun at 42"]), &steady);
        assert_eq!(Vec::from_iter(lost.lost), ["adds"], "a steady name weighs as before");
    }

    #[test]
    fn another_end_of_the_base_takes_no_name_away() {
        let base = node(0, &["adds", "subtracts"]);
        for again in [node(1, &["adds"]), JudgedRun { counts: None, ..base.clone() }] {
            let (steady, unsteady) = base.steadied(&again);
            assert!(unsteady.is_empty() && steady == base, "{again:?}");
        }
    }
}
