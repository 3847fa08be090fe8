//! `evidence: strict`: the tests of the work on the product of the base. Each cheat is green with `fast` first.

use holdpoint_protocol::{
    artifact::TreeTested::{Base, Canaries, FileAsOnBase, Handoff, ProductAsOnBase, TestsAsOnBase, Watched},
    facts::Verdict::{Fail, Pass},
    plan::{Check, EvidenceLevel},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::Findings;

use crate::support::{Rig, check, criterion, only, tested};

const BROKEN: &str = "def add(a, b):\n    return a - b\n";
const FIXED: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "import unittest
import calc

class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(1, 2), 3)
";
const EMPTY: &str = "import unittest
import calc

class Calc(unittest.TestCase):
    def test_add(self):
        calc.add(1, 2)
";
const SUITE: &str = "python3 -m unittest discover -v -s tests";
const QUIET: &str = "python3 -m unittest discover -s tests";
const NEW: &str = "PYTHONPATH=. python3 tests/test_new.py -v";
const NEW_EMPTY: &str = "import unittest
import calc

class New(unittest.TestCase):
    def test_new(self):
        calc.add(1, 2)

unittest.main()
";

struct Judged(Rig);

impl Judged {
    /// Over a base whose product is broken, and a test of it is red.
    async fn new() -> Self {
        Self(Rig::new(&[("calc.py", BROKEN), ("tests/test_calc.py", TESTS)]).await)
    }

    async fn by(
        &self,
        evidence: EvidenceLevel,
        check: Check,
        scope: &[&str],
        files: &[(&str, Option<&str>)],
    ) -> Findings {
        let commit = self.0.change(files).await;
        let mut request = self.0.request(&commit, vec![criterion("only", Check { evidence, ..check })]).await;
        if !scope.is_empty() {
            request.scope = scope.iter().map(|glob| (*glob).to_owned()).collect();
        }
        request.changed_tests = request.scope.iter().filter(|glob| glob.starts_with("tests/")).cloned().collect();
        self.0.verify(&request).await
    }

    async fn assert_found(&self, check: Check, scope: &[&str], files: &[(&str, Option<&str>)]) -> Findings {
        let fast = self.by(EvidenceLevel::Fast, check.clone(), scope, files).await;
        assert_eq!(only(&fast), (Pass, None), "{:#?}", fast.criteria);
        let strict = self.by(EvidenceLevel::Strict, check, scope, files).await;
        assert_eq!(only(&strict), (Fail, Some(Reason::BaseProductGreen)), "{:#?}", strict.criteria);
        strict
    }

    async fn assert_passes(&self, check: Check, scope: &[&str], files: &[(&str, Option<&str>)]) -> Findings {
        let strict = self.by(EvidenceLevel::Strict, check, scope, files).await;
        assert_eq!(only(&strict), (Pass, None), "{:#?}", strict.criteria);
        strict
    }
}

fn red_first(command: &str) -> Check {
    Check { red_first: true, ..check(command) }
}

fn doubts(findings: &Findings) -> String {
    assert!(findings.doubts.iter().all(|doubt| !doubt.blocking));
    findings.doubts.iter().map(|doubt| format!("{}\n", doubt.text)).collect()
}

#[tokio::test]
async fn emptied_test_is_found_though_it_may_change_and_though_the_work_is_done() {
    let rig = Judged::new().await;
    let scope = ["calc.py", "tests/**"];
    let touched = format!("{BROKEN}\n# looked at\n");
    for command in [SUITE, QUIET] {
        for product in [touched.as_str(), FIXED] {
            let files = [("calc.py", Some(product)), ("tests/test_calc.py", Some(EMPTY))];
            let found = rig.assert_found(check(command), &scope, &files).await;
            let note = found.criteria[0].note.as_deref().unwrap();
            assert!(note.contains("product as on the base"), "{note}");
            assert_eq!(note.contains("test_add"), command == SUITE, "{note}");
            assert!(tested(&found).contains(&ProductAsOnBase));
        }
    }
    let files = [("calc.py", Some(FIXED)), ("tests/test_calc.py", Some(EMPTY))];
    rig.assert_found(check(SUITE), &[], &files).await;
}

#[tokio::test]
async fn tests_that_patch_the_product_from_their_side_are_found() {
    let rig = Judged::new().await;
    let patched = TESTS.replace("import calc\n", "import calc\ncalc.add = lambda a, b: a + b\n");
    let files =
        [("calc.py", Some("def add(a, b):\n    return a - b  # sum\n")), ("tests/test_calc.py", Some(&*patched))];
    rig.assert_found(check(SUITE), &["calc.py", "tests/**"], &files).await;
}

#[tokio::test]
async fn new_test_that_shows_nothing_is_found_where_it_had_to_be_red_first() {
    let rig = Judged::new().await;
    let touched = format!("{BROKEN}\ndef thrice(a):\n    pass\n");
    let files = [("calc.py", Some(&*touched)), ("tests/test_new.py", Some(NEW_EMPTY))];
    rig.assert_found(red_first(NEW), &[], &files).await;
    rig.assert_found(red_first(NEW), &[], &files[1..]).await;
    let told = rig.assert_passes(check(NEW), &[], &files).await;
    assert!(doubts(&told).contains("show nothing of the work"), "{}", doubts(&told));
}

#[tokio::test]
async fn honest_work_passes_and_one_changed_file_costs_the_runs_with_canaries_and_watched_only() {
    let rig = Judged::new().await;
    let fixed = rig.assert_passes(red_first(SUITE), &[], &[("calc.py", Some(FIXED))]).await;
    assert_eq!((tested(&fixed), doubts(&fixed)), (vec![Handoff, Base, Canaries, Watched], String::new()));

    // With a new module, and a new test of it that the base's product cannot even import.
    let more = TESTS.replace("calc", "more").replace("add(1, 2), 3", "one(), 1").replace("test_add", "test_one");
    let product = format!("{FIXED}\n");
    let files = [
        ("calc.py", Some(&*product)),
        ("more.py", Some("def one():\n    return 1\n")),
        ("tests/test_more.py", Some(&*more)),
        ("README.md", Some("What it does.\n")),
    ];
    let added = rig.assert_passes(check(SUITE), &[], &files).await;
    assert_eq!(doubts(&added), "");
    assert_eq!(tested(&added).iter().filter(|tested| **tested == FileAsOnBase).count(), 2, "{:?}", tested(&added));

    // A renamed module, with its tests.
    let renamed = TESTS.replace("import calc", "import sums as calc");
    let files = [("calc.py", None), ("sums.py", Some(FIXED)), ("tests/test_calc.py", Some(&*renamed))];
    assert_eq!(doubts(&rig.assert_passes(check(SUITE), &["*.py", "tests/test_calc.py"], &files).await), "");

    // Tests and nothing else are asked for.
    let files = [("tests/test_new.py", Some(NEW_EMPTY))];
    rig.assert_passes(red_first(NEW), &["tests/test_new.py"], &files).await;
}

#[tokio::test]
async fn runs_that_could_say_nothing_are_not_made() {
    let rig = Judged(Rig::new(&[("calc.py", FIXED), ("tests/test_calc.py", TESTS)]).await);
    let product = format!("{FIXED}\n# Sums.\n");
    let more = TESTS.replace("Calc", "More").replace("test_add", "test_more");
    let files = [("calc.py", Some(&*product)), ("tests/test_more.py", Some(&*more))];
    // Behind a green base only the names of added tests could speak.
    for (command, more) in [(QUIET, None), (SUITE, Some(ProductAsOnBase))] {
        let found = rig.assert_passes(check(command), &[], &files).await;
        let runs = [Handoff, Base, TestsAsOnBase, Canaries].into_iter().chain(more).chain([Watched]);
        assert_eq!(tested(&found), runs.collect::<Vec<_>>(), "{command}");
    }
    // With the tests as on the base it is the base.
    let found = rig.assert_passes(check(QUIET), &[], &files[1..]).await;
    assert_eq!(tested(&found), [Handoff, Base, TestsAsOnBase]);
}

#[tokio::test]
async fn changed_file_that_no_test_notices_is_told() {
    let rig = Judged::new().await;
    let files = [("calc.py", Some(FIXED)), ("aside.py", Some("print('unused')\n"))];
    let found = rig.assert_passes(check(SUITE), &[], &files).await;
    assert!(doubts(&found).contains("no test notices") && doubts(&found).contains("aside.py"), "{}", doubts(&found));
    assert!(!doubts(&found).contains("calc.py"), "{}", doubts(&found));
}

#[tokio::test]
async fn refactoring_with_moved_imports_passes() {
    let rig = Judged(Rig::new(&[("calc.py", FIXED), ("tests/test_calc.py", TESTS)]).await);
    let moved = TESTS.replace("import calc", "import sums as calc");
    let files =
        [("calc.py", Some("from sums import add\n")), ("sums.py", Some(FIXED)), ("tests/test_calc.py", Some(&*moved))];
    // The line left behind for others has no test any more.
    let told = "only: changed lines that no test ran: calc.py 1\n";
    assert_eq!(doubts(&rig.assert_passes(check(SUITE), &[], &files).await), told);
}
