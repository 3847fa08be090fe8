//! Waypoints that were added to a flight as the children of another one (SDLC-2): what the flight's journal says of them, and what
//! is due because of them.

use std::collections::BTreeMap;

use holdpoint_planfile::proposal;
use holdpoint_protocol::{
    Timestamp,
    checkpoint::DocumentRef,
    ids::WaypointId,
    journal::{Added, Record},
    plan::Waypoint,
    proposal::PlanProposal,
    state::{Delegated, Phase, Status, WaypointState},
    version,
};

use super::{FlightState, Waypoints, due::Due, status};

/// The children of each waypoint that has any.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Families {
    /// Of each parent its generations, oldest first.
    of: BTreeMap<WaypointId, Vec<Generation>>,
    /// Of each child its parent, and in which generation it is, counted from 1.
    parents: BTreeMap<WaypointId, (WaypointId, u32)>,
}

/// Children that were added together.
#[derive(Debug, Clone, PartialEq)]
struct Generation {
    children: Vec<WaypointId>,
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
}

impl FlightState {
    /// How often a waypoint was given children.
    #[must_use]
    pub fn generations(&self, parent: &WaypointId) -> u32 {
        self.families.of.get(parent).map_or(0, |generations| u32::try_from(generations.len()).unwrap_or(u32::MAX))
    }

    /// The waypoint whose child this is.
    #[must_use]
    pub fn parent(&self, child: &WaypointId) -> Option<&WaypointId> {
        self.families.parents.get(child).map(|(parent, _)| parent)
    }

    /// The children of a waypoint of every generation, oldest first.
    pub fn children(&self, parent: &WaypointId) -> impl Iterator<Item = &WaypointId> {
        self.families.of.get(parent).into_iter().flatten().flat_map(|generation| &generation.children)
    }

    /// The documents of its parent that a child gets.
    #[must_use]
    pub fn inherited(&self, child: &WaypointId) -> &[DocumentRef] {
        let of = self.families.parents.get(child);
        let generation = of.and_then(|(parent, number)| self.generation(parent, *number));
        generation.map(|generation| generation.documents.as_slice()).unwrap_or_default()
    }

    /// One generation of children, counted from 1; `None`: they are not added yet.
    fn generation(&self, parent: &WaypointId, number: u32) -> Option<&Generation> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.families.of.get(parent)?.get(at)
    }
}

/// The children that a delegated waypoint waits for; none before they are added.
pub(super) fn awaited<'a>(flight: &'a FlightState, id: &WaypointId, delegated: &Delegated) -> &'a [WaypointId] {
    flight.generation(id, delegated.generation).map(|added| added.children.as_slice()).unwrap_or_default()
}

/// The children of a delegated waypoint that only people can move on, each with how it stands.
pub(super) fn stuck<'a>(
    flight: &'a FlightState,
    waypoints: &'a Waypoints,
    id: &WaypointId,
    delegated: &Delegated,
) -> impl Iterator<Item = (&'a WaypointId, Status)> {
    let standing = awaited(flight, id, delegated).iter().map(|child| (child, status(flight, waypoints, child)));
    standing.filter(|(_, status)| matches!(status, Status::Blocked | Status::Failed | Status::Cancelled))
}

/// What people can do about a delegated waypoint whose children are stuck.
#[must_use]
pub fn remediation(flight: &FlightState, waypoints: &Waypoints, id: &WaypointId) -> Option<String> {
    let state = waypoints.get(id)?;
    let Phase::Delegated(delegated) = &state.phase else {
        return state.decision.as_ref()?.remediation.clone();
    };
    let (child, standing) = stuck(flight, waypoints, id, delegated).next()?;
    let planned = flight.planned(id)?;
    let workflow = flight.workflow_of(planned, state)?;
    let proposer = workflow.proposer_before(&delegated.gate).unwrap_or_else(|| workflow.first());
    let flight = &flight.submitted.flight;
    let first = match standing {
        Status::Cancelled => String::new(),
        _ => format!("`holdpoint retry {child} --flight {flight}` has it tried again, "),
    };
    let word = match standing {
        Status::Cancelled => "cancelled",
        Status::Failed => "failed",
        _ => "blocked",
    };
    Some(format!(
        "its child {child} is {word}: {first}`holdpoint retry {id} --flight {flight} --from {}` has it planned again",
        proposer.id
    ))
}

/// What is due because of children: they are to be added, all of them are complete, or nobody wants them any more.
pub(crate) fn families(flight: &FlightState, waypoints: &Waypoints) -> Vec<Due> {
    let mut due = Vec::new();
    for (parent, generations) in &flight.families.of {
        let wanted = waypoints.get(parent).and_then(delegated).map(|delegated| delegated.generation);
        let unwanted = (1..).zip(generations).filter(|(number, _)| Some(*number) != wanted);
        let left = unwanted.flat_map(|(_, generation)| &generation.children);
        let left = left.filter(|child| !status(flight, waypoints, child).is_over());
        due.extend(left.map(|child| Due::Recall(child.clone())));
    }
    for (id, delegated) in waypoints.iter().filter_map(|(id, state)| Some((id, delegated(state)?))) {
        match flight.generation(id, delegated.generation) {
            None => due.push(Due::Delegate(id.clone())),
            Some(added) if added.children.iter().all(|child| status(flight, waypoints, child) == Status::Complete) => {
                due.push(Due::Gather(id.clone()));
            }
            Some(_) => {}
        }
    }
    due
}

fn delegated(state: &WaypointState) -> Option<&Delegated> {
    match &state.phase {
        Phase::Delegated(delegated) => Some(delegated),
        _ => None,
    }
}

/// The entry that adds the children of a delegated waypoint; `None`: that is not due, or nothing says by which workflow they are
/// flown.
#[must_use]
pub fn add(
    flight: &FlightState,
    waypoints: &Waypoints,
    parent: &WaypointId,
    proposal: &PlanProposal,
    now: Timestamp,
) -> Option<Added> {
    let state = waypoints.get(parent)?;
    let delegated = delegated(state).filter(|delegated| delegated.generation == flight.generations(parent) + 1)?;
    let planned = flight.planned(parent)?;
    let gate = flight.workflow_of(planned, state)?.gate(&delegated.gate)?;
    let before = flight.children(parent).count();
    let is_taken = |id: &WaypointId| flight.planned(id).is_some();
    let waypoints: Vec<Waypoint> =
        proposal::children(planned, gate.child_workflow.as_deref()?, proposal, before, is_taken);
    Some(Added {
        schema_version: version::CURRENT,
        parent: parent.clone(),
        generation: delegated.generation,
        waypoints,
        documents: state.documents.clone(),
        record: Record { cause: Some(delegated.proposal.clone()), ..Record::at(now) },
    })
}
