//! `cargo test` (libtest, doc tests) and `cargo nextest run`.

mod options;

pub(crate) use options::takes_value;

use super::{
    Tally,
    lines::{Seen, number_before},
};

/// Reads the sum of all `test result:` lines. They begin their line: nextest shows those of tests indented. A test
/// program that said `running 3 tests` and no result was ended by the code under test.
pub(super) fn read_test(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let (mut begun, mut ended) = (0_u64, 0_u64);
    let mut absent = false;
    for line in lines {
        if let Some(summary) = line.strip_prefix("test result: ") {
            ended += 1;
            tally.passed = tally.passed.saturating_add(number_before(summary, "passed"));
            tally.failed = tally.failed.saturating_add(number_before(summary, "failed"));
            tally.skipped = tally.skipped.saturating_add(number_before(summary, "ignored"));
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            match outcome {
                "ok" => seen.green(name.to_owned()),
                "FAILED" => seen.red(name.to_owned()),
                outcome if outcome == "ignored" || outcome.starts_with("ignored, ") => seen.skipped(name.to_owned()),
                _ => {}
            }
        } else if begins_tests(line) {
            begun += 1;
        } else if line.starts_with("error: could not compile") {
            seen.uncollected();
        }
        absent |= has_no_target(line);
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    tally.unended = begun.saturating_sub(ended);
    (absent || begun + ended > 0).then(|| seen.complete(tally))
}

/// `running 3 tests`.
fn begins_tests(line: &str) -> bool {
    let number = line
        .strip_prefix("running ")
        .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether cargo has no target of the name that its line gives: there is nothing to run.
fn has_no_target(line: &str) -> bool {
    line.starts_with("error: no test target named ")
}

/// Reads nextest's summary. Tests that a filter of the command leaves out are among its skipped ones, so with a filter
/// nothing counts as skipped.
///
/// Where the output of passed tests is shown (the verifier asks for it), a test that nextest calls passed and whose own
/// process did not print libtest's last line did not run: the code under test ended that process by itself.
pub(super) fn read_nextest(command: &[&str], lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut tests = Tests::default();
    let mut found = lines.iter().any(|line| has_no_target(line));
    for line in lines {
        let line = line.trim_start();
        if let Some(summary) = line.strip_prefix("Summary [").and_then(|rest| rest.split_once("] ")).map(|(_, s)| s) {
            // `3/5 tests run: …` when it was broken off; `… passed (1 slow), …`.
            let Some((_, outcome)) = summary.split_once(" run: ") else { continue };
            found = true;
            let failed = ["failed", "timed"].into_iter().map(|word| number_before(outcome, word)).sum::<u64>();
            tally.passed = tally.passed.saturating_add(number_before(outcome, "passed"));
            tally.failed = tally.failed.saturating_add(failed).saturating_add(number_before(outcome, "exec"));
            tally.skipped = tally.skipped.saturating_add(number_before(outcome, "skipped"));
        } else if !found {
            tests.line(line);
        }
    }
    let (seen, ended_early, belied) = tests.end();
    tally.passed = tally.passed.saturating_sub(ended_early).saturating_sub(belied);
    tally.failed = tally.failed.saturating_add(belied);
    tally.unended = ended_early;
    tally.run = tally.passed.saturating_add(tally.failed);
    if has_filter(command) {
        tally.skipped = 0;
    }
    found.then(|| seen.complete(tally))
}

/// nextest's tests as they are printed, each with its output if that is shown.
#[derive(Default)]
struct Tests {
    seen: Seen,
    /// The passed test whose output may follow.
    open: Option<String>,
    /// Passed tests without libtest's last line.
    unended: Vec<String>,
    /// Whether its report has a failure in it.
    open_red: bool,
    /// Passed tests whose own report has a failure in it.
    belied: u64,
    /// Whether the output of passed tests is shown at all.
    shown: bool,
}

impl Tests {
    fn line(&mut self, line: &str) {
        if let Some((outcome, name)) = nextest_line(line) {
            self.close();
            match outcome {
                "PASS" | "LEAK" => self.open = Some(name),
                "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" | "XFAIL" => self.seen.red(name),
                _ => {}
            }
        } else if self.open.is_some() && is_output_head(line) {
            self.shown = true;
        } else if line.starts_with("test result: ok. 1 passed") {
            if let Some(name) = self.open.take() {
                self.open_red = false;
                self.seen.green(name);
            }
        } else if line.starts_with("test result: FAILED") {
            // If nothing better follows, its own report is red, and yet its process ended with 0.
            self.open_red = self.open.is_some();
        } else if line.starts_with("error: could not compile") {
            self.seen.uncollected();
        }
    }

    /// The passed test whose output was read did not print libtest's last line, or a red one.
    fn close(&mut self) {
        let Some(name) = self.open.take() else { return };
        if std::mem::take(&mut self.open_red) {
            self.belied += 1;
            self.seen.red(name);
        } else {
            self.unended.push(name);
        }
    }

    /// The names; how many tests were called passed and did not come to their end; and how many that reported a failure.
    fn end(mut self) -> (Seen, u64, u64) {
        self.close();
        if self.shown {
            return (self.seen, self.unended.len() as u64, self.belied);
        }
        self.unended.into_iter().for_each(|name| self.seen.green(name));
        (self.seen, 0, self.belied)
    }
}

/// The head of a test's output: `stdout ───`, and before 0.9.86 `--- STDOUT:   retry::it whole ---`.
fn is_output_head(line: &str) -> bool {
    line.starts_with("stdout ─") || (line.contains(" STDOUT: ") && line.starts_with(['-', '─']))
}

/// `PASS [   0.004s] (1/5) retry::it whole`: the outcome and `retry::it whole`.
fn nextest_line(line: &str) -> Option<(&str, String)> {
    let (outcome, rest) = line.split_once(" [")?;
    let (_, name) = rest.split_once("s] ")?;
    let name = name.trim_start();
    let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name,
        None => name,
    };
    Some((outcome, name.trim().to_owned()))
}

/// Whether the words after `run` name tests. Values of options may be taken for filters; then fewer things are
/// compared, never more.
fn has_filter(command: &[&str]) -> bool {
    const FILTERS: &[&str] = &["-E", "--filterset", "--filter-expr", "--partition", "--skip", "--exact"];
    let mut words = command.iter().skip_while(|word| !word.ends_with("nextest")).skip(1);
    while let Some(word) = words.next() {
        if FILTERS.contains(word) {
            return true;
        }
        if takes_value(word) {
            words.next();
        } else if !(word.starts_with('-') || matches!(*word, "run" | "r" | "2>1" | "2>" | "1")) {
            return true;
        }
    }
    false
}
