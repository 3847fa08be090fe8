//! A project with a suite, and work on it: the files, for each test runner.
//!
//! Pure, but for [`SuiteRunner::find`].

use std::{fmt, fmt::Write as _, path::PathBuf};

use holdpoint_sandbox::Tool;
use serde::Serialize;

/// Files of the product. Each has a function that a test of its own looks at.
const PARTS: u32 = 8;
/// Files of tests; a Rust one is a program of its own, so there are fewer.
const PYTHON_FILES: u32 = 10;
const RUST_FILES: u32 = 2;
/// Tests of a suite, at least: one for each part, in each file of tests.
pub(super) const TESTS_MIN: u32 = PYTHON_FILES * 2;
/// Tests that a feature brings.
const NEW_TESTS: u32 = 5;

/// What runs the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuiteRunner {
    /// Python's own.
    Unittest,
    /// The one that most Python projects use.
    Pytest,
    /// `cargo test`.
    Cargo,
}

impl SuiteRunner {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Unittest, Self::Pytest, Self::Cargo];

    /// Looks whether it is there, and gives the folders that a check has to be allowed to read for it.
    pub(super) async fn find(self) -> Option<Vec<PathBuf>> {
        let (program, args) = match self {
            Self::Unittest => ("python3", ["-c", "import sys, unittest; print(sys.prefix)"].as_slice()),
            Self::Pytest => ("python3", ["-c", "import sys, pytest; print(sys.prefix)"].as_slice()),
            Self::Cargo => ("cargo", ["--version"].as_slice()),
        };
        let said = Tool::new(program).args(args).run_ok().await.ok()?;
        let prefix = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
        Some(if self.is_python() && !prefix.starts_with("/usr") { vec![prefix] } else { Vec::new() })
    }

    fn is_python(self) -> bool {
        self != Self::Cargo
    }
}

impl fmt::Display for SuiteRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unittest => "unittest",
            Self::Pytest => "pytest",
            Self::Cargo => "cargo",
        })
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleWork {
    /// One file fixed behind a test that was red; the base's run is known from the baseline turn.
    Fix,
    /// A new file, its tests in a new file, and a file that uses it, over a green base whose run nobody knows yet.
    Feature,
    /// Eight files fixed behind red tests, and a new file of tests; the base's run is known. Each file is put back
    /// alone.
    Wide,
}

impl SampleWork {
    pub(super) const ALL: [Self; 3] = [Self::Fix, Self::Feature, Self::Wide];

    /// Whether its check has to be red on the base, so that there was a baseline turn.
    pub(super) fn red_first(self) -> bool {
        self != Self::Feature
    }

    /// How many parts of the base do not do what their tests ask.
    fn broken(self) -> u32 {
        match self {
            Self::Fix => 1,
            Self::Feature => 0,
            Self::Wide => PARTS,
        }
    }
}

impl fmt::Display for SampleWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fix => "fix",
            Self::Feature => "feature",
            Self::Wide => "wide",
        })
    }
}

/// One project, and the work on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Project {
    pub(super) runner: SuiteRunner,
    pub(super) tests: u32,
    pub(super) work_ms: u32,
    pub(super) work: SampleWork,
}

/// Names and texts of files.
pub(super) type Files = Vec<(String, String)>;

impl Project {
    /// The shell line of the check.
    pub(super) fn check(&self) -> &'static str {
        match self.runner {
            SuiteRunner::Unittest => "python3 -m unittest discover -s tests -t .",
            SuiteRunner::Pytest => "python3 -m pytest tests",
            SuiteRunner::Cargo => "cargo test --locked --offline",
        }
    }

    /// The files of the base.
    pub(super) fn base(&self) -> Files {
        let broken = self.work.broken();
        let mut files: Files = (0..PARTS).map(|part| self.part(part, part >= broken, false)).collect();
        if self.runner.is_python() {
            files.push(("app/__init__.py".to_owned(), String::new()));
            files.push(("tests/__init__.py".to_owned(), String::new()));
            files.push(("pytest.ini".to_owned(), "[pytest]\npythonpath = .\n".to_owned()));
        } else {
            let manifest =
                "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";
            let lock = "version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n";
            files.push(("Cargo.toml".to_owned(), manifest.to_owned()));
            files.push(("Cargo.lock".to_owned(), lock.to_owned()));
            files.push(self.library(false));
        }
        let count = if self.runner.is_python() { PYTHON_FILES } else { RUST_FILES };
        files.extend((0..count).map(|file| self.suite(file, count)));
        files
    }

    /// The files that the work writes.
    pub(super) fn worked(&self) -> Files {
        match self.work {
            SampleWork::Fix => vec![self.part(0, true, false)],
            SampleWork::Feature if self.runner.is_python() => {
                vec![self.part(0, true, true), self.part(PARTS, true, false), self.new_tests(PARTS)]
            }
            SampleWork::Feature => {
                vec![self.part(0, true, true), self.part(PARTS, true, false), self.library(true), self.new_tests(PARTS)]
            }
            SampleWork::Wide => {
                let mut files: Files = (0..PARTS).map(|part| self.part(part, true, false)).collect();
                files.push(self.new_tests(0));
                files
            }
        }
    }

    /// A file of the product; one that `uses_new` imports the feature's file.
    fn part(&self, part: u32, right: bool, uses_new: bool) -> (String, String) {
        if self.runner.is_python() {
            let import = if uses_new { format!("from app import part{PARTS}\n\n\n") } else { String::new() };
            let last = match (right, uses_new) {
                (true, true) => format!("part{PARTS}.value({part}) - 1"),
                (true, false) => part.to_string(),
                (false, _) => "None".to_owned(),
            };
            let text = format!("{import}def value(n):\n    return n + 1\n\n\ndef last():\n    return {last}\n");
            return (format!("app/part{part}.py"), text);
        }
        let last = match (right, uses_new) {
            (true, true) => format!("crate::part{PARTS}::value({part}) - 1"),
            (true, false) => part.to_string(),
            (false, _) => "u32::MAX".to_owned(),
        };
        let text =
            format!("pub fn value(n: u32) -> u32 {{\n    n + 1\n}}\n\npub fn last() -> u32 {{\n    {last}\n}}\n");
        (format!("src/part{part}.rs"), text)
    }

    fn library(&self, with_new: bool) -> (String, String) {
        let parts = if with_new { PARTS + 1 } else { PARTS };
        ("src/lib.rs".to_owned(), (0..parts).map(|part| format!("pub mod part{part};\n")).collect())
    }

    /// One of `count` files of tests. The first ones look at parts that the work may have to fix.
    fn suite(&self, file: u32, count: u32) -> (String, String) {
        let mine = (0..self.tests).filter(|test| test % count == file);
        let tests = mine.map(|test| {
            let part = test % PARTS;
            // Each part is looked at by the first test that falls to it.
            if test < PARTS {
                self.test(test, part, "last()", part)
            } else {
                self.test(test, part, &format!("value({test})"), test + 1)
            }
        });
        self.test_file(&format!("{file}"), tests.collect())
    }

    fn new_tests(&self, part: u32) -> (String, String) {
        let tests = (0..NEW_TESTS).map(|test| self.test(test, part, &format!("value({test})"), test + 1));
        self.test_file("new", tests.collect())
    }

    fn test(&self, test: u32, part: u32, call: &str, wanted: u32) -> String {
        match self.runner {
            SuiteRunner::Unittest => {
                format!(
                    "\n    def test_{test}(self):\n        work()\n        self.assertEqual(part{part}.{call}, {wanted})\n"
                )
            }
            SuiteRunner::Pytest => {
                format!("\n\ndef test_{test}():\n    work()\n    assert part{part}.{call} == {wanted}\n")
            }
            SuiteRunner::Cargo => {
                format!(
                    "\n#[test]\nfn test_{test}() {{\n    work();\n    assert_eq!(app::part{part}::{call}, {wanted});\n}}\n"
                )
            }
        }
    }

    fn test_file(&self, name: &str, tests: String) -> (String, String) {
        let ms = self.work_ms;
        let mut text = String::new();
        if self.runner == SuiteRunner::Cargo {
            let _ = write!(
                text,
                "fn work() {{\n    let begun = std::time::Instant::now();\n    \
                 while begun.elapsed() < std::time::Duration::from_millis({ms}) {{}}\n}}\n{tests}"
            );
            return (format!("tests/suite_{name}.rs"), text);
        }
        if self.runner == SuiteRunner::Unittest {
            text.push_str("import unittest\n");
        }
        text.push_str("import time\n\nfrom app import ");
        let last = if self.work == SampleWork::Feature && name == "new" { PARTS + 1 } else { PARTS };
        let parts: Vec<String> = (0..last).map(|part| format!("part{part}")).collect();
        let _ = write!(
            text,
            "{}\n\n\ndef work():\n    end = time.thread_time() + {ms} / 1000\n    while time.thread_time() < end:\n        pass\n",
            parts.join(", ")
        );
        if self.runner == SuiteRunner::Unittest {
            let _ = write!(text, "\n\nclass Suite{name}(unittest.TestCase):");
        }
        text.push_str(&tests);
        (format!("tests/test_{name}.py"), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_has_as_many_tests_as_were_asked_for_and_work_changes_what_it_says() {
        for runner in SuiteRunner::ALL {
            for work in SampleWork::ALL {
                let project = Project { runner, tests: 300, work_ms: 5, work };
                let base = project.base();
                let marks = ["def test_", "#[test]"]
                    .map(|mark| base.iter().map(|(_, text)| text.matches(mark).count()).sum::<usize>());
                assert_eq!(marks.iter().sum::<usize>(), 300, "{runner} {work}");
                let changed = project.worked().iter().filter(|file| !base.contains(file)).count();
                assert_eq!(changed, project.worked().len(), "{runner} {work}");
            }
        }
    }
}
