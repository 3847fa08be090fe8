//! New files of the work that Python would import in place of its own modules, with Python's own test runner.

use holdpoint_protocol::{
    facts::Verdict::{Fail, Pass},
    reason::CriterionReason as Reason,
};

use crate::support::{Rig, only};

const PRODUCT: &str = "def add(a, b):\n    return a - b\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "from __future__ import annotations
import unittest
import calc

class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(1, 2), 3)
";
const UNITTEST: &str = "python3 -m unittest discover -v -s tests";
/// Says what a runner would say of the tests, and ends it.
const PLANT: &str = "import os
os.write(2, b'test_add (test_calc.Calc.test_add) ... ok\\n\\n' + b'-' * 70 + b'\\nRan 1 test in 0.001s\\n\\nOK\\n')
os._exit(0)
";

async fn rig() -> Rig {
    let program =
        "import json, sys\nsys.path.insert(0, '.')\nimport calc\nsys.exit(json.loads('3') != calc.add(1, 2))\n";
    let files = [
        ("calc.py", PRODUCT),
        ("src/app.py", "x = 1\n"),
        ("tests/test_calc.py", TESTS),
        ("tools/check.py", program),
        ("readme", ""),
    ];
    Rig::new(&files).await
}

#[tokio::test]
async fn module_planted_before_a_programs_own_ends_the_check() {
    let rig = rig().await;
    for (path, command) in [
        ("tools/json.py", "python3 tools/check.py"),
        ("tools/json.py", "cd tools && PYTHONPATH=.. python3 check.py"),
        ("tools/_json.py", "python3 tools/check.py"),
    ] {
        let commit = rig.change(&[(path, Some(PLANT))]).await;
        let findings = rig.check(&commit, command).await;
        let report = &findings.criteria[0];
        assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)), "{path}, {command}: {report:#?}");
        let said = format!("{path} is new, and would be imported");
        assert!(report.output_tail.contains(&said), "{report:#?}");
    }
}

/// Of Python's library a heard runner has imported most before the tree could be.
#[tokio::test]
async fn module_planted_before_a_heard_runners_own_ends_the_check_or_is_not_imported() {
    let rig = rig().await;
    let empty = |path| (path, Some(""));
    for (plant, more, command) in [
        ("__future__.py", &[][..], UNITTEST),
        ("__future__.py", &[], "python3 -m unittest tests/test_calc.py"),
        ("org/python/core.py", &[empty("org/__init__.py"), empty("org/python/__init__.py")], UNITTEST),
        ("src/difflib.py", &[], "PYTHONPATH=src python3 -m unittest discover -v -s tests"),
    ] {
        let commit = rig.change(&[&[(plant, Some(PLANT))], more].concat()).await;
        let findings = rig.check(&commit, command).await;
        let report = &findings.criteria[0];
        assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)), "{plant}, {command}: {report:#?}");
        let said = ["AssertionError: -1 != 3", "is new, and would be imported"];
        assert!(said.iter().any(|words| report.output_tail.contains(words)), "{report:#?}");
    }
}

#[tokio::test]
async fn new_modules_of_the_work_are_imported_as_ever() {
    let rig = rig().await;
    let files = [
        ("calc.py", "from more import deep\n\nadd = deep.add\n"),
        ("more/__init__.py", ""),
        ("more/deep.py", RIGHT),
        ("more/json.py", "x = 3\n"),
        ("src/app/__init__.py", "x = 1\n"),
        ("tool.py", "import sys, more.json\nsys.exit(more.json.x)\n"),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, Some(*text))).collect();
    let commit = rig.change(&files).await;
    for command in [
        UNITTEST,
        "python3 tools/check.py",
        "python3 -c 'import more.deep'",
        "python3 -m tool; test $? = 3",
        "PYTHONPATH=src python3 -c 'import app; assert app.x == 1'",
        "python3 -m unittest nothing.there; test $? = 1",
        "python3 -m doctest more/deep.py",
    ] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn programs_start_with_the_path_and_the_environment_that_they_would_have_had() {
    let rig = rig().await;
    let commit = rig.change(&[("more.py", Some("x = 1\n"))]).await;
    let looks = "import os, sys; e = os.environ; here = os.getcwd(); \
        assert sys.path[:4] == ['', here + '/src', here, '/x'], sys.path; assert e['PYTHONPATH'] == 'src:.:/x'; \
        assert not any('HOLDPOINT' in name for name in e); assert not any('guard' in part for part in e['PATH'].split(':')); \
        assert not any('guard' in part for part in sys.path); sys.exit(7)";
    for (command, fine) in [
        (format!("PYTHONPATH=src:.:/x python3 -W error -c \"{looks}\"; test $? = 7"), Pass),
        ("python3 -c 'import os; assert \"PYTHONPATH\" not in os.environ'".to_owned(), Pass),
        ("python3 -S -c 'import os; assert \"PYTHONPATH\" not in os.environ'".to_owned(), Pass),
        ("python3.99 -m unittest".to_owned(), holdpoint_protocol::facts::Verdict::Inconclusive),
    ] {
        let findings = rig.check(&commit, &command).await;
        assert_eq!(only(&findings).0, fine, "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn compiled_modules_in_the_tree_are_not_run() {
    let rig = Rig::new(&[("calc.py", PRODUCT), ("test_calc.py", TESTS), ("readme", "")]).await;
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("test_calc.py");
    std::fs::write(&source, TESTS.replace("calc.add(1, 2), 3", "3, 3")).unwrap();
    // Compiled by the very Python that runs the check, and not to be compared with its source.
    let compile = "import py_compile, sys; print(py_compile.compile(sys.argv[1], \
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH))";
    let done = holdpoint_sandbox::Tool::new("python3").dir(temp.path()).args(["-c", compile, "test_calc.py"]);
    let done =
        done.env("PATH", std::env::var("PATH").unwrap()).env("HOME", std::env::var("HOME").unwrap()).run_ok().await;
    let compiled = temp.path().join(String::from_utf8(done.unwrap().stdout).unwrap().trim());
    let name = format!("__pycache__/{}", compiled.file_name().unwrap().to_str().unwrap());
    let commit = rig.add_bytes(&name, &std::fs::read(compiled).unwrap()).await;
    assert_eq!(only(&rig.check(&commit, "python3 -m unittest -v").await), (Fail, Some(Reason::ExitCode)));
}
