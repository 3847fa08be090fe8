//! Jest and Vitest: the summary at the end. Their names are not read: without files they are not unique.

use super::{Tally, lines::number_before};

/// Reads `Tests:       1 failed, 2 skipped, 1 todo, 5 passed, 9 total`, and from the suites above it that one failed.
pub(super) fn read_jest(lines: &[&str]) -> Option<Tally> {
    let of = |head: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(head)).filter(|rest| rest.contains(" total")).collect()
    };
    sum(&of("Tests:"), &of("Test Suites:"))
}

/// Reads `      Tests  2 failed | 5 passed | 1 skipped (8)`, and whether a file failed or something outside of tests.
pub(super) fn read_vitest(lines: &[&str]) -> Option<Tally> {
    let of = |head: &str| -> Vec<&str> {
        let rests = lines.iter().filter_map(|line| line.trim_start().strip_prefix(head));
        rests.filter(|rest| rest.trim_end().ends_with(')') || rest.contains("no tests")).collect()
    };
    sum(&of("Tests  "), &of("Test Files  "))
}

/// `suites`: what a suite or file failed by need not be a test.
fn sum(tests: &[&str], suites: &[&str]) -> Option<Tally> {
    let suites = suites.iter().map(|line| number_before(line, "failed")).fold(0, u64::saturating_add);
    let sum = tests.iter().map(|line| tally(line)).reduce(|sum, one| Tally {
        run: sum.run.saturating_add(one.run),
        passed: sum.passed.saturating_add(one.passed),
        failed: sum.failed.saturating_add(one.failed),
        skipped: sum.skipped.saturating_add(one.skipped),
        ..Tally::default()
    })?;
    Some(Tally { red: sum.failed.max(suites), ..sum })
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
