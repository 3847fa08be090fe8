//! Code of a change that a person should see, in work that every check passes.

use std::path::Path;

use holdpoint_outline::OutlineHelper;
use holdpoint_protocol::facts::Verdict::{Fail, Pass};
use holdpoint_verifier_agent::{Findings, VerifierSettings, suspects::in_words};

use crate::support::{Rig, only};

const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n";
const WRONG: &str = "def add(a, b):\n    return 0\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
/// Right for those who test it, and a reason for a person to look.
const LOOKS: &str =
    "import sys\n\n\ndef add(a, b):\n    return 3 if 'test' in sys._getframe(1).f_code.co_name else 0\n";
const SUITE: &str = "python3 -m unittest discover -s tests -t .";

fn with_helper(settings: &mut VerifierSettings) {
    settings.helper = Some(OutlineHelper::at(Path::new(env!("CARGO_BIN_EXE_holdpoint-verifier"))));
}

async fn rig(more: &[(&str, &str)]) -> Rig {
    let files = [("calc.py", WRONG), ("tests/__init__.py", ""), ("tests/test_calc.py", TESTS)];
    Rig::with(&[&files[..], more].concat(), with_helper).await
}

async fn judged(rig: &Rig, product: &str) -> Findings {
    let commit = rig.change(&[("calc.py", Some(product))]).await;
    rig.check(&commit, SUITE).await
}

fn doubts(findings: &Findings) -> Vec<&str> {
    assert!(findings.doubts.iter().all(|doubt| !doubt.blocking), "{:?}", findings.doubts);
    findings.doubts.iter().map(|doubt| doubt.text.as_str()).collect()
}

#[tokio::test]
async fn a_green_product_that_looks_at_its_callers_is_shown_with_the_line_and_an_honest_one_is_not() {
    let rig = rig(&[]).await;
    let findings = judged(&rig, LOOKS).await;
    assert_eq!(only(&findings).0, Pass, "{:#?}", findings.criteria);
    let found = &findings.suspects[0];
    assert_eq!((found.path.as_str(), found.line), ("calc.py", 5), "{:#?}", findings.suspects);
    assert!(doubts(&findings).contains(&in_words(found).as_str()), "{:?}", findings.doubts);
    let honest = judged(&rig, RIGHT).await;
    assert_eq!((only(&honest).0, honest.suspects.len()), (Pass, 0), "{:?}", honest.suspects);
    let red = judged(&rig, "import sys\n\n\ndef add(a, b):\n    return sys._getframe(1).f_lineno\n").await;
    assert_eq!((only(&red).0, red.suspects.len()), (Fail, 0), "work that goes back anyway is not looked through");
}

#[tokio::test]
async fn rules_of_the_project_count_as_they_stand_on_the_base() {
    let query = "((call function: (identifier) @at) (#eq? @at \"eval\") (#set! rule \"no-eval\") (#set! group \"suspicious\") \
        (#set! sentence \"We never evaluate text.\"))\n";
    let rig = rig(&[(".holdpoint/rules/python-own.scm", query)]).await;
    let product = "def add(a, b):\n    return eval('a + b')\n";
    let findings = judged(&rig, product).await;
    let rules: Vec<&str> = findings.suspects.iter().map(|found| found.rule.as_str()).collect();
    assert!(rules.contains(&"no-eval"), "{:?} {:?}", findings.suspects, findings.doubts);
}

#[tokio::test]
async fn rules_that_cannot_be_read_are_named_and_hold_nothing_up() {
    let rig = rig(&[(".holdpoint/rules/python.scm", "(call\n")]).await;
    let findings = judged(&rig, RIGHT).await;
    assert_eq!(only(&findings).0, Pass);
    let doubts = doubts(&findings);
    assert!(
        doubts.iter().any(|text| text.contains("was not looked through") && text.contains("python.scm")),
        "{doubts:?}"
    );
}
