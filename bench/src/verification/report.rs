//! What was found, and how it is printed.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::{Flown, VerificationArgs};
use crate::{
    stats::{count, ratio},
    target::{self, Target},
};

/// Runs of the suite that an attempt may take, as times of what it needs: all green, and otherwise.
const RUNS_MAX: [f64; 2] = [1.1, 1.3];
/// A flight's time, as times of that of verifiers that are always busy.
const IDEAL_MAX: f64 = 1.15;
/// A flight's time, as times of the script's.
const SCRIPT_MAX: f64 = 0.6;

/// What `bench verification` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerificationReport {
    /// Waypoints of a flight.
    pub waypoints: usize,
    /// Builders.
    pub builders: usize,
    /// Seconds that the suite takes.
    pub suite_s: f64,
    /// Percent of the waypoints whose first attempt is green.
    pub green: u32,
    /// Whether each work adds a test.
    pub tests: bool,
    /// One for each number of verifiers.
    pub rows: Vec<VerificationRow>,
    /// Whether a verdict costs what it may cost.
    pub targets: Vec<Target>,
}

/// A flight with so many verifiers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerificationRow {
    /// How many.
    pub verifiers: usize,
    /// Waypoints that landed.
    pub landed: usize,
    /// Attempts that were decided.
    pub attempts: usize,
    /// Runs of the suite.
    pub runs: usize,
    /// Runs of the suite for each attempt.
    pub runs_per_attempt: f64,
    /// Seconds that the flight took.
    pub ours_s: f64,
    /// Seconds that verifiers take that are always busy with the runs that each attempt needs.
    pub ideal_s: f64,
    /// Seconds that the script took.
    pub script_s: f64,
}

impl VerificationRow {
    pub(super) fn of(args: &VerificationArgs, verifiers: usize, flown: &Flown, script: Duration) -> Self {
        let Flown { wall, landed, attempts, runs } = *flown;
        let needed = count(attempts * args.runs_needed());
        Self {
            verifiers,
            landed,
            attempts,
            runs,
            runs_per_attempt: ratio(count(runs), count(attempts)),
            ours_s: wall.as_secs_f64(),
            ideal_s: args.suite.as_secs_f64() * ratio(needed, count(verifiers)),
            script_s: script.as_secs_f64(),
        }
    }
}

impl VerificationReport {
    pub(super) fn of(args: &VerificationArgs, rows: Vec<VerificationRow>) -> Self {
        let worst = |of: &dyn Fn(&VerificationRow) -> f64| rows.iter().map(of).fold(0.0, f64::max);
        let most = RUNS_MAX[usize::from(args.green < 100)];
        let runs = worst(&|row| ratio(row.runs_per_attempt, count(args.runs_needed())));
        let targets = vec![
            Target::at_most("runs by those needed", most, runs),
            Target::at_most("time by the ideal", IDEAL_MAX, worst(&|row| ratio(row.ours_s, row.ideal_s))),
            Target::at_most("time by the script's", SCRIPT_MAX, worst(&|row| ratio(row.ours_s, row.script_s))),
        ];
        Self {
            waypoints: args.waypoints,
            builders: args.builders,
            suite_s: args.suite.as_secs_f64(),
            green: args.green,
            tests: args.tests,
            rows,
            targets,
        }
    }
}

impl fmt::Display for VerificationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tests = if self.tests { "a test added" } else { "no test touched" };
        let Self { waypoints, builders, suite_s, green, .. } = self;
        writeln!(
            f,
            "{waypoints} waypoints, {builders} builders, a suite of {suite_s} s, {green} % green at once, {tests}\n"
        )?;
        writeln!(
            f,
            "  {:>9}{:>8}{:>10}{:>6}{:>14}{:>9}{:>9}{:>10}",
            "verifiers", "landed", "attempts", "runs", "runs/attempt", "ours s", "ideal s", "script s"
        )?;
        for VerificationRow { verifiers, landed, attempts, runs, runs_per_attempt, ours_s, ideal_s, script_s } in
            &self.rows
        {
            writeln!(
                f,
                "  {verifiers:>9}{landed:>8}{attempts:>10}{runs:>6}{runs_per_attempt:>14.2}{ours_s:>9.1}{ideal_s:>9.1}{script_s:>10.1}"
            )?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_held_to_what_attempts_need_and_the_worst_row_counts() {
        let (verifiers, suite) = (vec![1, 2], Duration::from_secs(2));
        let args = VerificationArgs { waypoints: 4, builders: 2, verifiers, suite, green: 50, tests: true };
        let flown = |wall, runs| Flown { wall: Duration::from_secs(wall), landed: 4, attempts: 6, runs };
        let row = |verifiers, flown: Flown| VerificationRow::of(&args, verifiers, &flown, Duration::from_secs(50));
        let report = VerificationReport::of(&args, vec![row(1, flown(24, 12)), row(2, flown(15, 18))]);
        assert_eq!((report.rows[0].ideal_s, report.rows[1].ideal_s), (24.0, 12.0));
        assert_eq!((report.rows[0].runs_per_attempt, report.rows[1].runs_per_attempt), (2.0, 3.0));
        let found: Vec<f64> = report.targets.iter().map(|target| target.found).collect();
        assert_eq!(found, [1.5, 1.25, 0.48]);
        assert!(report.to_string().contains("a test added"), "{report}");
    }
}
