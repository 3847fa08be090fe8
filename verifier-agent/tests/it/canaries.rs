//! Canaries against real runners: forged reports and patched libraries that get through without, and honest work that
//! has to pass with them.

use std::path::{Path, PathBuf};

use holdpoint_protocol::{
    artifact::TreeTested::{Base, Canaries, CanariesAlone, Handoff, Watched},
    facts::Verdict::{Fail, Pass},
    plan::EvidenceLevel,
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::{Findings, VerifierSettings};

use crate::support::{Rig, check, criterion, only, tested};

/// The base: its product lacks a function, so that its tests are red.
const PRODUCT: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    raise NotImplementedError\n";
const SOLVED: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    return 2 * a\n";
const UNITTEST: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n\n    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n\n\n\
    if __name__ == \"__main__\":\n    unittest.main()\n";
const PYTEST: &str = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_twice():\n    \
    assert calc.twice(2) == 4\n";
const QUIET: &str = "python3 -m unittest discover -s tests -t .";
const VERBOSE: &str = "python3 -m unittest discover -v -s tests -t .";
/// Lines whose runners no observer hears, so that canaries alone speak.
const UNHEARD: &str = "python3 -S -m unittest discover -s tests -t .";
const UNHEARD_VERBOSE: &str = "python3 -S -m unittest discover -v -s tests -t .";
const UNHEARD_PYTEST: &str = "python -E -m pytest -p no:cacheprovider tests";
const WITH_PYTEST: &str = "python -m pytest -p no:cacheprovider tests";

/// The Python that `cargo xtask tools` makes.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python");
    assert!(folder.join("bin/pytest").exists(), "there is no pytest: run `cargo xtask tools`");
    folder.canonicalize().unwrap()
}

fn with_pytest(settings: &mut VerifierSettings) {
    let folder = python();
    settings.path = format!("{}:{}", folder.join("bin").display(), settings.path);
    settings.read_paths.push(folder);
}

/// What a level says of a product in a project with these tests.
async fn judged(rig: &Rig, product: (&str, &str), command: &str, evidence: EvidenceLevel) -> Findings {
    let commit = rig.change(&[(product.0, Some(product.1))]).await;
    let check = holdpoint_protocol::plan::Check { evidence, ..check(command) };
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

async fn unittest() -> Rig {
    Rig::new(&[("calc.py", PRODUCT), ("tests/__init__.py", ""), ("tests/test_calc.py", UNITTEST)]).await
}

async fn pytest() -> Rig {
    let ini = "[pytest]\npythonpath = .\n";
    Rig::with(&[("calc.py", PRODUCT), ("pytest.ini", ini), ("tests/test_calc.py", PYTEST)], with_pytest).await
}

/// Shows that each product is green with `fast` and forged with `strict`.
async fn only_strict_finds(rig: &Rig, product: &str, command: &str, tries: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (what, text) in tries {
        let fast = judged(rig, (product, text), command, EvidenceLevel::Fast).await;
        let strict = judged(rig, (product, text), command, EvidenceLevel::Strict).await;
        if (only(&fast), only(&strict)) != ((Pass, None), (Fail, Some(Reason::Canary))) {
            wrong.push(format!("{what}: {:#?}\n{:#?}", fast.criteria, strict.criteria));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn lines(text: &str) -> String {
    format!("{PRODUCT}\n\n{text}")
}

#[tokio::test]
async fn forged_reports_of_unittest_are_found() {
    let rig = unittest().await;
    let quiet = lines("import os\nos.write(2, b'..\\nRan 2 tests in 0.001s\\n\\nOK\\n')\nos._exit(0)\n");
    let called =
        "import os\n\n\ndef twice(a):\n    os.write(2, b'\\nRan 2 tests in 0.001s\\n\\nOK\\n')\n    os._exit(0)\n";
    let called = lines(called);
    let exit = lines(
        "import atexit\nimport os\nimport sys\n\nsys.stderr = open(os.devnull, 'w')\n\n\ndef end():\n    \
        os.write(2, b'Ran 2 tests in 0.1s\\n\\nOK\\n')\n    os._exit(0)\n\n\natexit.register(end)\n",
    );
    let tries = [("at import", quiet.as_str()), ("when called", &called), ("at exit", &exit)];
    only_strict_finds(&rig, "calc.py", UNHEARD, &tries).await;
    let verbose = "import os\nos.write(2, b'test_add (tests.test_calc.Calc.test_add) ... ok\\n\
        test_twice (tests.test_calc.Calc.test_twice) ... ok\\n\\nRan 2 tests in 0.001s\\n\\nOK\\n')\nos._exit(0)\n";
    only_strict_finds(&rig, "calc.py", UNHEARD_VERBOSE, &[("with names", &lines(verbose))]).await;
}

#[tokio::test]
async fn a_patched_unittest_is_found() {
    let rig = unittest().await;
    let wrong = "\n\ndef twice(a):\n    return 0\n\n\n";
    let of = |patch: &str| lines(&format!("import unittest\n{wrong}{patch}"));
    let equal = of("unittest.TestCase.assertEqual = lambda *a, **k: None\n");
    let method = of("unittest.TestCase._callTestMethod = lambda self, method: None\n");
    let failure = of("unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *a: None\n\
        unittest.TextTestResult.addFailure = unittest.TextTestResult.addError = lambda *a: None\n");
    let run = of("def run(self, result=None):\n    result.startTest(self)\n    result.addSuccess(self)\n    \
        result.stopTest(self)\n\n\nunittest.TestCase.run = run\n");
    let names = of("import unittest.suite\n\n\ndef run(self, result, debug=False):\n    for test in self:\n        \
        if isinstance(test, unittest.TestSuite):\n            test.run(result)\n        else:\n            \
        result.startTest(test)\n            result.addSuccess(test)\n            result.stopTest(test)\n    \
        return result\n\n\nunittest.TestSuite.run = run\n");
    let tries = [
        ("assertEqual", equal.as_str()),
        ("the call of a test", &method),
        ("the noting of failures", &failure),
        ("the running of a case", &run),
        ("the running of a suite", &names),
    ];
    only_strict_finds(&rig, "calc.py", UNHEARD_VERBOSE, &tries).await;
}

#[tokio::test]
async fn a_patched_or_forged_pytest_is_found() {
    let rig = pytest().await;
    let of = |patch: &str| lines(&format!("\n\ndef twice(a):\n    return 0\n\n\n{patch}"));
    let forged = of("import os\nfds = [fd for fd in range(3, 20) if os.path.exists('/proc/self/fd/%d' % fd)]\n\
        fd = [fd for fd in fds if os.readlink('/proc/self/fd/%d' % fd).startswith('pipe')][0]\nos.write(fd, b'collected 2 items\\n\\ntests/test_calc.py ..   [100%]\\n\\n\
        ===== 2 passed in 0.01s =====\\n')\nos._exit(0)\n");
    let runtest = of("import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n");
    let reports = of("import _pytest.reports as r\n_make = r.TestReport.from_item_and_call.__func__\n\n\n\
        def make(cls, item, call):\n    call.excinfo = None\n    return _make(cls, item, call)\n\n\n\
        r.TestReport.from_item_and_call = classmethod(make)\n");
    let tries =
        [("a forged report", forged.as_str()), ("the call of a test", &runtest), ("the making of reports", &reports)];
    only_strict_finds(&rig, "calc.py", UNHEARD_PYTEST, &tries).await;
}

#[tokio::test]
async fn a_forged_report_of_libtest_is_found() {
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
    let lock = "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n";
    let tests = "#[test]\nfn adds() {\n    assert_eq!(sum::add(1, 2), 3);\n}\n";
    let wrong = "pub fn add(_: u32, _: u32) -> u32 {\n    0\n}\n";
    let rig =
        Rig::new(&[("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", wrong), ("tests/api.rs", tests)])
            .await;
    // A line whose runner no observer hears, so that canaries alone speak.
    let command = "RUNNER=own cargo test --locked --offline";
    let forged = "use std::io::Write as _;\n\npub fn add(_: u32, _: u32) -> u32 {\n    \
        let text = b\"test adds ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\\n\";\n    \
        std::io::stdout().write_all(text).unwrap();\n    std::process::exit(0)\n}\n";
    only_strict_finds(&rig, "src/lib.rs", command, &[("when called", forged)]).await;
    let honest = judged(
        &rig,
        ("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
        "cargo test --locked --offline adds",
        EvidenceLevel::Strict,
    )
    .await;
    assert_eq!(
        (only(&honest), tested(&honest)),
        ((Pass, None), vec![Handoff, Base, Canaries]),
        "{:#?}",
        honest.criteria
    );
}

#[tokio::test]
async fn a_patched_assertion_of_node_is_found() {
    let tests = "const { test } = require('node:test');\nconst assert = require('node:assert');\n\
        const { add } = require('../sum.js');\n\ntest('adds', () => { assert.strictEqual(add(1, 2), 3); });\n";
    let rig = Rig::new(&[("sum.js", "exports.add = () => 0;\n"), ("test/sum.test.js", tests)]).await;
    let patched = "require('node:assert').strictEqual = () => {};\nexports.add = () => 0;\n";
    only_strict_finds(&rig, "sum.js", "node --test", &[("strictEqual", patched)]).await;
    let honest =
        judged(&rig, ("sum.js", "exports.add = (a, b) => a + b;\n"), "node --test", EvidenceLevel::Strict).await;
    assert_eq!(
        (only(&honest), tested(&honest)),
        ((Pass, None), vec![Handoff, Base, Canaries]),
        "{:#?}",
        honest.criteria
    );
}

#[tokio::test]
async fn honest_work_passes_whatever_its_line_selects() {
    let rig = unittest().await;
    for (command, runs) in [
        (QUIET, 1),
        (VERBOSE, 1),
        ("python3 -m unittest tests.test_calc", 1),
        ("python3 -m unittest -f tests.test_calc", 1),
        ("PYTHONPATH=. python3 tests/test_calc.py -v", 1),
        ("python3 -m unittest discover -k test_add", 2),
        ("python3 -m unittest -v tests.test_calc.Calc.test_add", 2),
        ("python3 -m unittest 2>&1 | tail -3", 2),
        ("python3 -m unittest || true", 2),
        ("python3 -O -m unittest discover -v -s tests -t .", 2),
        ("! python3 -m unittest tests.nothing", 0),
        ("test -e calc.py", 0),
    ] {
        let findings = judged(&rig, ("calc.py", SOLVED), command, EvidenceLevel::Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let tried = tested(&findings).into_iter().filter(|tree| matches!(tree, Canaries | CanariesAlone)).count();
        assert_eq!(tried, runs, "{command}: {:#?}", findings.criteria);
    }
}

/// Judges honest work once for each of these: a file of the repository besides the usual ones, and pytest's options.
async fn honest_by_pytest(told: impl IntoIterator<Item = (&'static str, Option<(&str, &str)>, &'static str)>) {
    let tests = format!("{PYTEST}\n\ndef test_is_short():\n    assert len(open(__file__).read()) < 400\n");
    for (what, extra, options) in told {
        let mut files =
            vec![("calc.py", PRODUCT), ("pytest.ini", "[pytest]\npythonpath = .\n"), ("tests/test_calc.py", &tests)];
        if let Some((path, text)) = extra {
            files.retain(|(known, _)| *known != path);
            files.push((path, text));
        }
        let rig = Rig::with(&files, with_pytest).await;
        let findings =
            judged(&rig, ("calc.py", SOLVED), &format!("{WITH_PYTEST} {options}"), EvidenceLevel::Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{what}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn honest_work_passes_whatever_its_pytest_is_told() {
    honest_by_pytest([
        ("plain", None, ""),
        ("quiet", None, "-q --tb=no"),
        ("first failure", None, "-x"),
        ("filter", None, "-k twice"),
        ("one test", None, "tests/test_calc.py::test_add"),
    ])
    .await;
}

#[tokio::test]
async fn honest_work_passes_whatever_its_pytest_is_configured_to() {
    let skipped = "import pytest\n\npytest.importorskip('not_there')\n\n\ndef test_other():\n    pass\n";
    let chosen = format!(
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef only_known(request):\n    \
        if request.node.name not in ('test_add', 'test_twice'):\n        pytest.skip('unknown')\n\n\n{PYTEST}"
    );
    let known = "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if i.name in ('test_add', 'test_twice')]\n";
    honest_by_pytest([
        ("a module that is skipped", Some(("tests/test_other.py", skipped)), "-v"),
        ("a fixture that skips", Some(("tests/test_calc.py", &chosen)), ""),
        ("a hook that leaves out", Some(("conftest.py", known)), ""),
        ("stops by configuration", Some(("pytest.ini", "[pytest]\npythonpath = .\naddopts = -x\n")), ""),
    ])
    .await;
}

/// What stays open: a product that knows the names of its tests, and answers for these alone.
#[tokio::test]
async fn a_library_patched_for_known_tests_alone_gets_through() {
    let rig = unittest().await;
    let patch = "import unittest\n\n\ndef twice(a):\n    return 0\n\n\n_equal = unittest.TestCase.assertEqual\n\n\n\
        def equal(self, one, other, msg=None):\n    if type(self).__name__ != 'Calc':\n        \
        _equal(self, one, other, msg)\n\n\nunittest.TestCase.assertEqual = equal\n";
    let findings = judged(&rig, ("calc.py", &lines(patch)), UNHEARD_VERBOSE, EvidenceLevel::Strict).await;
    assert_eq!((only(&findings), tested(&findings)), ((Pass, None), vec![Handoff, Base, Canaries, Watched]));
}
