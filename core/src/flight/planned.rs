//! Finding waypoints in a flight's plan. A plan has thousands, and every event asks for some of them.

use std::iter::Peekable;

use holdpoint_protocol::{
    ids::WaypointId,
    plan::{Plan, Waypoint},
    state::{Phase, WaypointState},
};

use super::{FlightState, Waypoints};

/// Places in a plan, in the order of the waypoints' ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places(Vec<u32>);

impl Places {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut places: Vec<u32> = (0..).take(plan.waypoints.len()).collect();
        places.sort_by_key(|at| plan.waypoints.get(*at as usize).map(|waypoint| &waypoint.id));
        Self(places)
    }
}

impl FlightState {
    /// A waypoint as it is planned.
    #[must_use]
    pub fn planned(&self, id: &WaypointId) -> Option<&Waypoint> {
        self.submitted.plan.waypoints.get(self.place(id)?)
    }

    /// Where a waypoint is in the plan.
    pub(super) fn place(&self, id: &WaypointId) -> Option<usize> {
        let plan = &self.submitted.plan.waypoints;
        let before = |at: &u32| plan.get(*at as usize).is_some_and(|waypoint| waypoint.id < *id);
        let at = *self.places.0.get(self.places.0.partition_point(before))? as usize;
        plan.get(at).filter(|waypoint| waypoint.id == *id).map(|_| at)
    }

    /// What has not begun, by id, each with its place in the plan. Both lists are in the order of ids: nothing is looked up.
    pub(super) fn not_begun<'a>(&'a self, waypoints: &'a Waypoints) -> impl Iterator<Item = (usize, &'a Waypoint)> {
        let plan = &self.submitted.plan.waypoints;
        let mut begun = waypoints.iter().filter(|(_, state)| state.phase != Phase::Pending).peekable();
        let all = self.places.0.iter().filter_map(|at| Some((*at as usize, plan.get(*at as usize)?)));
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
    use crate::engine::tests::{
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
