//! What a report says against its exit code, and what skipped tests say where the base is silent.

use super::*;

/// A run of pytest with this output.
fn pytest(code: i32, output: &str) -> JudgedRun {
    JudgedRun::read("pytest", exit(code), None, output, true)
}

#[test]
fn a_report_with_failures_is_red_whatever_the_exit_code_is() {
    let report_red = ((Fail, Some(Reason::ReportRed)), Some(Reason::ReportRed));
    let read = |command: &str, code, output: &str| JudgedRun::read(command, exit(code), None, output, true);
    let red = run(0, &[("a", true), ("b", false)]);
    let honest = run(101, &[("a", true), ("b", false)]);
    for base in [None, Some(&honest), Some(&run(0, &[("a", true), ("b", true)])), Some(&run(101, &[]))] {
        for named in [false, true] {
            assert_eq!(judge(&red, base, None, named), report_red, "{base:?}");
        }
    }
    assert_eq!(judge(&honest, None, None, false), ((Fail, Some(Reason::ExitCode)), None), "the exit code comes first");
    // Red with the tests as on the base.
    let green = run(0, &[("a", true), ("b", true)]);
    assert_eq!(judge(&green, Some(&green), Some(&red), false).0, (Fail, Some(Reason::TestsWeakened)));
    let bug = read("! cargo test bug", 0, "test bug ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n");
    assert_eq!(judge(&bug, None, None, false), (GREEN, None), "it is asked for");
}

#[test]
fn failures_that_a_green_base_reports_as_well_are_the_projects_way() {
    let some = run(0, &[("a", true), ("nested", false)]);
    let other = run(0, &[("a", false), ("nested", true)]);
    let more = run(0, &[("a", false), ("nested", false)]);
    assert_eq!(judge(&some, Some(&some), None, false), (GREEN, None));
    for first in [&other, &more] {
        assert_eq!(judge(first, Some(&some), None, false).0, (Fail, Some(Reason::ReportRed)));
    }
    // It had to be red there, so what it reported there was what is to be done.
    let runs = Runs {
        first: &some,
        base: Some(&some),
        composed: None,
        named: TestsNamed::None,
        only_added: false,
        red_first: true,
        may_run_none: false,
        softened: &NONE,
    };
    assert_eq!(judge_criterion(runs).reason, Some(Reason::ReportRed));
    assert_eq!((some.outcome, some.alone()), (GREEN, (Fail, Some(Reason::ReportRed))));
}

#[test]
fn what_a_base_that_was_not_collected_skips_is_not_known() {
    let base =
        pytest(2, "ERROR tests/test_a.py\n!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.1s ===\n");
    let first = pytest(0, "==== 90 passed, 37 skipped in 0.2s ====\n");
    assert_eq!(judge(&first, Some(&base), None, false), (GREEN, None));
    assert_eq!(judge(&first, Some(&base), Some(&first), false), (GREEN, None));
    // With the tests as on the base one less was skipped: it was put out of the way in a test file.
    let fewer = pytest(0, "==== 91 passed, 36 skipped in 0.2s ====\n");
    let first = pytest(0, "==== 91 passed, 37 skipped in 0.2s ====\n");
    let judged = |only_added| {
        let (base, composed, named) = (Some(&base), Some(&fewer), TestsNamed::None);
        judge_criterion(Runs {
            first: &first,
            base,
            composed,
            named,
            only_added,
            red_first: false,
            may_run_none: false,
            softened: &NONE,
        })
        .reason
    };
    assert_eq!((judged(false), judged(true)), (Some(Reason::MoreSkipped), None));
    // Rust's tests were not built.
    let unbuilt = JudgedRun::read("cargo test", exit(101), None, "error: could not compile `a`\n", true);
    let read = |text: &str| JudgedRun::read("cargo test", exit(0), None, text, true);
    let skipped = read("test a ... ignored\ntest b ... ok\ntest result: ok. 1 passed; 0 failed; 1 ignored\n");
    let whole = read("test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n");
    assert_eq!(judge(&skipped, Some(&unbuilt), Some(&whole), false).0, (Fail, Some(Reason::MoreSkipped)));
}

#[test]
fn only_tests_of_the_base_can_be_skipped_too_many() {
    let read = |text: &str| pytest(0, &format!("{text}==== in 0.1s\n"));
    let base = read("t.py::a PASSED [50%]\nt.py::b PASSED [100%]\n=== 2 passed in 0.1s ===\n");
    let new = read(
        "t.py::a PASSED [33%]\nt.py::b PASSED [66%]\nt.py::c SKIPPED (x) [100%]\n=== 2 passed, 1 skipped in 0.1s ===\n",
    );
    assert_eq!(judge(&new, Some(&base), None, false), (GREEN, None));
    let old = read(
        "t.py::a PASSED [33%]\nt.py::b SKIPPED (x) [66%]\nt.py::c PASSED [100%]\n=== 2 passed, 1 skipped in 0.1s ===\n",
    );
    assert_eq!(judge(&old, Some(&base), None, false).0, (Fail, Some(Reason::MoreSkipped)));
    assert_eq!(
        judge(&old, Some(&base), Some(&base), false).0,
        (Fail, Some(Reason::MoreSkipped)),
        "whether or not it holds"
    );
    // Without names: with only the tests of the base nothing more is skipped.
    let (base, new) = (pytest(0, "=== 2 passed in 0.1s ===\n"), pytest(0, "=== 2 passed, 1 skipped in 0.1s ===\n"));
    let judged = |composed, only_added| {
        let (base, named) = (Some(&base), TestsNamed::None);
        judge_criterion(Runs {
            first: &new,
            base,
            composed,
            named,
            only_added,
            red_first: false,
            may_run_none: false,
            softened: &NONE,
        })
        .reason
    };
    assert_eq!(judged(Some(&base), true), None);
    assert_eq!(judged(Some(&base), false), Some(Reason::MoreSkipped));
    assert_eq!(judged(Some(&new), true), Some(Reason::MoreSkipped), "the product skips it");
    assert_eq!(judged(None, true), Some(Reason::MoreSkipped));
}

#[test]
fn what_the_text_takes_from_tests_counts_where_their_names_do_not_tell() {
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    let lost = Softened { lost: set("a"), ..NONE.clone() };
    let reversed = Softened { reversed: set("a"), ..NONE.clone() };
    let conditioned = Softened { conditioned: set("a"), ..NONE.clone() };
    let shadows = Softened { shadows: set("assert_eq"), ..NONE.clone() };
    let emptied = Softened { emptied: set("a"), ..NONE.clone() };
    let skips = Softened { skips: true, ..NONE.clone() };
    let quiet = |code| {
        JudgedRun::read("cargo test -q", exit(code), None, "test result: ok. 1 passed; 0 failed; 1 ignored", true)
    };
    let unbuilt = JudgedRun::read("cargo test", exit(101), None, "error: could not compile `a`\n", true);
    let (named, script) = (run(0, &[("b", true)]), JudgedRun::read("./check.sh", exit(0), None, "fine\n", true));
    let (weakened, fewer, skipped) = (Some(Reason::TestsWeakened), Some(Reason::FewerTests), Some(Reason::MoreSkipped));
    let table = [
        (&lost, &named, &unbuilt, fewer),
        (&lost, &named, &named, None),
        (&lost, &quiet(0), &quiet(0), None),
        (&reversed, &named, &unbuilt, weakened),
        (&reversed, &quiet(0), &quiet(0), weakened),
        (&reversed, &named, &named, None),
        (&conditioned, &named, &unbuilt, weakened),
        (&conditioned, &quiet(0), &quiet(0), weakened),
        (&conditioned, &named, &named, None),
        (&shadows, &named, &named, weakened),
        (&shadows, &script, &script, None),
        (&emptied, &named, &named, weakened),
        (&emptied, &script, &script, None),
        (&skips, &quiet(0), &unbuilt, skipped),
        (&skips, &named, &unbuilt, None),
        (&skips, &quiet(0), &quiet(0), None),
    ];
    for (softened, first, base, expected) in table {
        let base = Some(base);
        let runs = Runs {
            first,
            base,
            composed: None,
            named: TestsNamed::None,
            only_added: false,
            red_first: false,
            may_run_none: false,
            softened,
        };
        assert_eq!(judge_criterion(runs).reason, expected, "{softened:?} {first:?} {base:?}");
    }
}
