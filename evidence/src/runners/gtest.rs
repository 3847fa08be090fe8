//! GoogleTest: a frame of `[==========]` around each program's tests, and a line at the end of each test.

use super::{
    Tally,
    lines::{Seen, without_time},
};

/// How the lines begin that stand around a program's tests.
pub(super) const FRAME: &str = "[==========] ";

/// Reads all programs. A disabled test is not counted in their frames, and is named or counted behind them.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let (mut begun, mut ended) = (0_u64, 0_u64);
    // Failed and skipped tests are listed once more behind the frame.
    let mut inside = false;
    for line in lines {
        if let Some(frame) = line.strip_prefix(FRAME) {
            inside = frame.starts_with("Running ");
            begun += u64::from(inside);
            ended += u64::from(frame.contains(" ran."));
        } else if let Some(name) = line.strip_prefix("[       OK ] ") {
            tally.passed = tally.passed.saturating_add(1);
            seen.green(name_of(name));
        } else if let Some(name) = line.strip_prefix("[  FAILED  ] ").filter(|_| inside) {
            tally.failed = tally.failed.saturating_add(1);
            seen.red(name_of(name));
        } else if let Some(name) = line.strip_prefix("[  SKIPPED ] ").filter(|_| inside) {
            tally.skipped = tally.skipped.saturating_add(1);
            seen.skipped(name_of(name));
        } else if let Some(name) = line.strip_prefix("[ DISABLED ] ") {
            seen.skipped(name_of(name));
        } else if let Some(number) = disabled(line) {
            tally.skipped = tally.skipped.saturating_add(number);
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    tally.unended = begun.saturating_sub(ended);
    (begun > 0).then(|| seen.complete(tally))
}

/// `  YOU HAVE 3 DISABLED TESTS`.
fn disabled(line: &str) -> Option<u64> {
    let (number, rest) = line.trim_start().strip_prefix("YOU HAVE ")?.split_once(' ')?;
    rest.starts_with("DISABLED TEST").then(|| number.parse().ok()).flatten()
}

/// A test without its time and its parameters.
fn name_of(text: &str) -> String {
    let name = without_time(text);
    name.split_once(", where ").map_or(name, |(name, _)| name).to_owned()
}
