//! Mocha: `3 passing` at the end, and names above it where its reporter prints a tree (`spec`, its default).

use super::{
    Tally,
    lines::{Seen, without_time},
};

/// Reads the counts of all runs and the names above them.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut suites: Vec<(usize, &str)> = Vec::new();
    // Behind the counts failures are explained, each under its number again.
    let (mut found, mut explains) = (false, false);
    for line in lines {
        if line.contains("Error: No test files found") {
            found = true;
        } else if let Some((number, word)) = count(line) {
            found = true;
            explains = true;
            match word {
                "passing" => tally.passed = tally.passed.saturating_add(number),
                "failing" => tally.failed = tally.failed.saturating_add(number),
                _ => tally.skipped = tally.skipped.saturating_add(number),
            }
        } else {
            let text = line.trim_start();
            let indent = line.len() - text.len();
            if let Some((outcome, name)) = test(text).filter(|_| indent > 0) {
                // Another tree begins: mocha runs once more.
                explains &= outcome == Outcome::Red;
                if !explains {
                    suites.retain(|(at, _)| *at < indent);
                    let around = suites.iter().map(|(_, suite)| *suite);
                    let name = around.chain([name]).collect::<Vec<_>>().join(" > ");
                    match outcome {
                        Outcome::Green => seen.green(name),
                        Outcome::Red => seen.red(name),
                        Outcome::Skipped => seen.skipped(name),
                    }
                }
            } else if indent >= 2 && indent % 2 == 0 {
                suites.retain(|(at, _)| *at < indent);
                suites.push((indent, text));
            }
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    found.then(|| seen.complete(tally))
}

/// `  3 passing (12ms)`, `  1 pending`, `  2 failing`.
fn count(line: &str) -> Option<(u64, &str)> {
    let mut words = line.strip_prefix("  ")?.split(' ');
    let number = words.next()?.parse().ok()?;
    let word = words.next().filter(|word| matches!(*word, "passing" | "failing" | "pending"))?;
    let timed = words.next().is_none_or(|time| word == "passing" && time.starts_with('('));
    (timed && words.next().is_none()).then_some((number, word))
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Green,
    Red,
    Skipped,
}

/// `✔ name (31ms)`, `1) name`, `- name`.
fn test(text: &str) -> Option<(Outcome, &str)> {
    if let Some(name) = text.strip_prefix("✔ ").or_else(|| text.strip_prefix("✓ ")) {
        return Some((Outcome::Green, without_time(name)));
    }
    if let Some(name) = text.strip_prefix("- ") {
        return Some((Outcome::Skipped, name));
    }
    let (number, name) = text.split_once(") ")?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    numbered.then_some((Outcome::Red, name))
}
