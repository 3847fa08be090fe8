mod reports;

use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::*;
use CriterionReason as Reason;
use Verdict::{Fail, Inconclusive, Pass};

fn exit(code: i32) -> CheckEnd {
    CheckEnd { exit: Some(code), ..CheckEnd::default() }
}

#[test]
fn the_way_a_check_ends_gives_its_verdict() {
    let killed = CheckEnd { signal: Some(9), ..CheckEnd::default() };
    let table = [
        (exit(0), (Pass, None)),
        (exit(1), (Fail, Some(Reason::ExitCode))),
        (exit(125), (Fail, Some(Reason::ExitCode))),
        (exit(126), (Inconclusive, Some(Reason::NotExecutable))),
        (exit(127), (Inconclusive, Some(Reason::NotExecutable))),
        (exit(128), (Inconclusive, Some(Reason::ExitCode))),
        (exit(137), (Inconclusive, Some(Reason::ExitCode))),
        (exit(255), (Inconclusive, Some(Reason::ExitCode))),
        (exit(-1), (Inconclusive, Some(Reason::ExitCode))),
        (killed, (Inconclusive, Some(Reason::Signal))),
        (CheckEnd::default(), (Inconclusive, Some(Reason::Signal))),
        (CheckEnd { timed_out: true, ..exit(0) }, (Inconclusive, Some(Reason::Timeout))),
        (CheckEnd { timed_out: true, ..killed }, (Inconclusive, Some(Reason::Timeout))),
        (CheckEnd { limit: true, ..killed }, (Inconclusive, Some(Reason::Limit))),
        (CheckEnd { limit: true, ..exit(0) }, (Inconclusive, Some(Reason::Limit))),
    ];
    for (end, outcome) in table {
        assert_eq!(classify(end, None, ""), outcome, "{end:?}");
    }
}

#[test]
fn only_tests_that_are_named_may_be_missing() {
    let lost = |names: &[&str]| BTreeSet::from_iter(names.iter().map(|name| (*name).to_owned()));
    let judgement = |names: &[&str]| CriterionJudgement::failed(Reason::FewerTests, lost(names));
    let may_go = lost(&["test_b", "adds two"]);
    for names in [&["tests/a.py::test_b"][..], &["test_b (t.T.test_b)", "a.test.js > adds two"]] {
        let allowed = judgement(names).allowing(&may_go);
        assert_eq!((allowed.verdict, allowed.difference), (Pass, Some(Reason::FewerTests)), "{names:?}");
    }
    for names in [&["tests/a.py::test_bb"][..], &["tests/a.py::my_test_b"], &["test_b", "test_c"], &[]] {
        assert_eq!(judgement(names).allowing(&may_go), judgement(names), "{names:?}");
    }
    let (base, first) =
        (run(0, &[("kept", true), ("test_b", true), ("c", true)]), run(0, &[("kept", true), ("d", true)]));
    assert_eq!(Vec::from_iter(without_their_names(&base, &first, &may_go)), ["c"]);
    let early = CriterionJudgement { ended_early: true, ..judgement(&["test_b"]) };
    assert_eq!(early.clone().allowing(&may_go), early);
}

#[test]
fn the_output_must_match_what_is_expected_as_well() {
    let expect = Regex::new("test result: ok").unwrap();
    assert_eq!(classify(exit(0), Some(&expect), "x\ntest result: ok. 1 passed"), (Pass, None));
    assert_eq!(classify(exit(0), Some(&expect), ""), (Fail, Some(Reason::ExpectUnmatched)));
    assert_eq!(classify(exit(1), Some(&expect), "test result: ok"), (Fail, Some(Reason::ExitCode)));
}

/// A run of `cargo test` with these tests, each green or not. No tests: the runner printed nothing.
fn run(code: i32, tests: &[(&str, bool)]) -> JudgedRun {
    let failed = tests.iter().filter(|(_, ok)| !ok).count();
    let mut output: String =
        tests.iter().map(|(name, ok)| format!("test {name} ... {}\n", if *ok { "ok" } else { "FAILED" })).collect();
    if !tests.is_empty() {
        output += &format!("test result: x. {} passed; {failed} failed; 0 ignored\n", tests.len() - failed);
    }
    JudgedRun::read("cargo test", exit(code), None, &output, true)
}

fn judge(
    first: &JudgedRun,
    base: Option<&JudgedRun>,
    composed: Option<&JudgedRun>,
    tests_named: bool,
) -> (CheckOutcome, Option<Reason>) {
    let named = if tests_named { TestsNamed::All } else { TestsNamed::None };
    let judgement = judge_criterion(Runs {
        first,
        base,
        composed,
        named,
        only_added: false,
        red_first: false,
        may_run_none: false,
        softened: &NONE,
    });
    ((judgement.verdict, judgement.reason), judgement.difference)
}

const GREEN: CheckOutcome = (Pass, None);

/// No test was taken from a product file.
static NONE: LazyLock<Softened> = LazyLock::new(Softened::default);

#[test]
fn a_green_run_with_all_tests_of_the_base_passes() {
    let base = run(1, &[("a", true), ("b", false)]);
    let first = run(0, &[("a", true), ("b", true)]);
    assert_eq!(judge(&first, Some(&base), None, false), (GREEN, None));
    assert_eq!(judge(&first, None, None, false), (GREEN, None));
    assert_eq!(judge(&first, Some(&base), Some(&first), false), (GREEN, None));
}

#[test]
fn a_red_run_is_not_mended_by_anything() {
    let green = run(0, &[("a", true)]);
    let red = run(101, &[("a", false)]);
    assert_eq!(judge(&red, Some(&green), Some(&green), true), ((Fail, Some(Reason::ExitCode)), None));
}

#[test]
fn a_run_that_shows_fewer_tests_fails_unless_the_tests_are_in_the_scope() {
    let base = run(0, &[("a", true), ("b", true)]);
    let fewer = run(0, &[("a", true)]);
    let silent = run(0, &[]);
    for first in [&fewer, &silent] {
        assert_eq!(judge(first, Some(&base), None, false), FEWER);
        assert_eq!(judge(first, Some(&base), None, true), (GREEN, None));
        assert_eq!(judge(first, Some(&base), Some(&run(101, &[("a", true), ("b", false)])), true).0, GREEN);
        // The tests of the base, all of them there, end well and are fewer: that is the product's doing.
        assert_eq!(judge(first, Some(&base), Some(&fewer), true), FEWER);
    }
}

const FEWER: (CheckOutcome, Option<Reason>) = ((Fail, Some(Reason::FewerTests)), Some(Reason::FewerTests));

#[test]
fn a_test_replaced_by_another_is_missed_by_its_name() {
    let base = run(1, &[("easy", true), ("hard", false)]);
    let first = run(0, &[("easy", true), ("trivial", true)]);
    let judged = |composed: Option<&JudgedRun>, named| {
        judge_criterion(Runs {
            first: &first,
            base: Some(&base),
            composed,
            named,
            only_added: false,
            red_first: false,
            may_run_none: false,
            softened: &NONE,
        })
    };
    for composed in [None, Some(&run(101, &[("easy", true), ("hard", false)]))] {
        let judgement = judged(composed, TestsNamed::None);
        assert_eq!((judgement.verdict, judgement.reason), FEWER.0);
        assert_eq!(Vec::from_iter(judgement.lost), ["hard"]);
    }
    // It was put back and is green: renamed, perhaps, but what it shows still holds.
    let composed = run(0, &[("easy", true), ("hard", true)]);
    assert_eq!(judged(Some(&composed), TestsNamed::None).verdict, Pass);
    // The scope names some of the changed tests: which names may go is not known, and only the runs speak.
    assert_eq!(judged(Some(&composed), TestsNamed::Some).verdict, Pass);
    assert_eq!(judged(None, TestsNamed::Some).verdict, Pass);
}

#[test]
fn a_test_that_a_base_which_stopped_early_never_showed_is_missed_all_the_same() {
    // As `cargo test` stops at its first red target.
    let base = run(101, &[("a", true), ("b", false)]);
    let first = run(0, &[("a", true), ("b", true)]);
    let composed = run(0, &[("a", true), ("b", true), ("c", true)]);
    let judged = |base, named| {
        judge_criterion(Runs {
            first: &first,
            base,
            composed: Some(&composed),
            named,
            only_added: false,
            red_first: false,
            may_run_none: false,
            softened: &NONE,
        })
    };
    for named in [TestsNamed::None, TestsNamed::Some] {
        let judgement = judged(Some(&base), named);
        assert_eq!((judgement.verdict, judgement.reason), FEWER.0);
        assert_eq!(Vec::from_iter(judgement.lost), ["c"]);
    }
    assert_eq!(judged(Some(&base), TestsNamed::All).verdict, Pass, "the scope asks for it");
    // A green base showed everything: what is more now is not the base's.
    assert_eq!(judged(Some(&first), TestsNamed::None).verdict, Pass);
    // The same test at another place.
    let first = run(0, &[("a", true), ("b", true), ("tests::c", true)]);
    let moved = judge_criterion(Runs {
        first: &first,
        base: Some(&base),
        composed: Some(&composed),
        named: TestsNamed::None,
        only_added: false,
        red_first: false,
        may_run_none: false,
        softened: &NONE,
    });
    assert_eq!(moved.verdict, Pass);
}

#[test]
fn where_names_are_not_known_their_number_tells_of_a_base_that_stopped_early() {
    let read = |code, text: &str| JudgedRun::read("python3 -m unittest -f", exit(code), None, text, true);
    let base = read(1, "F\n\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n");
    let (first, composed) = (read(0, "Ran 1 test in 0.001s\n\nOK\n"), read(0, "Ran 2 tests in 0.001s\n\nOK\n"));
    assert_eq!(judge(&first, Some(&base), Some(&composed), false), FEWER);
    assert_eq!(judge(&composed, Some(&base), Some(&composed), false), (GREEN, None));
}

#[test]
fn a_runner_that_did_not_come_to_its_end_shows_nothing_whatever_the_base_and_the_scope_say() {
    let read = |command: &str, code, output: &str| JudgedRun::read(command, exit(code), None, output, true);
    let begun = read("make test", 0, "\nrunning 2 tests\n");
    let silent = read("python3 -m unittest", 0, "");
    let broken = read("python3 -m unittest", 1, "ModuleNotFoundError: No module named 'new'\n");
    for first in [&begun, &silent] {
        for (base, named) in [(None, false), (Some(&broken), false), (None, true), (Some(&broken), true)] {
            assert_eq!(judge(first, base, None, named), FEWER);
        }
        assert!(
            judge_criterion(Runs {
                first,
                base: None,
                composed: None,
                named: TestsNamed::All,
                only_added: false,
                red_first: false,
                may_run_none: false,
                softened: &NONE
            })
            .ended_early
        );
        assert_eq!(judge(first, Some(first), None, false), (GREEN, None), "as on a green base");
    }
}

#[test]
fn tests_that_are_green_only_in_their_new_form_fail_the_criterion() {
    let base = run(0, &[("a", true), ("b", true)]);
    let first = run(0, &[("a", true), ("b", true)]);
    let composed = run(101, &[("a", true), ("b", false)]);
    let runs = Runs {
        first: &first,
        base: Some(&base),
        composed: Some(&composed),
        named: TestsNamed::None,
        only_added: false,
        red_first: false,
        may_run_none: false,
        softened: &NONE,
    };
    let judgement = judge_criterion(runs);
    assert_eq!((judgement.verdict, judgement.reason), (Fail, Some(Reason::TestsWeakened)));
    assert_eq!(Vec::from_iter(judgement.lost), ["b"]);
    assert_eq!(judge(&first, Some(&base), Some(&composed), true), (GREEN, Some(Reason::TestsWeakened)));
}

#[test]
fn a_red_run_with_the_tests_of_the_base_is_not_excused_by_taking_the_red_test_away() {
    let base = run(0, &[("a", true), ("old_name", true)]);
    let first = run(0, &[("a", true), ("new_name", true)]);
    let weakened = ((Fail, Some(Reason::TestsWeakened)), Some(Reason::TestsWeakened));
    let green = run(0, &[("a", true), ("old_name", true)]);
    assert_eq!(judge(&first, Some(&base), Some(&green), false), (GREEN, None), "a new name for what still holds");
    // `old_name` is gone from the first run, and is what fails.
    assert_eq!(judge(&first, Some(&base), Some(&run(101, &[("a", true), ("old_name", false)])), false), FEWER);
    assert_eq!(judge(&first, None, Some(&run(101, &[("a", true), ("old_name", false)])), false), weakened);
    // Nothing failed by name, and yet the check is red.
    assert_eq!(judge(&first, Some(&base), Some(&run(1, &[("a", true), ("old_name", true)])), false), weakened);
    // It did not build.
    assert_eq!(judge(&first, Some(&base), Some(&run(101, &[])), false), FEWER);
    assert_eq!(judge(&first, None, Some(&run(101, &[])), false), weakened);
    // It never ended.
    let hung = JudgedRun { outcome: (Inconclusive, Some(Reason::Timeout)), ..green.clone() };
    assert_eq!(judge(&first, Some(&base), Some(&hung), false), weakened);
}

#[test]
fn without_a_runner_the_whole_check_must_be_green_with_the_tests_of_the_base() {
    let plain = |code| JudgedRun::read("./check.sh", exit(code), None, "fine\n", true);
    assert_eq!(judge(&plain(0), Some(&plain(0)), Some(&plain(0)), false), (GREEN, None));
    assert_eq!(judge(&plain(0), Some(&plain(0)), Some(&plain(1)), false).0, (Fail, Some(Reason::TestsWeakened)));
}

#[test]
fn a_cut_output_is_not_counted() {
    let cut = JudgedRun::read("cargo test", exit(0), None, "test result: ok. 1 passed; 0 failed; 0 ignored", false);
    assert_eq!(cut.counts, None);
}

proptest! {
    #[test]
    fn only_an_exit_of_zero_ever_passes(exit in any::<Option<i32>>(), signal in any::<Option<i32>>(), timed_out: bool, limit: bool) {
        let end = CheckEnd { exit, signal, timed_out, limit };
        let (verdict, reason) = classify(end, None, "");
        prop_assert_eq!(verdict == Pass, exit == Some(0) && signal.is_none() && !timed_out && !limit);
        prop_assert_eq!(reason.is_none(), verdict == Pass);
    }
}
