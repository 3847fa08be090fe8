//! Adding the children of a waypoint that is delegated: what was proposed is read where it is stored, and added by one entry.

use holdpoint_admission::quota::QuotaExcess;
use holdpoint_bus::journal::ReadError;
use holdpoint_engine::flight;
use holdpoint_protocol::{
    artifact::{Act, Artifact as _, Completion, Handed},
    ids::WaypointId,
    journal::{Cause, Entry},
    proposal::PlanProposal,
    state::Phase,
};
use holdpoint_runtime::{clock, telemetry::fields};

use super::{
    ApplyError, State,
    apply::RACES_MAX,
    inbox::{Unreadable, handed},
};

/// Why children cannot be added now. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildrenError {
    #[error("cannot read what is proposed")]
    Unreadable(#[source] Unreadable),
    #[error("handoff {reference} proposes no waypoints any more: `holdpoint retry` from the gate that proposes them")]
    Gone { reference: String },
    #[error("cannot count what is open")]
    Count(#[source] ReadError),
    #[error("there is no room for them")]
    Quota(#[source] QuotaExcess),
}

impl State {
    /// A waypoint waits for children that are not there yet.
    pub(super) async fn add_children(&mut self, parent: &WaypointId) -> Result<(), ApplyError> {
        let shell = self.shell.clone();
        let failed = |source| ApplyError::Children { parent: parent.clone(), source };
        for _ in 0..RACES_MAX {
            let books = self.fresh_books().await?;
            let Phase::Delegated(delegated) = books.state(parent).phase else { return Ok(()) };
            let proposal = self.proposed(&delegated.proposal).await.map_err(failed)?;
            let books = self.books().await?;
            let Some(added) = flight::add(&books.flight, &books.waypoints, parent, &proposal, clock::now()) else {
                return Ok(());
            };
            let room = shell.open.admit_more(&shell, &books.counted(), added.waypoints.len()).await;
            room.map_err(ChildrenError::Count).map_err(failed)?.map_err(ChildrenError::Quota).map_err(failed)?;
            let count = added.waypoints.len();
            match books.append(&shell, None, Entry::Added(Box::new(added)), None).await {
                Ok(()) => {
                    shell.open.opened(books.counted());
                    tracing::info!({ fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %parent, count, "children added");
                    return Ok(());
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ApplyError::Races)
    }

    async fn proposed(&self, cause: &Cause) -> Result<PlanProposal, ChildrenError> {
        let found = handed(&self.shell.bus, cause, Completion::KIND).await.map_err(ChildrenError::Unreadable)?;
        let proposal = match found {
            Some(Handed::Act(Act::Complete(completion))) => completion.document.and_then(|document| document.proposal),
            _ => None,
        };
        proposal.ok_or_else(|| ChildrenError::Gone { reference: cause.reference() })
    }
}
