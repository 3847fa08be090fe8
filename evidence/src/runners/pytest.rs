//! pytest: the summary in its frame or, with `-q`, without; names with `-v` or `-rA`.

use super::{
    Tally,
    lines::{Seen, number_before},
};

/// Words of a summary. One of them, or `no tests ran`, distinguishes it from another line in a frame.
const OUTCOMES: &[&str] = &["passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors", "deselected"];

/// Reads all summaries. An expected failure counts as skipped: to mark a test so takes it out of the judgement.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut found = false;
    let mut verbose = false;
    let mut marks = 0_u64;
    for line in lines {
        if let Some(summary) = summary(line) {
            found = true;
            let errors = number_before(summary, "error").saturating_add(number_before(summary, "errors"));
            let passed = number_before(summary, "passed").saturating_add(number_before(summary, "xpassed"));
            let skipped = number_before(summary, "skipped").saturating_add(number_before(summary, "xfailed"));
            tally.passed = tally.passed.saturating_add(passed);
            tally.failed = tally.failed.saturating_add(number_before(summary, "failed")).saturating_add(errors);
            tally.skipped = tally.skipped.saturating_add(skipped);
            verbose = false;
        } else if line.starts_with("ERROR collecting")
            || line.contains(" ERROR collecting ")
            || line.contains("during collection")
        {
            seen.uncollected();
        } else if let Some((name, outcome)) = verbose_line(line) {
            verbose = true;
            note(&mut seen, name, outcome);
        } else if !verbose && let Some((outcome, name)) = report_line(line) {
            note(&mut seen, name, outcome);
        } else {
            marks = marks.saturating_add(progress(line));
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    found.then(|| {
        let tally = seen.complete(tally);
        Tally { red: tally.red.max(marks), ..tally }
    })
}

/// Failures and errors in a line of marks: `tests/test_a.py ..F.   [ 50%]`, with `-q` without the file.
fn progress(line: &str) -> u64 {
    let Some((text, _)) = line.rsplit_once('[').filter(|(_, percent)| percent.ends_with("%]")) else { return 0 };
    let mut words = text.split_whitespace().rev();
    let marks = words.next().unwrap_or_default();
    let of_marks = marks.bytes().all(|mark| b".FEsxXRu,-".contains(&mark));
    if !of_marks || words.nth(1).is_some() {
        return 0;
    }
    marks.bytes().filter(|mark| matches!(mark, b'F' | b'E')).count() as u64
}

/// `6 passed, 1 skipped in 0.04s`, with or without a frame of `=`.
fn summary(line: &str) -> Option<&str> {
    let text = line.trim_matches(['=', ' ']);
    let (outcomes, time) = text.rsplit_once(" in ")?;
    let timed = time.split(' ').next()?.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
    let item = |item: &str| {
        let mut words = item.trim().split(' ');
        let number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
        number
            && words.next().is_some_and(|word| {
                OUTCOMES.contains(&word) || word.starts_with("warning") || word == "subtests" || word == "rerun"
            })
    };
    let counts = outcomes == "no tests ran" || outcomes.split(',').all(item);
    (timed && counts).then_some(outcomes)
}

/// `test_a.py::test_b[1] PASSED     [ 11%]`.
fn verbose_line(line: &str) -> Option<(&str, &str)> {
    let line = match line.rsplit_once('[') {
        Some((rest, percent)) if percent.ends_with("%]") => rest.trim_end(),
        _ => line,
    };
    if !line.contains("::") || line.starts_with(' ') {
        return None;
    }
    let outcome = |word: &'static str| {
        // `SKIPPED (reason)`, `XFAIL (reason)`.
        let (name, rest) = line.rsplit_once(&format!(" {word}"))?;
        (rest.is_empty() || rest.starts_with(" (")).then_some((name, word))
    };
    ["PASSED", "FAILED", "ERROR", "XPASS", "SKIPPED", "XFAIL"].into_iter().find_map(outcome)
}

/// `PASSED test_a.py::test_b[1]` of the short summary; with workers `[gw1] [ 14%] PASSED test_a.py::test_b[1] `.
fn report_line(line: &str) -> Option<(&str, &str)> {
    let worker = line.strip_prefix("[gw").and_then(|rest| rest.split_once("%] "));
    let (outcome, name) = worker.map_or(line, |(_, rest)| rest).trim_end().split_once(' ')?;
    let name = if outcome == "PASSED" { name } else { name.split(" - ").next()? };
    // A line of a log has blanks behind its level.
    let is_test = name.contains("::") && !name.starts_with(' ');
    (matches!(outcome, "PASSED" | "FAILED" | "ERROR" | "XPASS" | "XFAIL") && is_test).then_some((outcome, name))
}

fn note(seen: &mut Seen, name: &str, outcome: &str) {
    match outcome {
        "PASSED" | "XPASS" => seen.green(name.to_owned()),
        "FAILED" | "ERROR" => seen.red(name.to_owned()),
        _ => seen.skipped(name.to_owned()),
    }
}
