//! Comparisons with the base: counts, and tests that were changed. With Python's own test runner.

use holdpoint_protocol::{
    artifact::{
        TreeTested::{Base, Handoff, TestsAsOnBase},
        VerificationPurpose,
    },
    facts::Verdict::{Fail, Pass},
    plan::Check,
    reason::CriterionReason as Reason,
};

use crate::support::{Rig, check, criterion, environment, guard, of, only, tested};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n\ndef twice(a):\n    return 2 * a\n";
const TESTS: &str = "import unittest
import calc

class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(1, 2), 3)

    def test_twice(self):
        self.assertEqual(calc.twice(2), 4)

if __name__ == '__main__':
    unittest.main()
";
const UNITTEST: &str = "python3 -m unittest discover -v -s tests";

async fn rig() -> Rig {
    Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", TESTS)]).await
}

#[tokio::test]
async fn honest_change_passes_and_the_base_runs_once_a_process() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(&PRODUCT.replace("2 * a", "a + a")))]).await;
    let first = rig.check(&commit, UNITTEST).await;
    assert_eq!((only(&first), tested(&first)), ((Pass, None), vec![Handoff, Base]), "{:#?}", first.criteria);
    let again = rig.check(&commit, UNITTEST).await;
    assert_eq!((only(&again), tested(&again)), ((Pass, None), vec![Handoff, Base]));
    let duration = |findings: &holdpoint_verifier_agent::Findings| findings.receipt.checks[1].output;
    assert_eq!(duration(&first), duration(&again), "the very same run, with its duration");
}

#[tokio::test]
async fn red_check_is_compared_with_nothing() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(&PRODUCT.replace("a + b", "a - b")))]).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!((only(&findings), tested(&findings)), ((Fail, Some(Reason::ExitCode)), vec![Handoff]));
    assert!(findings.criteria[0].output_tail.contains("FAILED"));
}

#[tokio::test]
async fn product_that_ends_the_runner_early_is_not_green() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some("import os\nos._exit(0)\n"))]).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::FewerTests)));
    let note = findings.criteria[0].note.as_deref().unwrap();
    assert!(note.contains("did not come to its end") && note.contains("0 tests ran, 2 on the base"), "{note}");
}

#[tokio::test]
async fn removed_and_skipped_tests_are_not_green() {
    let rig = rig().await;
    let removed = TESTS.replace("test_twice", "helper");
    let skipped = TESTS.replace("    def test_twice", "    @unittest.skip('later')\n    def test_twice");
    for (text, reason) in [(removed, Reason::FewerTests), (skipped, Reason::MoreSkipped)] {
        let commit = rig.change(&[("tests/test_calc.py", Some(&text))]).await;
        let findings = rig.check(&commit, UNITTEST).await;
        assert_eq!(only(&findings).0, Fail, "{:#?}", findings.criteria);
        assert!([reason, Reason::FewerTests].contains(&only(&findings).1.unwrap()));
    }
}

#[tokio::test]
async fn expectation_bent_to_the_product_is_found() {
    let rig = rig().await;
    let files = [
        ("calc.py", Some(PRODUCT.replace("a + b", "a - b"))),
        ("tests/test_calc.py", Some(TESTS.replace("calc.add(1, 2), 3", "calc.add(1, 2), -1"))),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_deref())).collect();
    let commit = rig.change(&files).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::TestsWeakened)));
    assert_eq!(tested(&findings), [Handoff, Base, TestsAsOnBase]);
    let report = &findings.criteria[0];
    assert!(report.note.as_deref().unwrap().contains("test_add"), "{report:#?}");
    assert!(report.output_tail.contains("FAILED"), "the run that decided is shown: {report:#?}");

    let mut request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    request.scope = vec!["calc.py".to_owned(), "tests/**".to_owned()];
    let in_scope = rig.verify(&request).await;
    assert_eq!(only(&in_scope), (Fail, Some(Reason::TestsWeakened)), "a scope lets one add tests");
    request.changed_tests = vec!["tests/test_calc.py".to_owned()];
    let named = rig.verify(&request).await;
    assert_eq!((only(&named), tested(&named)), ((Pass, None), vec![Handoff, TestsAsOnBase]));
    assert!(named.criteria[0].note.as_deref().unwrap().contains("does not count"));
}

#[tokio::test]
async fn deleted_test_file_is_put_back() {
    let more = TESTS.replace("Calc", "More").replace("test_add", "test_more");
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", TESTS), ("tests/test_more.py", &more)]).await;
    let commit =
        rig.change(&[("tests/test_more.py", None), ("tests/test_new.py", Some(&more.replace("More", "New")))]).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!(only(&findings), (Pass, None), "as many tests, and the old ones are green: {:#?}", findings.criteria);
}

#[tokio::test]
async fn red_test_that_was_taken_out_for_another_is_found() {
    let rig = rig().await;
    let files = [
        ("calc.py", Some(PRODUCT.replace("a + b", "a - b"))),
        ("tests/test_calc.py", None),
        ("tests/test_new.py", Some(TESTS.replace("test_add", "test_new").replace("calc.add(1, 2), 3", "3, 3"))),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_deref())).collect();
    let commit = rig.change(&files).await;
    for (command, reason, named) in [(UNITTEST, Reason::FewerTests, true), (QUIET, Reason::TestsWeakened, false)] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Fail, Some(reason)), "{:#?}", findings.criteria);
        let note = findings.criteria[0].note.as_deref().unwrap();
        assert_eq!(note.contains("test_add"), named, "{note}");
        assert_eq!(tested(&findings), [Handoff, Base, TestsAsOnBase]);
    }
}

/// Without names.
const QUIET: &str = "python3 -m unittest discover -s tests";

#[tokio::test]
async fn file_of_tests_that_a_base_which_stops_at_the_first_failure_never_reached_is_not_deleted_unseen() {
    let later = TESTS.replace("Calc", "Later").replace("test_add", "test_later");
    let broken = PRODUCT.replace("a + b", "a - b");
    let rig = Rig::new(&[("calc.py", &broken), ("tests/test_calc.py", TESTS), ("tests/test_later.py", &later)]).await;
    let commit = rig.change(&[("calc.py", Some(PRODUCT)), ("tests/test_later.py", None)]).await;
    for command in ["python3 -m unittest discover -f -v -s tests", "python3 -m unittest discover -f -s tests"] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Fail, Some(Reason::FewerTests)), "{command}: {:#?}", findings.criteria);
    }
    let kept = rig.change(&[("calc.py", Some(PRODUCT))]).await;
    assert_eq!(only(&rig.check(&kept, "python3 -m unittest discover -f -v -s tests").await), (Pass, None));
}

#[tokio::test]
async fn renamed_test_whose_old_form_holds_passes() {
    let rig = rig().await;
    let moved = TESTS.replace("test_add", "test_adds_two");
    let commit = rig.change(&[("tests/test_calc.py", None), ("tests/test_sums.py", Some(&moved))]).await;
    assert_eq!(only(&rig.check(&commit, UNITTEST).await), (Pass, None));
}

#[tokio::test]
async fn product_that_ends_the_runner_is_found_where_the_base_counts_nothing() {
    let waiting = TESTS.replace("import calc", "import calc, later");
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", &waiting)]).await;
    let commit = rig.change(&[("later.py", Some("import os\nos._exit(0)\n"))]).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::FewerTests)), "{:#?}", findings.criteria);
    assert!(findings.criteria[0].note.as_deref().unwrap().contains("did not come to its end"));
}

#[tokio::test]
async fn product_that_ends_the_runner_is_found_though_the_tests_may_change() {
    let rig = rig().await;
    let more = format!("{TESTS}# one more line\n");
    let early = format!("{PRODUCT}\nimport os\nos._exit(0)\n");
    let commit = rig.change(&[("calc.py", Some(&early)), ("tests/test_calc.py", Some(&more))]).await;
    for command in [UNITTEST, QUIET, "sh -c 'python3 -m unittest discover -s tests'"] {
        let mut request = rig.request(&commit, vec![criterion("only", check(command))]).await;
        request.scope = vec!["calc.py".to_owned(), "tests/**".to_owned()];
        request.changed_tests = vec!["tests/**".to_owned()];
        let reason = if command.starts_with("sh") { Reason::NoEndMark } else { Reason::FewerTests };
        assert_eq!(only(&rig.verify(&request).await), (Fail, Some(reason)), "{command}");
    }
}

#[tokio::test]
async fn added_test_file_passes_when_the_old_tests_do() {
    let rig = rig().await;
    let new =
        TESTS.replace("Calc", "Thrice").replace("calc.twice(2), 4", "calc.thrice(2), 6").replace("twice", "thrice");
    let product = format!("{PRODUCT}\ndef thrice(a):\n    return 3 * a\n");
    let commit = rig.change(&[("calc.py", Some(&product)), ("tests/test_thrice.py", Some(&new))]).await;
    let findings = rig.check(&commit, UNITTEST).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
    assert_eq!(tested(&findings), [Handoff, Base, TestsAsOnBase]);
}

#[tokio::test]
async fn changed_fixture_is_not_trusted_where_no_runner_is_understood() {
    let rig = Rig::new(&[("out.txt", "1\n"), ("tests/expected.txt", "1\n")]).await;
    let commit = rig.change(&[("out.txt", Some("2\n")), ("tests/expected.txt", Some("2\n"))]).await;
    let findings = rig.check(&commit, "cmp out.txt tests/expected.txt").await;
    assert_eq!(
        (only(&findings), tested(&findings)),
        ((Fail, Some(Reason::TestsWeakened)), vec![Handoff, TestsAsOnBase])
    );
}

#[tokio::test]
async fn guards_are_compared_like_criteria() {
    let rig = rig().await;
    let commit = rig.change(&[("tests/test_calc.py", Some(&TESTS.replace("test_twice", "helper")))]).await;
    let mut request = rig.request(&commit, Vec::new()).await;
    request.guards = vec![guard("suite", check(UNITTEST))];
    let findings = rig.verify(&request).await;
    assert_eq!(of(&findings.guards[0]), (Fail, Some(Reason::FewerTests)));
}

#[tokio::test]
async fn only_tests_that_may_change_are_taken_as_handed_off() {
    let other =
        "import unittest\n\nclass Other(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(1, 1)\n";
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", TESTS), ("tests/test_other.py", other)]).await;
    let product = PRODUCT.replace("a + b", "a - b");
    let bent = TESTS.replace("calc.add(1, 2), 3", "calc.add(1, 2), -1");
    let harmless = other.replace("(1, 1)", "(2, 2)");
    let commit = rig
        .change(&[
            ("calc.py", Some(&product)),
            ("tests/test_calc.py", Some(&bent)),
            ("tests/test_other.py", Some(&harmless)),
        ])
        .await;
    let mut request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    request.changed_tests = vec!["tests/test_calc.py".to_owned()];
    assert_eq!(only(&rig.verify(&request).await), (Pass, None));
    request.changed_tests = vec!["tests/test_calc.py::test_add".to_owned()];
    assert_eq!(only(&rig.verify(&request).await), (Pass, None));
    request.changed_tests = vec!["tests/test_other.py".to_owned()];
    assert_eq!(only(&rig.verify(&request).await), (Fail, Some(Reason::TestsWeakened)));
}

#[tokio::test]
async fn base_whose_environment_cannot_be_set_up_is_said_to_be_uncompared() {
    let rig = rig().await;
    let commit = rig.change(&[("ready", Some(""))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    request.environment = environment("test -e ready", &["ready"]);
    let findings = rig.verify(&request).await;
    assert_eq!(only(&findings), (Pass, None));
    assert!(findings.criteria[0].note.as_deref().unwrap().contains("not compared"));
}

#[tokio::test]
async fn check_of_a_new_test_file_has_nothing_on_the_base_to_be_compared_with() {
    let rig = rig().await;
    let new = TESTS.replace("Calc", "New");
    let commit = rig.change(&[("tests/test_new.py", Some(&new))]).await;
    for command in [
        "PYTHONPATH=. python3 tests/test_new.py",
        "python3 -m unittest discover -s tests -p test_new.py",
        "PYTHONPATH=tests:. python3 -m unittest test_new",
        "PYTHONPATH=tests:. python3 -m unittest -v test_new",
    ] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        assert_eq!(tested(&findings), [Handoff, Base, TestsAsOnBase]);
    }
}

#[tokio::test]
async fn a_new_test_of_a_file_that_exists_may_be_asked_for_by_its_name() {
    let rig = rig().await;
    let more = "\n\n    def test_more(self):\n        self.assertEqual(calc.add(2, 2), 4)\n\n\nclass New(unittest.TestCase):\n    \
        def test_new(self):\n        self.assertEqual(calc.add(0, 2), 2)\n\n\nif __name__";
    let commit = rig.change(&[("tests/test_calc.py", Some(&TESTS.replace("\n\nif __name__", more)))]).await;
    for name in
        ["test_calc.Calc.test_more", "test_calc.New", "-v test_calc.New.test_new", "-v test_calc.Calc.test_more"]
    {
        let findings = rig.check(&commit, &format!("PYTHONPATH=tests:. python3 -m unittest {name}")).await;
        assert_eq!(only(&findings), (Pass, None), "{name}: {:#?}", findings.criteria);
    }
    let bent = rig.change(&[("calc.py", Some("def add(a, b):\n    return 0\n"))]).await;
    let findings = rig.check(&bent, "PYTHONPATH=tests:. python3 -m unittest test_calc.New").await;
    assert_eq!(only(&findings).0, Fail, "nothing of this name is no reason to pass");
}

#[tokio::test]
async fn tests_that_wait_on_the_base_for_their_product_cannot_be_bent() {
    let waiting = TESTS.replace("import calc", "from calc import add, twice, thrice").replace("calc.", "");
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", &waiting)]).await;
    let product = format!("{PRODUCT}\ndef triple(a):\n    return 3 * a\n");
    let bent = waiting.replace("thrice", "triple");
    let commit = rig.change(&[("calc.py", Some(&product)), ("tests/test_calc.py", Some(&bent))]).await;
    let findings = rig.check(&commit, "PYTHONPATH=. python3 tests/test_calc.py").await;
    assert_eq!(only(&findings), (Fail, Some(Reason::TestsWeakened)));
}

#[tokio::test]
async fn report_with_failures_is_red_though_the_product_ends_the_runner_with_0() {
    let rig = rig().await;
    let wrong = PRODUCT.replace("a + b", "a - b");
    let fork = "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    os._exit(0)\n";
    let watch = "import os, threading\nthreading.Thread(target=lambda: (threading.main_thread().join(), os._exit(0))).start()\n";
    for end in ["import atexit, os\natexit.register(os._exit, 0)\n", fork, watch] {
        let commit = rig.change(&[("calc.py", Some(&format!("{end}{wrong}")))]).await;
        for command in [UNITTEST, QUIET, "sh -c 'python3 -m unittest discover -s tests'"] {
            let findings = rig.check(&commit, command).await;
            assert_eq!(only(&findings), (Fail, Some(Reason::ReportRed)), "{command}: {:#?}", findings.criteria);
            assert!(findings.criteria[0].note.as_deref().unwrap().contains("reports failures"));
        }
    }
}

#[tokio::test]
async fn check_that_hides_the_exit_code_of_its_runner_is_red_by_the_report() {
    let wrong = PRODUCT.replace("a + b", "a - b");
    let rig = Rig::new(&[("calc.py", &wrong), ("tests/test_calc.py", TESTS)]).await;
    let piped = Check { red_first: true, ..check("python3 -m unittest discover -s tests 2>&1 | cat") };
    let mut request = rig.request(&rig.base, vec![criterion("only", piped.clone())]).await;
    request.purpose = VerificationPurpose::Baseline;
    assert_eq!(only(&rig.verify(&request).await), (Fail, Some(Reason::ReportRed)), "so something is to be done");
    let undone = rig.change(&[("calc.py", Some(&format!("{wrong}# one more line\n")))]).await;
    let done = rig.change(&[("calc.py", Some(PRODUCT))]).await;
    for (commit, expected) in [(undone, (Fail, Some(Reason::ReportRed))), (done, (Pass, None))] {
        let request = rig.request(&commit, vec![criterion("only", piped.clone())]).await;
        assert_eq!(only(&rig.verify(&request).await), expected);
    }
}

#[tokio::test]
async fn work_on_a_base_that_was_not_collected_may_skip_what_it_always_skipped() {
    let later = "\n    @unittest.skip('elsewhere')\n    def test_later(self):\n        pass\n";
    let tests = TESTS
        .replace("import calc\n", "import calc\nfrom calc import thrice\n")
        .replace("\nif __name__", "{later}\nif __name__");
    let tests = tests.replace("{later}", later);
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", &tests)]).await;
    let done = format!("{PRODUCT}\ndef thrice(a):\n    return 3 * a\n");
    let commit = rig.change(&[("calc.py", Some(&done))]).await;
    let skips = done.replace("    return a + b", "    import unittest\n    raise unittest.SkipTest('later')");
    let cheat = rig.change(&[("calc.py", Some(&skips))]).await;
    let skipped = tests.replace("    def test_add", "    @unittest.skip('later')\n    def test_add");
    let in_tests = rig.change(&[("calc.py", Some(&done)), ("tests/test_calc.py", Some(&skipped))]).await;
    for command in [UNITTEST, QUIET] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        for (commit, reason) in [(&cheat, Reason::MoreSkipped), (&in_tests, Reason::FewerTests)] {
            let findings = rig.check(commit, command).await;
            assert_eq!(only(&findings), (Fail, Some(reason)), "{command}: {:#?}", findings.criteria);
        }
    }
}

#[tokio::test]
async fn new_test_that_is_skipped_is_not_one_of_the_base() {
    let rig = rig().await;
    let new = "import unittest\n\nclass New(unittest.TestCase):\n    @unittest.skip('elsewhere')\n    def test_new(self):\n        pass\n";
    let commit = rig.change(&[("tests/test_new.py", Some(new))]).await;
    for command in [UNITTEST, QUIET] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}
