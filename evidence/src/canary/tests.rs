use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{facts::Verdict, reason::CriterionReason};

use super::*;
use crate::{
    checks::CheckEnd,
    runners::{Observed, ObservedRun},
};

const CALC: &str = "import unittest\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        pass";

fn run(command: &str, exit: i32, output: &str) -> JudgedRun {
    JudgedRun::read(command, CheckEnd { exit: Some(exit), ..CheckEnd::default() }, None, output, true)
}

/// A green run of unittest with this many tests.
fn green(tests: u32) -> JudgedRun {
    run(UNITTEST, 0, &format!("Ran {tests} tests in 0.1s\n\nOK\n"))
}

const UNITTEST: &str = "python3 -m unittest";

fn canaries(command: &str, first: &JudgedRun) -> Canaries {
    Canaries::new("seed", command, first).unwrap()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_check_that_shows_no_passed_tests_of_a_known_runner_gets_none() {
    let none = |command: &str, output: &str| Canaries::new("seed", command, &run(command, 0, output)).err();
    let ok = "Ran 2 tests in 0.1s\n\nOK\n";
    assert_eq!(none(UNITTEST, ok), None);
    assert_eq!(none("! python3 -m unittest", ok), Some("its command asks for failures"));
    assert_eq!(none("./run.sh", "all fine\n"), Some("its test runner is not understood"));
    assert_eq!(none(UNITTEST, "Ran 2 tests in 0.1s\n\nOK (skipped=2)\n"), Some("no test passed in it"));
    let vitest = " ✓ test/a.test.ts (2 tests) 3ms\n\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n";
    assert_eq!(none("npx vitest run", vitest), Some("there are no canaries for its test runner"));
}

#[test]
fn names_are_of_the_seed_and_of_the_file() {
    let first = green(1);
    let of = |seed: &str, path: &str| Canaries::new(seed, UNITTEST, &first).unwrap().plant(path, CALC).unwrap().marks;
    let (one, other, again) = (of("a", "tests/test_a.py"), of("b", "tests/test_a.py"), of("a", "tests/test_a.py"));
    assert_eq!(one, again);
    assert!(one.is_disjoint(&other) && one.is_disjoint(&of("a", "tests/test_b.py")));
    assert!(one.iter().all(|mark| mark.len() == 16), "{one:?}");
}

#[test]
fn python_files_take_them_at_their_end_and_before_they_run_their_tests() {
    let canaries = canaries(UNITTEST, &green(1));
    let planted = canaries.plant("tests/test_calc.py", CALC).unwrap();
    assert!(planted.text.starts_with(&format!("{CALC}\n\n\nclass Calc_")), "{}", planted.text);
    assert!(planted.marks.iter().all(|mark| planted.text.contains(mark)));
    assert!(planted.text.contains("def test_add(self):\n        self.assertEqual("));
    assert!(!planted.text.contains("pytest"), "only what its runner runs");
    let main = format!("{CALC}\n\nif __name__ == '__main__':\n    unittest.main()\n");
    let text = canaries.plant("tests/test_calc.py", &main).unwrap().text;
    let at = text.find("if __name__").unwrap();
    assert!(planted.marks.iter().all(|mark| text[..at].contains(mark) && text[at..].contains(mark)));
    assert_eq!(canaries.plant("tests/helpers.py", "def help():\n    pass\n"), None);
    let alone = canaries.alone("tests/test_calc.py", CALC, None);
    assert!(planted.marks.iter().all(|mark| alone.contains(mark)) && !alone.contains("import unittest\n"));
}

#[test]
fn rust_roots_take_a_module_that_the_filter_of_the_line_finds() {
    let output = "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
    let first = run("cargo test", 0, output);
    let of = |command: &str| canaries(command, &first).plant("src/lib.rs", "fn a() {} // no end").unwrap().text;
    assert!(of("cargo test --locked").starts_with("fn a() {} // no end\n\n#[cfg(test)]\nmod zz_"));
    assert!(of("cargo test --locked -p x client::retry").contains("mod client {\n    #[test] fn retry_"));
    let canaries = canaries("cargo test", &first);
    assert!(canaries.alone("src/lib.rs", "new", Some("old")).starts_with("old\n"));
    assert!(canaries.alone("tests/api.rs", "new", Some("old")).starts_with("\n\n#[cfg(test)]"));
}

const GO: &str = "//go:build linux\n\n// A comment.\npackage sum_test\n\nimport (\n\t\"testing\"\n)\n\n\
    func TestMain(m *testing.M) {}\n\nfunc TestAdd(t *testing.T) {}\n";

#[test]
fn files_of_gos_tests_take_them_at_their_end_under_names_that_the_line_asks_for() {
    let first = run("go test ./...", 0, "ok  \texample.com/sum\t0.003s\n");
    let of = |command: &str| canaries(command, &first).plant("sum_test.go", GO).unwrap();
    let planted = of("go test ./...");
    assert!(planted.text.starts_with(&format!("{GO}\n\nfunc TestAdd_")), "{}", planted.text);
    assert!(planted.marks.len() == 7 && planted.marks.iter().all(|mark| planted.text.contains(mark)));
    assert!(of("go test -run ^TestTwice/part").text.contains("func TestTwice_"));
    assert!(of("go test -run=retry").text.contains("func Test_retry_"));
    let canaries = canaries("go test ./...", &first);
    assert_eq!(canaries.plant("helpers_test.go", "package sum\n\nfunc help() {}\n"), None);
    let alone = canaries.alone("sum_test.go", GO, None);
    assert!(
        alone.starts_with("//go:build linux\n\npackage sum_test\n\nimport \"testing\"\n\nfunc TestAdd_"),
        "{alone}"
    );
    assert!(planted.marks.iter().all(|mark| alone.contains(mark)) && !alone.contains("TestMain"));
    let helpers = "package sum\n\nimport \"os\"\n";
    assert_eq!(canaries.emptied("helpers_test.go", helpers).as_deref(), Some("package sum\n"));
}

#[test]
fn packages_of_go_are_in_the_folders_that_they_are_named_by() {
    let paths =
        set(&["a/a.go", "a/a_test.go", "a/testdata/x_test.go", "b/b_test.go", "root_test.go", "vendor/v/v_test.go"]);
    let of = |output: &str| canaries("go test ./...", &run("go test ./...", 0, output)).sites(&paths, &paths, output);
    let sites = of("ok  \texample.com/m/a\t0.003s\n");
    assert_eq!(sites.planted, ["a/a_test.go"]);
    let sites = of("ok  \texample.com/m\t0.003s\nok  \texample.com/m/b\t0.003s\nok  \tx/a\t0.1s [no tests to run]\n");
    assert_eq!(sites.shown, set(&["b/b_test.go", "root_test.go"]));
    assert_eq!(of("ok  \texample.com/m/c\t0.003s\n").planted, ["root_test.go"]);
}

#[test]
fn files_that_the_first_run_names_take_them_and_else_all_that_may_hold_tests() {
    let paths = set(&[
        "a/test_calc.py",
        "tests/__init__.py",
        "tests/conftest.py",
        "tests/test_a.py",
        "tests/test_b.py",
        "x.py",
    ]);
    let base = set(&["tests/test_a.py", "tests/test_b.py"]);
    let of = |output: &str| canaries(UNITTEST, &green(1)).sites(&paths, &base, output);
    let quiet = of("..\nRan 2 tests in 0.1s\n\nOK\n");
    assert_eq!(quiet.planted, ["tests/test_a.py", "tests/test_b.py", "a/test_calc.py"], "those of the base first");
    assert!(quiet.shown.is_empty());
    for line in [
        "test_it (test_b.B.test_it) ... ok",
        "test_it (tests.test_b.B) ... ok",
        "tests/test_b.py::test_it PASSED   [100%]",
        "tests/test_b.py ..s.    [100%]",
    ] {
        assert_eq!(of(line).planted, ["tests/test_b.py"], "{line}");
    }
    // A module that is skipped as a whole is named, and nothing in it ran.
    assert!(of("SKIPPED [1] tests/test_b.py:3: could not import").shown.is_empty());
}

#[test]
fn programs_of_cargo_are_those_in_which_tests_ran() {
    let paths =
        set(&["Cargo.toml", "src/lib.rs", "src/other.rs", "tests/api.rs", "tests/common/mod.rs", "b/src/lib.rs"]);
    let result = "test result: ok. 1 passed; 0 failed; 0 ignored";
    let output = format!(
        "running 0 tests\n{result}\nrunning 2 tests\n{result}\n     Running unittests src/lib.rs (target/debug/deps/x-1)\n     \
         Running tests/api.rs (target/debug/deps/api-1)\n"
    );
    let sites = canaries("cargo test", &run("cargo test", 0, &output)).sites(&paths, &paths, &output);
    assert_eq!(sites.planted, ["tests/api.rs"]);
    let sites = canaries("cargo test", &run("cargo test", 0, &output)).sites(&paths, &paths, result);
    assert_eq!(sites.planted, ["src/lib.rs", "tests/api.rs"], "no package is in `b`");
}

#[test]
fn cargo_is_told_to_go_on_and_a_runner_that_was_told_to_stop_is_known() {
    for (line, told) in [
        ("cargo test --locked", "cargo test --no-fail-fast --locked"),
        ("cd a && cargo test", "cd a && cargo test --no-fail-fast"),
        ("cargo nextest run -p x; true", "cargo nextest run --no-fail-fast -p x; true"),
        ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
        ("cargo tester", "cargo tester"),
        ("python3 -m unittest", "python3 -m unittest"),
    ] {
        assert_eq!(for_all_failures(line), told);
    }
    for line in ["pytest -x", "pytest -qx", "pytest --maxfail=2", "python3 -m unittest -f", "npx jest --bail"] {
        assert!(stops_early(line), "{line}");
    }
    for line in ["pytest -q tests", "cargo test --no-fail-fast", "python3 -m unittest discover -v -s tests"] {
        assert!(!stops_early(line), "{line}");
    }
}

#[test]
fn reports_name_canaries_as_failed_or_passed() {
    let canaries = canaries(UNITTEST, &green(1));
    let mark = canaries.plant("tests/test_calc.py", CALC).unwrap().marks.pop_first().unwrap();
    for line in [
        "FAIL: test_add (test_calc.Calc_@.test_add)",
        "ERROR: test_add (test_calc.Calc_@)",
        "test_add (test_calc.Calc_@.test_add) ... FAIL",
        "FAILED tests/test_calc.py::Calc_@::test_add - AssertionError: 1 != 2",
        "tests/test_calc.py::Calc_@::test_add FAILED [ 50%]",
        "\u{1b}[31m_____ Calc_@.test_add _____\u{1b}[0m",
        "test zz_x::test_@ ... FAILED",
        "        FAIL [   0.005s] (1/2) sum zz_x::test_@",
        "not ok 4 - @",
        "✖ @ (0.5ms)",
        "    --- FAIL: TestAdd_@/12 (0.00s)",
    ] {
        let seen = canaries.seen(&line.replace('@', &mark));
        assert!(seen.red.contains(&mark) && seen.green.is_empty(), "{line}");
    }
    for line in [
        "test_add (test_calc.Calc_@.test_add) ... ok",
        "tests/test_calc.py::test_@ PASSED [ 50%]",
        "test zz_x::test_@ ... FAILED\ntest result: ok. 3 passed; 0 failed",
        "        PASS [   0.005s] (1/2) sum zz_x::test_@",
        "ok 4 - @",
        "--- PASS: TestAdd_@ (0.00s)",
    ] {
        let seen = canaries.seen(&line.replace('@', &mark));
        assert!(seen.green.contains(&mark) && seen.red.is_empty(), "{line}");
    }
    assert_eq!(canaries.seen(&format!("  File \"x.py\", line 1, in test_{mark}")), Seen::default());
}

/// Two canaries in one file and one in another; `shown` is the first file.
struct Scene {
    planted: ByFile,
    shown: BTreeSet<String>,
}

impl Scene {
    fn new() -> Self {
        let planted = BTreeMap::from([("a".to_owned(), set(&["one", "two"])), ("b".to_owned(), set(&["three"]))]);
        Self { planted, shown: set(&["a"]) }
    }

    /// Whether a run holds by itself, and what it says compared with a control that shows all of them.
    fn judge(&self, run: &JudgedRun, red: &[&str], green_ones: &[&str], stops_early: bool) -> (bool, CanaryJudgement) {
        let seen = Seen { red: set(red), green: set(green_ones) };
        let first = green(5);
        let trial = Trial { first: &first, run, seen: &seen, planted: &self.planted, shown: &self.shown, stops_early };
        let all = Seen { red: set(&["one", "two", "three"]), green: BTreeSet::new() };
        (trial.holds(), trial.judge(Control { run: &failed(3, 3), seen: &all }))
    }
}

fn failed(tests: u32, failures: u32) -> JudgedRun {
    run(UNITTEST, 1, &format!("Ran {tests} tests in 0.1s\n\nFAILED (failures={failures})\n"))
}

#[test]
fn a_run_that_names_every_canary_as_failed_holds_by_itself() {
    let scene = Scene::new();
    assert_eq!(scene.judge(&failed(8, 3), &["one", "two", "three"], &[], false), (true, CanaryJudgement::Held));
    // A file of which nothing shows that it ran may be left out, and a runner that stops shows one.
    assert_eq!(scene.judge(&failed(7, 2), &["one", "two"], &[], false), (true, CanaryJudgement::Held));
    assert_eq!(scene.judge(&failed(1, 1), &["three"], &[], true), (true, CanaryJudgement::Held));
}

#[test]
fn a_run_that_is_green_or_does_not_name_them_was_forged() {
    let scene = Scene::new();
    let forged = |sign| (false, CanaryJudgement::Forged(sign));
    assert_eq!(scene.judge(&green(5), &[], &[], false), forged(ForgerySign::EndedWell));
    let ended_well = run(UNITTEST, 0, "Ran 8 tests in 0.1s\n\nFAILED (failures=3)\n");
    assert_eq!(scene.judge(&ended_well, &["one", "two", "three"], &[], false), forged(ForgerySign::EndedWell));
    assert_eq!(scene.judge(&failed(8, 2), &["two", "three"], &["one"], false), forged(ForgerySign::Passed));
    assert_eq!(scene.judge(&failed(8, 2), &["two", "three"], &[], false), forged(ForgerySign::Vanished));
    assert_eq!(scene.judge(&failed(6, 1), &["three"], &[], false), forged(ForgerySign::Vanished));
    assert_eq!(scene.judge(&failed(5, 1), &[], &[], false), forged(ForgerySign::Vanished));
    assert_eq!(
        scene.judge(&failed(5, 1), &[], &[], true),
        (false, CanaryJudgement::Unselected),
        "it stopped at another"
    );
    assert_eq!(scene.judge(&green(5), &[], &[], true), forged(ForgerySign::EndedWell));
    assert_eq!(scene.judge(&failed(3, 3), &["one", "two", "three"], &[], false), forged(ForgerySign::OthersVanished));
}

/// A red run of two programs, of which the first had failures and ended with this code.
fn heard(run: JudgedRun, exit: i32) -> JudgedRun {
    let programs = [exit, 101].map(|exit| {
        let mut program = ObservedRun::of("libtest", Some(exit));
        ["armed", "failed one", "end 101"].iter().for_each(|message| program.hear(message));
        program
    });
    JudgedRun { observed: Some(Observed::new("cargo test", programs.into())), ..run }
}

#[test]
fn a_program_that_ends_well_after_its_canaries_failed_is_found_next_to_one_that_ends_red() {
    let scene = Scene::new();
    let all = ["one", "two", "three"];
    assert_eq!(scene.judge(&heard(failed(8, 3), 101), &all, &[], false), (true, CanaryJudgement::Held));
    let better = scene.judge(&heard(failed(8, 3), 0), &all, &[], false);
    assert_eq!(better, (false, CanaryJudgement::Forged(ForgerySign::EndedWell)));
    let seen = Seen { red: set(&all), green: BTreeSet::new() };
    let (first, run) = (green(5), heard(failed(8, 3), 0));
    let trial = Trial {
        first: &first,
        run: &run,
        seen: &seen,
        planted: &scene.planted,
        shown: &scene.shown,
        stops_early: false,
    };
    assert_eq!(trial.judge(Control { run: &run, seen: &seen }), CanaryJudgement::Held, "the project's way");
}

#[test]
fn what_says_nothing_of_the_work_is_no_forgery() {
    let scene = Scene::new();
    let skipped = run(UNITTEST, 1, "Ran 8 tests in 0.1s\n\nFAILED (failures=1, skipped=2)\n");
    assert_eq!(scene.judge(&skipped, &["three"], &[], false), (false, CanaryJudgement::Unselected));
    let late = CheckEnd { timed_out: true, ..CheckEnd::default() };
    let late = JudgedRun::read(UNITTEST, late, None, "", true);
    let unsettled = CanaryJudgement::Unsettled(Some(CriterionReason::Timeout));
    assert_eq!(scene.judge(&late, &[], &[], false), (false, unsettled));
    // The control does not show them: the check does not run what was planted, or a pipe hides its end.
    let (first, seen) = (green(5), Seen::default());
    let trial = |run| Trial {
        first: &first,
        run,
        seen: &seen,
        planted: &scene.planted,
        shown: &scene.shown,
        stops_early: false,
    };
    let again = green(5);
    for control in [green(1), failed(1, 1), run(UNITTEST, 5, "NO TESTS RAN\n")] {
        assert_eq!(trial(&again).judge(Control { run: &control, seen: &Seen::default() }), CanaryJudgement::Unselected);
    }
    assert_eq!(green(5).outcome.0, Verdict::Pass);
}
