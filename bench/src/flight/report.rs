//! What was found, and how it is printed.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::{FlightArgs, Used};
use crate::{
    stats::{median, ratio},
    target::{self, Target},
};

/// What a flight with one builder, and with more, may take, as times of the script's.
const ONE_WANTED: f64 = 1.2;
const MORE_WANTED: f64 = 0.8;

/// What `bench flight` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlightReport {
    /// Waypoints of a flight.
    pub waypoints: usize,
    /// Times everything was measured; all figures are medians.
    pub rounds: u32,
    /// One for each number of builders.
    pub rows: Vec<FlightRow>,
    /// Whether a flight costs what it may cost.
    pub targets: Vec<Target>,
}

/// A flight with so many builders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlightRow {
    /// How many.
    pub builders: usize,
    /// Seconds that the flight took.
    pub ours_s: f64,
    /// Seconds that the script took.
    pub plain_s: f64,
    /// The flight's time by the script's.
    pub ratio: f64,
    /// CPU seconds of the flight for each waypoint, without those of the broker.
    pub ours_cpu_s: f64,
    /// CPU seconds of the script for each waypoint.
    pub plain_cpu_s: f64,
}

impl FlightRow {
    /// Out of all rounds, the script's side first; there is at least one.
    pub(super) fn of(args: &FlightArgs, builders: usize, rounds: &[(Used, Used)]) -> Self {
        let seconds = |of: fn(&(Used, Used)) -> Duration| median(rounds.iter().map(|r| of(r).as_secs_f64()).collect());
        let (ours_s, plain_s) = (seconds(|(_, ours)| ours.wall), seconds(|(plain, _)| plain.wall));
        let each = |cpu: f64| ratio(cpu, args.waypoints as f64);
        let (ours_cpu_s, plain_cpu_s) = (each(seconds(|(_, ours)| ours.cpu)), each(seconds(|(plain, _)| plain.cpu)));
        Self { builders, ours_s, plain_s, ratio: ratio(ours_s, plain_s), ours_cpu_s, plain_cpu_s }
    }
}

impl FlightReport {
    pub(super) fn of(args: &FlightArgs, rows: Vec<FlightRow>) -> Self {
        let worst =
            |of: &dyn Fn(&&FlightRow) -> bool| rows.iter().filter(|row| of(row)).map(|row| row.ratio).reduce(f64::max);
        let one = worst(&|row| row.builders == 1);
        let more = worst(&|row| row.builders > 1);
        let one = one.map(|found| Target::at_most("ratio, one builder", ONE_WANTED, found));
        let more = more.map(|found| Target::at_most("ratio, several builders", MORE_WANTED, found));
        let targets = one.into_iter().chain(more).collect();
        Self { waypoints: args.waypoints, rounds: args.rounds, rows, targets }
    }
}

impl fmt::Display for FlightReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} waypoints; medians of {} rounds\n", self.waypoints, self.rounds)?;
        writeln!(
            f,
            "  {:>8}{:>10}{:>10}{:>8}{:>22}{:>22}",
            "builders", "ours s", "plain s", "ratio", "ours CPU s/waypoint", "plain CPU s/waypoint"
        )?;
        for FlightRow { builders, ours_s, plain_s, ratio, ours_cpu_s, plain_cpu_s } in &self.rows {
            writeln!(
                f,
                "  {builders:>8}{ours_s:>10.2}{plain_s:>10.2}{ratio:>8.2}{ours_cpu_s:>22.3}{plain_cpu_s:>22.3}"
            )?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_and_cpu_time_is_that_of_one_waypoint() {
        let args = FlightArgs { waypoints: 10, builders: vec![1, 4], rounds: 3 };
        let used = |wall: u64, cpu: u64| Used { wall: Duration::from_secs(wall), cpu: Duration::from_secs(cpu) };
        let rounds = [(used(10, 1), used(20, 40)), (used(10, 2), used(24, 50)), (used(10, 3), used(90, 60))];
        let row = FlightRow::of(&args, 1, &rounds);
        assert_eq!((row.ours_s, row.plain_s, row.ratio), (24.0, 10.0, 2.4));
        assert_eq!((row.ours_cpu_s, row.plain_cpu_s), (5.0, 0.2));
        let four = FlightRow { builders: 4, ratio: 0.7, ..row.clone() };
        let report = FlightReport::of(&args, vec![row, four]);
        let met: Vec<bool> = report.targets.iter().map(|target| target.met).collect();
        assert_eq!(met, [false, true]);
        assert!(report.to_string().contains("ratio, several builders"), "{report}");
    }
}
