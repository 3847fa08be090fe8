//! Calls for help that were heard while their program ran: if its agent dies, they are not lost (RETRY-11).
//!
//! A harness reports a call at once, and its turn's result follows. That result counts. Only when the turn is taken
//! once more without one, the call does: the stored handoff is what the entry answers, as if it had ended its turn.

use holdpoint_bus::{Stored, journal::ReadError, past};
use holdpoint_engine::{
    handed,
    waypoint::{Handoff, HandoffFacts, Input, InputParts},
};
use holdpoint_protocol::{
    Digest,
    artifact::{Artifact as _, Handed, HandedHead, HelpRequest},
    ids::TurnId,
    journal::{Cause, Sequence},
    streams,
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{Applied, ApplyError, Msg, State};
use crate::{books::BooksError, senders::SenderError};

/// Why it is not known whether an agent called. The plan that asked comes again.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error(transparent)]
    Books(#[from] BooksError),
    #[error("cannot read what was called in the turn before")]
    Past(#[from] ReadError),
    #[error("cannot take a call for help whose agent died")]
    Apply(#[from] ApplyError),
}

impl State {
    /// A turn is taken once more: a call for help of who had it before ends it now. A plan of `at` that its agent declares in
    /// mid-turn takes nothing.
    pub(super) async fn take_call_before(
        &mut self,
        myself: &ActorRef<Msg>,
        (subject, at): (&HandoffSubject, Sequence),
        turn: &TurnId,
        head: &HandedHead,
    ) -> Result<(), CallError> {
        if head.delivery <= 1 || self.is_paused() || !self.is_current(&subject.waypoint, turn).await? {
            return Ok(());
        }
        let Some((call, cause)) = self.call_before(subject, turn, head).await? else { return Ok(()) };
        if self.has_planned_before(subject, head, at).await? {
            return Ok(());
        }
        let shell = self.shell.clone();
        let Some(open) = self.books().await?.turn(&shell, &subject.waypoint, turn).await? else { return Ok(()) };
        let (role, agent) = (subject.role.clone(), call.agent.clone());
        tracing::info!(event = "help_recovered", %turn, %agent, "an agent died after its program called for help");
        let body = Handed::Help(Box::new(call));
        let handoff = Handoff::on(turn.clone(), (role, agent), cause, &body);
        let parts = InputParts { turn: Some(Box::new(open)), ..InputParts::default() };
        let Some(input) = Input::handed(handoff, body, HandoffFacts::Nothing, parts) else { return Ok(()) };
        // Refused: the turn moved on meanwhile, and there is nothing to recover.
        if let Applied::Appended = self.apply(&subject.waypoint, input, None).await? {
            self.pump(myself).await;
        }
        Ok(())
    }

    /// The first call in an earlier delivery of the turn.
    async fn call_before(
        &self,
        subject: &HandoffSubject,
        turn: &TurnId,
        head: &HandedHead,
    ) -> Result<Option<(HelpRequest, Cause)>, CallError> {
        let HandoffSubject { role, flight, waypoint, .. } = subject;
        let bus = &self.shell.bus;
        let mut stored = past::of_kind(bus, role, flight, waypoint, HelpRequest::KIND).await?.frugal();
        while let Some(stored) = stored.next().await? {
            let Some(call) = running_call(&stored) else { continue };
            if call.turn != *turn || call.delivery >= head.delivery {
                continue;
            }
            match self.shell.senders.verify(bus, subject, &stored, &call.agent).await {
                Ok(_) => {}
                Err(SenderError::Refused { .. }) => continue,
                Err(SenderError::Unknown(error)) => return Err(error.into()),
            }
            let cause = Cause {
                stream: streams::handoff(role),
                sequence: stored.sequence,
                digest: Digest::of(&stored.payload),
                artifact: call.artifact_id.clone(),
            };
            return Ok(Some((call, cause)));
        }
        Ok(None)
    }
}

/// A call that was reported while its program ran, within the bounds of a handoff.
fn running_call(stored: &Stored) -> Option<HelpRequest> {
    let handed = Handed::decode(HelpRequest::KIND, &stored.payload, stored.content_type.as_deref()).ok()?;
    match &handed {
        Handed::Help(call) if call.running && handed::oversized(&handed).is_none() => Some(call.as_ref().clone()),
        _ => None,
    }
}
