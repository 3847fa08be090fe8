//! Node's own test runner: the counts at the end of TAP (`# pass 3`) and of the spec report (`ℹ pass 3`).

use super::{
    Tally,
    lines::{Seen, without_time},
};

/// What a module of the verifier's says in the process of a test file that is ended before its tests.
const ENDED: &str = "holdpoint: ended before its tests: ";

/// Reads the counts at the end and the names before them.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let (mut passes, mut fails, mut tests) = (false, false, false);
    let absent = lines.iter().any(|line| line.starts_with("Could not find '"));
    for line in lines {
        let Some((word, number)) =
            line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")).and_then(|l| l.split_once(' '))
        else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else { continue };
        match word {
            "tests" => tests = true,
            "pass" => {
                passes = true;
                tally.passed = tally.passed.saturating_add(number);
            }
            "fail" | "cancelled" => {
                fails = true;
                tally.failed = tally.failed.saturating_add(number);
            }
            "skipped" | "todo" => tally.skipped = tally.skipped.saturating_add(number),
            _ => {}
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    let (seen, files) = names(lines);
    tally.unended = files + lines.iter().filter(|line| line.contains(ENDED)).count() as u64;
    (absent || (tests && passes && fails)).then(|| seen.complete(tally))
}

/// A test by its path of names. A test with children is a suite, and does not count itself. Also how many test files
/// passed as a whole, without a test in them: that is how a file looks whose process was ended before its tests began.
fn names(lines: &[&str]) -> (Seen, u64) {
    let mut seen = Seen::default();
    let mut files = 0;
    let mut suites: Vec<(usize, &str)> = Vec::new();
    let mut pending: Option<(String, bool)> = None;
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.starts_with("✖ failing tests:") {
            break;
        }
        if text.starts_with("type: 'suite'") {
            pending = None;
            continue;
        }
        if let Some(name) = text.strip_prefix("# Subtest: ").or_else(|| text.strip_prefix("▶ ")) {
            suites.retain(|(at, _)| *at < indent);
            suites.push((indent, name));
            continue;
        }
        if let Some(name) = left_out(text) {
            seen.skipped(path(&suites, indent, name));
            continue;
        }
        let Some((name, green)) = outcome(text) else { continue };
        if let Some((name, green)) = pending.take() {
            put(&mut seen, name, green);
        }
        // The report of a suite at its end has the name that opened it; in TAP a test opens its own name, too.
        files += u64::from(green && indent == 0 && is_file(name));
        let closes = text.starts_with(['✔', '✖']) && suites.iter().any(|(at, open)| *at == indent && *open == name);
        suites.retain(|(at, _)| *at < indent);
        if !closes {
            pending = Some((path(&suites, indent, name), green));
        }
    }
    if let Some((name, green)) = pending {
        put(&mut seen, name, green);
    }
    (seen, files)
}

/// A test's name behind those of the suites around it.
fn path(suites: &[(usize, &str)], indent: usize, name: &str) -> String {
    let around = suites.iter().filter(|(at, _)| *at < indent).map(|(_, suite)| *suite);
    around.chain([name]).collect::<Vec<_>>().join(" > ")
}

/// The name of a test that is skipped or still to be done.
fn left_out(text: &str) -> Option<&str> {
    let head = text.split_once(" # SKIP").or_else(|| text.split_once(" # TODO"))?.0;
    let numbered = head.strip_prefix("ok ").or_else(|| head.strip_prefix("not ok "));
    let name = match numbered {
        Some(rest) => rest.split_once(" - ")?.1,
        None => ["✔ ", "✖ ", "﹣ ", "⚠ "].iter().find_map(|mark| head.strip_prefix(mark))?,
    };
    Some(without_time(name))
}

/// Whether a test has the name of a file of tests.
pub(super) fn is_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.contains('/') && ending.is_some_and(|ending| matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts"))
}

fn put(seen: &mut Seen, name: String, green: bool) {
    if green { seen.green(name) } else { seen.red(name) }
}

/// `ok 1 - name`, `not ok 1 - name`, `✔ name (0.2ms)`, `✖ name (0.2ms)`; skipped and todo ones are left out.
fn outcome(text: &str) -> Option<(&str, bool)> {
    let (rest, green) = if let Some(rest) = text.strip_prefix("ok ") {
        (rest.split_once(" - ")?.1, true)
    } else if let Some(rest) = text.strip_prefix("not ok ") {
        (rest.split_once(" - ")?.1, false)
    } else if let Some(rest) = text.strip_prefix("✔ ") {
        (rest, true)
    } else {
        (text.strip_prefix("✖ ")?, false)
    };
    if rest.contains("# SKIP") || rest.contains("# TODO") {
        return None;
    }
    Some((without_time(rest), green))
}
