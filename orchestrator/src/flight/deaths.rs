//! Turns that kill their agents: counted when one is taken once more, tried again when a person says so.
//!
//! The count is of what agents stored, by the broker's clock: plans, and that they gave a turn back. It grows at most
//! once in an acknowledgement wait, because no agent can have died since; and not while another agent works on the
//! turn.

use std::time::Instant;

use holdpoint_bus::{journal::ReadError, past};
use holdpoint_engine::waypoint::{Handoff, HandoffFacts, Input, InputParts, TakenUp, deaths, silence};
use holdpoint_protocol::{
    artifact::{Artifact as _, GivenBack, Handed, HandedHead},
    ids::TurnId,
    journal::{Death, Sequence},
    names::PLAN_KINDS,
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{
    Msg, State,
    handoff::{acknowledge, give_back},
    trace::Settled,
};
use crate::{books::BooksError, intake::Taken};

/// Why deaths could not be counted now.
#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error(transparent)]
    Books(#[from] BooksError),
    #[error("cannot read who had the turn before")]
    Past(#[from] ReadError),
}

impl State {
    /// An agent takes a turn. If others took it before and were not heard of again, the engine says whether it is dead.
    pub(super) async fn on_plan(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        head: &HandedHead,
        handoff: Handoff<()>,
    ) {
        match self.died(&subject, &handoff.turn, head).await {
            Ok(None) => acknowledge(&received, &subject, Settled::Taken).await,
            Ok(Some(deaths)) => {
                let (facts, parts) = (HandoffFacts::Deaths(deaths), InputParts::default());
                if let Some(input) = Input::handed(handoff, Handed::Plan, facts, parts) {
                    self.settle(myself, &received, &subject, input).await;
                }
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
        let (now, ack_wait) = (Instant::now(), self.shell.settings.turn_ack_wait);
        let counted = self.deaths_counted.get(&subject.waypoint);
        let again = counted.is_some_and(|counted| now.duration_since(*counted) < silence(ack_wait));
        if again || self.heard.of_another(&subject.waypoint, turn, &head.agent, now, silence(ack_wait)) {
            return Ok(None);
        }
        self.deaths_counted.insert(subject.waypoint.clone(), now);
        let mut taken = Vec::new();
        for kind in PLAN_KINDS {
            taken.extend(self.said(subject, head, kind).await?.into_iter().map(|(_, plan)| plan));
        }
        let given_back = self.said(subject, head, GivenBack::KIND).await?;
        let given_back: Vec<Death> = given_back.into_iter().map(|(_, said)| said.by).collect();
        Ok(Some(deaths(taken, &given_back, ack_wait)))
    }

    /// Whether this agent planned for this delivery of the turn before what is stored at a place.
    pub(super) async fn has_planned_before(
        &self,
        subject: &HandoffSubject,
        head: &HandedHead,
        at: Sequence,
    ) -> Result<bool, ReadError> {
        let is_same = |(stored, plan): &(Sequence, TakenUp)| {
            *stored < at && plan.by.delivery == head.delivery && plan.by.agent == head.agent
        };
        for kind in PLAN_KINDS {
            if self.said(subject, head, kind).await?.iter().any(is_same) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which deliveries of the turn are spoken of in stored handoffs of a kind, and by whom. A handoff without a
    /// believed sender does not count, and nothing is read to find out: plans show their sender's JWT, and an agent
    /// that gave the turn back had planned for it.
    async fn said(
        &self,
        subject: &HandoffSubject,
        head: &HandedHead,
        kind: &str,
    ) -> Result<Vec<(Sequence, TakenUp)>, ReadError> {
        let HandoffSubject { role, flight, waypoint, .. } = subject;
        let bus = &self.shell.bus;
        let stored = past::of_kind(bus, role, flight, waypoint, kind).await?;
        let mut stored = stored.frugal();
        let mut said = Vec::new();
        while let Some(stored) = stored.next().await? {
            let read = HandedHead::decode(&stored.payload, stored.content_type.as_deref()).ok();
            let Some(one) = read.filter(|one| one.turn == head.turn) else { continue };
            let HandedHead { delivery, agent, .. } = one;
            if matches!(self.shell.senders.recognise(role, &stored, &agent), Ok(Some(_))) {
                said.push((stored.sequence, TakenUp { by: Death { delivery, agent }, at: stored.time }));
            }
        }
        Ok(said)
    }
}
