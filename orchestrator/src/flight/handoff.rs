//! Taking handoffs: who sent it, what it says, is it still wanted; then the core decides.

use holdpoint_bus::{handoffs::Received, signals};
use holdpoint_core::engine::{Handoff, Input};
use holdpoint_protocol::{
    Digest,
    api::RefusedHandoff,
    artifact::{
        Artifact, BuildArtifact, BuildPlan, ClarificationRequest, HelpRequest, VerificationPlan, VerificationReport,
    },
    codec::{self, Encoding},
    ids::{AgentName, ArtifactId, TurnId, WaypointId},
    journal::Cause,
    subjects::{self, HandoffSubject},
};
use holdpoint_runtime::{
    clock,
    telemetry::{self, ErrorChain, fields},
};
use ractor::ActorRef;
use serde::Deserialize;

use super::{
    Applied, Msg, Place, RETRY_DELAY, State,
    trace::{Processing, Settled},
};
use crate::{books::BooksError, intake::Taken, senders::SenderError};

/// The fields that every handoff has: enough to know who sent it and for which turn.
#[derive(Debug, Deserialize)]
struct Head {
    artifact_id: ArtifactId,
    turn: TurnId,
    agent: AgentName,
}

/// A final handoff, decoded.
enum Body {
    Plan,
    Built(Box<BuildArtifact>),
    Reported(Box<VerificationReport>),
    Asked,
}

impl State {
    pub(super) async fn on_handoff(
        &mut self,
        myself: &ActorRef<Msg>,
        mut received: Box<Taken>,
        subject: HandoffSubject,
    ) {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::TakeHandoff);
        match self.belongs(&subject).await {
            Ok(true) => {}
            Ok(false) => {
                self.refuse(&received, &subject, "there is no such flight or waypoint").await;
                let _ = received.ack().await;
                return;
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                let _ = received.nak(RETRY_DELAY).await;
                return;
            }
        }
        let (head, body) = match self.read(&received, &subject).await {
            Ok(read) => read,
            Err(error @ SenderError::Unknown(_)) => {
                self.handoff_failed(&subject.waypoint, &error);
                let _ = received.nak(RETRY_DELAY).await;
                return;
            }
            Err(SenderError::Refused(error)) => {
                self.refuse(&received, &subject, &error).await;
                // It will not get better: it is stored, the sender is told, the turn stays open.
                let _ = received.ack().await;
                return;
            }
        };
        received.processing = Processing::begin(&subject, &head.turn, self.books.as_deref());
        let cause = Cause {
            stream: received.stream.clone(),
            sequence: received.stored.sequence,
            digest: Digest::of(&received.stored.payload),
            artifact: head.artifact_id,
        };
        let (turn, role, agent) = (head.turn.clone(), subject.role.clone(), head.agent.clone());
        let handoff = Handoff { turn, role, agent, cause, body: () };
        match body {
            Body::Plan => {
                self.holders.insert(head.turn, head.agent);
                acknowledge(&received, &subject, Settled::Taken).await;
            }
            Body::Asked => self.settle(myself, received, &subject, Input::Asked(handoff)).await,
            Body::Reported(report) => {
                let Handoff { turn, role, agent, cause, body: () } = handoff;
                let (waypoint, handoff) =
                    (subject.waypoint.clone(), Handoff { turn, role, agent, cause, body: report });
                if let Err(error) = self.begin_weigh(myself, received, subject, handoff).await {
                    // Dropped unacknowledged: it comes again.
                    self.handoff_failed(&waypoint, &error);
                }
            }
            Body::Built(artifact) => {
                let waypoint = subject.waypoint.clone();
                let begun = self.begin_examine(myself, received, subject, handoff, *artifact).await;
                if let Err(error) = begun {
                    // Dropped unacknowledged: it comes again.
                    self.handoff_failed(&waypoint, &error);
                }
            }
        }
    }

    /// Whether the flight has such a waypoint; subjects are the sender's word.
    async fn belongs(&mut self, subject: &HandoffSubject) -> Result<bool, BooksError> {
        match self.books().await {
            Ok(books) => Ok(books.flight.submitted.plan.waypoint(&subject.waypoint).is_some()),
            Err(BooksError::Unknown { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Decodes a handoff and checks its sender.
    async fn read(&mut self, received: &Received, subject: &HandoffSubject) -> Result<(Head, Body), SenderError> {
        let stored = &received.stored;
        let unreadable = |error| SenderError::Refused(ErrorChain(&error).to_string());
        let encoding = Encoding::from_content_type(stored.content_type.as_deref()).map_err(unreadable)?;
        let bytes = &stored.payload;
        let head: Head = codec::decode(bytes, encoding).map_err(unreadable)?;
        self.shell.senders.verify(&self.shell.bus, subject, stored, &head.agent).await?;
        let body = match subject.kind.as_str() {
            BuildPlan::KIND => decode::<BuildPlan>(bytes, encoding).map(|_| Body::Plan),
            VerificationPlan::KIND => decode::<VerificationPlan>(bytes, encoding).map(|_| Body::Plan),
            BuildArtifact::KIND => decode(bytes, encoding).map(Body::Built),
            VerificationReport::KIND => decode(bytes, encoding).map(Body::Reported),
            ClarificationRequest::KIND => decode::<ClarificationRequest>(bytes, encoding).map(|_| Body::Asked),
            HelpRequest::KIND => decode::<HelpRequest>(bytes, encoding).map(|_| Body::Asked),
            other => Err(SenderError::Refused(format!("{other:?} is not a kind of handoff"))),
        }?;
        Ok((head, body))
    }

    /// Gives the input to the core; acknowledges once what follows is appended.
    pub(super) async fn settle(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: &HandoffSubject,
        input: Input,
    ) {
        let parent = received.processing.as_ref().map(Processing::context);
        let applied = self.apply(&subject.waypoint, input, parent).await;
        if applied.is_ok() {
            self.troubles.went_well(&Place::Handoff(subject.waypoint.clone()));
        }
        match applied {
            Ok(applied @ (Applied::Appended | Applied::Nothing)) => {
                self.pump(myself).await;
                let settled = if matches!(applied, Applied::Appended) { Settled::Taken } else { Settled::Repeated };
                acknowledge(&received, subject, settled).await;
            }
            Ok(Applied::Refused(refusal)) => {
                self.refuse(&received, subject, &refusal.to_string()).await;
                acknowledge(&received, subject, Settled::Refused).await;
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, subject).await;
            }
        }
    }

    /// Says that a handoff cannot be taken now; the reason is not its own, and it comes again.
    pub(super) fn handoff_failed(&mut self, waypoint: &WaypointId, error: &dyn std::error::Error) {
        let error = ErrorChain(error).to_string();
        tracing::warn!({ fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %waypoint, error, "cannot take a handoff now");
        self.troubles.failed(
            Place::Handoff(waypoint.clone()),
            &format!("cannot take a handoff: {error}"),
            clock::now(),
        );
    }

    /// Tells the sender what is wrong. The role's subject is the broker's word, the agent's name the message id's.
    pub(super) async fn refuse(&self, received: &Received, subject: &HandoffSubject, error: &str) {
        tracing::info!({ fields::FLIGHT } = %subject.flight, { fields::WAYPOINT } = %subject.waypoint, kind = %subject.kind, error, "handoff refused");
        let named = received.stored.message_id.as_deref().and_then(|id| id.split('.').nth(2)?.parse().ok());
        let Some(agent) = named else { return };
        let notice = RefusedHandoff {
            message_id: received.stored.message_id.clone(),
            reference: format!("{}/{}", received.stream, received.stored.sequence.0),
            error: error.to_owned(),
        };
        let Ok(payload) = codec::encode(&notice, Encoding::Json) else { return };
        let to = subjects::refused(&subject.role, &agent);
        let _ = signals::send(&self.shell.bus, to, payload.into(), received.stored.traceparent.as_deref()).await;
    }
}

/// Acknowledges a handoff, and tells of it in its trace.
async fn acknowledge(received: &Taken, subject: &HandoffSubject, settled: Settled) {
    let answering = telemetry::now();
    // What is not acknowledged comes again, and is recognised.
    let _ = received.ack().await;
    if let Some(processing) = &received.processing {
        processing.settled(received, subject, settled, answering);
    }
}

/// Lets a handoff come again, and tells of it in its trace.
pub(super) async fn give_back(received: &Taken, subject: &HandoffSubject) {
    let answering = telemetry::now();
    // Unacknowledged either way: it comes again.
    let _ = received.nak(RETRY_DELAY).await;
    if let Some(processing) = &received.processing {
        processing.settled(received, subject, Settled::Again, answering);
    }
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<T, SenderError> {
    codec::decode(bytes, encoding).map_err(|e| SenderError::Refused(ErrorChain(&e).to_string()))
}
