//! Signals that are not stored: hints to wake up, refusals, presence, live output. A process that is not there misses
//! them.

use async_nats::{HeaderMap, Subscriber};
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _};
use holdpoint_protocol::{
    Timestamp, headers,
    ids::{PoolId, RoleId},
    plan::Priority,
    subjects,
};

use crate::{Bus, auth::TrustRoots, message::header};

/// Why a signal was not sent, or is not listened for.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// The connection is closed, or the subject is none.
    #[error("cannot send on {subject}")]
    Send {
        /// The subject.
        subject: String,
        /// What the client said.
        #[source]
        source: async_nats::PublishError,
    },
    /// The connection is closed, or the subject is none.
    #[error("cannot listen on {subject}")]
    Listen {
        /// The subject.
        subject: String,
        /// What the client said.
        #[source]
        source: async_nats::SubscribeError,
    },
}

/// Hints to the agents of a role that a turn of this priority may be waiting. Not signed: nothing is believed of a hint
/// but that it is worth a look.
///
/// # Errors
/// [`SignalError::Send`]. Agents look by themselves every few seconds, so nothing is lost.
pub async fn wake(bus: &Bus, role: &RoleId, priority: Priority) -> Result<(), SignalError> {
    tell(bus, subjects::wake(role), Bytes::from_static(priority.as_str().as_bytes())).await
}

/// As [`wake`], to one agent of the pool, as the broker chooses: perhaps one that is busy, or hangs.
///
/// # Errors
/// As there.
pub async fn wake_one(bus: &Bus, role: &RoleId, pool: &PoolId, priority: Priority) -> Result<(), SignalError> {
    tell(bus, subjects::wake_one(role, pool), Bytes::from_static(priority.as_str().as_bytes())).await
}

/// Sends a signal that is not signed: its hearer has to know it by what it says.
///
/// # Errors
/// [`SignalError::Send`].
pub async fn tell(bus: &Bus, subject: String, payload: Bytes) -> Result<(), SignalError> {
    let sent = bus.client().publish(subject.clone(), payload).await;
    sent.map_err(|source| SignalError::Send { subject, source })
}

/// Sends a signal, signed.
///
/// # Errors
/// [`SignalError::Send`].
pub async fn send(bus: &Bus, subject: String, payload: Bytes, traceparent: Option<&str>) -> Result<(), SignalError> {
    let mut map = HeaderMap::new();
    map.insert(headers::SIGNATURE, bus.sign(&subject, &payload).as_str());
    if let Some(traceparent) = traceparent {
        map.insert(headers::TRACEPARENT, traceparent);
    }
    let sent = bus.client().publish_with_headers(subject.clone(), map, payload).await;
    sent.map_err(|source| SignalError::Send { subject, source })
}

/// A signal that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The subject it was sent on.
    pub subject: String,
    /// Its payload.
    pub payload: Bytes,
    /// W3C trace context.
    pub traceparent: Option<String>,
    /// `Hp-Signature`.
    pub signature: Option<String>,
}

impl Signal {
    /// Whether an orchestrator that counts at this time sent it. Anybody of the agents' account can have the broker send
    /// something on any of its subjects: the answer to a request goes where the sender of the request says.
    #[must_use]
    pub fn is_orchestrators(&self, roots: &TrustRoots, now: Timestamp) -> bool {
        let signature = self.signature.as_deref();
        signature.is_some_and(|signature| roots.is_orchestrators(&self.subject, &self.payload, signature, now))
    }
}

/// How many signals were passed over because nobody of those who may had signed them.
#[derive(Debug, Default)]
pub struct Forged(u64);

impl Forged {
    /// Counts one, and warns: of the first, the second, the fourth and so on, so that a flood of them is no flood of lines.
    pub fn count(&mut self, signal: &Signal) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            let (subject, count) = (&signal.subject, self.0);
            tracing::warn!(subject, count, "somebody with the key of an agent forges signals; they are passed over");
        }
    }
}

/// Signals as they come.
#[derive(Debug)]
pub struct Signals(Subscriber);

impl Signals {
    /// Listens on a subject, which may have wildcards. When this returns, the subscription is on its way: the broker takes
    /// up what a connection sends in order, so that the answer to any later request of this connection shows that it
    /// listens.
    ///
    /// # Errors
    /// [`SignalError::Listen`].
    pub async fn listen(bus: &Bus, subject: String) -> Result<Self, SignalError> {
        let subscriber = bus.client().subscribe(subject.clone()).await;
        Self::of(bus, subject, subscriber).await
    }

    /// As [`Signals::listen`], in a queue group: each signal goes to one of its members.
    ///
    /// # Errors
    /// As there.
    pub async fn share(bus: &Bus, subject: String, group: &str) -> Result<Self, SignalError> {
        let subscriber = bus.client().queue_subscribe(subject.clone(), group.to_owned()).await;
        Self::of(bus, subject, subscriber).await
    }

    async fn of(
        bus: &Bus,
        subject: String,
        subscriber: Result<Subscriber, async_nats::SubscribeError>,
    ) -> Result<Self, SignalError> {
        let subscriber = subscriber.map_err(|source| SignalError::Listen { subject, source })?;
        // Else it waits in the client's buffer for company.
        if let Err(error) = bus.client().flush().await {
            tracing::debug!(%error, "the subscription is made when the broker is back");
        }
        Ok(Self(subscriber))
    }

    /// The next signal; `None` when the connection was closed. Safe to cancel.
    pub async fn next(&mut self) -> Option<Signal> {
        let message = self.0.next().await?;
        let of = |name| message.headers.as_ref().and_then(|map| header(map, name));
        let (traceparent, signature) = (of(headers::TRACEPARENT), of(headers::SIGNATURE));
        Some(Signal { subject: message.subject.to_string(), payload: message.payload, traceparent, signature })
    }

    /// A signal that has come already.
    pub(crate) fn next_now(&mut self) -> Option<Signal> {
        self.next().now_or_never().flatten()
    }
}
