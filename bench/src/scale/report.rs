//! The figures, and whether they are what was aimed at.

use std::fmt;

use serde::Serialize;

use super::ScaleArgs;
use crate::{
    stats::ratio,
    target::{self, Target},
};

/// By how much a waypoint may cost more with the most open than with the fewest.
const GROWTH_MAX: f64 = 1.25;
/// The share of their time that builders think, up to so many of them.
const EFFICIENCY_MIN: f64 = 0.95;
const EFFICIENT_BUILDERS: usize = 16;

/// What `bench scale` found.
#[derive(Debug, Clone, Serialize)]
pub struct ScaleReport {
    /// `release`, or `debug`: whose figures mean nothing.
    pub build: &'static str,
    /// Waypoints that were measured in each row.
    pub waypoints: usize,
    /// Waypoints of each flight that stays open.
    pub per_flight: usize,
    /// How long builders thought about a turn, in milliseconds.
    pub think_ms: u128,
    /// While so many are open.
    pub open: Vec<OpenRow>,
    /// With builders that think.
    pub thinking: Vec<ThinkRow>,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// While so many are open.
#[derive(Debug, Clone, Serialize)]
pub struct OpenRow {
    /// Open waypoints.
    pub open: usize,
    /// The flights that they belong to.
    pub flights: usize,
    /// All entries in the journal stream.
    pub journal_entries: u64,
    /// Further waypoints a second.
    pub throughput: f64,
    /// CPU seconds of all processes for a thousand further waypoints.
    pub cpu_s_per_1000: f64,
    /// Of these the orchestrator's.
    pub orchestrator_cpu_s_per_1000: f64,
    /// Of these the broker's.
    pub broker_cpu_s_per_1000: f64,
    /// The orchestrator's memory.
    pub orchestrator_rss_mib: f64,
    /// The broker's memory.
    pub broker_rss_mib: f64,
    /// From the start of an orchestrator until it knows how every open flight stands.
    pub restart_s: f64,
}

/// With so many builders that think.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThinkRow {
    /// Builders.
    pub builders: usize,
    /// Waypoints that were measured.
    pub waypoints: usize,
    /// How long these take if nothing but thinking takes time.
    pub ideal_s: f64,
    /// How long they took.
    pub actual_s: f64,
    /// The one by the other.
    pub efficiency: f64,
}

impl ScaleReport {
    pub(super) fn new(args: &ScaleArgs, open: Vec<OpenRow>, thinking: Vec<ThinkRow>) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let ScaleArgs { per_flight, waypoints, think, .. } = args;
        let targets = targets(&open, &thinking);
        let (waypoints, per_flight, think_ms) = (*waypoints, *per_flight, think.as_millis());
        Self { build, waypoints, per_flight, think_ms, open, thinking, targets }
    }
}

fn targets(open: &[OpenRow], thinking: &[ThinkRow]) -> Vec<Target> {
    let mut targets = Vec::new();
    if let [first, .., last] = open {
        let cpu = ratio(last.cpu_s_per_1000, first.cpu_s_per_1000);
        targets.push(Target::at_most("CPU, most open to fewest", GROWTH_MAX, cpu));
        let time = ratio(first.throughput, last.throughput);
        targets.push(Target::at_most("time, most open to fewest", GROWTH_MAX, time));
    }
    let efficient = thinking.iter().filter(|row| row.builders <= EFFICIENT_BUILDERS).map(|row| row.efficiency);
    if let Some(worst) = efficient.min_by(f64::total_cmp) {
        targets.push(Target::at_least("efficiency up to 16 builders", EFFICIENCY_MIN, worst));
    }
    targets
}

impl fmt::Display for ScaleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.open.is_empty() {
            self.write_open(f)?;
        }
        if !self.thinking.is_empty() {
            self.write_thinking(f)?;
        }
        target::write(&self.targets, f)
    }
}

impl ScaleReport {
    fn write_open(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} further waypoints while others are open, {} a flight\n", self.waypoints, self.per_flight)?;
        let heads = [
            "open",
            "entries",
            "waypoints/s",
            "CPU s/1,000",
            "orchestr.",
            "broker",
            "orch. MiB",
            "brok. MiB",
            "restart s",
        ];
        writeln!(f, "{}", heads.map(|head| format!("{head:>12}")).concat())?;
        for row in &self.open {
            write!(
                f,
                "{:>12}{:>12}{:>12.1}{:>12.3}",
                row.open, row.journal_entries, row.throughput, row.cpu_s_per_1000
            )?;
            write!(f, "{:>12.3}{:>12.3}", row.orchestrator_cpu_s_per_1000, row.broker_cpu_s_per_1000)?;
            writeln!(f, "{:>12.1}{:>12.1}{:>12.2}", row.orchestrator_rss_mib, row.broker_rss_mib, row.restart_s)?;
        }
        Ok(())
    }

    fn write_thinking(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nbuilders that think for {} ms about a turn\n", self.think_ms)?;
        writeln!(f, "{:>12}{:>12}{:>12}{:>12}{:>12}", "builders", "waypoints", "ideal s", "actual s", "efficiency")?;
        for ThinkRow { builders, waypoints, ideal_s, actual_s, efficiency } in &self.thinking {
            writeln!(f, "{builders:>12}{waypoints:>12}{ideal_s:>12.2}{actual_s:>12.2}{efficiency:>12.3}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(throughput: f64, cpu_s_per_1000: f64) -> OpenRow {
        OpenRow {
            open: 1,
            flights: 1,
            journal_entries: 1,
            throughput,
            cpu_s_per_1000,
            orchestrator_cpu_s_per_1000: 0.1,
            broker_cpu_s_per_1000: 0.1,
            orchestrator_rss_mib: 1.0,
            broker_rss_mib: 1.0,
            restart_s: 0.1,
        }
    }

    fn thinking(builders: usize, efficiency: f64) -> ThinkRow {
        ThinkRow { builders, waypoints: 1, ideal_s: 1.0, actual_s: 1.0, efficiency }
    }

    #[test]
    fn growth_is_from_the_first_row_to_the_last() {
        let targets = targets(&[row(100.0, 1.0), row(1.0, 9.0), row(50.0, 1.2)], &[]);
        assert_eq!((targets[0].found, targets[0].met), (1.2, true));
        assert_eq!((targets[1].found, targets[1].met), (2.0, false));
    }

    #[test]
    fn efficiency_counts_up_to_sixteen_builders_and_the_worst_of_them() {
        let targets = targets(&[row(1.0, 1.0)], &[thinking(1, 0.97), thinking(16, 0.96), thinking(32, 0.5)]);
        assert_eq!(targets.len(), 1, "one row shows no growth");
        assert_eq!((targets[0].found, targets[0].met), (0.96, true));
    }
}
