//! The figures, and whether they are what was aimed at.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::LandingArgs;
use crate::{
    stats::{count, ratio},
    target::{self, Target},
};

/// The share of what the verifiers could do, with however many of them.
const EFFICIENCY_MIN: f64 = 0.7;

/// What `bench landing` found.
#[derive(Debug, Clone, Serialize)]
pub struct LandingReport {
    /// `release`, or `debug`: whose figures mean little.
    pub build: &'static str,
    /// Waypoints of each flight.
    pub waypoints: usize,
    /// Builders.
    pub builders: usize,
    /// How long a verdict took at least, in milliseconds.
    pub check_ms: u128,
    /// A row for each number of verifiers.
    pub rows: Vec<LandingRow>,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// With so many verifiers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LandingRow {
    /// Verifiers.
    pub verifiers: usize,
    /// Seconds until everything landed if nothing but checks took time.
    pub ideal_s: f64,
    /// Seconds until everything landed.
    pub actual_s: f64,
    /// Landings a minute.
    pub per_minute: f64,
    /// The ideal by the actual time.
    pub efficiency: f64,
}

impl LandingRow {
    pub(super) fn of(args: &LandingArgs, verifiers: usize, wall: Duration) -> Self {
        let ideal_s = args.check.as_secs_f64() * ratio(count(args.verdicts()), count(verifiers));
        let actual_s = wall.as_secs_f64();
        let per_minute = ratio(count(args.waypoints) * 60.0, actual_s);
        Self { verifiers, ideal_s, actual_s, per_minute, efficiency: ratio(ideal_s, actual_s) }
    }
}

impl LandingReport {
    pub(super) fn of(args: &LandingArgs, rows: Vec<LandingRow>) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let worst = rows.iter().map(|row| row.efficiency).min_by(f64::total_cmp).unwrap_or(0.0);
        let targets = vec![Target::at_least("landings by the ideal", EFFICIENCY_MIN, worst)];
        let LandingArgs { waypoints, builders, check, .. } = args;
        Self { build, waypoints: *waypoints, builders: *builders, check_ms: check.as_millis(), rows, targets }
    }
}

impl fmt::Display for LandingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waypoints, builders, check_ms, .. } = self;
        writeln!(f, "{waypoints} waypoints by {builders} builders, checks of {check_ms} ms\n")?;
        writeln!(
            f,
            "{:>12}{:>12}{:>12}{:>14}{:>12}",
            "verifiers", "ideal s", "actual s", "landings/min", "efficiency"
        )?;
        for LandingRow { verifiers, ideal_s, actual_s, per_minute, efficiency } in &self.rows {
            writeln!(f, "{verifiers:>12}{ideal_s:>12.2}{actual_s:>12.2}{per_minute:>14.1}{efficiency:>12.3}")?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_is_a_verdict_for_each_waypoint_and_the_worst_row_counts() {
        let check = Duration::from_secs(1);
        let args = LandingArgs { waypoints: 64, builders: 16, verifiers: vec![1, 8], check };
        let row = |verifiers, seconds| LandingRow::of(&args, verifiers, Duration::from_secs(seconds));
        let report = LandingReport::of(&args, vec![row(1, 64), row(8, 32)]);
        assert_eq!((report.rows[0].efficiency, report.rows[1].ideal_s), (1.0, 8.0));
        assert_eq!((report.rows[1].per_minute, report.targets[0].met), (120.0, false));
        assert!(report.to_string().contains("verifiers"), "{report}");
    }
}
