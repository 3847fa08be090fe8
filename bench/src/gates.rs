//! What a workflow of many gates costs: the machine in memory, and transitions on a fleet against those of `fly`.
//!
//! Builders change nothing, verifiers run nothing and reviewers agree, so what is left is the protocol and the gates. In
//! memory the machine takes the same waypoints through all gates, and work is sent back again and again to see that entries
//! do not grow with it.

mod flown;
mod growth;
mod memory;
mod report;
mod walk;
mod workflow;

use std::ops::RangeInclusive;

use holdpoint_planfile::{gates::GATES_MAX, plan};
use report::InMemory;

use crate::{BenchError, Host};
pub use report::{FlownRow, GatesReport, GrowthRow, MemoryFigures, VisitsRow};
pub use workflow::On;

/// Waypoints of a flight that are measured: with those before and after them, as many as a plan may have.
const WAYPOINTS_MAX: usize = 4_100;
/// Waypoints that are taken through all gates in memory.
const IN_MEMORY: RangeInclusive<usize> = 1..=100_000;
/// The fewest gates: builder and verifier, and one review.
const GATES_MIN: usize = 3;

/// What to measure.
#[derive(Debug, Clone)]
pub struct GatesArgs {
    /// Gates of the workflow.
    pub gates: usize,
    /// How many of them have a condition.
    pub conditions: usize,
    /// Waypoints of each flight that is measured on a fleet; 0: none is.
    pub waypoints: usize,
    /// Waypoints that are taken through all gates in memory.
    pub in_memory: usize,
}

impl GatesArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let Self { gates, conditions, waypoints, in_memory } = self;
        if !(GATES_MIN..=GATES_MAX).contains(gates) {
            return Err(BenchError::usage(format!("a workflow of {gates} gates"), "--gates is from 3 to 32"));
        }
        if *conditions > gates - 2 {
            let what = format!("{conditions} of {gates} gates cannot have conditions: the first two have none");
            return Err(BenchError::usage(what, "--conditions is at most two less than --gates"));
        }
        if *waypoints > WAYPOINTS_MAX {
            let what = format!("{waypoints} waypoints cannot be one flight here");
            return Err(BenchError::usage(
                what,
                "--waypoints is from 0 to 4100: with the fifth that is flown first, a plan has no more",
            ));
        }
        if !IN_MEMORY.contains(in_memory) {
            let what = format!("{in_memory} waypoints cannot be measured in memory");
            return Err(BenchError::usage(what, "--in-memory is from 1 to 100000"));
        }
        Ok(())
    }
}

/// Measures it.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &GatesArgs, host: &Host) -> Result<GatesReport, BenchError> {
    args.check()?;
    let declared = workflow::declared(args.gates, args.conditions, On::Plan)?;
    host.say(&format!("{} waypoints through {} gates in memory", args.in_memory, args.gates));
    let machine = memory::measure(&declared, args.in_memory)?;
    host.say("work that is sent back again and again");
    let visits = memory::visits(&declared)?;
    host.say(&format!("flights of up to {} waypoints in memory", args.in_memory));
    let growth = growth::rows(&declared, args.in_memory.min(plan::WAYPOINTS_MAX))?;
    let flown = if args.waypoints == 0 { Vec::new() } else { flown::rows(args, host).await? };
    Ok(GatesReport::new(args, InMemory { machine, visits, growth }, flown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_waypoints_that_can_be_measured_fill_a_plan() {
        let unused = plan::WAYPOINTS_MAX - flown::planned(WAYPOINTS_MAX);
        assert!(unused < 50, "{unused}");
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        let args = || GatesArgs { gates: 20, conditions: 4, waypoints: 200, in_memory: 5_000 };
        assert!(args().check().is_ok() && GatesArgs { waypoints: 0, ..args() }.check().is_ok());
        let wrong = [
            GatesArgs { gates: 2, conditions: 0, ..args() },
            GatesArgs { gates: GATES_MAX + 1, ..args() },
            GatesArgs { conditions: 19, ..args() },
            GatesArgs { waypoints: WAYPOINTS_MAX + 1, ..args() },
            GatesArgs { in_memory: 0, ..args() },
        ];
        for args in wrong {
            assert!(matches!(args.check(), Err(BenchError::Usage { .. })), "{args:?}");
        }
    }
}
