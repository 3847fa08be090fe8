//! May a flight leave the broker? Only one in which no entry can follow any more: nothing is due in it, and nobody can have
//! anything in it tried again. The retirement is appended only if no journal of the flight has moved.

use holdpoint_protocol::ids::WaypointId;

use super::status;
use crate::state::{FlightState, Waypoints};

/// Waypoints that are named.
const NAMED_MAX: usize = 3;

/// What still keeps a flight on the broker: waypoints that can go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{} can still go on", listed(.open), others(*.more))]
pub struct NotOver {
    /// Some of them, in the plan's order.
    pub open: Vec<WaypointId>,
    /// How many more there are.
    pub more: usize,
}

fn listed(open: &[WaypointId]) -> String {
    open.iter().map(WaypointId::as_str).collect::<Vec<_>>().join(", ")
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// Whether every waypoint has landed, changed nothing, or was cancelled.
///
/// # Errors
/// [`NotOver`] names those that have not.
pub fn retirable(flight: &FlightState, waypoints: &Waypoints) -> Result<(), NotOver> {
    let planned = flight.all_planned().map(|waypoint| &waypoint.id);
    let is_open = |id: &&WaypointId| !status(flight, waypoints, id).is_over();
    let mut open: Vec<WaypointId> = planned.filter(is_open).cloned().collect();
    if open.is_empty() {
        return Ok(());
    }
    let more = open.len().saturating_sub(NAMED_MAX);
    open.truncate(NAMED_MAX);
    Err(NotOver { open, more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{
            fixture::Fixture,
            parts::{fleet, id, plan, waypoint},
        },
        waypoint::Input,
    };

    fn refused(fixture: &Fixture) -> Option<String> {
        retirable(&fixture.flight, &fixture.waypoints).err().map(|open| open.to_string())
    }

    #[test]
    fn a_flight_may_be_retired_once_all_of_it_has_landed() {
        let mut fixture = Fixture::new(plan(vec![waypoint("a", &[]), waypoint("b", &["a"])]), fleet());
        assert_eq!(refused(&fixture).unwrap(), "a, b can still go on");
        fixture.accept("a");
        fixture.land("a");
        assert_eq!(refused(&fixture).unwrap(), "b can still go on");
        fixture.accept("b");
        assert_eq!(refused(&fixture).unwrap(), "b can still go on", "it has not landed");
        fixture.land("b");
        assert_eq!(refused(&fixture), None);
    }

    #[test]
    fn work_that_a_person_can_have_tried_again_keeps_its_flight() {
        let mut fixture = Fixture::new(plan(vec![waypoint("a", &[])]), fleet());
        fixture.feed("a", Input::BudgetExhausted);
        assert_eq!(refused(&fixture).unwrap(), "a can still go on");
    }

    #[test]
    fn some_of_many_waypoints_are_named_and_the_others_counted() {
        let ids = ["a", "b", "c", "d", "e"];
        let fixture = Fixture::new(plan(ids.map(|id| waypoint(id, &[])).into()), fleet());
        let open = retirable(&fixture.flight, &fixture.waypoints).unwrap_err();
        assert_eq!((open.open.as_slice(), open.more), (["a", "b", "c"].map(id).as_slice(), 2));
        assert_eq!(open.to_string(), "a, b, c and 2 more can still go on");
    }
}
