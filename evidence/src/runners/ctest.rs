//! CTest: a line for each test, and `100% tests passed, 0 tests failed out of 3` at the end. It hides what programs print,
//! and keeps it in a log.

use super::{Tally, gtest, lines::Seen};

/// How CMake's `gtest_discover_tests` has one test of a program run.
const ONE_TEST: &str = "\"--gtest_filter=";

/// Reads all runs. What a test does inside its own program is not printed here.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let (mut begun, mut ended) = (0_u64, 0_u64);
    // Skipped tests are among those that passed; disabled ones are not.
    let mut skipped = 0_u64;
    for line in lines {
        if line.starts_with("Test project ") {
            begun += 1;
        } else if line.starts_with("No tests were found!!!") {
            ended += 1;
        } else if let Some((all, failed)) = summary(line) {
            ended += 1;
            tally.failed = tally.failed.saturating_add(failed);
            tally.passed = tally.passed.saturating_add(all.saturating_sub(failed));
        } else if let Some((name, outcome)) = test_line(line) {
            match outcome {
                Outcome::Green => seen.green(name.to_owned()),
                Outcome::Red => seen.red(name.to_owned()),
                Outcome::Disabled | Outcome::Skipped => {
                    skipped += u64::from(matches!(outcome, Outcome::Skipped));
                    tally.skipped = tally.skipped.saturating_add(1);
                    seen.skipped(name.to_owned());
                }
            }
        }
    }
    tally.passed = tally.passed.saturating_sub(skipped);
    tally.run = tally.passed.saturating_add(tally.failed);
    tally.unended = begun.saturating_sub(ended);
    (begun + ended > 0).then(|| seen.complete(tally))
}

/// What programs of GoogleTest printed below CTest, from its logs (`Testing/Temporary/LastTest.log`). A program that was to
/// run one test and began none was ended before it.
pub(super) fn read_google(logs: &[String]) -> Option<Tally> {
    let lines: Vec<&str> = logs.iter().flat_map(|log| log.lines()).collect();
    let (mut unbegun, mut waits) = (0_u64, false);
    for line in &lines {
        if let Some(command) = line.strip_prefix("Command: ") {
            unbegun += u64::from(waits);
            waits = command.contains(ONE_TEST);
        } else if line.starts_with(gtest::FRAME) {
            // A brief run has an end alone.
            waits = false;
        }
    }
    unbegun += u64::from(waits);
    let read = gtest::read(&lines).or_else(|| (unbegun > 0).then(Tally::default))?;
    Some(Tally { unended: read.unended.saturating_add(unbegun), ..read })
}

/// How many tests there were and how many failed: `80% tests passed, 1 tests failed out of 5`.
fn summary(line: &str) -> Option<(u64, u64)> {
    let (failed, all) = line.split_once("% tests passed, ")?.1.split_once(" failed out of ")?;
    Some((all.trim_end().parse().ok()?, failed.split(' ').next()?.parse().ok()?))
}

enum Outcome {
    Green,
    Red,
    Skipped,
    Disabled,
}

/// `1/3 Test #1: Area.Product .....   Passed    0.01 sec`.
fn test_line(line: &str) -> Option<(&str, Outcome)> {
    let (number, rest) = line.trim_start().split_once(" Test ")?;
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/') {
        return None;
    }
    let (_, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (rest, _) = rest.trim_end().strip_suffix(" sec")?.rsplit_once(' ')?;
    let dots = rest.find(" ..").unwrap_or_else(|| rest.find("..").unwrap_or(rest.len()));
    let (name, end) = rest.split_at(dots);
    let end = end.trim_start_matches([' ', '.']).trim_end();
    let outcome = match end {
        "Passed" => Outcome::Green,
        "***Skipped" => Outcome::Skipped,
        "***Not Run (Disabled)" => Outcome::Disabled,
        _ if end.starts_with("***") => Outcome::Red,
        _ => return None,
    };
    Some((name, outcome))
}
