//! Work on a product with a suite of tests, and on the suite: Python's own test runner, one small project a solution.

use super::all_are_accepted;
use crate::corpus::{Case, case};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    return 2 * a\n";
const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n\n    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n\n    \
    @unittest.skip(\"later\")\n    def test_later(self):\n        self.fail()\n";
/// Each solution has a folder of its name.
const SUITE: &str = "cd $D && python3 -m unittest discover -v -s tests";
const QUIET: &str = "cd $D && python3 -m unittest discover -s tests";

#[test]
fn work_on_a_product_is_accepted() {
    each_in_its_folder(&product());
}

#[test]
fn work_that_adds_and_moves_tests_is_accepted() {
    each_in_its_folder(&moved_tests());
}

#[test]
fn work_that_changes_tests_is_accepted() {
    each_in_its_folder(&changed_tests());
}

fn each_in_its_folder(cases: &[Case]) {
    let mut files = Vec::new();
    for case in cases {
        files.push((format!("{}/calc.py", case.id), PRODUCT.to_owned()));
        files.push((format!("{}/tests/test_calc.py", case.id), TESTS.to_owned()));
        files.push((format!("{}/tests/golden.txt", case.id), "3\n".to_owned()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    all_are_accepted(&files, cases);
}

/// A solution in the folder of its name.
fn of(id: &'static str, what: &'static str, check: &str, script: &str) -> Case {
    // The corpus is made once a process.
    let text = |text: String| -> &'static str { text.leak() };
    case(id, what, text(check.replace("$D", id)), text(format!("cd {id}\n{script}")))
}

fn product() -> Vec<Case> {
    vec![
        of("refactors", "says the same in other words", SUITE, "sed -i 's/2 . a/a + a/' calc.py"),
        of(
            "rewrites-all",
            "rewrites the whole product",
            SUITE,
            "cat > calc.py <<'END'\n\
                import functools, operator\n\n\
                add = operator.add\n\
                twice = functools.partial(operator.mul, 2)\n\
                END",
        ),
        of(
            "splits",
            "moves a part into a module of its own",
            SUITE,
            "printf 'def twice(a):\\n\
                \x20   return 2 * a\\n\
                ' > doubling.py; printf 'from doubling import twice\\n\\n\\n\
                def add(a, b):\\n\
                \x20   return a + b\\n\
                ' > calc.py",
        ),
        of("package", "makes a package of the module", SUITE, "mkdir calc; git mv calc.py calc/__init__.py"),
        of(
            "adds-code",
            "adds what nobody tests yet",
            SUITE,
            "printf '\\n\\ndef thrice(a):\\n    return 3 * a\\n' >> calc.py",
        ),
        of(
            "metadata",
            "leaves the metadata of a package",
            SUITE,
            "mkdir calc.egg-info; echo 'Name: calc' > calc.egg-info/PKG-INFO\n\
                printf '[console_scripts]\\ncalc = calc:main\\n' > calc.egg-info/entry_points.txt",
        ),
        of(
            "dead-code",
            "takes out what nobody uses",
            SUITE,
            "printf '\\n\\n\
                def unused():\\n\
                \x20   pass\\n\
                ' >> calc.py; sed -i '/unused/,$d' calc.py; sed -i '1i # Sums.' calc.py",
        ),
        of(
            "prints",
            "prints what it does",
            SUITE,
            "sed -i 's/    return a + b/    print(\"adding\", a, b)\\n    return a + b/' calc.py",
        ),
        of(
            "prints-like-tests",
            "prints what looks like a report of tests",
            QUIET,
            "printf '\\n\\ndef report():\\n    print(\"Ran 0 tests in 1s\")\\n' >> calc.py",
        ),
        of(
            "at-exit",
            "cleans up at its end",
            SUITE,
            "printf 'import atexit\\natexit.register(lambda: None)\\n' >> calc.py",
        ),
        of(
            "forks",
            "works in processes of its own",
            SUITE,
            "cat >> calc.py <<'END'\n\n\n\
                def in_child(f, *args):\n\
                \x20   import os\n\
                \x20   pid = os.fork()\n\
                \x20   if pid == 0:\n\
                \x20       os._exit(0 if f(*args) else 1)\n\
                \x20   return os.waitpid(pid, 0)[1] == 0\n\n\n\
                assert in_child(add, 1, 1)\n\
                END",
        ),
        of(
            "threads",
            "works in threads",
            SUITE,
            "cat >> calc.py <<'END'\n\n\
                import threading\n\
                _t = threading.Thread(target=add, args=(1, 2))\n\
                _t.start()\n\
                _t.join()\n\
                END",
        ),
        of(
            "temporary",
            "uses temporary files",
            SUITE,
            "cat >> calc.py <<'END'\n\n\
                import tempfile\n\
                with tempfile.TemporaryDirectory() as d:\n\
                \x20   open(d + '/x', 'w').write('x')\n\
                END",
        ),
        of(
            "loopback",
            "speaks to itself",
            SUITE,
            "cat >> calc.py <<'END'\n\n\
                import socket\n\
                _s = socket.create_server(('127.0.0.1', 0))\n\
                _c = socket.create_connection(_s.getsockname())\n\
                _c.close()\n\
                _s.close()\n\
                END",
        ),
    ]
}

fn moved_tests() -> Vec<Case> {
    vec![
        of(
            "adds-test",
            "adds a test to a file",
            SUITE,
            "printf '\\n\
                \x20   def test_more(self):\\n\
                \x20       self.assertEqual(calc.add(0, 0), 0)\\n\
                ' >> tests/test_calc.py",
        ),
        of(
            "adds-file",
            "adds a file of tests",
            SUITE,
            "sed 's/Calc/More/' tests/test_calc.py > tests/test_more.py; sed -i '/skip/,$d' tests/test_more.py",
        ),
        of(
            "test-first",
            "adds a feature with its tests",
            SUITE,
            "printf '\\n\\n\
                def thrice(a):\\n\
                \x20   return 3 * a\\n\
                ' >> calc.py; printf 'import unittest\\n\
                import calc\\n\\n\\n\
                class T(unittest.TestCase):\\n\
                \x20   def test_thrice(self):\\n\
                \x20       self.assertEqual(calc.thrice(2), 6)\\n\
                ' > tests/test_thrice.py",
        ),
        of(
            "new-check",
            "brings the tests that its criterion names",
            "cd $D && python3 -m unittest discover -s tests -p 'test_new*.py' && test -e tests/test_new.py",
            "sed '/skip/,$d; s/Calc/New/' tests/test_calc.py > tests/test_new.py",
        ),
        of(
            "adds-skipped",
            "adds a test that is skipped here, where no names are printed",
            QUIET,
            "printf 'import unittest\\n\\n\\nclass S(unittest.TestCase):\\n    @unittest.skip(\"elsewhere\")\\n    \
                def test_s(self):\\n        pass\\n' > tests/test_s.py",
        ),
        of(
            "adds-skipped-named",
            "adds a test that is skipped here to a file",
            SUITE,
            "printf '\\n    @unittest.skip(\"elsewhere\")\\n    def test_s(self):\\n        pass\\n' >> tests/test_calc.py",
        ),
        of("renames-file", "renames a file of tests", SUITE, "git mv tests/test_calc.py tests/test_sums.py"),
        of(
            "renames-file-quiet",
            "renames a file of tests where no names are printed",
            QUIET,
            "git mv tests/test_calc.py tests/test_sums.py",
        ),
        of("renames-test", "renames a test", SUITE, "sed -i 's/test_add/test_sum_of_two/' tests/test_calc.py"),
        of("renames-class", "renames a class of tests", SUITE, "sed -i 's/class Calc/class Sums/' tests/test_calc.py"),
        of(
            "splits-tests",
            "splits a file of tests",
            SUITE,
            "sed '/test_twice/,$d' tests/test_calc.py > tests/test_add.py; \
                sed -i '/test_add/,/^$/d' tests/test_calc.py",
        ),
    ]
}

fn changed_tests() -> Vec<Case> {
    vec![
        of(
            "sharpens",
            "sharpens a test",
            SUITE,
            "sed -i 's/self.assertEqual(calc.twice(2), 4)/self.assertEqual([calc.twice(n) for n in range(3)], [0, 2, 4])/' tests/test_calc.py",
        ),
        of(
            "unskips",
            "mends and runs a test that was skipped",
            SUITE,
            "sed -i '/@unittest.skip/d; \
            s/self.fail()/self.assertEqual(calc.add(2, 2), 4)/' tests/test_calc.py",
        ),
        of("formats", "formats the tests", SUITE, "sed -i 's/    /  /g' tests/test_calc.py"),
        of("comments", "comments the tests", SUITE, "sed -i '1i # What sums are.' tests/test_calc.py"),
        of(
            "helper",
            "adds a helper of tests",
            SUITE,
            "printf 'def three():\\n\
            \x20   return 3\\n\
            ' > tests/helper.py; sed -i 's/^import calc/import calc\\n\
            import helper/; s/(1, 2), 3)/(1, 2), helper.three())/' tests/test_calc.py",
        ),
        of(
            "fixture",
            "adds a fixture and reads it",
            SUITE,
            "echo 7 > tests/seven.txt; printf '\\n\
            \x20   def test_seven(self):\\n\
            \x20       import pathlib\\n\
            \x20       self.assertEqual(pathlib.Path(__file__).with_name(\"seven.txt\").read_text(), \"7\\\\n\")\\n\
            ' >> tests/test_calc.py",
        ),
        of(
            "changes-meaning",
            "changes what is expected, as its scope asks",
            SUITE,
            "sed -i 's/return a + b/return a + b + 1/' calc.py; \
            sed -i 's/(1, 2), 3/(1, 2), 4/' tests/test_calc.py",
        )
        .scope(&["changes-meaning/calc.py", "changes-meaning/tests/**"]),
        of(
            "golden",
            "changes a golden file, as its scope asks",
            "cd $D && python3 -c 'import calc; print(calc.add(1, 2))' | cmp - tests/golden.txt",
            "sed -i 's/return a + b/return a + b + 1/' calc.py; echo 4 > tests/golden.txt",
        )
        .scope(&["golden/calc.py", "**/golden.txt"]),
        of(
            "drops",
            "takes out a feature with its tests, as its scope asks",
            SUITE,
            "sed -i '/def twice/,$d' calc.py; sed -i '/test_twice/,/^$/d' tests/test_calc.py",
        )
        .scope(&["drops/**", "drops/tests/test_calc.py"]),
        of(
            "replaces-suite",
            "replaces the suite, as its scope asks",
            SUITE,
            "rm tests/test_calc.py; printf 'import unittest\\n\
            import calc\\n\\n\\n\
            class T(unittest.TestCase):\\n\
            \x20   def test_it(self):\\n\
            \x20       self.assertTrue(calc.add(1, 1))\\n\
            ' > tests/test_it.py",
        )
        .scope(&["replaces-suite/tests/**"]),
    ]
}
