//! Roles whose agents cannot work: the program is not there, or its model's provider refuses. One waypoint shows it for all, so none that
//! needs such a role begins before a person has the one tried again.

use holdpoint_protocol::{
    ids::{RoleId, WaypointId},
    plan::Waypoint,
    reason::ReasonCode,
    state::{Phase, WaypointState},
};

use crate::state::{FlightState, Waypoints};

/// The roles that cannot work, each with the waypoint that is held because of it.
#[derive(Debug, Default)]
pub(super) struct RefusedRoles<'a>(Vec<(&'a RoleId, &'a WaypointId)>);

impl<'a> RefusedRoles<'a> {
    pub(super) fn of(waypoints: &'a Waypoints) -> Self {
        Self(waypoints.iter().filter_map(|(id, state)| Some((refused(state)?, id))).collect())
    }

    /// The waypoint whose hold keeps this one, which has not begun, from its first turn.
    pub(super) fn keeps(&self, flight: &FlightState, waypoint: &Waypoint) -> Option<&'a WaypointId> {
        if self.0.is_empty() {
            return None;
        }
        let workflow = flight.workflow(waypoint)?;
        let needs = |role: &RoleId| workflow.gates().any(|gate| gate.role == *role);
        self.0.iter().find(|(role, held)| **held != waypoint.id && needs(role)).map(|(_, held)| *held)
    }
}

/// The role because of which a waypoint is held.
fn refused(state: &WaypointState) -> Option<&RoleId> {
    let is_held = matches!(state.phase, Phase::Held(_));
    let reason = state.decision.as_ref().map(|decision| decision.reason_code);
    let last = state.history.last().filter(|_| is_held && reason == Some(ReasonCode::NotExecutable))?;
    Some(&last.role)
}
