//! Handoffs: stored by agents and, as their acts, by people; pulled by orchestrators.

use std::time::Duration;

use async_nats::{
    HeaderMap,
    jetstream::{self, AckKind, consumer::pull},
};
use futures::StreamExt as _;
use holdpoint_protocol::{
    headers,
    ids::{FlightId, RoleId, WaypointId},
    journal::Sequence,
    streams, subjects,
};

use crate::{
    Bus,
    leader::{self, ReadError},
    message::{Outgoing, Stored},
    publish::{self, ATTEMPTS_MAX, RETRY_PAUSE},
    settled::Settled,
    tries::{self, RetriedKind},
};

/// How many handoffs of a partition are fetched ahead. Their appends go in parallel, so a few at a time keep up.
const PREFETCH_LEN: usize = 32;
/// Message ids under which a handoff is tried, of which nobody can foretell more than the first.
const IDS_MAX: usize = 3;

/// Why a handoff was not stored.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The broker did not say whether it stored it. Sending the same again is safe.
    #[error("the handoff on {subject} was not acknowledged")]
    Unacknowledged {
        /// The subject.
        subject: String,
        /// The last attempt's failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The broker will not store it.
    #[error("the handoff on {subject} was refused")]
    Refused {
        /// The subject.
        subject: String,
        /// Its reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Under each message id that it was sent with stands something that need not be it. It may be sent again.
    #[error(
        "something else stands under each of the {IDS_MAX} message ids with which the handoff on {subject} was sent"
    )]
    TakenIds {
        /// The subject.
        subject: String,
    },
}

/// Why a message was not even sent: the client is closed.
pub type NotSent = async_nats::PublishError;

/// Whether a handoff shows its sender's JWT: plans do, so that the orchestrator knows who holds the turn, and people's
/// acts, because nothing before them says whose key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowJwt {
    /// Yes.
    Yes,
    /// The sender is known by an earlier handoff.
    No,
}

/// Signs and stores a handoff, for agents and people. Sent again under the same message id until the broker answers; a duplicate
/// is success, with the sequence of the first.
///
/// # Errors
/// [`PublishError`].
pub async fn publish(
    bus: &Bus,
    subject: &str,
    outgoing: &Outgoing,
    show_jwt: ShowJwt,
) -> Result<Sequence, PublishError> {
    Ok(Sequence(send(bus, subject, outgoing, show_jwt).await?.sequence))
}

/// Signs it, and sends it until the broker answers.
async fn send(bus: &Bus, subject: &str, outgoing: &Outgoing, show_jwt: ShowJwt) -> Result<publish::Ack, PublishError> {
    let mut map = outgoing.headers(&bus.sign(subject, &outgoing.payload));
    if show_jwt == ShowJwt::Yes {
        map.insert(headers::JWT, bus.jwt());
    }
    store(bus, subject, outgoing, map).await
}

/// As [`publish`], for a sender that cannot read what it stored: a duplicate is not believed. The broker says only that
/// something is stored under the message id, and not by whom. So the handoff is sent under `another_id`, a new one each time, until
/// the broker stores it. What is stored twice then, because an answer was lost before, readers know by its digest.
///
/// # Errors
/// [`PublishError`].
pub async fn publish_for_certain(
    bus: &Bus,
    subject: &str,
    outgoing: &Outgoing,
    show_jwt: ShowJwt,
    mut another_id: impl FnMut() -> String,
) -> Result<Sequence, PublishError> {
    let mut outgoing = outgoing.clone();
    for _ in 0..IDS_MAX {
        let ack = send(bus, subject, &outgoing, show_jwt).await?;
        if !ack.duplicate {
            return Ok(Sequence(ack.sequence));
        }
        tries::again(RetriedKind::TakenId);
        tracing::warn!(
            %subject, id = %outgoing.message_id, sequence = ack.sequence,
            "something stands under a handoff's message id already: sending it under another one"
        );
        outgoing.message_id = another_id();
    }
    Err(PublishError::TakenIds { subject: subject.to_owned() })
}

/// What shows whose a handoff is that another party stores.
#[derive(Debug, Clone, Copy)]
pub struct HandoffSignature<'a> {
    /// The signature over subject and payload.
    pub signature: &'a str,
    /// The JWT of the key that made it.
    pub jwt: &'a str,
}

/// Where a handoff is that was stored for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relayed {
    /// The place in its stream.
    pub sequence: Sequence,
    /// It was there before: the message id was known.
    pub known: bool,
}

/// Stores a handoff for the one who signed it, with nothing of ours in it: what is read later is what its sender would have
/// stored. For orchestrators, which have to hold the signature against the sender's key before.
///
/// # Errors
/// [`PublishError`].
pub async fn relay(
    bus: &Bus,
    subject: &str,
    outgoing: &Outgoing,
    signed: HandoffSignature<'_>,
) -> Result<Relayed, PublishError> {
    let mut map = outgoing.headers(signed.signature);
    map.insert(headers::JWT, signed.jwt);
    let ack = store(bus, subject, outgoing, map).await?;
    Ok(Relayed { sequence: Sequence(ack.sequence), known: ack.duplicate })
}

/// Signs and sends a plan that asks whether its turn is open, and does not wait for the broker: the orchestrator that takes the
/// plan out of its stream says so with this nonce, which nobody else may be able to guess ([`headers::PROGRESS`]). Until then the
/// plan may be lost; [`publish`] under the same message id stores it, or finds it stored.
///
/// # Errors
/// The client is closed.
pub async fn ask(bus: &Bus, subject: &str, outgoing: &Outgoing, nonce: &str) -> Result<(), NotSent> {
    let mut map = outgoing.headers(&bus.sign(subject, &outgoing.payload));
    map.insert(headers::JWT, bus.jwt());
    map.insert(headers::PROGRESS, nonce);
    bus.client().publish_with_headers(subject.to_owned(), map, outgoing.payload.clone()).await
}

/// Sends it until the broker answers.
async fn store(bus: &Bus, subject: &str, outgoing: &Outgoing, map: HeaderMap) -> Result<publish::Ack, PublishError> {
    let mut attempt = 1;
    loop {
        let sent = publish::store(bus, subject.to_owned(), map.clone(), outgoing.payload.clone()).await;
        let subject = subject.to_owned();
        match sent {
            Ok(ack) => return Ok(ack),
            Err(failure) if failure.is_passing() && attempt < ATTEMPTS_MAX => {
                tracing::debug!(%subject, attempt, error = %failure, "publishing again");
                tries::again(RetriedKind::Dispatch);
                tokio::time::sleep(RETRY_PAUSE * attempt).await;
                attempt += 1;
            }
            Err(failure) if failure.is_passing() => {
                return Err(PublishError::Unacknowledged { subject, source: failure.into() });
            }
            Err(failure) => return Err(PublishError::Refused { subject, source: failure.into() }),
        }
    }
}

/// A handoff by its place, as its stream's leader has it; `None` if there is none. For orchestrators.
///
/// # Errors
/// The broker does not answer.
pub async fn get(bus: &Bus, stream: &str, sequence: Sequence) -> Result<Option<Stored>, ReadError> {
    leader::message_at(bus, stream, sequence).await
}

/// Why no handoffs come.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The stream or consumer is not there, or the broker is away.
    #[error("cannot open the consumer {consumer} of {stream}")]
    Open {
        /// The stream.
        stream: String,
        /// The consumer.
        consumer: String,
        /// What the client said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The flow of messages broke; open the queue again.
    #[error("the flow of handoffs broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An acknowledgement could not be sent. The message will come again.
    #[error("cannot acknowledge a message")]
    Ack(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Most messages of one waypoint that are looked for behind what is acknowledged.
const UNSETTLED_MAX: usize = 32;

/// Whether orchestrators are done with a handoff of this role and partition, and with all before it: each was acknowledged, so that
/// what it led to is stored, or it was refused.
///
/// # Errors
/// [`QueueError::Open`].
pub async fn is_settled(bus: &Bus, role: &RoleId, partition: u32, sequence: Sequence) -> Result<bool, QueueError> {
    let Acknowledged { all_until, delivered, in_hand } = acknowledged(bus, role, partition).await?;
    Ok(all_until >= sequence || in_hand == 0 && delivered >= sequence)
}

/// The handoffs of a role on a waypoint that orchestrators may not be done with, oldest first: those behind the last one up to which all of
/// the partition are acknowledged.
///
/// # Errors
/// [`QueueError::Open`].
pub async fn unsettled(
    bus: &Bus,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<Stored>, QueueError> {
    let partition = subjects::partition(flight);
    let (stream, filter) = (streams::handoff(role), subjects::handoff(role, flight, waypoint, "*"));
    let mut after = acknowledged(bus, role, partition).await?.all_until;
    let mut found = Vec::new();
    while found.len() < UNSETTLED_MAX {
        let next = leader::next_of(bus, &stream, &filter, after).await;
        let Some(next) = next.map_err(|error| unopened(role, partition, error))? else { break };
        after = next.sequence;
        found.push(next);
    }
    Ok(found)
}

/// What of a partition orchestrators acknowledged.
struct Acknowledged {
    all_until: Sequence,
    delivered: Sequence,
    in_hand: usize,
}

async fn acknowledged(bus: &Bus, role: &RoleId, partition: u32) -> Result<Acknowledged, QueueError> {
    let own = leader::stream(bus, &streams::handoff(role)).await.map_err(|error| unopened(role, partition, error))?;
    let info = own.consumer_info(streams::handoff_consumer(partition)).await;
    let info = info.map_err(|error| unopened(role, partition, error))?;
    Ok(Acknowledged {
        all_until: Sequence(info.ack_floor.stream_sequence),
        delivered: Sequence(info.delivered.stream_sequence),
        in_hand: info.num_ack_pending,
    })
}

fn unopened(role: &RoleId, partition: u32, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> QueueError {
    let (stream, consumer) = (streams::handoff(role), streams::handoff_consumer(partition));
    QueueError::Open { stream, consumer, source: source.into() }
}

/// The handoffs of one role and partition, shared with all orchestrators that opened it.
pub struct HandoffQueue {
    messages: pull::Stream,
    stream: String,
}

impl HandoffQueue {
    /// Opens the durable consumer that [`crate::topology::ensure`] made.
    ///
    /// # Errors
    /// [`QueueError::Open`].
    pub async fn open(bus: &Bus, role: &RoleId, partition: u32) -> Result<Self, QueueError> {
        let (stream, consumer) = (streams::handoff(role), streams::handoff_consumer(partition));
        let opened = open_messages(bus, &stream, &consumer).await;
        match opened {
            Ok(messages) => Ok(Self { messages, stream }),
            Err(source) => Err(QueueError::Open { stream, consumer, source }),
        }
    }

    /// The next handoff, or `None` when none came in `wait`. Safe to cancel.
    ///
    /// # Errors
    /// [`QueueError::Broken`]: open the queue again.
    pub async fn next(&mut self, wait: Duration) -> Result<Option<Received>, QueueError> {
        let Ok(next) = tokio::time::timeout(wait, self.messages.next()).await else { return Ok(None) };
        let message = next.ok_or_else(|| QueueError::Broken("the connection was closed".into()))?;
        let message = message.map_err(|error| QueueError::Broken(error.into()))?;
        let (stored, delivery) = Stored::from_delivery(&message)
            .ok_or_else(|| QueueError::Broken("a message without its delivery's data".into()))?;
        Ok(Some(Received { stored, delivery, stream: self.stream.clone(), message, settled: Settled::default() }))
    }
}

async fn open_messages(
    bus: &Bus,
    stream: &str,
    consumer: &str,
) -> Result<pull::Stream, Box<dyn std::error::Error + Send + Sync>> {
    let stream = leader::stream(bus, stream).await?;
    let consumer = stream.get_consumer::<pull::Config>(consumer).await?;
    Ok(consumer.stream().max_messages_per_batch(PREFETCH_LEN).messages().await?)
}

/// A handoff to be answered. Unanswered, it comes again, here or at another orchestrator.
pub struct Received {
    /// The handoff.
    pub stored: Stored,
    /// Which delivery of it this is, from 1. Also one that was acknowledged may come again after a crash of the broker.
    pub delivery: u64,
    /// The stream it is in.
    pub stream: String,
    message: jetstream::Message,
    settled: Settled,
}

impl Received {
    /// It is done: all that follows from it is appended. A lost acknowledgement means it comes again.
    ///
    /// # Errors
    /// [`QueueError::Ack`].
    pub async fn ack(&self) -> Result<(), QueueError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::AckHandoff);
        self.answer(AckKind::Ack).await
    }

    /// Not now: it comes again after `delay`.
    ///
    /// # Errors
    /// [`QueueError::Ack`].
    pub async fn nak(&self, delay: Duration) -> Result<(), QueueError> {
        self.answer(AckKind::Nak(Some(delay))).await
    }

    /// Still at it: the time to answer begins again.
    ///
    /// # Errors
    /// [`QueueError::Ack`].
    pub async fn progress(&self) -> Result<(), QueueError> {
        let beat = self.message.ack_with(AckKind::Progress);
        self.settled.beat(beat).await.map_err(QueueError::Ack)
    }

    async fn answer(&self, kind: AckKind) -> Result<(), QueueError> {
        self.settled.settle().await;
        self.message.ack_with(kind).await.map_err(QueueError::Ack)
    }
}
