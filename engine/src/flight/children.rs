//! What is due because of children: they are added, all of them are complete, or nobody wants them any more.

use holdpoint_planfile::proposal;
use holdpoint_protocol::{
    Timestamp,
    ids::WaypointId,
    journal::{Added, Record},
    plan::Waypoint,
    proposal::PlanProposal,
    state::{Delegated, Phase, Status, WaypointState},
    version,
};

use super::{
    consequence::Due,
    status::{status, stuck},
};
use crate::state::{FlightState, Waypoints};

/// What is due because of children: they are to be added, all of them are complete, or nobody wants them any more.
pub(crate) fn of_families(flight: &FlightState, waypoints: &Waypoints) -> Vec<Due> {
    let mut due = Vec::new();
    for (parent, generations) in &flight.families.of {
        let wanted = waypoints.get(parent).and_then(delegated).map(|delegated| delegated.generation);
        let unwanted = (1..).zip(generations).filter(|(number, _)| Some(*number) != wanted);
        let left = unwanted.flat_map(|(_, generation)| &generation.children);
        let left = left.filter(|child| !status(flight, waypoints, child).is_over());
        due.extend(left.map(|child| Due::Recall(child.clone())));
    }
    for (id, delegated) in waypoints.iter().filter_map(|(id, state)| Some((id, delegated(state)?))) {
        match flight.families.generation(id, delegated.generation) {
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
    let delegated =
        delegated(state).filter(|delegated| delegated.generation == flight.families.generations(parent) + 1)?;
    let planned = flight.planned(parent)?;
    let gate = flight.workflow_of(planned, state)?.gate(&delegated.gate)?;
    let before = flight.families.children(parent).count();
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
