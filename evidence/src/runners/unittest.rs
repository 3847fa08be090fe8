//! Python's unittest: `Ran N tests`, the line of outcomes after it, and names with `-v`.

use super::{Tally, lines::Seen};

/// Reads all runs. `Ran N tests` counts skipped ones and expected failures as well; here they did not run.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    // Failures by their heads, and by the marks of a run without names.
    let (mut headed, mut marks) = (0_u64, 0_u64);
    let mut ran: Option<u64> = None;
    // With a doc string the name is on a line of its own, before the one with the outcome.
    let mut described: Option<&str> = None;
    // Modules that could not be loaded stand as tests. What is not there, asked for by its name, is none.
    let (mut unloaded, mut absent): (Option<&str>, u64) = (None, 0);
    for (at, line) in lines.iter().enumerate() {
        let next = || lines.get(at + 1..).and_then(|rest| rest.iter().find(|line| !line.is_empty()));
        if heads_a_failure(at.checked_sub(1).and_then(|at| lines.get(at)), line) {
            headed += 1;
        } else if is_progress(line) && next().is_some_and(|next| is_rule(next, '=') || is_rule(next, '-')) {
            marks += line.bytes().filter(|mark| matches!(mark, b'F' | b'E' | b'u')).count() as u64;
        }
        if let Some(number) = ran_line(line) {
            found = true;
            ran = Some(number);
            tally.run = tally.run.saturating_add(number);
            tally.passed = tally.passed.saturating_add(number);
        } else if ran.is_some()
            && (line.starts_with("OK") || line.starts_with("FAILED") || line.starts_with("NO TESTS RAN"))
        {
            ran = None;
            outcomes(line, &mut tally);
        } else if let Some((text, outcome)) = line.rsplit_once(" ... ") {
            let name = test_name(text).or_else(|| described.take());
            match (name, outcome) {
                (Some(name), "ok") => seen.green(name.to_owned()),
                (Some(name), "FAIL" | "ERROR" | "unexpected success") => seen.red(name.to_owned()),
                (Some(name), "expected failure") => seen.skipped(name.to_owned()),
                (Some(name), outcome) if outcome.starts_with("skipped ") => seen.skipped(name.to_owned()),
                _ => {}
            }
            described = None;
        } else {
            described = test_name(line);
        }
        if line.contains("unittest.loader._FailedTest") {
            seen.uncollected();
            unloaded = line.strip_prefix("ERROR: ").and_then(|head| head.split(' ').next()).or(unloaded);
        } else if let Some(missing) = missing(line)
            && let Some(name) = unloaded.take()
            && missing.rsplit('.').next() == Some(name)
        {
            absent += 1;
        }
    }
    found.then(|| {
        let tally = seen.complete(tally);
        let less = |count: u64| count.saturating_sub(absent);
        let red = tally.red.max(headed).max(marks);
        let uncollected = tally.uncollected && less(tally.failed) > 0;
        Tally { run: less(tally.run), failed: less(tally.failed), red, uncollected, ..tally }
    })
}

/// `FAIL: test_a (…)` below a rule, as failures are printed before the summary.
fn heads_a_failure(before: Option<&&str>, line: &str) -> bool {
    let heads = ["FAIL: ", "ERROR: ", "UNEXPECTED SUCCESS: "].iter().any(|head| line.starts_with(head));
    heads && before.is_some_and(|before| is_rule(before, '='))
}

/// `ModuleNotFoundError: No module named 'tests.test_a'`, `AttributeError: module 'test_a' has no attribute 'New'`, or
/// `AttributeError: type object 'Old' has no attribute 'test_new'`.
fn missing(line: &str) -> Option<&str> {
    let named = line.strip_suffix('\'')?;
    let module = || named.strip_prefix("ModuleNotFoundError: No module named '");
    module().or_else(|| Some(named.strip_prefix("AttributeError: ")?.rsplit_once(" has no attribute '")?.1))
}

/// The line of one mark a test, where names are not printed.
fn is_progress(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|mark| matches!(mark, b'.' | b'F' | b'E' | b's' | b'x' | b'u'))
}

fn is_rule(line: &str, of: char) -> bool {
    line.len() == 70 && line.chars().all(|c| c == of)
}

/// `Ran 7 tests in 0.001s`.
fn ran_line(line: &str) -> Option<u64> {
    let (number, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    (rest.starts_with("tests in ") || rest.starts_with("test in ")).then(|| number.parse().ok()).flatten()
}

/// `FAILED (failures=1, errors=1, skipped=1, expected failures=1)`.
fn outcomes(line: &str, tally: &mut Tally) {
    let list = line.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    for (what, number) in list.split(", ").filter_map(|item| item.split_once('=')) {
        let number: u64 = number.parse().unwrap_or(0);
        match what {
            "failures" | "errors" | "unexpected successes" => {
                tally.failed = tally.failed.saturating_add(number);
                tally.passed = tally.passed.saturating_sub(number);
            }
            "skipped" | "expected failures" => {
                tally.skipped = tally.skipped.saturating_add(number);
                tally.run = tally.run.saturating_sub(number);
                tally.passed = tally.passed.saturating_sub(number);
            }
            _ => {}
        }
    }
}

/// `test_jitter (test_retry.Retry.test_jitter)`.
fn test_name(line: &str) -> Option<&str> {
    let (name, class) = line.split_once(" (")?;
    (!name.is_empty() && !name.contains(' ') && class.ends_with(')') && !class.contains(' ')).then_some(line)
}
