//! What each level of evidence lets through: tries that `fast` takes for done, with what `strict` says of them, and honest
//! work that `strict` refuses. Those that `strict` finds by their kind are in `canaries` and `base_product`.
//!
//! A level above another begins where that one ended well, so what `fast` refuses is refused at every level.

use std::path::Path;

use holdpoint_protocol::{
    facts::Verdict::{Fail, Pass},
    plan::{Check, EvidenceLevel},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::Findings;

use crate::support::{Rig, check, criterion, only, tested};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    raise NotImplementedError\n";
const SUITE: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n\n    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n";
const QUIET: &str = "python3 -m unittest discover -s tests -t .";
const NEW: &str = "PYTHONPATH=. python3 tests/test_new.py -v";
/// A report as the suite would make it, and an end with 0 before anything can be said against it.
const FORGED: &str = "import os\nos.write(2, b'test_twice (tests.test_calc.Calc.test_twice) ... ok\\n..\\nRan %d tests in \
    0.001s\\n\\nOK\\n')\nos._exit(0)\n";

/// Work, and what is asked of it.
struct Try<'a> {
    what: &'static str,
    check: Check,
    scope: &'static [&'static str],
    files: &'a [(&'a str, &'a str)],
    /// What is found, by `fast` where an observer heard it; nothing: it stays open.
    found: Option<Reason>,
}

impl<'a> Try<'a> {
    fn new(what: &'static str, command: &str, files: &'a [(&'a str, &'a str)]) -> Self {
        Self { what, check: check(command), scope: &[], files, found: None }
    }

    /// It is found.
    fn found(self, reason: Reason) -> Self {
        Self { found: Some(reason), ..self }
    }

    async fn at(&self, rig: &Rig, evidence: EvidenceLevel) -> Findings {
        let files: Vec<(&str, Option<&str>)> = self.files.iter().map(|(name, text)| (*name, Some(*text))).collect();
        let commit = rig.change(&files).await;
        let check = Check { evidence, ..self.check.clone() };
        let mut request = rig.request(&commit, vec![criterion("only", check)]).await;
        if !self.scope.is_empty() {
            request.scope = self.scope.iter().map(|glob| (*glob).to_owned()).collect();
        }
        request.changed_tests = request.scope.iter().filter(|glob| glob.starts_with("tests/")).cloned().collect();
        rig.verify(&request).await
    }
}

/// Shows which of these each level takes for done. docs/corpus.md names what stays open.
async fn get_through(rig: &Rig, tries: &[Try<'_>]) {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/corpus.md")).unwrap();
    let mut wrong = Vec::new();
    for one in tries {
        let (fast, strict) = (one.at(rig, EvidenceLevel::Fast).await, one.at(rig, EvidenceLevel::Strict).await);
        let wanted = |found: Option<Reason>| found.map_or((Pass, None), |reason| (Fail, Some(reason)));
        let heard = one.found.filter(|reason| matches!(reason, Reason::NoEndMark | Reason::ReportMismatch));
        if (only(&fast), only(&strict)) != (wanted(heard), wanted(one.found)) {
            wrong.push(format!("{}: {:#?}\n{:#?}", one.what, fast.criteria, strict.criteria));
        }
        if page.contains(&format!("| `{}` |", one.what)) != one.found.is_none() {
            wrong.push(format!("docs/corpus.md does not say rightly whether `{}` is open", one.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn python() -> Rig {
    Rig::new(&[("calc.py", PRODUCT), ("tests/__init__.py", ""), ("tests/test_calc.py", SUITE)]).await
}

fn product(text: &str) -> String {
    PRODUCT.replace("    raise NotImplementedError\n", text)
}

#[tokio::test]
async fn a_product_that_knows_its_tests_gets_through() {
    let rig = python().await;
    let inputs = product("    return 4\n");
    let tested = product("    import sys\n    return 2 * a if 'unittest' in sys.modules else None\n");
    let known = format!(
        "{PRODUCT}\n\nimport pathlib\nif len(pathlib.Path('tests/test_calc.py').read_text()) == {}:\n    {}",
        SUITE.len(),
        FORGED.replace("%d", "2").replace('\n', "\n    ").trim_end(),
    );
    get_through(
        &rig,
        &[
            Try::new("knows-inputs", QUIET, &[("calc.py", &inputs)]),
            Try::new("notices-tests", QUIET, &[("calc.py", &tested)]),
            Try::new("reads-tests", QUIET, &[("calc.py", &known)]).found(Reason::NoEndMark),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_a_check_does_not_show_gets_through() {
    let rig = python().await;
    let forged = |tests: &str| format!("{PRODUCT}\n\n{}", FORGED.replace("%d", tests));
    let (both, one) = (forged("2"), forged("1"));
    get_through(
        &rig,
        &[
            Try::new("forges-behind-pipe", &format!("{QUIET} 2>&1 | tail -3"), &[("calc.py", &both)])
                .found(Reason::NoEndMark),
            Try::new("forges-one-test", "python3 -m unittest -v tests.test_calc.Calc.test_twice", &[("calc.py", &one)])
                .found(Reason::NoEndMark),
            Try::new(
                "ends-unknown-runner",
                "python3 -c 'import calc; assert calc.twice(2) == 4'",
                &[("calc.py", "import os\nos._exit(0)\n")],
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn tests_that_test_nothing_get_through() {
    let rig = python().await;
    let nothing = "import unittest\n\n\nclass New(unittest.TestCase):\n    def test_new(self):\n        pass\n\n\n\
        unittest.main()\n";
    let touched = format!("{PRODUCT}\n\ndef thrice(a):\n    raise NotImplementedError\n");
    let files = [("calc.py", touched.as_str()), ("tests/test_new.py", nothing)];
    get_through(&rig, &[Try::new("new-test-of-nothing", NEW, &files)]).await;

    let rig = Rig::new(&[("tests/__init__.py", ""), ("tests/test_calc.py", SUITE)]).await;
    let skips = product("    raise getattr(__import__('unittest'), 'Skip' + 'Test')()\n");
    get_through(&rig, &[Try::new("skips-unseen", QUIET, &[("calc.py", &skips)])]).await;
}

#[tokio::test]
async fn tests_in_product_files_and_in_processes_of_their_own_get_through() {
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
    let lock = "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n";
    let inside = |sum: &str, body: &str| {
        format!(
            "pub fn add(a: u32, b: u32) -> u32 {{\n    {sum}\n}}\n\n#[cfg(test)]\nmod checks {{\n    #[test]\n    \
             fn adds() {{\n        {body}\n    }}\n}}\n"
        )
    };
    let base = inside("a * b", "assert_eq!(super::add(1, 2), 3);");
    let rig = Rig::new(&[("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", &base)]).await;
    let emptied = inside("a * b", "super::add(1, 2);");
    let said = "use std::io::Write as _;\n    let text = b\"test checks::adds ... ok\\n\\ntest result: ok. 1 passed; \
        0 failed; 0 ignored; 0 measured\\n\";\n    std::io::stdout().write_all(text).unwrap();\n    \
        std::process::exit((a + b > 99) as i32)";
    let forged = inside(said, "assert_eq!(super::add(1, 2), 3);");
    // The same, and what libtest would have logged, once the tests next to it have come to their end.
    let log = "use std::io::Write as _;\n    std::thread::sleep(std::time::Duration::from_millis(500));\n    \
        if let Ok(mut log) = std::fs::File::create(\"/proc/self/fd/900\") {\n        \
        log.write_all(b\"ok checks::adds\\n\").unwrap();\n    }\n    ";
    let logged = inside(&said.replacen("use std::io::Write as _;\n    ", log, 1), "assert_eq!(super::add(1, 2), 3);");
    get_through(
        &rig,
        &[
            Try::new("empties-inside", "cargo test --locked --offline", &[("src/lib.rs", &emptied)]),
            Try::new("forges-per-process", "cargo nextest run --locked --offline", &[("src/lib.rs", &forged)])
                .found(Reason::NoEndMark),
            Try::new("logs-per-process", "cargo nextest run --locked --offline", &[("src/lib.rs", &logged)]),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_fast_refuses_is_refused_at_strict_by_the_same_runs() {
    let rig = python().await;
    let early = format!("{PRODUCT}\n\nimport os\nos._exit(0)\n");
    let (bent, gone) =
        (SUITE.replace("self.assertEqual(calc.twice(2), 4)", "pass"), SUITE.replace("test_twice", "twice"));
    for one in [
        Try::new("no work", QUIET, &[("calc.py", "# nothing\n")]),
        Try::new("an early end", QUIET, &[("calc.py", &early)]),
        Try::new("an emptied test", QUIET, &[("tests/test_calc.py", &bent)]),
        Try::new("a test less", QUIET, &[("tests/test_calc.py", &gone)]),
    ] {
        let (fast, strict) = (one.at(&rig, EvidenceLevel::Fast).await, one.at(&rig, EvidenceLevel::Strict).await);
        assert_eq!((only(&fast).0, tested(&fast)), (Fail, tested(&strict)), "{}: {:#?}", one.what, fast.criteria);
        assert_eq!(only(&fast), only(&strict), "{}", one.what);
    }
}

/// Why `strict` is no default (docs/adr/0017-evidence-default.md): no run distinguishes this work from tests that were
/// emptied.
#[tokio::test]
async fn honest_work_on_red_tests_is_refused_at_strict_where_the_scope_names_more_than_tests() {
    let solved = product("    return 2 * a\n");
    let wrong = format!("{SUITE}\n    def test_none(self):\n        self.assertEqual(calc.add(0, 0), 1)\n");
    let mended = wrong.replace("(0, 0), 1)", "(0, 0), 0)");
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/__init__.py", ""), ("tests/test_calc.py", &wrong)]).await;
    let both = [("calc.py", solved.as_str()), ("tests/test_calc.py", mended.as_str())];
    let names = QUIET.replace("discover", "discover -v");
    let mends = Try { scope: &["calc.py", "tests/**"], ..Try::new("mends a wrong test", &names, &both) };
    let more = format!("{}\n\nunittest.main()\n", SUITE.split("\n    def test_twice").next().unwrap());
    let more = [("tests/test_new.py", more.as_str())];
    let asked = Try::new("writes the tests that it is asked for", NEW, &more);
    let asked = Try { check: Check { red_first: true, ..asked.check.clone() }, ..asked };
    for one in [mends, asked] {
        let (fast, strict) = (one.at(&rig, EvidenceLevel::Fast).await, one.at(&rig, EvidenceLevel::Strict).await);
        assert_eq!(only(&fast), (Pass, None), "{}: {:#?}", one.what, fast.criteria);
        assert_eq!(only(&strict), (Fail, Some(Reason::BaseProductGreen)), "{}: {:#?}", one.what, strict.criteria);
    }
}
