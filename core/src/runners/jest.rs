//! Jest and Vitest: the summary at the end. Their names are not read: without files they are not unique.

use super::{Tally, lines::number_before};

/// Reads `Tests:       1 failed, 2 skipped, 1 todo, 5 passed, 9 total`.
pub(super) fn read_jest(lines: &[&str]) -> Option<Tally> {
    let summaries = lines.iter().filter_map(|line| line.strip_prefix("Tests:")).filter(|rest| rest.contains(" total"));
    sum(summaries)
}

/// Reads `      Tests  2 failed | 5 passed | 1 skipped (8)`.
pub(super) fn read_vitest(lines: &[&str]) -> Option<Tally> {
    let summaries = lines.iter().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("Tests  ")?;
        (rest.trim_end().ends_with(')') || rest.contains("no tests")).then_some(rest)
    });
    sum(summaries)
}

fn sum<'a>(summaries: impl Iterator<Item = &'a str>) -> Option<Tally> {
    summaries.map(tally).reduce(|sum, one| Tally {
        run: sum.run.saturating_add(one.run),
        passed: sum.passed.saturating_add(one.passed),
        failed: sum.failed.saturating_add(one.failed),
        skipped: sum.skipped.saturating_add(one.skipped),
        ..Tally::default()
    })
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
