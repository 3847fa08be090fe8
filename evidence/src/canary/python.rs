//! Canaries in Python: cases of unittest, which pytest runs as well, and plain functions for pytest.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Planted, marks::FileMarks};

/// Bodies of methods that have to fail, with `@A` and `@B` for two numbers that differ.
const CASES: [&str; 14] = [
    "self.assertEqual(@A, @B)",
    "self.assertNotEqual(@A, @A)",
    "self.assertTrue(@A == @B)",
    "self.assertFalse(@A == @A)",
    "assert @A == @B",
    "with self.assertRaises(ValueError):\n            int(\"@A\")",
    "self.assertIn(@A, [@B])",
    "self.assertIs(@A, None)",
    "self.assertIsNone(@A)",
    "self.assertGreater(@A, @B)",
    "self.assertAlmostEqual(@A, @B)",
    "self.assertEqual([@A], [@B])",
    "self.fail(\"@A\")",
    "raise RuntimeError(\"@A\")",
];
/// Bodies of functions for pytest that have to fail.
const FUNCTIONS: [&str; 6] = [
    "assert @A == @B",
    "assert @A != @A",
    "assert not @B",
    "assert @A in [@B]",
    "with __import__(\"pytest\").raises(ValueError):\n        int(\"@A\")",
    "raise RuntimeError(\"@A\")",
];
/// Test names of the file that canaries take for their own, in turn: a line may ask for tests by such names.
const NAMES_MAX: usize = 8;
/// What runs the tests, or ends the program, in a file that is run as a program.
const MAIN: [&str; 4] = ["if __name__", "unittest.main(", "pytest.main(", "sys.exit("];
/// Runs the canaries of a file that is run as a program.
const RUN: &str = "\n\nif __name__ == \"__main__\":\n    __import__(\"unittest\").main()\n";

/// The file with canaries at its end and, where it runs its tests itself, before that as well: the later ones replace the
/// earlier ones of the same names, so a string with such a line in it does no harm.
pub(super) fn plant(marks: FileMarks<'_>, text: &str, pytest: bool) -> Option<Planted> {
    if !text.contains("def test") && !text.contains("TestCase") {
        return None;
    }
    let (canaries, marks) = canaries(marks, text, pytest);
    let text = match main_at(text) {
        Some(at) => {
            let (before, main) = text.split_at(at);
            format!("{before}\n{canaries}\n\n{main}\n{canaries}")
        }
        None => format!("{text}\n{canaries}"),
    };
    Some(Planted { text, marks })
}

/// Only the canaries of a file.
pub(super) fn alone(marks: FileMarks<'_>, text: &str, pytest: bool) -> String {
    let (canaries, _) = canaries(marks, text, pytest);
    canaries + RUN
}

/// Where the first line begins that runs the tests.
fn main_at(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if MAIN.iter().any(|main| line.starts_with(main)) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// The canaries of a file, each under a mark of its own, and the marks. `class` and method names are those of the file.
fn canaries(mut marks: FileMarks<'_>, text: &str, pytest: bool) -> (String, BTreeSet<String>) {
    let class = text.lines().rev().find_map(|line| identifier(line.strip_prefix("class ")?)).unwrap_or("Test");
    let names = names(text);
    let mut names = names.iter().cycle().copied();
    let (mut out, mut all) = (String::new(), BTreeSet::new());
    for body in CASES {
        let (mark, name) = (marks.next(), names.next().unwrap_or_default());
        let body = numbered(body, marks.number());
        let base = "__import__(\"unittest\").TestCase";
        let _ = write!(out, "\n\nclass {class}_{mark}({base}):\n    def {name}(self):\n        {body}\n");
        all.insert(mark);
    }
    for body in FUNCTIONS.iter().filter(|_| pytest) {
        let (mark, name) = (marks.next(), names.next().unwrap_or_default());
        let _ = write!(out, "\n\ndef {name}_{mark}():\n    {}\n", numbered(body, marks.number()));
        all.insert(mark);
    }
    (out, all)
}

fn numbered(body: &str, number: u16) -> String {
    body.replace("@A", &(u32::from(number) + 1).to_string()).replace("@B", &(u32::from(number) + 2).to_string())
}

/// The first names of tests that the text seems to define; never empty.
fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("def ").and_then(identifier).filter(|name| name.starts_with("test"));
        names.extend(name.filter(|name| !names.contains(name)));
        if names.len() == NAMES_MAX {
            break;
        }
    }
    if names.is_empty() {
        names.push("test_it");
    }
    names
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
}
