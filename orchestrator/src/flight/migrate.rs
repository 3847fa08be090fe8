//! A flight goes on by other workflows: taking the act, and moving the work that is where it cannot stay (GATE-12).

use holdpoint_engine::{
    flight::{self, Course},
    waypoint::{self, Input, InputNeeds, InputParts, Migrating, Refusal},
};
use holdpoint_planfile::gates::Workflow;
use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Reconfigure, Verb},
    ids::{RoleId, WaypointId},
    journal::{Cause, Steered},
};
use holdpoint_runtime::{clock, telemetry::fields};

use super::{ApplyError, State};
use crate::{
    books::{Books, BooksError},
    shell::Shell,
};

impl State {
    /// A waypoint is at a gate that is gone, or whose turn is another role's.
    pub(super) async fn migrate(&mut self, waypoint: &WaypointId) -> Result<(), ApplyError> {
        let shell = self.shell.clone();
        let books = self.books().await?;
        // What is due follows from it.
        let input = Box::pin(migration(books, &shell, waypoint)).await?.ok_or(ApplyError::Races)?;
        self.apply(waypoint, input, None).await?;
        Ok(())
    }
}

/// What moves a waypoint that is where it cannot stay by the workflows of today; `None` if it may stay. It goes before
/// whatever else is to happen to the waypoint: nothing is decided in a gate that is gone.
pub(super) async fn migration(
    books: &Books,
    shell: &Shell,
    waypoint: &WaypointId,
) -> Result<Option<Input>, BooksError> {
    let state = books.state(waypoint);
    if !flight::migrates(&books.flight, waypoint, &state, clock::now()) {
        return Ok(None);
    }
    let Some((by, cause)) = books.flight.configured.by().cloned() else { return Ok(None) };
    let InputParts { turn, feedback, .. } = books.parts(shell, waypoint, &InputNeeds::of_held(&state)).await?;
    let body = Box::new(Migrating { turn, feedback });
    Ok(Some(Input::Reconfigured(waypoint::PersonAct { by, cause, overtaken: false, body })))
}

/// The roles of agents that the workflows of a reload name.
pub(super) fn roles(act: &Reconfigure) -> Vec<RoleId> {
    let flown = act.workflows.iter().filter_map(|spec| Workflow::try_new(spec).ok());
    flown.flat_map(|workflow| workflow.agent_roles().map(|(role, _)| role.clone()).collect::<Vec<_>>()).collect()
}

/// What the rules make of an act that has the flight go on by other workflows: its entry. One that is refused for what it
/// says is counted.
pub(super) fn taken(
    books: &Books,
    shell: &Shell,
    act: &Reconfigure,
    cause: &Cause,
    (stored, course): (Timestamp, &Course),
) -> Result<Steered, Refusal> {
    flight::takes(&books.flight, Verb::Reconfigure, stored, course)?;
    let roles = shell.roles();
    let is_agents = |role: &_| roles.is_agents(role);
    let taken = flight::reconfigure(&books.flight, &books.waypoints, act, cause, clock::now(), is_agents);
    if let Err(Refusal::Act(refused)) = &taken
        && refused.code == ActCode::Invalid
    {
        shell.metrics.invalid_config();
        tracing::warn!({ fields::FLIGHT } = %books.id(), by = %act.agent, error = refused.message, "a reload keeps the old workflows");
    }
    taken
}
