//! Turns that kill their agents: counted when one is taken once more, tried again when a person says so.
//!
//! What is counted is what agents stored: plans, and that they gave a turn back. Nothing is remembered between them.

use holdpoint_bus::{api::Failure, past};
use holdpoint_core::engine::{self, Died, Input, deaths};
use holdpoint_protocol::{
    artifact::{Artifact as _, BuildPlan, GivenBack, HandedHead, VerificationPlan},
    ids::{AgentName, WaypointId},
    journal::{Cause, Death},
    state::Phase,
    subjects::HandoffSubject,
    view::FlightView,
};
use holdpoint_runtime::telemetry::ErrorChain;
use ractor::ActorRef;

use super::{
    Applied, ApplyError, Msg, State, failure,
    handoff::{acknowledge, give_back},
    trace::Settled,
};
use crate::{books::BooksError, intake::Taken, senders::SenderError};

/// Why deaths could not be counted now.
#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error(transparent)]
    Books(#[from] BooksError),
    #[error("cannot read who had the turn before")]
    Past(#[source] holdpoint_bus::journal::ReadError),
    #[error(transparent)]
    Sender(SenderError),
}

impl State {
    /// Somebody takes a turn. If others took it before and were not heard of again, the core says whether it is dead.
    pub(super) async fn on_plan(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        head: &HandedHead,
        cause: Cause,
    ) {
        match self.died(&subject, head).await {
            Ok(None) => acknowledge(&received, &subject, Settled::Taken).await,
            Ok(Some(deaths)) => {
                let died = Died { turn: head.turn.clone(), cause, deaths };
                self.settle(myself, &received, &subject, Input::Died(died)).await;
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }

    /// Who died of a turn that is taken once more; `None` where there cannot be enough of them.
    async fn died(&mut self, subject: &HandoffSubject, head: &HandedHead) -> Result<Option<Vec<Death>>, CountError> {
        let bound = self.books().await?.flight.submitted.fleet.dead_after;
        if bound == 0 || head.delivery <= bound || !self.is_current(&subject.waypoint, &head.turn).await? {
            return Ok(None);
        }
        let mut taken = Vec::new();
        for kind in [BuildPlan::KIND, VerificationPlan::KIND] {
            taken.extend(self.said(subject, head, kind).await?);
        }
        let given_back = self.said(subject, head, GivenBack::KIND).await?;
        let given_back: Vec<u32> = given_back.into_iter().map(|death| death.delivery).collect();
        Ok(Some(deaths(taken, &given_back, head.delivery)))
    }

    /// Which deliveries of the turn are spoken of in stored handoffs of a kind, and by whom. What nobody is believed to
    /// have sent does not count.
    async fn said(&self, subject: &HandoffSubject, head: &HandedHead, kind: &str) -> Result<Vec<Death>, CountError> {
        let HandoffSubject { role, flight, waypoint, .. } = subject;
        let bus = &self.shell.bus;
        let stored = past::of_kind(bus, role, flight, waypoint, kind).await.map_err(CountError::Past)?;
        let mut said = Vec::new();
        for stored in stored {
            let read = HandedHead::decode(&stored.payload, stored.content_type.as_deref()).ok();
            let Some(one) = read.filter(|one| one.turn == head.turn) else { continue };
            let HandedHead { delivery, agent, .. } = one;
            match self.shell.senders.verify(bus, subject, &stored, &agent).await {
                Ok(()) => said.push(Death { delivery, agent }),
                Err(SenderError::Refused { .. }) => {}
                Err(error @ SenderError::Unknown(_)) => return Err(CountError::Sender(error)),
            }
        }
        Ok(said)
    }

    /// Opens a dead turn anew for a person.
    pub(super) async fn retry(
        &mut self,
        myself: &ActorRef<Msg>,
        waypoint: &WaypointId,
        by: AgentName,
    ) -> Result<FlightView, Failure> {
        let shell = self.shell.clone();
        let books = self.fresh_books().await.map_err(|error| failure(&error))?;
        if books.flight.submitted.plan.waypoint(waypoint).is_none() {
            return Err(Failure::new(404, format!("there is no waypoint {waypoint} in flight {}", books.id())));
        }
        let refused = |refusal: &engine::Refusal| {
            Failure::new(409, format!("{refusal}; `holdpoint dead list` shows the turns that are dead"))
        };
        let Phase::Dead(open) = books.state(waypoint).phase else {
            return Err(refused(&engine::not_dead(&books.state(waypoint), waypoint)));
        };
        let turn = books.turn(&shell, waypoint, &open.turn).await.map_err(|error| failure(&error))?;
        let turn = turn.ok_or_else(|| Failure::new(500, format!("no entry opens turn {}", open.turn)))?;
        let applied = self.apply(waypoint, Input::Retried { by, turn: Box::new(turn) }, None).await;
        match applied {
            Ok(Applied::Appended | Applied::Nothing) => {
                // Its agents may have lost their consumers when the flight was over.
                self.equipped = false;
                self.view(myself).await
            }
            Ok(Applied::Refused(refusal)) => Err(refused(&refusal)),
            Err(ApplyError::Books(error)) => Err(failure(&error)),
            Err(error) => Err(Failure::new(503, ErrorChain(&error).to_string())),
        }
    }
}
