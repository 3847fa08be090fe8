//! `mutants: N`: changed lines of real projects, broken one at a time below real runners.

use std::path::{Path, PathBuf};

use holdpoint_protocol::{
    artifact::{
        TreeTested::{Base, Handoff, Mutant},
        VerificationPurpose,
    },
    facts::Verdict::{Fail, Pass},
    plan::Check,
    reason::CriterionReason as Reason,
    time::Millis,
};
use holdpoint_verifier_agent::{Findings, VerifierSettings};

use crate::support::{Rig, check, criterion, only, shown, tested};

const BASE: &str = "def add(a, b):\n    return a + b\n";
const WORK: &str =
    "def add(a, b):\n    return a + b\n\n\ndef clamp(value):\n    if value > 9:\n        return 9\n    return value\n";
const SUITE: &str = "python3 -m unittest discover -s tests -t .";

/// A project whose tests do these things in one more test.
async fn unittest(asserts: &str) -> Rig {
    let tests = format!(
        "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_clamp(self):\n        if hasattr(calc, 'clamp'):\n            {asserts}\n"
    );
    Rig::new(&[("calc.py", BASE), ("tests/__init__.py", ""), ("tests/test_calc.py", &tests)]).await
}

/// Tests that look at both sides of the limit.
const STRONG: &str = "self.assertEqual([calc.clamp(n) for n in (8, 9, 10)], [8, 9, 9])";
/// Tests that run every line, and ask for nothing.
const WEAK: &str = "calc.clamp(1), calc.clamp(10)";

fn with(command: &str, mutants: u32) -> Check {
    Check { mutants: Some(mutants), ..check(command) }
}

async fn judged(rig: &Rig, files: &[(&str, Option<&str>)], check: Check) -> Findings {
    let commit = rig.change(files).await;
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

fn note(findings: &Findings) -> &str {
    findings.criteria[0].note.as_deref().unwrap_or_default()
}

fn mutants(findings: &Findings) -> usize {
    tested(findings).into_iter().filter(|tested| *tested == Mutant).count()
}

#[tokio::test]
async fn two_criteria_break_the_same_lines_each_for_itself() {
    let rig = unittest(STRONG).await;
    let commit = rig.change(&[("calc.py", Some(WORK))]).await;
    let criteria = ["one", "other"].map(|id| criterion(id, with(SUITE, 2)));
    let found = rig.verify(&rig.request(&commit, criteria.to_vec()).await).await;
    assert_eq!((mutants(&found), found.criteria.len()), (4, 2), "{:#?}", found.criteria);
    assert!(found.criteria.iter().all(|report| report.result.verdict == Pass), "{:#?}", found.criteria);
}

#[tokio::test]
async fn tests_that_ask_for_nothing_let_a_mutant_survive_and_the_report_names_its_line() {
    let rig = unittest(WEAK).await;
    let found = judged(&rig, &[("calc.py", Some(WORK))], with(SUITE, 3)).await;
    assert_eq!(only(&found), (Fail, Some(Reason::MutantSurvived)), "{:#?}", found.criteria);
    let note = note(&found);
    for said in [
        "calc.py:6: \"if value > 9:\" became \"if value <= 9:\"",
        "calc.py:7: \"return 9\" became \"return 10\"",
        "calc.py:8: \"return value\" became \"return None\"",
        "3 of 3 mutants: 0 killed, 3 survived",
    ] {
        assert!(note.contains(said), "{said}: {note}");
    }
    assert_eq!(tested(&found), [Handoff, Base, Mutant, Mutant, Mutant]);
    // Each run is recorded, on a tree of its own, and its evidence says what was broken.
    let runs: Vec<_> = found.receipt.checks.iter().filter(|run| run.tested == Mutant).collect();
    let trees: std::collections::BTreeSet<_> = runs.iter().map(|run| &run.tree).collect();
    assert_eq!(trees.len(), 3);
    assert!(shown(&found, runs[0]).contains("\nmutant: calc.py:"), "{}", shown(&found, runs[0]));
    // The first evidence is a survivor's, and so is what was printed last.
    assert_eq!(found.criteria[0].result.evidence[0], runs[0].output);
    assert!(found.criteria[0].output_tail.contains("OK"), "{:?}", found.criteria);
}

#[tokio::test]
async fn tests_that_ask_for_what_changed_kill_every_mutant() {
    let rig = unittest(STRONG).await;
    let found = judged(&rig, &[("calc.py", Some(WORK))], with(SUITE, 3)).await;
    assert_eq!(only(&found), (Pass, None), "{:#?}", found.criteria);
    assert_eq!((note(&found), mutants(&found)), ("3 of 3 mutants: 3 killed, 0 survived", 3));
    // The line of the base is not the work's: no test of it is asked for.
    assert!(found.receipt.checks.iter().all(|run| !shown(&found, run).contains("calc.py:2:")));
    let more = judged(&rig, &[("calc.py", Some(WORK))], with(SUITE, 9)).await;
    assert_eq!(only(&more), (Pass, None), "{:#?}", more.criteria);
    assert_eq!(note(&more), "3 of 9 mutants: 3 killed, 0 survived; no other changed line can be broken");
    // Work that is judged as a merge was tried as it was handed off.
    let commit = rig.change(&[("calc.py", Some(WORK))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", with(SUITE, 3))]).await;
    request.purpose = VerificationPurpose::Merge;
    let merged = rig.verify(&request).await;
    assert_eq!((only(&merged), mutants(&merged)), ((Pass, None), 0));
}

#[tokio::test]
async fn work_that_has_no_line_to_break_gets_a_note_and_no_run() {
    let rig = unittest(STRONG).await;
    let comment = format!("# Sums.\n{BASE}");
    let docstring = BASE.replace("):\n", "):\n    \"\"\"Sums 1 < 2.\"\"\"\n");
    let cases: [&[(&str, Option<&str>)]; 5] = [
        &[("calc.py", Some(&comment))],
        &[("calc.py", Some(&docstring))],
        &[("README.md", Some("1 < 2\n"))],
        &[(
            "tests/test_new.py",
            Some(
                "import unittest\n\n\nclass New(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n",
            ),
        )],
        &[("calc.py", None), ("calc/__init__.py", Some(BASE))],
    ];
    for files in cases {
        let found = judged(&rig, files, with(SUITE, 3)).await;
        assert_eq!((only(&found), mutants(&found)), ((Pass, None), 0), "{:#?}", found.criteria);
        assert!(note(&found).starts_with("no mutants were made: no line of the product"), "{}", note(&found));
    }
    let red = judged(&rig, &[("calc.py", Some("def add(a, b):\n    return 0\n"))], with(SUITE, 3)).await;
    assert_eq!((only(&red), mutants(&red)), ((Fail, Some(Reason::ExitCode)), 0), "a red check has no mutants");
}

#[tokio::test]
async fn a_mutant_that_cannot_be_imported_says_nothing_and_another_takes_its_place() {
    let rig = unittest(STRONG).await;
    // Every mutation of this line ends the import: it is evaluated there.
    let work = format!("{BASE}\n\nassert_sound = {{True: 1}}[3 + 4 == 7]\n");
    let found = judged(&rig, &[("calc.py", Some(&work))], with(SUITE, 2)).await;
    assert_eq!(only(&found), (Pass, None), "{:#?}", found.criteria);
    let runs = mutants(&found);
    assert!(runs >= 2, "{runs}");
    let expected = format!("0 of 2 mutants: 0 killed, 0 survived; {runs} more said nothing");
    assert!(note(&found).starts_with(&expected), "{}", note(&found));
}

#[tokio::test]
async fn a_mutant_that_never_ends_is_killed_by_the_time_of_the_check() {
    let rig = unittest("self.assertEqual(calc.add(3, 2), 5)").await;
    let loops = |step: &str| {
        format!("def add(a, b):\n    while b != 0:\n        {step}\n        a = next(iter([a + 1]))\n    return a\n")
    };
    let base = rig.change(&[("calc.py", Some(&loops("b -= 1")))]).await;
    let commit = rig.change_on(&base, &[("calc.py", Some(&loops("b = b - 1")))]).await;
    let slow = Check { timeout: Millis(15_000), ..with(SUITE, 1) };
    let mut request = rig.request(&commit, vec![criterion("only", slow)]).await;
    request.base = base.as_str().parse().unwrap();
    let found = rig.verify(&request).await;
    assert_eq!(only(&found), (Pass, None), "{:#?}", found.criteria);
    assert_eq!(note(&found), "1 of 1 mutants: 1 killed, 0 survived");
    let run = found.receipt.checks.iter().find(|run| run.tested == Mutant).unwrap();
    assert_eq!(run.reason, Some(Reason::Timeout), "{run:?}");
}

/// The Python that `cargo xtask tools` makes.
pub(crate) fn with_pytest(settings: &mut VerifierSettings) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python");
    assert!(folder.join("bin/pytest").exists(), "there is no pytest: run `cargo xtask tools`");
    let folder: PathBuf = folder.canonicalize().unwrap();
    settings.path = format!("{}:{}", folder.join("bin").display(), settings.path);
    settings.read_paths.push(folder);
}

#[tokio::test]
async fn mutants_are_tried_below_pytest_in_every_changed_file() {
    let command = "python -m pytest -p no:cacheprovider -q tests";
    let work: [(&str, Option<&str>); 2] = [
        ("calc.py", Some("def add(a, b):\n    return b + a\n")),
        ("more.py", Some("def twice(a):\n    return 2 * a\n")),
    ];
    for (asserts, expected) in [
        ("assert calc.add(1, 2) == 3; more.twice(2)", (Fail, Some(Reason::MutantSurvived))),
        ("assert calc.add(1, 2) == 3 and more.twice(2) == 4", (Pass, None)),
    ] {
        let tests = format!("import calc\nimport more\n\n\ndef test_both():\n    {asserts}\n");
        let files = [
            ("pytest.ini", "[pytest]\npythonpath = .\n"),
            ("calc.py", BASE),
            ("more.py", "def twice(a):\n    return a + a\n"),
            ("tests/test_all.py", tests.as_str()),
        ];
        let rig = Rig::with(&files, with_pytest).await;
        let found = judged(&rig, &work, with(command, 2)).await;
        assert_eq!((only(&found), mutants(&found)), (expected, 2), "{:#?}", found.criteria);
        assert_eq!(note(&found).contains("more.py:2"), expected.0 == Fail, "{}", note(&found));
    }
}

const MANIFEST: &str = "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const LOCK: &str = "version = 3\n\n[[package]]\nname = \"sums\"\nversion = \"0.1.0\"\n";
const LIB: &str = "pub fn name() -> &'static str {\n    \"sums\"\n}\n";

#[tokio::test]
async fn mutants_of_a_cargo_project_are_built_and_those_that_do_not_build_say_nothing() {
    let weak = "#[test]\nfn starts() {\n    assert_eq!(sums::name(), \"sums\");\n}\n";
    let rig =
        Rig::new(&[("Cargo.toml", MANIFEST), ("Cargo.lock", LOCK), ("src/lib.rs", LIB), ("tests/all.rs", weak)]).await;
    // The text can be added to and not subtracted from; the number is the work's.
    let work = format!(
        "{LIB}\npub fn next(of: u32) -> u32 {{\n    of + 1\n}}\n\npub fn both(a: String, b: &str) -> String {{\n    a + b\n}}\n"
    );
    let command = "cargo test --locked --offline";
    let found = judged(&rig, &[("src/lib.rs", Some(&work))], with(command, 2)).await;
    assert_eq!(only(&found), (Fail, Some(Reason::MutantSurvived)), "{:#?}", found.criteria);
    let text = note(&found);
    assert!(text.contains("src/lib.rs:6: \"of + 1\" became \"of - 1\""), "{text}");
    assert!(text.contains("1 of 2 mutants: 0 killed, 1 survived; 1 more said nothing"), "{text}");

    let strong = "#[test]\nfn next() {\n    assert_eq!(sums::next(1), 2);\n}\n";
    let files: [(&str, Option<&str>); 2] = [("src/lib.rs", Some(&work)), ("tests/next.rs", Some(strong))];
    let found = judged(&rig, &files, with(command, 1)).await;
    assert_eq!(only(&found), (Pass, None), "{:#?}", found.criteria);
    assert!(note(&found).starts_with("1 of 1 mutants: 1 killed, 0 survived"), "{}", note(&found));
}
