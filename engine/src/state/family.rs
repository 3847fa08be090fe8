//! Waypoints that were added to a flight as the children of another one (SDLC-2), as the flight's journal says.

use std::collections::BTreeMap;

use holdpoint_protocol::{checkpoint::DocumentRef, ids::WaypointId, journal::Added};

/// The children of each waypoint that has any.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Families {
    /// Of each parent its generations, oldest first.
    pub(crate) of: BTreeMap<WaypointId, Vec<Generation>>,
    /// Of each child its parent, and in which generation it is, counted from 1.
    parents: BTreeMap<WaypointId, (WaypointId, u32)>,
}

/// Children that were added together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generation {
    pub(crate) children: Vec<WaypointId>,
    /// What the parent's gates had handed over by then.
    documents: Vec<DocumentRef>,
}

impl Families {
    pub(super) fn take(&mut self, added: &Added) {
        let children: Vec<WaypointId> = added.waypoints.iter().map(|child| child.id.clone()).collect();
        let of = |child: &WaypointId| (child.clone(), (added.parent.clone(), added.generation));
        self.parents.extend(children.iter().map(of));
        let generation = Generation { children, documents: added.documents.clone() };
        self.of.entry(added.parent.clone()).or_default().push(generation);
    }

    /// How often a waypoint was given children.
    pub(crate) fn generations(&self, parent: &WaypointId) -> u32 {
        self.of.get(parent).map_or(0, |generations| u32::try_from(generations.len()).unwrap_or(u32::MAX))
    }

    /// The waypoint whose child this is.
    pub(crate) fn parent(&self, child: &WaypointId) -> Option<&WaypointId> {
        self.parents.get(child).map(|(parent, _)| parent)
    }

    /// The children of a waypoint of every generation, oldest first.
    pub(crate) fn children(&self, parent: &WaypointId) -> impl Iterator<Item = &WaypointId> {
        self.of.get(parent).into_iter().flatten().flat_map(|generation| &generation.children)
    }

    /// The documents of its parent that a child gets.
    pub(crate) fn inherited(&self, child: &WaypointId) -> &[DocumentRef] {
        let of = self.parents.get(child);
        let generation = of.and_then(|(parent, number)| self.generation(parent, *number));
        generation.map(|generation| generation.documents.as_slice()).unwrap_or_default()
    }

    /// One generation of children, counted from 1; `None`: they are not added yet.
    pub(crate) fn generation(&self, parent: &WaypointId, number: u32) -> Option<&Generation> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.of.get(parent)?.get(at)
    }
}
