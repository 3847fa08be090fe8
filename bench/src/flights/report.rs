//! The figures, and whether they are what was aimed at.

use std::fmt;

use serde::Serialize;

use super::FlightsArgs;
use crate::{
    stats::{count, ratio},
    target::{self, Target},
};

/// What is left after the last round by what was left after the first: memory is given back by and by, and each flight leaves an
/// entry.
const GROWTH_MAX: f64 = 1.25;

/// What `bench flights` found.
#[derive(Debug, Clone, Serialize)]
pub struct FlightsReport {
    /// `release`, or `debug`: whose figures mean little.
    pub build: &'static str,
    /// Flights of all rounds.
    pub flights: usize,
    /// A row for each round.
    pub rows: Vec<FlightsRow>,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlightsRow {
    /// Which, from 1.
    pub round: usize,
    /// Flights of it.
    pub flights: usize,
    /// Seconds until all of them had landed.
    pub flown_s: f64,
    /// Seconds until all of them were archived.
    pub archived_s: f64,
    /// Their exports.
    pub export_mib: f64,
    /// Before they were archived.
    pub full: FleetState,
    /// After.
    pub left: FleetState,
}

/// How a fleet stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FleetState {
    /// Memory of the orchestrator, in MiB.
    pub orchestrator_rss_mib: f64,
    /// Its open files.
    pub orchestrator_files: usize,
    /// Memory of the broker, in MiB.
    pub broker_rss_mib: f64,
    /// Its open files.
    pub broker_files: usize,
    /// What the broker's streams hold, as it counts.
    pub stored_mib: f64,
    /// What its store takes up on the disk.
    pub disk_mib: f64,
}

impl FlightsReport {
    pub(super) fn of(args: &FlightsArgs, rows: Vec<FlightsRow>) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let grown = |of: fn(&FleetState) -> f64| {
            let [first, last] = [rows.first(), rows.last()].map(|row| row.map_or(0.0, |row| of(&row.left)));
            ratio(last, first)
        };
        let targets = vec![
            Target::at_most(
                "orchestrator's memory, last by first",
                GROWTH_MAX,
                grown(|left| left.orchestrator_rss_mib),
            ),
            Target::at_most("broker's memory, last by first", GROWTH_MAX, grown(|left| left.broker_rss_mib)),
            Target::at_most("orchestrator's open files", GROWTH_MAX, grown(|left| count(left.orchestrator_files))),
            Target::at_most("broker's open files", GROWTH_MAX, grown(|left| count(left.broker_files))),
        ];
        Self { build, flights: args.flights, rows, targets }
    }
}

impl fmt::Display for FlightsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} flights of one waypoint, flown and archived in rounds; before / after archiving\n",
            self.flights
        )?;
        writeln!(
            f,
            "{:>6}{:>9}{:>11}{:>12}{:>12}{:>16}{:>16}{:>16}{:>18}{:>16}",
            "round",
            "flights",
            "ms/flight",
            "ms/archive",
            "export KiB",
            "orch. MiB",
            "broker MiB",
            "files o / b",
            "stored MiB",
            "disk MiB"
        )?;
        for FlightsRow { round, flights, flown_s, archived_s, export_mib, full, left } in &self.rows {
            let each = |all: f64| ratio(all, count(*flights));
            let both = |of: fn(&FleetState) -> f64| format!("{:.1} / {:.1}", of(full), of(left));
            writeln!(
                f,
                "{round:>6}{flights:>9}{:>11.1}{:>12.1}{:>12.1}{:>16}{:>16}{:>16}{:>18}{:>16}",
                each(flown_s * 1e3),
                each(archived_s * 1e3),
                each(export_mib * 1024.0),
                both(|state| state.orchestrator_rss_mib),
                both(|state| state.broker_rss_mib),
                format!("{} / {}", left.orchestrator_files, left.broker_files),
                both(|state| state.stored_mib),
                both(|state| state.disk_mib),
            )?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_after_the_last_round_is_compared_with_the_first() {
        let row = |round, rss| {
            let left = FleetState { orchestrator_rss_mib: rss, broker_rss_mib: 1.0, ..FleetState::default() };
            FlightsRow { round, flights: 10, flown_s: 1.0, archived_s: 2.0, export_mib: 0.1, full: left, left }
        };
        let report = FlightsReport::of(&FlightsArgs { flights: 20, rounds: 2 }, vec![row(1, 10.0), row(2, 20.0)]);
        assert_eq!((report.targets[0].met, report.targets[1].met), (false, true));
        assert!(report.to_string().contains("ms/archive"), "{report}");
    }
}
