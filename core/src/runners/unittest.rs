//! Python's unittest: `Ran N tests`, the line of outcomes after it, and names with `-v`.

use super::{Tally, lines::Seen};

/// Reads all runs. `Ran N tests` counts skipped ones and expected failures as well; here they did not run.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    let mut ran: Option<u64> = None;
    // With a doc string the name stands on a line of its own, before the one with the outcome.
    let mut described: Option<&str> = None;
    for line in lines {
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
                _ => {}
            }
            described = None;
        } else if line.contains("unittest.loader._FailedTest") {
            seen.give_up();
        } else {
            described = test_name(line);
        }
        if line.contains("unittest.loader._FailedTest") {
            seen.give_up();
        }
    }
    found.then(|| seen.complete(tally))
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
