//! Publishing what a turn came to, until the broker has it.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    handoffs::{self, NotSent, PublishError, ShowJwt},
};
use holdpoint_faults::Step;
use holdpoint_protocol::{
    Digest,
    artifact::{
        Artifact, BuildPlan, ClarificationRequest, ExchangeRecord, ExchangeRecordBody, GivenBack, GivenBackBody,
        HelpRequest, StatusUpdate, StatusUpdateBody,
    },
    codec::{self, CodecError, Encoding},
    headers,
    ids::{AgentName, TurnId},
    names::PLAN_KINDS,
    streams,
};
use tracing::{Instrument as _, Span, info_span};

use super::{
    job::Job,
    worker::{Final, PlanHandoff},
};
use crate::exchange::Draft;
use holdpoint_runtime::{
    fresh,
    telemetry::{self, ErrorChain, TRACE, fields},
};

/// The pause before a handoff is sent again that the broker did not acknowledge.
const PAUSE: Duration = Duration::from_secs(2);

/// The longest reason for which a turn is given back, in characters.
const REASON_LEN_MAX: usize = 1_000;

/// Why a handoff is not stored, and will not be.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// It has no form.
    #[error("a handoff cannot be written")]
    Encode(#[source] CodecError),
    /// The broker does not take it.
    #[error("a handoff cannot be stored")]
    Refused(#[source] PublishError),
    /// It cannot be sent: the client is closed.
    #[error("a handoff cannot be sent")]
    Closed(#[source] NotSent),
}

/// Hands off a question that waits in its turn, until the broker has it.
///
/// # Errors
/// [`HandoffError`].
pub async fn ask_in_turn(job: &Job, asked: &ClarificationRequest) -> Result<(), HandoffError> {
    Handoff::new(job, asked, ShowJwt::No)?.publish(&job.bus).await
}

/// Hands off what a turn came to that is over, once: nothing is decided by it, and its files can be had.
///
/// # Errors
/// [`HandoffError`].
pub async fn hand_over_late(job: &Job, artifact: &Final) -> Result<(), HandoffError> {
    Handoff::of_final(job, artifact)?.publish_once(&job.bus).await
}

/// Hands off what the program of a turn means to do, once: a turn is not held up by it.
///
/// # Errors
/// [`HandoffError`].
pub async fn declare_plan(job: &Job, plan: &BuildPlan) -> Result<(), HandoffError> {
    Handoff::new(job, plan, ShowJwt::Yes)?.publish_once(&job.bus).await
}

/// Hands off a call for help that was heard while its program runs. A broker that does not take it holds up nothing: the
/// turn's result says it again.
///
/// # Errors
/// [`HandoffError`].
pub async fn hear_help(job: &Job, heard: &HelpRequest) -> Result<(), HandoffError> {
    Handoff::new(job, heard, ShowJwt::No)?.publish_once(&job.bus).await
}

/// Hands off the record of an exchange. A broker that does not take it is tried a few times: a record holds up no turn for
/// longer.
///
/// # Errors
/// [`HandoffError`].
pub async fn record_exchange(job: &Job, draft: Draft) -> Result<(), HandoffError> {
    let Draft { exchange, component, criterion, session, original_error, attempts, final_status } = draft;
    let (turn, delivery, agent) = (job.turn.turn_id.clone(), job.delivery, job.agent.clone());
    let mut origin = job.origin();
    let errors = attempts.iter().filter_map(|attempt| attempt.error.as_ref());
    let outputs = std::iter::once(&original_error).chain(errors).filter_map(|error| error.output);
    origin.source_refs.extend(outputs.map(|output| output.to_string()));
    let body = ExchangeRecordBody {
        turn,
        delivery,
        agent,
        exchange,
        component,
        criterion,
        session,
        original_error,
        attempts,
        final_status,
    };
    let _at = holdpoint_faults::at(Step::RecordTry);
    Handoff::new(job, &ExchangeRecord::new(origin, body), ShowJwt::No)?.publish_once(&job.bus).await
}

/// A handoff as it is sent.
#[derive(Debug)]
pub(super) struct Handoff {
    pub(super) kind: &'static str,
    stream: String,
    subject: String,
    outgoing: Outgoing,
    jwt: ShowJwt,
}

/// The message id of one handoff; sending it again takes the same one.
///
/// `n` has to be a number that nobody can guess ([`fresh::number`]). The broker compares message ids over all agents of a
/// role: under an id that another agent can foretell, that agent can store anything first, and what comes second is a
/// duplicate to the broker. Even so no duplicate is believed: [`handoffs::publish_for_certain`].
#[must_use]
pub fn message_id(turn: &TurnId, delivery: u32, agent: &AgentName, kind: &str, n: u64) -> String {
    format!("{turn}.{delivery}.{agent}.{kind}.{n}")
}

/// The same with another number that nobody can guess.
fn another_id(id: &str) -> String {
    let (begin, _) = id.rsplit_once('.').unwrap_or((id, ""));
    format!("{begin}.{}", fresh::number())
}

impl Handoff {
    /// The plan shows the agent's JWT: it is what says who holds the turn.
    pub(super) fn of_plan(job: &Job, plan: &PlanHandoff) -> Result<Self, HandoffError> {
        match plan {
            PlanHandoff::Build(artifact) => Self::new(job, artifact, ShowJwt::Yes),
            PlanHandoff::Verify(artifact) => Self::new(job, artifact, ShowJwt::Yes),
            PlanHandoff::Complete(artifact) => Self::new(job, artifact, ShowJwt::Yes),
        }
    }

    pub(super) fn of_final(job: &Job, artifact: &Final) -> Result<Self, HandoffError> {
        match artifact {
            Final::Build(artifact) => Self::new(job, artifact, ShowJwt::No),
            Final::Verify(artifact) => Self::new(job, artifact, ShowJwt::No),
            Final::Complete(artifact) => Self::new(job, artifact.as_ref(), ShowJwt::No),
            Final::Clarify(artifact) => Self::new(job, artifact, ShowJwt::No),
            Final::Help(artifact) => Self::new(job, artifact, ShowJwt::No),
        }
    }

    /// The turn is given back: this agent has not died of it.
    pub(super) fn of_giving_back(job: &Job, reason: &str) -> Result<Self, HandoffError> {
        let reason = reason.lines().next().unwrap_or_default().chars().take(REASON_LEN_MAX).collect();
        let artifact = GivenBack::new(
            job.origin(),
            GivenBackBody { turn: job.turn.turn_id.clone(), delivery: job.delivery, agent: job.agent.clone(), reason },
        );
        Self::new(job, &artifact, ShowJwt::No)
    }

    /// How far the turn is: the worker's note, and since when there is work on it.
    pub(super) fn of_status(job: &Job, worked: Duration) -> Result<Self, HandoffError> {
        let note = job.current_note();
        let doing = if note.is_empty() { "at work" } else { note.as_str() };
        let artifact = StatusUpdate::new(
            job.origin(),
            StatusUpdateBody {
                turn: job.turn.turn_id.clone(),
                delivery: job.delivery,
                agent: job.agent.clone(),
                summary: format!("{doing}, {} s into the turn", worked.as_secs()),
                percent: None,
            },
        );
        Self::new(job, &artifact, ShowJwt::No)
    }

    /// Sends it once. A handoff that the broker does not have is not sent again: a turn that is given back counts as a
    /// death, and nobody misses one word on how far a turn is.
    pub(super) async fn publish_once(&self, bus: &Bus) -> Result<(), HandoffError> {
        self.send(bus).await.map_err(HandoffError::Refused)
    }

    async fn send(&self, bus: &Bus) -> Result<(), PublishError> {
        let id = &self.outgoing.message_id;
        let another = || another_id(id);
        handoffs::publish_for_certain(bus, &self.subject, &self.outgoing, self.jwt, another).await.map(drop)
    }

    fn new<A: Artifact>(job: &Job, artifact: &A, jwt: ShowJwt) -> Result<Self, HandoffError> {
        // JSON, as external agents write it.
        let payload = codec::encode(artifact, Encoding::Json).map_err(HandoffError::Encode)?;
        let outgoing = Outgoing {
            payload: Bytes::from(payload),
            content_type: headers::JSON,
            schema: format!("{}/{}", A::KIND, artifact.schema_version()),
            message_id: message_id(&job.turn.turn_id, job.delivery, &job.agent, A::KIND, fresh::number()),
            traceparent: job.traceparent.clone(),
        };
        let subject = format!("{}.{}", job.turn.handoff_subject, A::KIND);
        Ok(Self { kind: A::KIND, stream: streams::handoff(&job.role), subject, outgoing, jwt })
    }

    /// The digest of what is sent.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.outgoing.payload)
    }

    /// Sends it until it is stored. A broker that is away is waited for: the work is done, and must not be lost.
    pub(super) async fn publish(&mut self, bus: &Bus) -> Result<(), HandoffError> {
        let span = self.begin_sending();
        let published = self.publish_until_stored(bus).instrument(span.clone()).await;
        if published.is_err() {
            telemetry::fail(&span, "refused");
        }
        published
    }

    /// Sends a plan that asks whether its turn is open. The answer says that the plan is stored; without one,
    /// [`Self::publish`] has to store it.
    pub(super) async fn ask(&mut self, bus: &Bus, nonce: &str) -> Result<(), HandoffError> {
        let span = self.begin_sending();
        let _at = holdpoint_faults::at(Step::PublishPlan);
        let asked = handoffs::ask(bus, &self.subject, &self.outgoing, nonce).instrument(span.clone()).await;
        if asked.is_err() {
            telemetry::fail(&span, "not sent");
        }
        asked.map_err(HandoffError::Closed)
    }

    /// The span of sending, which the message names.
    fn begin_sending(&mut self) -> Span {
        let span = info_span!(
            target: TRACE, "send", otel.name = format!("send {}", self.kind), otel.kind = "producer",
            { fields::MESSAGING_SYSTEM } = "nats", { fields::MESSAGING_DESTINATION } = %self.stream,
            { fields::MESSAGING_OPERATION } = "send", { fields::MESSAGING_OPERATION_TYPE } = "send",
            { fields::MESSAGING_BODY_SIZE } = telemetry::number(self.outgoing.payload.len()), { fields::KIND } = self.kind,
        );
        if let Some(context) = telemetry::context_of(&span) {
            self.outgoing.traceparent = Some(context.traceparent());
        }
        span
    }

    async fn publish_until_stored(&self, bus: &Bus) -> Result<(), HandoffError> {
        let planned = PLAN_KINDS.contains(&self.kind);
        let _at = holdpoint_faults::at(if planned { Step::PublishPlan } else { Step::PublishResult });
        loop {
            match self.send(bus).await {
                Ok(()) => return Ok(()),
                Err(error @ (PublishError::Unacknowledged { .. } | PublishError::TakenIds { .. })) => {
                    tracing::warn!(error = %ErrorChain(&error), "sending a handoff again");
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(HandoffError::Refused(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_id_is_of_the_same_turn_delivery_agent_and_kind() {
        let id = message_id(&"turn-w1".parse().unwrap(), 2, &"builder-1".parse().unwrap(), "build_plan", 7);
        let other = another_id(&id);
        assert!(other.starts_with("turn-w1.2.builder-1.build_plan.") && other != id, "{other}");
    }
}
