//! `cargo test` (libtest, doc tests) and `cargo nextest run`.

use super::{
    Tally,
    lines::{Seen, number_before},
};

/// Reads the sum of all `test result:` lines. They begin their line: nextest shows those of failing tests indented.
pub(super) fn read_test(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    for line in lines {
        if let Some(summary) = line.strip_prefix("test result: ") {
            found = true;
            tally.passed = tally.passed.saturating_add(number_before(summary, "passed"));
            tally.failed = tally.failed.saturating_add(number_before(summary, "failed"));
            tally.skipped = tally.skipped.saturating_add(number_before(summary, "ignored"));
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            match outcome {
                "ok" => seen.green(name.to_owned()),
                "FAILED" => seen.red(name.to_owned()),
                _ => {}
            }
        } else if line.starts_with("error: could not compile") {
            seen.give_up();
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    found.then(|| seen.complete(tally))
}

/// Reads nextest's summary. Tests that a filter of the command leaves out are among its skipped ones, so with a filter
/// nothing counts as skipped.
pub(super) fn read_nextest(command: &[&str], lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
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
        } else if !found && let Some((outcome, name)) = nextest_line(line) {
            match outcome {
                "PASS" | "LEAK" => seen.green(name),
                "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" | "XFAIL" => seen.red(name),
                _ => {}
            }
        } else if line.starts_with("error: could not compile") {
            seen.give_up();
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    if has_filter(command) {
        tally.skipped = 0;
    }
    found.then(|| seen.complete(tally))
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
    const VALUED: &[&str] = &[
        "--profile",
        "-P",
        "--cargo-profile",
        "-p",
        "--package",
        "--exclude",
        "-F",
        "--features",
        "--test",
        "--bin",
        "--bench",
        "--example",
        "--target",
        "--target-dir",
        "--manifest-path",
        "--color",
        "-j",
        "--test-threads",
        "--retries",
        "--config-file",
        "--run-ignored",
        "--status-level",
        "--final-status-level",
        "--failure-output",
        "--success-output",
        "--build-jobs",
        "--max-fail",
        "--no-tests",
        "--show-progress",
    ];
    const FILTERS: &[&str] = &["-E", "--filterset", "--filter-expr", "--partition", "--skip", "--exact"];
    let mut words = command.iter().skip_while(|word| !word.ends_with("nextest")).skip(1);
    while let Some(word) = words.next() {
        if VALUED.contains(word) {
            words.next();
        } else if FILTERS.contains(word)
            || !(word.starts_with('-') || matches!(*word, "run" | "r" | "2>1" | "2>" | "1"))
        {
            return true;
        }
    }
    false
}
