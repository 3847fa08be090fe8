//! The observer of Python's test runners, with real ones: reports that nothing else finds, and honest suites that have to pass.

use std::path::{Path, PathBuf};

use holdpoint_protocol::{
    artifact::TreeTested::Handoff,
    facts::Verdict::{Fail, Pass},
    plan::EvidenceLevel::{self, Fast, Strict},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::{Findings, VerifierSettings};

use crate::support::{Rig, check, criterion, only, shown, tested};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    raise NotImplementedError\n";
const SOLVED: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    return 2 * a\n";
const UNITTEST: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n\n    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n";
const PYTEST: &str = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_twice():\n    \
    assert calc.twice(2) == 4\n";
const QUIET: &str = "python3 -m unittest discover -s tests -t .";
const VERBOSE: &str = "python3 -m unittest discover -v -s tests -t .";
const WITH_PYTEST: &str = "python -m pytest -p no:cacheprovider tests";

fn with_pytest(settings: &mut VerifierSettings) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python");
    assert!(folder.join("bin/pytest").exists(), "there is no pytest: run `cargo xtask tools`");
    let folder: PathBuf = folder.canonicalize().unwrap();
    settings.path = format!("{}:{}", folder.join("bin").display(), settings.path);
    settings.read_paths.push(folder);
}

async fn unittest() -> Rig {
    Rig::new(&[("calc.py", PRODUCT), ("tests/__init__.py", ""), ("tests/test_calc.py", UNITTEST)]).await
}

async fn pytest() -> Rig {
    let ini = "[pytest]\npythonpath = .\n";
    Rig::with(&[("calc.py", PRODUCT), ("pytest.ini", ini), ("tests/test_calc.py", PYTEST)], with_pytest).await
}

async fn judged(rig: &Rig, product: &str, command: &str, evidence: EvidenceLevel) -> Findings {
    let commit = rig.change(&[("calc.py", Some(product))]).await;
    let check = holdpoint_protocol::plan::Check { evidence, ..check(command) };
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

fn lines(text: &str) -> String {
    format!("{PRODUCT}\n\n{text}")
}

/// Shows that each product is found at every level by what was heard of its runs.
async fn the_observer_finds(rig: &Rig, command: &str, tries: &[(&str, &str, Reason)]) {
    let mut wrong = Vec::new();
    for (what, text, reason) in tries {
        let findings = judged(rig, text, command, Fast).await;
        if only(&findings) != (Fail, Some(*reason)) {
            wrong.push(format!("{what}: {:#?}", findings.criteria));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_forged_end_of_unittest_is_not_heard() {
    let rig = unittest().await;
    let of = |code: &str| lines(&format!("import os\nREPORT = b'..\\nRan 2 tests in 0.001s\\n\\nOK\\n'\n{code}"));
    let imported = of("os.write(2, REPORT)\nos._exit(0)\n");
    let called = of("\n\ndef twice(a):\n    os.write(2, REPORT)\n    os._exit(0)\n");
    let executed = of("\n\ndef twice(a):\n    os.write(2, REPORT)\n    os.execv('/bin/true', ['true'])\n");
    let thread = of("import threading\n\n\ndef end():\n    os.write(2, REPORT)\n    os._exit(0)\n\n\n\
        def twice(a):\n    threading.Thread(target=end).start()\n    threading.Event().wait()\n");
    let fork = of("\n\ndef twice(a):\n    if os.fork():\n        os.write(2, REPORT)\n        os._exit(0)\n    \
        os.setsid()\n    os.close(1)\n    os.close(2)\n    return 4\n");
    // A socket of its own reports another run to the harness, which is a good one; so does every descriptor it has.
    let answered = of("import socket\n\nfor fd in range(3, 1024):\n    try:\n        \
        os.write(fd, b'passed a\\n')\n        os.write(fd, b'end 0\\n')\n    except OSError:\n        pass\n\
        os.write(2, REPORT)\nos._exit(0)\n");
    let tries = [
        ("when imported", imported.as_str(), Reason::NoEndMark),
        ("when called", &called, Reason::NoEndMark),
        ("by another program", &executed, Reason::NoEndMark),
        ("from a thread", &thread, Reason::NoEndMark),
        ("from a fork", &fork, Reason::NoEndMark),
        ("to every descriptor", &answered, Reason::NoEndMark),
    ];
    the_observer_finds(&rig, QUIET, &tries).await;
}

#[tokio::test]
async fn an_end_that_takes_the_runners_back_is_a_mismatch() {
    let rig = unittest().await;
    let exit = lines(
        "import atexit\nimport os\nimport sys\n\nsys.stderr = open(os.devnull, 'w')\n\n\ndef end():\n    \
        os.write(2, b'Ran 2 tests in 0.1s\\n\\nOK\\n')\n    os._exit(0)\n\n\natexit.register(end)\n",
    );
    let failure = lines(
        "import unittest\n\n\ndef twice(a):\n    return 0\n\n\n\
        unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *a: None\n\
        unittest.TextTestResult.addFailure = unittest.TextTestResult.addError = lambda *a: None\n",
    );
    let tries = [
        ("at exit", exit.as_str(), Reason::ReportMismatch),
        ("failures that are not noted", &failure, Reason::ReportMismatch),
    ];
    the_observer_finds(&rig, QUIET, &tries).await;
    let rig = pytest().await;
    let made = lines(
        "import _pytest.reports as r\n_make = r.TestReport.from_item_and_call.__func__\n\n\n\
        def make(cls, item, call):\n    call.excinfo = None\n    return _make(cls, item, call)\n\n\n\
        r.TestReport.from_item_and_call = classmethod(make)\n",
    );
    the_observer_finds(&rig, WITH_PYTEST, &[("exceptions taken away", &made, Reason::ReportMismatch)]).await;
}

#[tokio::test]
async fn tests_that_the_product_drops_are_missed_whatever_is_printed_of_them() {
    let rig = unittest().await;
    let dropped = lines(
        "import sys\nimport unittest\n\n_names = unittest.TestLoader.getTestCaseNames\n\n\n\
        def names(self, case):\n    return [n for n in _names(self, case) if n != 'test_twice']\n\n\n\
        unittest.TestLoader.getTestCaseNames = names\n\n\n\
        class Said:\n    def __init__(self, real):\n        self.real = real\n\n    \
        def write(self, text):\n        if text.startswith('Ran 1 test '):\n            \
        text = 'test_twice (tests.test_calc.Calc.test_twice) ... ok\\nRan 2 tests ' + text[11:]\n        \
        self.real.write(text)\n\n    def flush(self):\n        self.real.flush()\n\n\n\
        sys.stderr = Said(sys.stderr)\n",
    );
    the_observer_finds(&rig, VERBOSE, &[("dropped", &dropped, Reason::FewerTests)]).await;
}

#[tokio::test]
async fn a_forged_end_of_pytest_is_not_heard() {
    let rig = pytest().await;
    // pytest has its own descriptors for what the tests print; the first of its copies is the real output.
    let of = |code: &str| {
        lines(&format!(
            "import os\n\n\ndef report():\n    \
        fds = [fd for fd in range(3, 20) if os.path.exists('/proc/self/fd/%d' % fd)]\n    \
        fd = [fd for fd in fds if os.readlink('/proc/self/fd/%d' % fd).startswith('pipe')][0]\n    \
        os.write(fd, b'collected 2 items\\n\\ntests/test_calc.py ..   [100%]\\n\\n===== 2 passed in 0.01s =====\\n')\n\n\n{code}"
        ))
    };
    let imported = of("report()\nos._exit(0)\n");
    let called = of("def twice(a):\n    report()\n    os._exit(0)\n");
    let told = of("import pytest\n\n\ndef twice(a):\n    report()\n    pytest.exit('enough', returncode=0)\n");
    let tries = [
        ("when imported", imported.as_str(), Reason::NoEndMark),
        ("when called", &called, Reason::NoEndMark),
        ("by the runner's own way out", &told, Reason::NoEndMark),
    ];
    the_observer_finds(&rig, WITH_PYTEST, &tries).await;
}

#[tokio::test]
async fn honest_runs_are_heard_to_their_end() {
    let rig = unittest().await;
    for (command, runs) in [
        (QUIET, "observed: unittest: 2 passed, 0 failed, 0 skipped; end with 0; exit 0\n"),
        (
            "python3 -m unittest -k add tests.test_calc && python3 -W error -munittest tests/test_calc.py",
            "observed: unittest: 1 passed, 0 failed, 0 skipped; end with 0; exit 0\n\
             observed: unittest: 2 passed, 0 failed, 0 skipped; end with 0; exit 0\n",
        ),
        (
            "python3 -m unittest 2>&1 | tail -3",
            "observed: unittest: 2 passed, 0 failed, 0 skipped; end with 0; exit 0\n",
        ),
        ("python3 -S -m unittest tests.test_calc", "---"),
        ("test -e calc.py", "---"),
    ] {
        let findings = judged(&rig, SOLVED, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let first = &findings.receipt.checks[0];
        assert_eq!(first.tested, Handoff, "{:?}", tested(&findings));
        let shown = shown(&findings, first);
        let heard = shown.split_once(" ms\n").unwrap().1;
        assert!(heard.starts_with(runs), "{command}: {shown}");
    }
}

/// What suites do that is not plain: children, threads, nested runners, skips of every kind.
const UNTIDY_UNITTEST: &str = r#"
import asyncio, atexit, io, multiprocessing, os, subprocess, sys, threading, unittest
import calc

def setUpModule():
    atexit.register(lambda: None)
    threading.Timer(0.3, lambda: None).start()

def put(queue):
    queue.put(calc.add(1, 2))

@unittest.skip("whole class")
class Skipped(unittest.TestCase):
    def test_never(self):
        self.fail()

class SkippedLate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("not here")

    def test_never(self):
        self.fail()

class Untidy(unittest.TestCase):
    def test_children(self):
        queue = multiprocessing.Queue()
        child = multiprocessing.Process(target=put, args=(queue,))
        child.start()
        self.assertEqual(queue.get(), 3)
        child.join()
        pid = os.fork()
        if not pid:
            os.closerange(0, 2048)
            os._exit(3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3)
        self.assertEqual(subprocess.run([sys.executable, "-c", "raise SystemExit(4)"]).returncode, 4)

    def test_a_runner_within(self):
        class Inner(unittest.TestCase):
            def test_red(self):
                self.fail()
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Inner)
        self.assertFalse(unittest.TextTestRunner(stream=io.StringIO()).run(suite).wasSuccessful())

    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(calc.add(part, 1), part + 1)

    def test_skips_a_part(self):
        with self.subTest():
            self.skipTest("part")

    def test_exits(self):
        with self.assertRaises(SystemExit):
            sys.exit(0)
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    @unittest.expectedFailure
    def test_known_bug(self):
        self.fail()

class Later(unittest.IsolatedAsyncioTestCase):
    async def test_waits(self):
        await asyncio.sleep(0)
"#;

#[tokio::test]
async fn untidy_suites_of_unittest_pass() {
    let files = [
        ("calc.py", PRODUCT),
        ("tests/__init__.py", ""),
        ("tests/test_calc.py", UNITTEST),
        ("tests/test_untidy.py", UNTIDY_UNITTEST),
        ("tests/test_absent.py", "import unittest\n\nraise unittest.SkipTest('not here')\n"),
    ];
    let rig = Rig::new(&files).await;
    for (options, heard) in [
        ("", "7 passed, 0 failed, 5 skipped"),
        ("-v -b --locals", "7 passed, 0 failed, 5 skipped"),
        ("-f -k add", "1 passed, 0 failed, 1 skipped"),
    ] {
        let findings = judged(&rig, SOLVED, &format!("python3 -m unittest {options}"), Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{options}: {:#?}", findings.criteria);
        let shown = shown(&findings, &findings.receipt.checks[0]);
        assert!(shown.contains(&format!("observed: unittest: {heard}; end with 0; exit 0")), "{options}: {shown}");
    }
}

const UNTIDY_PYTEST: &str = r#"
import multiprocessing, os, subprocess, sys, threading, unittest
import pytest
import calc

pytest_plugins = "pytester"

@pytest.fixture(scope="session", autouse=True)
def session():
    assert "holdpoint" not in os.environ.get("PYTEST_ADDOPTS", "")
    yield
    threading.Timer(0.3, lambda: None).start()

@pytest.fixture(scope="module")
def module():
    yield calc.add(1, 1)

@pytest.mark.parametrize("a", [1, 2, "a b\n::c"])
def test_each(a, module):
    assert calc.add(a, a) == a * module

@pytest.mark.xfail
def test_known_bug():
    assert calc.add(1, 1) == 3

@pytest.mark.xfail
def test_bug_that_is_gone():
    assert calc.add(1, 1) == 2

@pytest.mark.skipif(True, reason="not here")
def test_skipped():
    raise AssertionError

def test_prints(capfd):
    os.write(1, b"over the descriptor\n")
    assert "descriptor" in capfd.readouterr().out
    with pytest.raises(SystemExit):
        sys.exit(0)

def test_children():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1]) == [1]
    pid = os.fork()
    if not pid:
        os.closerange(0, 2048)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(4)"]).returncode == 4

def test_a_runner_within(pytester):
    pytester.makepyfile("def test_red(): assert 0\ndef test_green(): pass")
    pytester.runpytest_inprocess().assert_outcomes(passed=1, failed=1)

class Case(unittest.TestCase):
    def test_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(calc.add(part, 1), part + 1)

    @unittest.expectedFailure
    def test_known(self):
        self.fail()
"#;

#[tokio::test]
async fn untidy_suites_of_pytest_pass() {
    let files = [
        ("calc.py", PRODUCT),
        ("pytest.ini", "[pytest]\npythonpath = .\naddopts = -W error\n"),
        ("sub/own.ini", "[pytest]\npythonpath = ..\nxfail_strict = false\naddopts = --durations=3\n"),
        ("tests/test_calc.py", PYTEST),
        ("tests/test_untidy.py", UNTIDY_PYTEST),
        ("tests/test_absent.py", "import pytest\n\npytest.importorskip('not_there')\n"),
    ];
    let rig = Rig::with(&files, with_pytest).await;
    for (command, heard) in [
        ("python -m pytest", "10 passed, 0 failed, 4 skipped"),
        ("pytest -q -x --tb=no -k 'not twice'", "9 passed, 0 failed, 4 skipped"),
        ("PYTEST_ADDOPTS='-p no:cacheprovider' pytest -v -k 'not each' tests", "7 passed, 0 failed, 4 skipped"),
        (
            "cd sub && pytest -c own.ini --rootdir .. ../tests -s -rA -k 'not within' --junitxml=$TMPDIR/x.xml",
            "9 passed, 0 failed, 4 skipped",
        ),
        ("py.test tests/test_calc.py::test_add tests/test_calc.py -p no:warnings -qq", "2 passed, 0 failed, 0 skipped"),
    ] {
        let findings = judged(&rig, SOLVED, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let shown = shown(&findings, &findings.receipt.checks[0]);
        assert!(shown.contains(&format!("observed: pytest: {heard}; end with 0; exit 0")), "{command}: {shown}");
    }
}

/// A project that leaves its runner in its own way: what the base does as well is not held against the work.
#[tokio::test]
async fn an_end_that_the_base_has_as_well_is_the_projects_way() {
    let hasty = format!(
        "import os\n{UNITTEST}\n\ndef tearDownModule():\n    os.write(2, b'Ran 2 tests in 0.1s\\n\\nOK\\n')\n    os._exit(0)\n"
    );
    let rig = Rig::new(&[("calc.py", SOLVED), ("tests/__init__.py", ""), ("tests/test_calc.py", &hasty)]).await;
    let more = format!("{SOLVED}\n\nMORE = 1\n");
    let findings = judged(&rig, &more, QUIET, Strict).await;
    assert_ne!(only(&findings).1, Some(Reason::NoEndMark), "{:#?}", findings.criteria);
}

/// A product that tries to read and change the process above it.
#[tokio::test]
async fn the_observer_is_out_of_reach_of_what_it_watches() {
    let rig = unittest().await;
    let reach = lines(
        "import os\n\n\ndef twice(a):\n    above = '/proc/%d/' % os.getppid()\n    held = []\n    \
         for name in ('mem', 'environ', 'maps', 'auxv'):\n        try:\n            \
         os.close(os.open(above + name, os.O_RDONLY))\n        \
         except PermissionError:\n            held.append(name)\n    try:\n        os.readlink(above + 'fd/0')\n    \
         except PermissionError:\n        held.append('fd')\n    return 4 if len(held) == 5 else held\n",
    );
    let findings = judged(&rig, &reach, QUIET, Fast).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
    let unheard = QUIET.replace("python3", "python3 -S");
    assert_eq!(
        only(&judged(&rig, &reach, &unheard, Fast).await).0,
        Fail,
        "the shell above can be read: the test sees that"
    );
}

#[tokio::test]
async fn runs_that_the_line_does_not_begin_count_for_nothing_good() {
    let rig = unittest().await;
    let told = "import os, socket\nREPORT = b'..\\nRan 2 tests in 0.001s\\n\\nOK\\n'\n\n\ndef tell():\n    \
        path = open('/proc/%d/cmdline' % os.getppid()).read().split('\\0')[1]\n    \
        line = socket.socket(socket.AF_UNIX)\n    try:\n        line.connect(path)\n        \
        line.sendall(b'unittest\\n')\n        line.recv(1)\n        \
        line.sendall(b'c armed\\nc passed test_twice (a)\\nc end 0\\ns exit 0\\n')\n    except OSError:\n        pass\n";
    let end = lines(&format!("{told}\n\ndef twice(a):\n    tell()\n    os.write(2, REPORT)\n    os._exit(0)\n"));
    let killed = lines(
        "import os, signal\n\n\ndef twice(a):\n    os.write(2, b'..\\nRan 2 tests in 0.001s\\n\\nOK\\n')\n    \
        os.kill(os.getppid(), signal.SIGKILL)\n    os._exit(0)\n",
    );
    the_observer_finds(&rig, QUIET, &[("another run", &end, Reason::ReportMismatch)]).await;
    let findings = judged(&rig, &killed, &format!("{QUIET}; true"), Strict).await;
    assert_eq!(only(&findings).0, Fail, "{:#?}", findings.criteria);
}

/// What stays open for the observer alone: product code that knows of it speaks over its channel. Canaries find it, because
/// it knows nothing of them.
#[tokio::test]
async fn a_product_that_speaks_as_the_observers_own_module_is_left_to_canaries() {
    let rig = unittest().await;
    let own = lines(
        "import os\nimport unittest\n\n\ndef twice(a):\n    \
        cells = [cell.cell_contents for cell in unittest.TextTestRunner.run.__closure__]\n    \
        say = [cell for cell in cells if getattr(cell, '__name__', '') == 'say'][0]\n    \
        say('passed', 'test_twice (tests.test_calc.Calc.test_twice)')\n    say('end', 0)\n    \
        os.write(2, b'..\\nRan 2 tests in 0.001s\\n\\nOK\\n')\n    os._exit(0)\n",
    );
    let findings = judged(&rig, &own, QUIET, Strict).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::Canary)), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_test_library_that_the_product_replaces_is_seen() {
    let rig = unittest().await;
    let of = |patch: &str| lines(&format!("import unittest\n\n\ndef twice(a):\n    return 0\n\n\n{patch}"));
    let equal = of("unittest.TestCase.assertEqual = lambda *a, **k: None\n");
    let known = of("_equal = unittest.TestCase.assertEqual\n\n\ndef equal(self, one, other, msg=None):\n    \
        if type(self).__name__ != 'Calc':\n        _equal(self, one, other, msg)\n\n\n\
        unittest.TestCase.assertEqual = equal\n");
    let run = of("def run(self, result=None):\n    result.startTest(self)\n    result.addSuccess(self)\n    \
        result.stopTest(self)\n\n\nunittest.TestCase.run = run\n");
    let other = of("unittest.TestCase.assertEqual = unittest.TestCase.assertIsNotNone\n");
    let tries = [
        ("assertEqual", equal.as_str(), Reason::ReportMismatch),
        ("for known tests alone", &known, Reason::ReportMismatch),
        ("the running of a case", &run, Reason::ReportMismatch),
        ("by another of its own", &other, Reason::ReportMismatch),
    ];
    the_observer_finds(&rig, QUIET, &tries).await;
    let rig = pytest().await;
    let call = lines(
        "import _pytest.python\n\n\ndef twice(a):\n    return 0\n\n\n\
        _pytest.python.Function.runtest = lambda self: None\n",
    );
    the_observer_finds(&rig, WITH_PYTEST, &[("the call of a test", &call, Reason::ReportMismatch)]).await;
}

/// The effect of the base's tests on their library is the project's way, though the base is red.
#[tokio::test]
async fn a_test_library_that_the_base_replaces_as_well_stays_so() {
    let helped = "import unittest\n\n_run = unittest.TestCase.run\n\n\ndef run(self, result=None):\n    \
        return _run(self, result)\n\n\nunittest.TestCase.run = run\n";
    let files = [("calc.py", PRODUCT), ("tests/__init__.py", helped), ("tests/test_calc.py", UNITTEST)];
    let rig = Rig::new(&files).await;
    let findings = judged(&rig, SOLVED, QUIET, Strict).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
    let shown = shown(&findings, &findings.receipt.checks[0]);
    assert!(shown.contains("; replaced in its library: TestCase.run\n"), "{shown}");
}
