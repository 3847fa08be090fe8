//! The states of a flight's waypoints, by id. A waypoint without entries is not among them.
//!
//! Each is a box of its own: a tree has room for eleven in every leaf, and one state takes more than a kilobyte. An orchestrator holds
//! those of all flights that move, most of which are small.

use std::collections::BTreeMap;

use holdpoint_protocol::{ids::WaypointId, state::WaypointState};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waypoints(BTreeMap<WaypointId, Box<WaypointState>>);

impl Waypoints {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state of one.
    #[must_use]
    pub fn get(&self, id: &WaypointId) -> Option<&WaypointState> {
        self.0.get(id).map(AsRef::as_ref)
    }

    /// Puts a state in the place of the one that was there, which comes back.
    pub fn insert(&mut self, id: WaypointId, state: WaypointState) -> Option<WaypointState> {
        self.0.insert(id, Box::new(state)).map(|before| *before)
    }

    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&WaypointId, &WaypointState)> {
        self.0.iter().map(|(id, state)| (id, state.as_ref()))
    }

    /// The states alone, in the same order.
    pub fn values(&self) -> impl Iterator<Item = &WaypointState> {
        self.0.values().map(AsRef::as_ref)
    }
}

impl FromIterator<(WaypointId, WaypointState)> for Waypoints {
    fn from_iter<T: IntoIterator<Item = (WaypointId, WaypointState)>>(states: T) -> Self {
        Self(states.into_iter().map(|(id, state)| (id, Box::new(state))).collect())
    }
}
