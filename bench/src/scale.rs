//! What a waypoint costs while many others are open, and how well many agents that think are kept busy.
//!
//! First part: flights of the fleet's pool are opened and nobody takes their turns. Meanwhile a flight with agents of its
//! own is flown, and measured. Then the orchestrator is killed and started again. Second part: builders that think for a
//! while about each turn, more and more of them, against what they could do if nothing else took time.

mod open;
mod report;
mod think;

use std::{ops::RangeInclusive, time::Duration};

use crate::{BenchError, Host};

pub use report::{OpenRow, ScaleReport, ThinkRow};

/// Open waypoints of one row: more take disk and patience.
const OPEN: RangeInclusive<usize> = 1..=1_000_000;
/// Waypoints of one flight that stays open.
const PER_FLIGHT: RangeInclusive<usize> = 1..=2_000;
/// Waypoints that are measured in each row.
const WAYPOINTS: RangeInclusive<usize> = 10..=4_000;
/// Builders of one row, each a connection.
const BUILDERS: RangeInclusive<usize> = 1..=256;
/// How long a builder may think.
const THINK: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

/// What to measure.
#[derive(Debug, Clone)]
pub struct ScaleArgs {
    /// How many waypoints are open, a row each.
    pub open: Vec<usize>,
    /// Waypoints of each flight that stays open.
    pub per_flight: usize,
    /// Waypoints that are measured in each row.
    pub waypoints: usize,
    /// How many builders think, a row each.
    pub builders: Vec<usize>,
    /// How long they think about a turn.
    pub think: Duration,
}

impl ScaleArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let refuse = |what: String, hint| Err(BenchError::usage(what, hint));
        if self.open.is_empty() && self.builders.is_empty() {
            return refuse("there is nothing to measure".to_owned(), "name rows with --open and --builders");
        }
        if let Some(n) = self.open.iter().find(|n| !OPEN.contains(n)) {
            return refuse(format!("{n} waypoints cannot be open"), "--open is from 1 to 1000000 each, with commas");
        }
        if !self.open.is_sorted() {
            return refuse(
                "the rows of --open do not grow".to_owned(),
                "give the smallest first: what is open stays open",
            );
        }
        if !PER_FLIGHT.contains(&self.per_flight) {
            return refuse(
                format!("{} waypoints cannot be one flight here", self.per_flight),
                "--per-flight is from 1 to 2000",
            );
        }
        if !WAYPOINTS.contains(&self.waypoints) {
            return refuse(
                format!("{} waypoints cannot be measured", self.waypoints),
                "--waypoints is from 10 to 4000",
            );
        }
        if let Some(n) = self.builders.iter().find(|n| !BUILDERS.contains(n)) {
            return refuse(format!("{n} builders cannot be started"), "--builders is from 1 to 256 each, with commas");
        }
        if !THINK.contains(&self.think) {
            return refuse(format!("builders cannot think for {:?}", self.think), "--think-ms is from 1 to 10000");
        }
        Ok(())
    }
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &ScaleArgs, host: &Host) -> Result<ScaleReport, BenchError> {
    args.check()?;
    let rows = if args.open.is_empty() { Vec::new() } else { open::rows(args, host).await? };
    let thinking = if args.builders.is_empty() { Vec::new() } else { think::rows(args, host).await? };
    Ok(ScaleReport::new(args, rows, thinking))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> ScaleArgs {
        let think = Duration::from_millis(200);
        ScaleArgs { open: vec![1_000, 10_000], per_flight: 100, waypoints: 500, builders: vec![1, 2], think }
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        assert!(args().check().is_ok());
        let wrong = [
            ScaleArgs { open: vec![], builders: vec![], ..args() },
            ScaleArgs { open: vec![0], ..args() },
            ScaleArgs { open: vec![10, 5], ..args() },
            ScaleArgs { per_flight: 0, ..args() },
            ScaleArgs { waypoints: 1, ..args() },
            ScaleArgs { builders: vec![1, 0], ..args() },
            ScaleArgs { think: Duration::ZERO, ..args() },
        ];
        for args in wrong {
            assert!(matches!(args.check(), Err(BenchError::Usage { .. })), "{args:?}");
        }
    }
}
