//! Which agents may answer a turn, where the org chart says `onlyListed` of its role (GATE-2, GATE-13).
//!
//! A turn is bound by the chart by which it opened. A reload interrupts nobody: who may answer an open turn still may, and who
//! joins the role may as well. Turns that open afterwards are for those whom the newest chart names alone.

use holdpoint_protocol::{
    ids::{AgentName, RoleId, TurnId},
    plan::Waypoint,
    state::{OpenTurn, WaypointState},
};

use super::StepContext;
use crate::state::FlightState;

/// Agents that a message names.
const NAMED_MAX: usize = 5;

/// By which configuration a turn of this role is bound that opens now; `None`: any agent of the role may answer it.
pub(super) fn opens_by(role: &RoleId, cx: &StepContext<'_>) -> Option<u32> {
    cx.workflow.listed.contains_key(role).then(|| cx.flight.configured.newest())
}

/// Whether the org chart lets this agent answer the turn.
pub(super) fn is_listed(open: &OpenTurn, agent: &AgentName, flight: &FlightState, waypoint: &Waypoint) -> bool {
    let Some(opened_by) = open.listed_by else { return true };
    let names = |number| flight.listed(waypoint, number, &open.role).is_none_or(|agents| agents.contains(agent));
    names(opened_by) || names(flight.configured.newest())
}

/// Why an agent may not take an open turn that the org chart gives to others of its role, and what to do about it.
#[must_use]
pub fn unlisted(
    state: &WaypointState,
    turn: &TurnId,
    agent: &AgentName,
    flight: &FlightState,
    waypoint: &Waypoint,
) -> Option<String> {
    let open = state.open_turn(turn).filter(|open| !is_listed(open, agent, flight, waypoint))?;
    let agents = flight.listed(waypoint, flight.configured.newest(), &open.role).unwrap_or_default();
    let mut names: Vec<String> = agents.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match agents.len().saturating_sub(NAMED_MAX) {
        0 if names.is_empty() => names.push("nobody".to_owned()),
        0 => {}
        more => names.push(format!("{more} more")),
    }
    Some(format!(
        "the org chart names {} for role {}, and not {agent}: start one of those, or add {agent} to the role's `agents` in org.yaml, \
         then `holdpoint org reload`",
        names.join(", "),
        open.role
    ))
}
