//! Whether anything grows with a flight: what an orchestrator looks at after every event, and the entries, in flights of more
//! and more waypoints.

use std::time::{Duration, Instant};

use holdpoint_engine::flight;
use holdpoint_protocol::{
    artifact::Verb,
    ids::AgentName,
    journal::{Entry, Record, Steered},
    state::WaypointState,
    version,
    workflow::WorkflowSpec,
};

use super::{
    report::GrowthRow,
    walk::{Walk, World, now, stored_len},
};
use crate::{BenchError, error::Doing as _, stats::Sample};

/// Waypoints of the smaller flights.
const SMALLER: [usize; 2] = [50, 500];
/// Looks at each flight.
const LOOKS: usize = 200;
/// Waypoints that are under way, at most.
const UNDER_WAY: usize = 64;
const ACTION: &str = "look at a flight in memory";

/// Flights of more and more waypoints, up to so many.
pub(super) fn rows(declared: &WorkflowSpec, most: usize) -> Result<Vec<GrowthRow>, BenchError> {
    let sizes = SMALLER.into_iter().filter(|size| *size < most).chain([most]);
    sizes.map(|waypoints| row(declared, waypoints)).collect()
}

/// Half of the waypoints are accepted, some are half way through the gates, the others have not begun.
fn row(declared: &WorkflowSpec, count: usize) -> Result<GrowthRow, BenchError> {
    let mut world = World::of(declared, count)?;
    let gates = declared.all_gates().count();
    let (under_way, entry_bytes) = walked(&world, gates / 2)?;
    let (accepted, _) = walked(&world, usize::MAX)?;
    let half = count / 2;
    let states = |at: usize| match at {
        at if at < half => Some(accepted.clone()),
        at if at < half + UNDER_WAY => Some(under_way.clone()),
        _ => None,
    };
    let plan = world.flight.submitted.plan.waypoints.iter().enumerate();
    let waypoints = plan.filter_map(|(at, waypoint)| Some((waypoint.id.clone(), states(at)?))).collect();
    let look_us = looks(&world, &waypoints).percentile_us(50);
    world.flight.take(&Entry::Steered(Box::new(reloaded(declared)?)));
    let reloaded_look_us = looks(&world, &waypoints).percentile_us(50);
    Ok(GrowthRow { waypoints: count, look_us, reloaded_look_us, entry_bytes })
}

/// The state after so many gates, or at the end; and the bytes of its last entry.
fn walked(world: &World, gates: usize) -> Result<(WaypointState, usize), BenchError> {
    let (mut walk, mut bytes) = (Walk::new(world, false), 0);
    while walk.visits() < gates {
        let Some(stepped) = walk.step()? else { break };
        bytes = stored_len(&stepped.entry)?;
    }
    Ok((walk.state, bytes))
}

/// What follows every event: what is due, how the flight stands, and when to look again.
fn looks(world: &World, waypoints: &flight::Waypoints) -> Sample {
    let begin = Instant::now();
    let look = |_| {
        let one = Instant::now();
        let due = flight::due(&world.flight, waypoints, now());
        let status = flight::flight_status(&world.flight, waypoints);
        let next = flight::next_deadline(&world.flight, waypoints, now());
        std::hint::black_box((due, status, next));
        one.elapsed()
    };
    let each: Vec<Duration> = (0..LOOKS).map(look).collect();
    Sample::new(each, begin.elapsed())
}

/// The same gates under other words: their contents are looked at once more.
fn reloaded(declared: &WorkflowSpec) -> Result<Steered, BenchError> {
    let words = WorkflowSpec { description: Some("Said otherwise.".to_owned()), ..declared.clone() };
    Ok(Steered {
        schema_version: version::CURRENT,
        verb: Verb::Reconfigure,
        by: AgentName::try_new("human-bench").doing(ACTION)?,
        workflows: vec![words.into()],
        raised: None,
        record: Record::at(now()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::workflow::{On, declared};

    #[test]
    fn an_entry_is_as_large_in_a_flight_of_many_waypoints_as_in_one_of_few() {
        let rows = rows(&declared(20, 4, On::Plan).unwrap(), 600).unwrap();
        assert_eq!(rows.iter().map(|row| row.waypoints).collect::<Vec<_>>(), [50, 500, 600]);
        let bytes: Vec<usize> = rows.iter().map(|row| row.entry_bytes).collect();
        assert!(bytes[0] > 0 && bytes.iter().all(|len| *len == bytes[0]), "{rows:?}");
        assert!(rows.iter().all(|row| row.look_us > 0.0 && row.reloaded_look_us > 0.0), "{rows:?}");
    }
}
