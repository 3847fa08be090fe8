//! Turns that kill their agents: counted when one is taken once more, tried again when a person says so.
//!
//! What is counted is what agents stored: plans, and that they gave a turn back. Nothing is remembered between them.

use holdpoint_bus::past;
use holdpoint_core::engine::{Died, Input, deaths};
use holdpoint_protocol::{
    artifact::{Artifact as _, BuildPlan, GivenBack, HandedHead, VerificationPlan},
    ids::TurnId,
    journal::{Cause, Death},
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{
    Msg, State,
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
        // Every plan names its turn: one that does not was refused.
        let Some(turn) = head.turn.clone() else { return };
        match self.died(&subject, &turn, head).await {
            Ok(None) => acknowledge(&received, &subject, Settled::Taken).await,
            Ok(Some(deaths)) => {
                let died = Died { turn, cause, deaths };
                self.settle(myself, &received, &subject, Input::Died(died)).await;
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }

    /// Who died of a turn that is taken once more; `None` where there cannot be enough of them.
    async fn died(
        &mut self,
        subject: &HandoffSubject,
        turn: &TurnId,
        head: &HandedHead,
    ) -> Result<Option<Vec<Death>>, CountError> {
        let bound = self.books().await?.flight.submitted.fleet.dead_after;
        if bound == 0 || head.delivery <= bound || !self.is_current(&subject.waypoint, turn).await? {
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
}
