//! Which canaries a run's output names, and as what.

use std::collections::BTreeSet;

use super::marks;
use crate::runners::without_escapes;

/// Canaries as a report names them, by their marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Named as failed, and nowhere as passed.
    pub red: BTreeSet<String>,
    /// Named as passed somewhere.
    pub green: BTreeSet<String>,
}

/// Reads what is said of marks that begin with `stem`.
pub(super) fn read(stem: &str, output: &str) -> Seen {
    let text = without_escapes(output);
    let mut seen = Seen::default();
    // Of the libtest program that is being read.
    let mut here: BTreeSet<String> = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("test result: ok") {
            // It ended well, so what it said before was taken back.
            for mark in std::mem::take(&mut here) {
                seen.red.remove(&mark);
                seen.green.insert(mark);
            }
        } else if line.starts_with("test result: ") {
            here.clear();
        }
        let Some(mark) = line.rfind(stem).and_then(|at| marks::at(line.get(at..)?)) else { continue };
        if is_green(line) {
            seen.red.remove(mark);
            seen.green.insert(mark.to_owned());
        } else if is_red(line) && !seen.green.contains(mark) {
            seen.red.insert(mark.to_owned());
            if line.starts_with("test ") {
                here.insert(mark.to_owned());
            }
        }
    }
    seen
}

/// A line of a test that failed: unittest's heads, pytest's summary and heads, node's, libtest's, nextest's and go's.
fn is_red(line: &str) -> bool {
    const BEGINS: [&str; 9] =
        ["FAIL: ", "ERROR: ", "FAILED ", "ERROR ", "FAIL [", "not ok ", "✖ ", "UNEXPECTED SUCCESS: ", "--- FAIL: "];
    let line = line.trim();
    let ends = [" ... FAIL", " ... ERROR", " ... FAILED"].iter().any(|end| line.ends_with(end));
    let framed = line.starts_with("____") && line.ends_with('_');
    let verbose = line.contains("::") && (line.contains(" FAILED") || line.contains(" ERROR"));
    BEGINS.iter().any(|begin| line.starts_with(begin)) || ends || framed || verbose
}

/// A line of a test that passed.
fn is_green(line: &str) -> bool {
    let line = line.trim();
    let begins = ["PASSED ", "PASS [", "✔ ", "ok ", "--- PASS: "].iter().any(|begin| line.starts_with(begin));
    begins || line.ends_with(" ... ok") || (line.contains("::") && line.contains(" PASSED"))
}
