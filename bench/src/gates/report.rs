//! The figures, and whether they are what was aimed at.

use std::fmt;

use serde::Serialize;

use super::{GatesArgs, On};
use crate::{
    stats::{count, ratio},
    target::{self, Target},
    usage::ProcessUsage,
};

/// An evaluation takes microseconds.
const EVALUATE_MAX_US: f64 = 10.0;
/// A look at the whole flight follows every event: a small part of what a transition takes.
const LOOK_MAX_US: f64 = 500.0;
/// Transitions a second against those of `fly`.
const RATIO_MIN: f64 = 0.75;
/// The largest entry after the most visits against that after a hundred.
const GROWTH_MAX: f64 = 1.05;

/// What `bench gates` found.
#[derive(Debug, Clone, Serialize)]
pub struct GatesReport {
    /// `release`, or `debug`: whose figures mean nothing.
    pub build: &'static str,
    /// Gates of the workflow.
    pub gates: usize,
    /// How many of them have a condition.
    pub conditions: usize,
    /// The machine in memory.
    pub memory: MemoryFigures,
    /// How large entries get.
    pub visits: Vec<VisitsRow>,
    /// What grows with the waypoints of a flight.
    pub growth: Vec<GrowthRow>,
    /// On a fleet: `fly`, the workflow without conditions, with them, and `fly` again.
    pub flown: Vec<FlownRow>,
    /// Transitions a second without conditions against the mean of both times of `fly`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The same with conditions on the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_on_plan: Option<f64>,
    /// The same with conditions on the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_on_history: Option<f64>,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// The machine in memory.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryFigures {
    /// Waypoints that were taken through all gates.
    pub waypoints: usize,
    /// Entries that were made.
    pub steps: usize,
    /// Where an outcome leads from a gate: the median, in microseconds.
    pub evaluate_p50_us: f64,
    /// Ninety-nine of a hundred do not take longer.
    pub evaluate_p99_us: f64,
    /// A whole step, from a handoff to the next entry.
    pub step_p50_us: f64,
    /// Ninety-nine of a hundred do not take longer.
    pub step_p99_us: f64,
}

/// After so many visits of gates.
#[derive(Debug, Clone, Serialize)]
pub struct VisitsRow {
    /// Visits.
    pub visits: usize,
    /// The largest entry of the last round of gates.
    pub entry_bytes: usize,
}

/// A flight of so many waypoints, half of them accepted.
#[derive(Debug, Clone, Serialize)]
pub struct GrowthRow {
    /// Waypoints.
    pub waypoints: usize,
    /// What an orchestrator looks at after every event: the median, in microseconds.
    pub look_us: f64,
    /// The same after the workflows were reloaded.
    pub reloaded_look_us: f64,
    /// The entry half way through the gates.
    pub entry_bytes: usize,
}

/// What is measured without a fleet.
pub(super) struct InMemory {
    pub(super) machine: MemoryFigures,
    pub(super) visits: Vec<VisitsRow>,
    pub(super) growth: Vec<GrowthRow>,
}

/// A workflow on a fleet.
#[derive(Debug, Clone, Serialize)]
pub struct FlownRow {
    /// Its name.
    pub workflow: &'static str,
    /// Its gates.
    pub gates: usize,
    /// How many of them have a condition.
    pub conditions: usize,
    /// What these look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    /// Waypoints that were measured.
    pub waypoints: usize,
    /// Waypoints a second.
    pub waypoints_per_s: f64,
    /// Gates that were left a second.
    pub transitions_per_s: f64,
    /// CPU seconds of all processes for a thousand transitions.
    pub cpu_s_per_1000_transitions: f64,
    /// Each process.
    pub processes: Vec<ProcessUsage>,
}

impl GatesReport {
    pub(super) fn new(args: &GatesArgs, in_memory: InMemory, flown: Vec<FlownRow>) -> Self {
        let InMemory { machine: memory, visits, growth } = in_memory;
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let plain = against_fly(&flown, None);
        let (on_plan, on_history) = (against_fly(&flown, Some(On::Plan)), against_fly(&flown, Some(On::History)));
        let mut targets = vec![Target::at_most("evaluation p99, µs", EVALUATE_MAX_US, memory.evaluate_p99_us)];
        if let [_, few, .., many] = visits.as_slice() {
            let growth = ratio(count(many.entry_bytes), count(few.entry_bytes));
            targets.push(Target::at_most("entry, 1,000 visits to 100", GROWTH_MAX, growth));
        }
        if let Some(largest) = growth.last() {
            let found = largest.look_us.max(largest.reloaded_look_us);
            targets.push(Target::at_most("a look at the largest flight, µs", LOOK_MAX_US, found));
        }
        targets.extend(plain.map(|found| Target::at_least("transitions/s to fly's", RATIO_MIN, found)));
        targets.extend(on_plan.map(|found| Target::at_least("conditions on the plan", RATIO_MIN, found)));
        targets.extend(on_history.map(|found| Target::at_least("conditions on the history", RATIO_MIN, found)));
        Self {
            build,
            gates: args.gates,
            conditions: args.conditions,
            memory,
            visits,
            growth,
            flown,
            ratio: plain,
            ratio_on_plan: on_plan,
            ratio_on_history: on_history,
            targets,
        }
    }
}

/// Transitions a second of the workflow of many gates against those of `fly`.
fn against_fly(flown: &[FlownRow], on: Option<On>) -> Option<f64> {
    let fly: Vec<f64> = flown.iter().filter(|row| row.gates == 2).map(|row| row.transitions_per_s).collect();
    let gated = flown.iter().find(|row| row.gates > 2 && row.on == on)?;
    let mean = ratio(fly.iter().sum(), count(fly.len()));
    Some(ratio(gated.transitions_per_s, mean))
}

impl fmt::Display for GatesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryFigures { waypoints, steps, evaluate_p50_us, evaluate_p99_us, step_p50_us, step_p99_us } =
            self.memory;
        writeln!(f, "{waypoints} waypoints through {} gates in memory, {steps} entries\n", self.gates)?;
        writeln!(f, "  {:<32}{:>12}{:>12}", "µs", "p50", "p99")?;
        writeln!(f, "    {:<30}{evaluate_p50_us:>12.2}{evaluate_p99_us:>12.2}", "where an outcome leads")?;
        writeln!(f, "    {:<30}{step_p50_us:>12.2}{step_p99_us:>12.2}", "from a handoff to an entry")?;
        writeln!(f, "\n  {:<32}{:>12}", "visits", "entry bytes")?;
        for VisitsRow { visits, entry_bytes } in &self.visits {
            writeln!(f, "    {visits:<30}{entry_bytes:>12}")?;
        }
        let heads = ["a look, µs", "reloaded, µs", "entry bytes"];
        writeln!(f, "\n  {:<32}{}", "waypoints of a flight", heads.map(|head| format!("{head:>14}")).concat())?;
        for GrowthRow { waypoints, look_us, reloaded_look_us, entry_bytes } in &self.growth {
            writeln!(f, "    {waypoints:<30}{look_us:>14.1}{reloaded_look_us:>14.1}{entry_bytes:>14}")?;
        }
        if !self.flown.is_empty() {
            let heads = ["gates", "conditions", "look at", "waypoints/s", "transit./s", "CPU s/1,000"];
            writeln!(f, "\n  {:<14}{}", "workflow", heads.map(|head| format!("{head:>12}")).concat())?;
        }
        for row in &self.flown {
            let FlownRow { workflow, gates, conditions, waypoints_per_s, transitions_per_s, .. } = row;
            let seen = row.on.map_or("", On::words);
            write!(
                f,
                "    {workflow:<12}{gates:>12}{conditions:>12}{seen:>12}{waypoints_per_s:>12.1}{transitions_per_s:>12.1}"
            )?;
            writeln!(f, "{:>12.3}", row.cpu_s_per_1000_transitions)?;
        }
        target::write(&self.targets, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(gates: usize, on: Option<On>, transitions_per_s: f64) -> FlownRow {
        FlownRow {
            workflow: "any",
            gates,
            conditions: if on.is_some() { 4 } else { 0 },
            on,
            waypoints: 1,
            waypoints_per_s: 1.0,
            transitions_per_s,
            cpu_s_per_1000_transitions: 1.0,
            processes: Vec::new(),
        }
    }

    #[test]
    fn the_ratio_is_against_the_mean_of_fly_before_and_after() {
        let (plan, history) = (Some(On::Plan), Some(On::History));
        let flown = [
            row(2, None, 500.0),
            row(20, None, 400.0),
            row(20, plan, 300.0),
            row(20, history, 200.0),
            row(2, None, 300.0),
        ];
        assert_eq!((against_fly(&flown, None), against_fly(&flown, plan)), (Some(1.0), Some(0.75)));
        assert_eq!(against_fly(&flown, history), Some(0.5));
        assert_eq!((against_fly(&flown[..2], plan), against_fly(&[], None)), (None, None));
    }
}
