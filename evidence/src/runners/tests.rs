//! Recorded outputs of real runners (folder `fixtures`); Go's and Gradle's are written from their documentation.

use holdpoint_protocol::reason::CriterionReason;
use proptest::prelude::*;

use super::*;

/// run, passed, failed, skipped, and the number of green names if names are known.
type Row = (u64, u64, u64, u64, Option<usize>);

fn row(command: &str, output: &str, runner: Runner) -> Option<Row> {
    let counts = counts(command, output)?;
    assert_eq!(counts.by_runner.len(), 1, "{command}: {counts:?}");
    let tally = &counts.by_runner[&runner];
    Some((tally.run, tally.passed, tally.failed, tally.skipped, tally.names.as_ref().map(|n| n.green.len())))
}

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("fixtures/", $name, ".txt"))
    };
}

#[test]
fn recorded_outputs_are_counted() {
    use Runner::*;
    let table: &[(&str, &str, Runner, Option<Row>)] = &[
        ("cargo test", recorded!("cargo_ok"), CargoTest, Some((6, 6, 0, 1, Some(6)))),
        ("cargo test --no-fail-fast", recorded!("cargo_fail"), CargoTest, Some((6, 5, 1, 1, Some(5)))),
        ("cargo test -q", recorded!("cargo_quiet"), CargoTest, Some((6, 6, 0, 1, None))),
        ("cargo test -- --nocapture", recorded!("cargo_color"), CargoTest, Some((6, 6, 0, 1, Some(6)))),
        ("cargo test doubles", recorded!("cargo_filtered"), CargoTest, Some((1, 1, 0, 0, Some(1)))),
        ("cargo nextest run", recorded!("nextest_ok"), Nextest, Some((5, 5, 0, 1, Some(5)))),
        ("cargo nextest run --jobs 2 --config net.toml", recorded!("nextest_ok"), Nextest, Some((5, 5, 0, 1, Some(5)))),
        ("cargo nextest run retry", recorded!("nextest_ok"), Nextest, Some((5, 5, 0, 0, Some(5)))),
        ("cargo nextest run -p retry", recorded!("nextest_fail"), Nextest, Some((5, 4, 1, 1, Some(4)))),
        ("cargo nextest run --run-ignored all", recorded!("nextest_all"), Nextest, Some((6, 6, 0, 0, Some(6)))),
        ("python3 -m unittest", recorded!("unittest_ok"), Unittest, Some((5, 5, 0, 2, None))),
        ("python3 -m unittest -v", recorded!("unittest_verbose"), Unittest, Some((5, 5, 0, 2, Some(5)))),
        ("python3 -m unittest -v", recorded!("unittest_fail"), Unittest, Some((5, 3, 2, 2, Some(3)))),
        ("python3 -m unittest", recorded!("unittest_none"), Unittest, Some((0, 0, 0, 0, Some(0)))),
        ("python3 -m unittest -v", recorded!("unittest_import"), Unittest, Some((6, 5, 1, 2, None))),
        ("python3 -m unittest tests.test_backoff", recorded!("unittest_absent"), Unittest, Some((0, 0, 0, 0, None))),
        ("pytest", recorded!("pytest_ok"), Pytest, Some((7, 7, 0, 2, None))),
        ("pytest -q", recorded!("pytest_quiet"), Pytest, Some((7, 7, 0, 2, None))),
        ("pytest -qq", recorded!("pytest_qq"), Pytest, None),
        ("python -m pytest -v", recorded!("pytest_verbose"), Pytest, Some((7, 7, 0, 2, Some(7)))),
        (".venv/bin/pytest -v", recorded!("pytest_fail"), Pytest, Some((7, 5, 2, 2, Some(5)))),
        ("pytest -rA", recorded!("pytest_rA"), Pytest, Some((7, 5, 2, 2, Some(5)))),
        ("pytest -n 2 -v", recorded!("pytest_xdist"), Pytest, Some((5, 5, 0, 2, Some(5)))),
        ("pytest -v", recorded!("pytest_subtests"), Pytest, Some((5, 5, 0, 2, Some(5)))),
        ("pytest", recorded!("pytest_none"), Pytest, Some((0, 0, 0, 0, Some(0)))),
        ("pytest -k none", recorded!("pytest_deselected"), Pytest, Some((0, 0, 0, 0, Some(0)))),
        ("pytest", recorded!("pytest_collect"), Pytest, Some((1, 0, 1, 0, None))),
        ("node --test", recorded!("node_tap"), NodeTest, Some((3, 3, 0, 2, Some(3)))),
        ("node --test --test-reporter=spec", recorded!("node_spec"), NodeTest, Some((3, 3, 0, 2, Some(3)))),
        ("node --test --test-reporter=spec", recorded!("node_spec_fail"), NodeTest, Some((3, 2, 1, 2, Some(2)))),
        ("node --test --test-reporter=tap", recorded!("node_tap_fail"), NodeTest, Some((3, 2, 1, 2, Some(2)))),
        ("cargo nextest run", recorded!("nextest_shown"), Nextest, Some((3, 3, 0, 0, Some(3)))),
        ("cargo nextest run", recorded!("nextest_early"), Nextest, Some((1, 1, 0, 0, Some(1)))),
        ("node --test", recorded!("node_early"), NodeTest, Some((1, 1, 0, 0, Some(1)))),
        ("npx jest", recorded!("jest_ok"), Jest, Some((3, 3, 0, 2, Some(3)))),
        ("npx jest", recorded!("jest_fail"), Jest, Some((5, 4, 1, 2, Some(4)))),
        ("npx jest", recorded!("jest_exit"), Jest, None),
        ("npx vitest run", recorded!("vitest_ok"), Vitest, Some((3, 3, 0, 2, None))),
        ("npx vitest run", recorded!("vitest_fail"), Vitest, Some((5, 4, 1, 2, Some(4)))),
        ("npx mocha", recorded!("mocha_ok"), Mocha, Some((4, 4, 0, 1, Some(4)))),
        ("npx mocha", recorded!("mocha_fail"), Mocha, Some((6, 5, 1, 1, Some(5)))),
        ("npx mocha", recorded!("mocha_exit"), Mocha, None),
        ("ctest --test-dir build", recorded!("ctest_ok"), Ctest, Some((3, 3, 0, 0, Some(3)))),
        ("ctest --test-dir build", recorded!("ctest_fail"), Ctest, Some((4, 3, 1, 2, Some(3)))),
        ("build/geo_tests", recorded!("gtest_ok"), GoogleTest, Some((3, 3, 0, 0, Some(3)))),
        ("build/geo_tests", recorded!("gtest_fail"), GoogleTest, Some((4, 3, 1, 2, Some(3)))),
        ("mvn -B test", recorded!("maven_ok"), Junit, Some((3, 3, 0, 0, None))),
        ("./mvnw -B test", recorded!("maven_fail"), Junit, Some((5, 4, 1, 1, None))),
    ];
    for (command, output, runner, expected) in table {
        assert_eq!(row(command, output, *runner), *expected, "{command}\n{output}");
        // A line that names no runner finds the same one.
        assert_eq!(row("make check", output, *runner).map(|row| row.0), expected.map(|row| row.0), "make: {output}");
    }
}

#[test]
fn go_jest_and_vitest_are_counted() {
    let verbose = "=== RUN   TestRetry\n=== RUN   TestRetry/backs_off\n--- PASS: TestRetry (0.00s)\n    --- PASS: \
        TestRetry/backs_off (0.00s)\n--- SKIP: TestSlow (0.00s)\n--- FAIL: TestX (0.01s)\nFAIL\nFAIL\texample.com/a\t0.003s\n\
        ?   \texample.com/b\t[no test files]\n";
    let quiet = "ok  \texample.com/a\t0.003s\nok  \texample.com/c\t(cached)\nok  \texample.com/d\t0.001s [no tests to run]\n\
        FAIL\texample.com/e [build failed]\n?   \texample.com/b\t[no test files]\nFAIL\n";
    let jest = "PASS a/retry.test.js\n  ✓ backs off (2 ms)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 \
        skipped, 1 todo, 2 passed, 5 total\nSnapshots:   0 total\nTime:        0.3 s\n";
    let vitest =
        " Test Files  1 passed (1)\n      Tests  2 passed | 1 failed | 1 skipped | 1 todo (5)\n   Duration  210ms\n";
    let jest_colour = "\u{1b}[1mTests:\u{1b}[22m       \u{1b}[1m\u{1b}[32m2 passed\u{1b}[39m\u{1b}[22m, 2 total\n";
    let workspace = format!("{vitest}\n{vitest}");
    assert_eq!(row("npx jest", jest_colour, Runner::Jest), Some((2, 2, 0, 0, None)));
    assert_eq!(row("npx vitest run", &workspace, Runner::Vitest), Some((6, 4, 2, 4, None)));
    assert_eq!(row("go test -v ./...", verbose, Runner::GoTest), Some((3, 2, 1, 1, Some(2))));
    assert_eq!(row("go test ./...", quiet, Runner::GoTest), Some((3, 2, 1, 0, None)));
    assert_eq!(row("npx jest", jest, Runner::Jest), Some((3, 2, 1, 2, None)));
    assert_eq!(row("node_modules/.bin/vitest run", vitest, Runner::Vitest), Some((3, 2, 1, 2, None)));
    assert_eq!(row("npm test", vitest, Runner::Vitest), Some((3, 2, 1, 2, None)));
}

#[test]
fn a_run_of_no_test_is_known_as_such_for_every_runner() {
    for (command, output) in [
        (
            "cargo test",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out\n",
        ),
        ("cargo test --test new", "error: no test target named `new` in default-run packages\n"),
        (
            "cargo nextest run",
            "    Starting 0 tests across 2 binaries\n     Summary [   0.000s] 0 tests run: 0 passed, 5 skipped\n",
        ),
        ("pytest -k none", recorded!("pytest_deselected")),
        ("pytest", recorded!("pytest_none")),
        ("python3 -m unittest", recorded!("unittest_none")),
        (
            "go test -run X ./a",
            "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.002s [no tests to run]\n",
        ),
        ("go test ./b", "?   \texample.com/b\t[no test files]\n"),
        ("go test ./...", "go: warning: \"./...\" matched no packages\nno packages to test\n"),
        ("node --test", "\u{2139} tests 0\n\u{2139} suites 0\n\u{2139} pass 0\n\u{2139} fail 0\n"),
        ("node --test test/new.test.js", "Could not find '/tree/test/new.test.js'\n"),
        ("npx jest -t nothing", recorded!("jest_none")),
        ("npx jest none", recorded!("jest_absent")),
        ("npx vitest run -t nothing", recorded!("vitest_none")),
        ("npx vitest run none", recorded!("vitest_absent")),
        ("npx mocha -g nothing", recorded!("mocha_none")),
        ("npx mocha none.test.js", recorded!("mocha_absent")),
        ("ctest -R Nothing", recorded!("ctest_none")),
        ("build/geo_tests --gtest_filter=None", recorded!("gtest_none")),
        ("mvn -B test -Dtest=NoneTest", recorded!("maven_none")),
        ("mvn -B test -Dtest=NoneTest -Dsurefire.failIfNoSpecifiedTests=false", recorded!("maven_nothing")),
        ("./gradlew test", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n"),
        ("gradle test --tests None", "> No tests found for given includes: [None](--tests filter)\n"),
    ] {
        let read = counts(command, output).unwrap_or_else(|| panic!("{command}: not understood\n{output}"));
        assert!(read.ran_none(), "{command}: {read:?}");
    }
    for output in [recorded!("unittest_absent"), recorded!("unittest_unnamed")] {
        let absent = counts("python3 -m unittest tests.test_backoff", output).unwrap();
        assert!(absent.found_none() && !absent.ran_none(), "it reports a failure: {absent:?}");
    }
    for output in [recorded!("cargo_ok"), recorded!("pytest_collect"), recorded!("mocha_fail"), recorded!("maven_ok")] {
        assert!(!counts("make", output).unwrap().ran_none(), "{output}");
    }
}

#[test]
fn a_runner_that_began_and_did_not_end_is_seen() {
    for (command, output) in [
        ("cargo test", "running 3 tests\ntest a ... ok\n"),
        ("ctest", "Test project /tree/build\n    Start 1: Area.Product\n"),
        ("build/geo_tests", "[==========] Running 3 tests from 1 test suite.\n[ RUN      ] Area.Product\n"),
        ("mvn -B test", "[INFO]  T E S T S\n[INFO] Running shop.CartTest\n"),
    ] {
        assert!(ended_early(None, &counts(command, output).unwrap()), "{command}");
    }
    for (command, output) in [("npx mocha", recorded!("mocha_exit")), ("npx jest", recorded!("jest_exit"))] {
        assert!(silent(command, counts(command, output).as_ref()).is_some(), "{command}");
    }
}

#[test]
fn reports_have_names_and_only_take_away() {
    let of = |runner, text: &str| ReportTexts::from([(runner, vec![text.to_owned()])]);
    let junit = of(Runner::Junit, include_str!("fixtures/surefire.xml"));
    let tally = &with_reports(None, &junit).unwrap().by_runner[&Runner::Junit];
    assert_eq!((tally.run, tally.passed, tally.failed, tally.skipped), (2, 1, 1, 1));
    assert_eq!(Vec::from_iter(&tally.names.as_ref().unwrap().green), ["shop.OddTest.holds"]);
    let printed = counts("mvn -B test", recorded!("maven_ok"));
    let both = with_reports(printed.clone(), &junit).unwrap();
    assert_eq!((both.total().run, both.total().red), (2, 1), "the smaller count, and red in either");
    assert_eq!(with_reports(printed.clone(), &of(Runner::Junit, "<testsuite")), printed, "what is none says nothing");
    let printed = counts("pytest", recorded!("pytest_quiet"));
    let cases: String = (0..7).map(|n| format!("<testcase classname=\"tests.test_a.T\" name=\"test_{n}\"/>")).collect();
    let skipped = "<testcase classname=\"a\" name=\"s\"><skipped/></testcase>".repeat(2);
    let named = |cases: &str| {
        let texts = of(Runner::Pytest, &format!("<testsuites><testsuite>{cases}{skipped}</testsuite></testsuites>"));
        with_reports(printed.clone(), &texts).unwrap().by_runner[&Runner::Pytest].names.clone()
    };
    assert!(named(&cases).unwrap().green.contains("tests.test_a.T::test_3"));
    assert_eq!(named(&cases[..cases.len() / 7]), None, "another run of pytest printed more");
}

#[test]
fn the_log_of_ctest_says_which_programs_of_googletest_did_not_end() {
    let read = |log: &str| {
        let texts = ReportTexts::from([(Runner::GoogleTest, vec![log.to_owned()])]);
        with_reports(counts("ctest", recorded!("ctest_ok")), &texts).unwrap()
    };
    let log = recorded!("ctest_log");
    let google = &read(log).by_runner[&Runner::GoogleTest];
    assert_eq!((google.run, google.skipped, google.unended), (2, 1, 0));
    assert_eq!(Vec::from_iter(&google.names.as_ref().unwrap().green), ["A.Good", "A.Last"]);
    let (begun, _) = log.split_once("[       OK ] A.Last").unwrap();
    assert!(ended_early(None, &read(begun)), "the test ended its program");
    let (asked, _) = begun.rsplit_once("[==========] Running").unwrap();
    assert!(ended_early(None, &read(asked)), "something ended the program before its test");
    assert!(ended_early(None, &read(asked.split_once("[==========]").unwrap().0)), "of no program a test was begun");
    let brief = log.lines().filter(|line| !line.contains("Running") && !line.contains("OK ]"));
    let brief = brief.collect::<Vec<_>>().join("\n");
    assert_eq!(read(&brief), counts("ctest", recorded!("ctest_ok")).unwrap(), "GTEST_BRIEF has an end and no begin");
    let other = "Command: \"/tree/build/check\"\nOutput:\nfine\n";
    assert_eq!(read(other), counts("ctest", recorded!("ctest_ok")).unwrap(), "another program says nothing");
}

#[test]
fn tests_of_googletest_below_ctest_count_once() {
    let texts = ReportTexts::from([(Runner::GoogleTest, vec![recorded!("ctest_log").to_owned()])]);
    let alone = counts("ctest", recorded!("ctest_ok")).unwrap();
    let both = with_reports(Some(alone.clone()), &texts).unwrap();
    assert_eq!(both.total().run, alone.total().run.max(2));
}

#[test]
fn only_named_runners_are_looked_for() {
    let both = format!("{}{}", recorded!("cargo_ok"), recorded!("pytest_ok"));
    let named = counts("cargo test --locked", &both).unwrap();
    assert_eq!(named.by_runner.keys().copied().collect::<Vec<_>>(), [Runner::CargoTest]);
    let two = counts("cargo test && pytest -q", &both).unwrap();
    assert_eq!((two.by_runner.len(), two.total().run), (2, 13));
    assert_eq!(counts("pytest", recorded!("cargo_ok")), None);
    assert_eq!(counts("true", "hello\n"), None);
    // The output of a failing test inside nextest's report is not a run of its own.
    assert_eq!(counts("make", recorded!("nextest_fail")).unwrap().by_runner.len(), 1);
}

#[test]
fn a_loss_of_tests_is_seen_by_runner() {
    let tally = |run, skipped| Tally { run, passed: run, skipped, ..Tally::default() };
    let of = |list: &[(Runner, u64, u64)]| TestCounts {
        by_runner: list.iter().map(|(runner, run, skipped)| (*runner, tally(*run, *skipped))).collect(),
    };
    let base = of(&[(Runner::CargoTest, 5, 1), (Runner::Pytest, 3, 0)]);
    assert_eq!(compare(&base, Some(&base)), None);
    assert_eq!(compare(&base, Some(&of(&[(Runner::CargoTest, 6, 1), (Runner::Pytest, 3, 0)]))), None);
    assert_eq!(
        compare(&base, Some(&of(&[(Runner::CargoTest, 9, 1), (Runner::Pytest, 2, 0)]))),
        Some(CriterionReason::FewerTests)
    );
    assert_eq!(
        compare(&base, Some(&of(&[(Runner::CargoTest, 5, 2), (Runner::Pytest, 3, 0)]))),
        Some(CriterionReason::MoreSkipped)
    );
    assert_eq!(compare(&base, Some(&of(&[(Runner::CargoTest, 9, 0)]))), Some(CriterionReason::FewerTests));
    assert_eq!(compare(&base, None), Some(CriterionReason::FewerTests));
}

fn libtest(tests: &[(&str, bool)]) -> TestCounts {
    let failed = tests.iter().filter(|(_, ok)| !ok).count();
    let lines: String =
        tests.iter().map(|(name, ok)| format!("test {name} ... {}\n", if *ok { "ok" } else { "FAILED" })).collect();
    counts(
        "cargo test",
        &format!("{lines}test result: ok. {} passed; {failed} failed; 0 ignored", tests.len() - failed),
    )
    .unwrap()
}

#[test]
fn a_test_that_is_green_only_in_its_new_form_is_named() {
    let base = libtest(&[("old", true), ("removed", true), ("stays", true)]);
    let first = libtest(&[("old", true), ("stays", true), ("new", true)]);
    let lost = |composed: &TestCounts| weakened(Some(&base), &first, composed).map(Vec::from_iter);
    assert_eq!(lost(&libtest(&[("old", true), ("removed", true), ("stays", true)])), Some(vec![]));
    // A red test is reported, whether or not the first run still has it.
    let removed = libtest(&[("old", true), ("removed", false), ("stays", true)]);
    assert_eq!(lost(&removed), Some(vec!["removed".to_owned()]));
    assert_eq!(lost(&libtest(&[("old", false), ("removed", true), ("stays", true)])), Some(vec!["old".to_owned()]));
    // Not even run is not green.
    assert_eq!(lost(&libtest(&[("stays", true)])), Some(vec!["old".to_owned()]));
    // Without a run on the base only what the composed run shows is known.
    let red = weakened(None, &first, &libtest(&[("old", false), ("stays", true)])).unwrap();
    assert_eq!(Vec::from_iter(red), ["old"]);
    let nameless = counts("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored").unwrap();
    assert_eq!(lost(&nameless), None);
    assert_eq!(weakened(Some(&base), &nameless, &first), None);
}

#[test]
fn what_the_code_under_test_ended_is_counted_apart() {
    let unended = |command: &str, output: &str| counts(command, output).unwrap().total().unended;
    assert_eq!(unended("cargo nextest run", recorded!("nextest_early")), 2);
    assert_eq!(unended("cargo nextest run", recorded!("nextest_shown")), 0);
    assert_eq!(unended("node --test", recorded!("node_early")), 1);
    assert_eq!(unended("cargo test", "\nrunning 2 tests\ntest a ... ok\n"), 1);
    assert_eq!(unended("cargo test", recorded!("cargo_ok")), 0);
}

#[test]
fn signs_of_failures_are_counted_where_the_summary_does_not_tell_them() {
    let red = |command: &str, output: &str| counts(command, output).map(|counts| counts.total().red);
    let rule = "=".repeat(70);
    let forged =
        "\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";
    let table: &[(&str, String, u64)] = &[
        ("cargo test", recorded!("cargo_ok").to_owned(), 0),
        ("cargo test", recorded!("cargo_fail").to_owned(), 1),
        ("cargo test", "test a ... FAILED\ntest result: ok. 1 passed; 0 failed; 0 ignored\n".to_owned(), 1),
        ("cargo nextest run", recorded!("nextest_shown").to_owned(), 0),
        ("cargo nextest run", recorded!("nextest_early").to_owned(), 0),
        ("pytest", recorded!("pytest_ok").to_owned(), 0),
        ("pytest -n 2 -v", recorded!("pytest_xdist").to_owned(), 0),
        ("pytest -v", recorded!("pytest_subtests").to_owned(), 0),
        ("pytest", "tests/test_a.py F.E  [100%]\n2 passed in 0.01s\n".to_owned(), 2),
        ("pytest -q", "F.   [100%]\n2 passed in 0.01s\n".to_owned(), 1),
        ("pytest", "ERROR    root::x: it is logged\n2 passed in 0.01s\n".to_owned(), 0),
        ("python3 -m unittest", recorded!("unittest_ok").to_owned(), 0),
        ("python3 -m unittest", format!("F.\n{rule}{forged}"), 1),
        ("python3 -m unittest", format!("..{forged}"), 0),
        ("python3 -m unittest", format!("{rule}\nFAIL: test_a (t.T.test_a){forged}"), 1),
        ("python3 -m unittest", format!("FEE\nFAIL: as it should{forged}"), 0),
        ("go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\nok  \ta\t0.003s\n".to_owned(), 2),
        ("npx jest", "Test Suites: 1 failed, 1 total\nTests:       0 total\n".to_owned(), 1),
        ("npx vitest run", " Test Files  1 failed (1)\n      Tests  no tests\n".to_owned(), 1),
        ("node --test", recorded!("node_tap").to_owned(), 0),
        ("node --test", recorded!("node_tap_fail").to_owned(), 1),
    ];
    for (command, output, expected) in table {
        assert_eq!(red(command, output), Some(*expected), "{command}\n{output}");
    }
}

#[test]
fn a_test_below_nextest_whose_own_report_is_red_is_red() {
    let head = "        PASS [   0.004s] (1/1) a tests::b\n  stdout ───\n    running 1 test\n";
    let end = "     Summary [   0.0s] 1 test run: 1 passed, 0 skipped\n";
    let own = "    test result: FAILED. 0 passed; 1 failed; 0 ignored\n";
    let read = |text: &str| counts("cargo nextest run", text).unwrap().total();
    let belied = read(&format!("{head}{own}{end}"));
    assert_eq!((belied.passed, belied.failed, belied.red, belied.unended), (0, 1, 1, 0));
    // Another program's report, printed by a test that came to its end.
    let nested = read(&format!("{head}{own}    test result: ok. 1 passed; 0 failed; 0 ignored\n{end}"));
    assert_eq!((nested.passed, nested.red, nested.unended), (1, 0, 0));
}

#[test]
fn a_name_that_is_there_twice_is_kept_twice() {
    let twice = libtest(&[("works", true), ("works", true)]);
    let names = twice.by_runner[&Runner::CargoTest].names.clone().unwrap();
    assert_eq!(Vec::from_iter(names.green), ["works", "works [2]"]);
    let once = libtest(&[("works", true), ("trivial", true)]);
    assert_eq!(Vec::from_iter(missing(&twice, &[&once])), ["works [2]"]);
}

#[test]
fn a_name_that_is_green_in_one_place_and_red_in_another_is_red() {
    let counts = libtest(&[("works", true), ("works", false)]);
    let names = counts.by_runner[&Runner::CargoTest].names.clone().unwrap();
    assert!(names.green.is_empty() && names.red.contains("works"));
}

#[test]
fn escapes_are_removed_and_text_stays() {
    let text = "\u{1b}[1;32mok\u{1b}(B\u{1b}[m a\u{1b}]0;title\u{7}b\r\nc\u{1b}[";
    assert_eq!(lines::without_escapes(text), "ok ab\nc");
}

#[test]
fn huge_numbers_do_not_overflow() {
    let line = format!("test result: ok. {max} passed; {max} failed; {max} ignored\n", max = u64::MAX);
    let total = counts("cargo test", &line.repeat(3)).unwrap().total();
    assert_eq!((total.run, total.skipped), (u64::MAX, u64::MAX));
}

proptest! {
    #[test]
    fn readers_take_any_output(command in ".{0,40}", output in "(?s).{0,400}") {
        let _ = counts(&command, &output);
    }

    #[test]
    fn readers_take_any_mixture_of_their_own_words(parts in prop::collection::vec(prop::sample::select(vec![
        "test result: ok. ", "3 passed; ", "99999999999999999999 failed", "\n", "test a ... ok\n", "Ran 2 tests in 1s\n",
        "OK (skipped=5, failures=9)\n", "FAILED (", " in 0.1s", "1 passed", "--- PASS: a (0.1s)\n", "ok\tp\t1s\n", "# tests 1\n",
        "# pass 1\n", "# fail 0\n", "ok 1 - a\n", "▶ é\n", "  ✔ é (1ms)\n", "type: 'suite'\n", "Summary [1s] 3 tests run: 3 passed\n",
        "PASS [ 1s] (1/1) a b\n", "Tests: 1 passed, 1 total\n", "Tests  1 passed (1)\n", "a::b PASSED [ 1%]\n", "\u{1b}[", "\u{1b}]",
    ]), 0..30)) {
        let text = parts.concat();
        let first = counts("make", &text);
        prop_assert_eq!(first, counts("make", &text));
    }
}
