//! The first part: the machine in memory, waypoint by waypoint, and how large its entries get.

use std::time::{Duration, Instant};

use holdpoint_planfile::gates::Workflow;
use holdpoint_protocol::{state::Outcome, workflow::WorkflowSpec};

use super::{
    report::{MemoryFigures, VisitsRow},
    walk::{Walk, World, stored_len},
};
use crate::{BenchError, error::Doing as _, stats::Sample};

/// After so many visits the size of entries is reported.
const VISITS: [usize; 3] = [20, 100, 1_000];

/// Takes so many waypoints through all gates.
pub(super) fn measure(declared: &WorkflowSpec, waypoints: usize) -> Result<MemoryFigures, BenchError> {
    let world = World::new(declared)?;
    let (mut steps, begin) = (Vec::new(), Instant::now());
    for _ in 0..waypoints {
        let mut walk = Walk::new(&world, false);
        while let Some(stepped) = walk.step()? {
            steps.push(stepped.took);
        }
    }
    let steps = Sample::new(steps, begin.elapsed());
    let evaluations = evaluations(declared, waypoints)?;
    Ok(MemoryFigures {
        waypoints,
        steps: steps.len(),
        evaluate_p50_us: evaluations.percentile_us(50),
        evaluate_p99_us: evaluations.percentile_us(99),
        step_p50_us: steps.percentile_us(50),
        step_p99_us: steps.percentile_us(99),
    })
}

/// Where each outcome leads from each gate, once a waypoint.
fn evaluations(declared: &WorkflowSpec, waypoints: usize) -> Result<Sample, BenchError> {
    const ACTION: &str = "evaluate a gate";
    let workflow = Workflow::try_new(declared).doing(ACTION)?;
    let (mut each, begin) = (Vec::new(), Instant::now());
    for _ in 0..waypoints {
        for gate in declared.all_gates() {
            for outcome in [Outcome::Complete, Outcome::NeedsReview] {
                let one = Instant::now();
                let moved = workflow.evaluate(&gate.id, outcome, |_| true).doing(ACTION)?;
                std::hint::black_box(moved);
                each.push(one.elapsed());
            }
        }
    }
    Ok(Sample::new(each, begin.elapsed().max(Duration::from_nanos(1))))
}

/// The largest entry of the last three rounds of gates, after so many visits: the last gate sends the work back each time, and a
/// person has it tried again whenever it is held.
pub(super) fn visits(declared: &WorkflowSpec) -> Result<Vec<VisitsRow>, BenchError> {
    const ACTION: &str = "send work back in memory";
    let (world, gates) = (World::new(declared)?, declared.all_gates().count());
    let mut walk = Walk::new(&world, true);
    let (mut lens, mut rows) = (Vec::new(), Vec::new());
    for visits in VISITS {
        while walk.visits() < visits {
            let stepped = walk.step()?.ok_or("work that is always sent back was accepted").doing(ACTION)?;
            lens.push(stored_len(&stepped.entry)?);
        }
        let rounds = lens.get(lens.len().saturating_sub(3 * gates)..).unwrap_or_default();
        rows.push(VisitsRow { visits, entry_bytes: rounds.iter().copied().max().unwrap_or_default() });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::workflow::{On, declared};

    #[test]
    fn every_waypoint_goes_through_all_gates_in_memory() {
        let figures = measure(&declared(20, 4, On::Plan).unwrap(), 3).unwrap();
        // Each is opened, and left twenty times.
        assert_eq!((figures.waypoints, figures.steps), (3, 3 * 21));
        assert!(figures.step_p50_us > 0.0 && figures.step_p99_us >= figures.step_p50_us);
        assert!(figures.evaluate_p99_us >= figures.evaluate_p50_us);
    }

    #[test]
    fn entries_are_as_large_after_a_thousand_visits_as_after_a_hundred() {
        let rows = visits(&declared(20, 4, On::Plan).unwrap()).unwrap();
        assert_eq!(rows.iter().map(|row| row.visits).collect::<Vec<_>>(), VISITS);
        let (few, many) = (rows[1].entry_bytes, rows[2].entry_bytes);
        // Ids and counts have more digits.
        assert!(few > 0 && many * 20 <= few * 21, "{rows:?}");
    }
}
