//! JUnit below Maven (surefire, failsafe) and Gradle: what they print. Gradle prints failures alone, and neither prints names of
//! tests that passed: those are in its [reports](super::reports).

use super::{
    Tally,
    lines::{Seen, number_before},
};

/// Reads the counts at the end of each run.
pub(super) fn read(lines: &[&str]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let (mut found, mut begun, mut ended) = (false, 0_u64, 0_u64);
    for line in lines {
        let text = ["[INFO] ", "[WARNING] ", "[ERROR] "].iter().find_map(|level| line.strip_prefix(level));
        let text = text.unwrap_or(line).trim_end();
        if runs_nothing(text) {
            found = true;
        } else if text == " T E S T S" {
            begun += 1;
        } else if let Some(counts) = text.strip_prefix("Tests run: ").filter(|rest| !rest.contains("Time elapsed: ")) {
            ended += 1;
            let count = |word: &str| -> u64 {
                let number = counts.split(", ").find_map(|part| part.strip_prefix(word));
                number.and_then(|number| number.parse().ok()).unwrap_or(0)
            };
            let all: u64 = counts.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let (failed, skipped) = (count("Failures: ").saturating_add(count("Errors: ")), count("Skipped: "));
            add(&mut tally, all, failed, skipped);
        } else if let Some((all, rest)) =
            text.split_once(" tests completed, ").or_else(|| text.split_once(" test completed, "))
        {
            // Gradle's, which prints it where something failed.
            ended += u64::from(begun > ended);
            found = true;
            add(&mut tally, all.parse().unwrap_or(0), number_before(rest, "failed"), number_before(rest, "skipped"));
        } else if text.starts_with("COMPILATION ERROR") || text.starts_with("Compilation failed") {
            seen.uncollected();
        }
    }
    tally.run = tally.passed.saturating_add(tally.failed);
    tally.unended = begun.saturating_sub(ended);
    seen.give_up();
    (found || begun + ended > 0).then(|| seen.complete(tally))
}

fn add(tally: &mut Tally, all: u64, failed: u64, skipped: u64) {
    tally.failed = tally.failed.saturating_add(failed);
    tally.skipped = tally.skipped.saturating_add(skipped);
    tally.passed = tally.passed.saturating_add(all.saturating_sub(failed).saturating_sub(skipped));
}

/// What says that a goal or task for tests was come to, and does not say that it ran any.
fn runs_nothing(text: &str) -> bool {
    let goal = text.starts_with("--- ") && ["surefire", "failsafe"].iter().any(|plugin| text.contains(plugin));
    let goal = goal && (text.contains(":test ") || text.contains(":integration-test "));
    let task = text.starts_with("> Task :") && text.ends_with(" NO-SOURCE") && text.to_lowercase().contains("test");
    goal || task || text.contains("No tests matching pattern ") || text.contains("No tests found for given includes")
}
