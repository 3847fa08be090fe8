//! What landed, in the order of the branch, and where each waypoint is in it.

use std::{collections::BTreeMap, ops::Deref};

use holdpoint_protocol::{ids::WaypointId, journal::Landed};

/// Landings in order. Found by waypoint without looking at all of them, because that is asked for every waypoint of a
/// plan again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Landings {
    all: Vec<Landed>,
    of: BTreeMap<WaypointId, usize>,
}

impl Landings {
    /// The next landing. A waypoint lands once; the first counts.
    pub fn push(&mut self, landed: Landed) {
        self.of.entry(landed.waypoint.clone()).or_insert(self.all.len());
        self.all.push(landed);
    }

    /// How a waypoint landed.
    #[must_use]
    pub fn of(&self, waypoint: &WaypointId) -> Option<&Landed> {
        self.all.get(*self.of.get(waypoint)?)
    }
}

impl Deref for Landings {
    type Target = [Landed];

    fn deref(&self) -> &[Landed] {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Landings {
    type Item = &'a Landed;
    type IntoIter = std::slice::Iter<'a, Landed>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}
