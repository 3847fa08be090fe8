//! `evidence: strict`: changed lines of Python that no test ran, as a doubt.

use holdpoint_protocol::{
    artifact::TreeTested::Watched,
    facts::Verdict::Pass,
    plan::{Check, EvidenceLevel},
};
use holdpoint_verifier_agent::Findings;

use crate::{
    mutants::with_pytest,
    support::{Rig, check, criterion, only, tested},
};

const BASE: &str = "def add(a, b):\n    return a + b\n";
const WORK: &str = "import threading\n\n\ndef add(a, b):\n    return a + b\n\n\ndef clamp(value):\n    \"\"\"At most 9.\"\"\"\n    \
    if value > 9:\n        # never asked\n        return 9\n    thread = threading.Thread(target=_note, args=(value,))\n    \
    thread.start()\n    thread.join()\n    return value\n\n\ndef _note(value):\n    return value\n";
const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n\n    def test_clamp(self):\n        if hasattr(calc, 'clamp'):\n            \
    self.assertEqual(calc.clamp(1), 1)\n";
const SUITE: &str = "python3 -m unittest discover -s tests -t .";

async fn judged(rig: &Rig, files: &[(&str, Option<&str>)], evidence: EvidenceLevel, command: &str) -> Findings {
    let commit = rig.change(files).await;
    let found =
        rig.verify(&rig.request(&commit, vec![criterion("only", Check { evidence, ..check(command) })]).await).await;
    assert_eq!(only(&found), (Pass, None), "{:#?}", found.criteria);
    assert!(found.doubts.iter().all(|doubt| !doubt.blocking));
    found
}

/// What is reported of lines.
fn unrun(findings: &Findings) -> Vec<&str> {
    let texts = findings.doubts.iter().map(|doubt| doubt.text.as_str());
    texts.filter(|text| text.contains("that no test ran")).collect()
}

async fn unittest() -> Rig {
    Rig::new(&[("calc.py", BASE), ("tests/__init__.py", ""), ("tests/test_calc.py", TESTS)]).await
}

#[tokio::test]
async fn changed_lines_that_no_test_ran_are_told_and_hold_up_nothing() {
    let rig = unittest().await;
    let found = judged(&rig, &[("calc.py", Some(WORK))], EvidenceLevel::Strict, SUITE).await;
    assert_eq!(unrun(&found), ["only: changed lines that no test ran: calc.py 12"]);
    let aside = "def thrice(a):\n    return 3 * a\n";
    let asked = TESTS.replace("calc.clamp(1), 1", "[calc.clamp(n) for n in (1, 10)], [1, 9]");
    let files = [("calc.py", Some(WORK)), ("aside.py", Some(aside)), ("tests/test_calc.py", Some(&*asked))];
    let found = judged(&rig, &files, EvidenceLevel::Strict, SUITE).await;
    assert_eq!(unrun(&found), ["only: changed lines that no test ran: aside.py 1-2"]);
    let found = judged(&rig, &[files[0], files[2]], EvidenceLevel::Strict, SUITE).await;
    assert_eq!(unrun(&found), [""; 0]);
    assert!(tested(&found).contains(&Watched));
}

#[tokio::test]
async fn a_watched_pytest_sees_what_it_would_see_unwatched() {
    let tests = "import os\nimport sys\n\nimport calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\n\
        def test_surroundings():\n    assert os.environ.get('PYTHONPATH') == 'lib' and sys.path.count('lib') <= 1\n    \
        assert not [name for name in os.environ if name.startswith('HOLDPOINT')]\n";
    let files = [("pytest.ini", "[pytest]\npythonpath = .\n"), ("calc.py", BASE), ("tests/test_calc.py", tests)];
    let rig = Rig::with(&files, with_pytest).await;
    let command = "PYTHONPATH=lib python -m pytest -q tests";
    let found = judged(&rig, &[("calc.py", Some(WORK))], EvidenceLevel::Strict, command).await;
    assert_eq!(unrun(&found), ["only: changed lines that no test ran: calc.py 10, 12-16, 20"]);
}

#[tokio::test]
async fn nothing_is_watched_that_was_not_asked_for_or_says_nothing() {
    let rig = unittest().await;
    let run = [("calc.py", Some(WORK))];
    for (evidence, command, files) in [
        (EvidenceLevel::Fast, SUITE, &run[..]),
        (EvidenceLevel::Strict, "python3 -m unittest discover -s tests -t . 2>&1 | tail -1", &run[..]),
        (EvidenceLevel::Strict, SUITE, &[("README.md", Some("1\n"))][..]),
    ] {
        let found = judged(&rig, files, evidence, command).await;
        assert!(!tested(&found).contains(&Watched) && unrun(&found).is_empty(), "{command}");
    }
    // A tracer of the project's own comes first: then nobody knows what ran.
    let traced = format!("{WORK}\n\nimport sys\nsys.settrace(None)\n");
    let found = judged(&rig, &[("calc.py", Some(&traced))], EvidenceLevel::Strict, SUITE).await;
    assert!(tested(&found).contains(&Watched) && unrun(&found).is_empty(), "{:?}", found.doubts);
}
