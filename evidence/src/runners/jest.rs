//! Jest and Vitest: the summary at the end, and names where they are printed for each file: the verifier asks for it.

use super::{
    Tally,
    lines::{Seen, number_before, without_time},
};

/// Reads `Tests:       1 failed, 2 skipped, 1 todo, 5 passed, 9 total`, and from the suites above it that one failed.
pub(super) fn read_jest(lines: &[&str]) -> Option<Tally> {
    let of = |head: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(head)).filter(|rest| rest.contains(" total")).collect()
    };
    let none = lines.iter().any(|line| line.starts_with("No tests found, exiting with code "));
    sum(&of("Tests:"), &of("Test Suites:"), jest_names(lines), none)
}

/// The trees below `PASS test/a.test.js` and `FAIL …`, each up to an empty line.
fn jest_names(lines: &[&str]) -> Seen {
    let mut seen = Seen::default();
    let mut path: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        if let Some(file) = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL ")) {
            path = vec![(0, without_time(file))];
            continue;
        }
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 0 || path.is_empty() {
            path.clear();
            continue;
        }
        path.retain(|(at, _)| *at < indent);
        let name = |name| {
            let around = path.iter().map(|(_, part)| *part);
            around.chain([without_time(name)]).collect::<Vec<_>>().join(" > ")
        };
        if let Some(test) = text.strip_prefix("✓ ") {
            seen.green(name(test));
        } else if let Some(test) = text.strip_prefix("✕ ") {
            seen.red(name(test));
        } else if let Some(test) = text.strip_prefix("○ skipped ").or_else(|| text.strip_prefix("✎ todo ")) {
            seen.skipped(name(test));
        } else {
            path.push((indent, text));
        }
    }
    seen
}

/// Reads `      Tests  2 failed | 5 passed | 1 skipped (8)`, and whether a file failed or something outside of tests.
pub(super) fn read_vitest(lines: &[&str]) -> Option<Tally> {
    let of = |head: &str| -> Vec<&str> {
        let rests = lines.iter().filter_map(|line| line.trim_start().strip_prefix(head));
        rests.filter(|rest| rest.trim_end().ends_with(')') || rest.contains("no tests")).collect()
    };
    let none = lines.iter().any(|line| line.starts_with("No test files found, exiting with code "));
    sum(&of("Tests  "), &of("Test Files  "), vitest_names(lines), none)
}

/// ` ✓ test/a.test.ts > suite > name 1ms`.
fn vitest_names(lines: &[&str]) -> Seen {
    let mut seen = Seen::default();
    for (mark, name) in lines.iter().filter_map(|line| line.strip_prefix(' ')?.split_once(' ')) {
        let timed = name.rsplit_once(' ').filter(|(_, time)| {
            let number = time.strip_suffix("ms").or_else(|| time.strip_suffix('s'));
            number.is_some_and(|number| number.parse::<f64>().is_ok())
        });
        let name = timed.map_or(name, |(name, _)| name);
        if name.contains(" > ") {
            match mark {
                "✓" => seen.green(name.to_owned()),
                "×" => seen.red(name.to_owned()),
                "↓" => seen.skipped(name.to_owned()),
                _ => {}
            }
        }
    }
    seen
}

/// `suites`: what a suite or file failed by need not be a test. `none`: it says that there was nothing to run.
fn sum(tests: &[&str], suites: &[&str], seen: Seen, none: bool) -> Option<Tally> {
    let suites = suites.iter().map(|line| number_before(line, "failed")).fold(0, u64::saturating_add);
    let sum = tests.iter().map(|line| tally(line)).reduce(|sum, one| Tally {
        run: sum.run.saturating_add(one.run),
        passed: sum.passed.saturating_add(one.passed),
        failed: sum.failed.saturating_add(one.failed),
        skipped: sum.skipped.saturating_add(one.skipped),
        ..Tally::default()
    });
    let sum = seen.complete(sum.or_else(|| none.then(Tally::default))?);
    Some(Tally { red: sum.red.max(suites), ..sum })
}

fn tally(summary: &str) -> Tally {
    let count = |word| number_before(summary, word);
    let (passed, failed) = (count("passed"), count("failed"));
    Tally {
        run: passed.saturating_add(failed),
        passed,
        failed,
        skipped: count("skipped").saturating_add(count("todo")),
        ..Tally::default()
    }
}
