//! The plan of a flight as it is now: what was submitted, and the waypoints that were added since. Nothing else looks anything up
//! in either list. A plan has thousands of them, and every event asks for some.

use std::iter::Peekable;

use holdpoint_protocol::{
    ids::WaypointId,
    plan::Waypoint,
    state::{Phase, WaypointState},
};

use super::{FlightState, Waypoints};

impl FlightState {
    /// Every waypoint of the plan, in its order.
    pub fn all_planned(&self) -> impl DoubleEndedIterator<Item = &Waypoint> {
        self.submitted.plan.waypoints.iter().chain(&self.planned.added)
    }

    /// How many they are.
    #[must_use]
    pub fn planned_count(&self) -> usize {
        self.submitted.plan.waypoints.len() + self.planned.added.len()
    }

    /// The waypoint at a place of the plan.
    pub(crate) fn planned_at(&self, place: usize) -> Option<&Waypoint> {
        let submitted = &self.submitted.plan.waypoints;
        submitted.get(place).or_else(|| self.planned.added.get(place.checked_sub(submitted.len())?))
    }

    /// A waypoint as it is planned.
    #[must_use]
    pub fn planned(&self, id: &WaypointId) -> Option<&Waypoint> {
        self.planned_at(self.place(id)?)
    }

    /// Where a waypoint is in the plan.
    pub(crate) fn place(&self, id: &WaypointId) -> Option<usize> {
        let places = &self.planned.places;
        let before = |at: &u32| self.planned_at(*at as usize).is_some_and(|waypoint| waypoint.id < *id);
        let at = *places.get(places.partition_point(before))? as usize;
        self.planned_at(at).filter(|waypoint| waypoint.id == *id).map(|_| at)
    }

    /// What has not begun, by id, each with its place in the plan. Both lists are in the order of ids: nothing is looked up.
    pub(crate) fn not_begun<'a>(&'a self, waypoints: &'a Waypoints) -> impl Iterator<Item = (usize, &'a Waypoint)> {
        let mut begun = waypoints.iter().filter(|(_, state)| state.phase != Phase::Pending).peekable();
        let all = self.planned.places.iter().filter_map(|at| Some((*at as usize, self.planned_at(*at as usize)?)));
        all.filter(move |(_, waypoint)| !is_next(&mut begun, &waypoint.id))
    }
}

/// Whether the next that has begun, from this id on, is this one.
fn is_next<'a>(
    begun: &mut Peekable<impl Iterator<Item = (&'a WaypointId, &'a WaypointState)>>,
    id: &WaypointId,
) -> bool {
    while begun.next_if(|(other, _)| *other < id).is_some() {}
    begun.peek().is_some_and(|(other, _)| *other == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        fixture::Fixture,
        parts::{fleet, id, plan, waypoint},
    };

    #[test]
    fn waypoints_are_found_and_told_apart_by_whether_they_have_begun_whatever_their_order() {
        let names = ["m", "z", "a", "k", "b"];
        let planned = plan(names.iter().map(|name| waypoint(name, &[])).collect());
        let fixture = Fixture::flown_by(planned, fleet(), &[]);
        let (flight, mut waypoints) = (&fixture.flight, fixture.waypoints.clone());
        for (at, name) in names.iter().enumerate() {
            assert_eq!(
                (flight.place(&id(name)), flight.planned(&id(name)).map(|w| &w.id)),
                (Some(at), Some(&id(name)))
            );
        }
        assert_eq!((flight.place(&id("c")), flight.planned(&id("zz"))), (None, None));
        let left = |waypoints: &Waypoints| flight.not_begun(waypoints).map(|(at, _)| names[at]).collect::<String>();
        assert_eq!(left(&waypoints), "abkmz");
        for (name, phase) in [("a", Phase::Cancelled), ("k", Phase::Pending), ("z", Phase::Forked)] {
            waypoints.insert(id(name), WaypointState { phase, ..WaypointState::default() });
        }
        // A waypoint that no plan has may come of a journal that was tampered with.
        waypoints.insert(id("l"), WaypointState { phase: Phase::Cancelled, ..WaypointState::default() });
        assert_eq!(left(&waypoints), "bkm");
    }
}
