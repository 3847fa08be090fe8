//! Turns, as agents pull them: by priority, one at a time, only what an orchestrator signed.

use std::{sync::Arc, time::Duration};

use async_nats::{StatusCode, jetstream};
use bytes::Bytes;
use holdpoint_protocol::{
    ids::{PoolId, RoleId},
    plan::Priority,
    streams, subjects,
};

use crate::{
    Bus,
    auth::TrustRoots,
    handoffs::QueueError,
    message::Stored,
    signals::{SignalError, Signals},
};

/// How long an agent waits for a hint before it looks by itself (contract, "Subjects for external agents").
const POLL_EVERY: Duration = Duration::from_secs(5);
/// How long the broker may take to answer a pull or an acknowledgement.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// A pull of one message that does not wait. Nothing may be delivered to an agent that is gone meanwhile.
const PULL: &[u8] = br#"{"batch":1,"no_wait":true}"#;

/// The turns that one agent may take.
#[derive(Debug)]
pub struct TurnQueue {
    bus: Bus,
    roots: Arc<TrustRoots>,
    role: RoleId,
    pool: PoolId,
    hints: Signals,
}

impl TurnQueue {
    /// Opens the queue of a role and pool. The credentials have to be of both.
    ///
    /// # Errors
    /// [`SignalError::Listen`] when the connection is closed.
    pub async fn open(bus: &Bus, role: &RoleId, pool: &PoolId, roots: Arc<TrustRoots>) -> Result<Self, SignalError> {
        let hints = Signals::listen(bus, subjects::wake(role)).await?;
        Ok(Self { bus: bus.clone(), roots, role: role.clone(), pool: pool.clone(), hints })
    }

    /// Waits for the next turn: critical ones first. A broker that is away is waited for.
    ///
    /// When this is cancelled, a turn that was under way is delivered again after the acknowledgement wait.
    pub async fn next(&mut self) -> Delivery {
        loop {
            self.hints.clear();
            if let Some(delivery) = self.poll().await {
                return delivery;
            }
            // A closed connection gives no hints, and must not make this a busy loop.
            let hint = async {
                if self.hints.next().await.is_none() {
                    std::future::pending::<()>().await;
                }
            };
            let _ = tokio::time::timeout(POLL_EVERY, hint).await;
        }
    }

    /// The next turn, if one is there now.
    pub async fn poll(&mut self) -> Option<Delivery> {
        for priority in Priority::ALL {
            // More than one round only after an entry that does not count.
            while let Some(delivery) = self.pull(priority).await {
                if delivery.stored.is_orchestrators(&self.roots) {
                    return Some(delivery);
                }
                let Stored { sequence, subject, .. } = &delivery.stored;
                tracing::error!(sequence = sequence.0, %subject, "ALARM: an entry that no orchestrator signed");
                if let Err(error) = delivery.ack().await {
                    tracing::warn!(%error, "it will come again");
                }
            }
        }
        None
    }

    async fn pull(&self, priority: Priority) -> Option<Delivery> {
        let consumer = streams::turn_consumer(&self.role, &self.pool, priority);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
        // An inbox of its own: the answer comes under the entry's subject, which the client's shared inbox cannot place.
        let request = async_nats::Request::new()
            .payload(Bytes::from_static(PULL))
            .inbox(self.bus.client().new_inbox())
            .timeout(Some(ANSWER_TIMEOUT));
        let answer = match self.bus.client().send_request(subject, request).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(%consumer, %error, "cannot pull turns");
                return None;
            }
        };
        match answer.status {
            None => {}
            Some(StatusCode::NOT_FOUND) => return None,
            Some(status) => {
                tracing::warn!(%consumer, %status, description = answer.description, "the broker gives no turns");
                return None;
            }
        }
        let message = jetstream::Message { message: answer, context: self.bus.jetstream().clone() };
        let (stored, number) = Stored::from_delivery(&message)?;
        let reply = message.message.reply.as_ref()?.to_string();
        Some(Delivery { stored, number, bus: self.bus.clone(), reply })
    }
}

/// A turn in the hands of one agent. Without heartbeats or an answer it is delivered again.
#[derive(Debug)]
pub struct Delivery {
    /// The entry of the journal that opened the turn.
    pub stored: Stored,
    /// Which delivery of it this is, from 1.
    pub number: u64,
    bus: Bus,
    reply: String,
}

impl Delivery {
    /// Still at it: the time to answer begins anew. To be sent at a third of the acknowledgement wait.
    ///
    /// # Errors
    /// [`QueueError::Ack`] when the connection is closed.
    pub async fn heartbeat(&self) -> Result<(), QueueError> {
        let sent = self.bus.client().publish(self.reply.clone(), Bytes::from_static(b"+WPI")).await;
        sent.map_err(|error| QueueError::Ack(error.into()))
    }

    /// Done: the final handoff is stored. Returns when the broker has the acknowledgement.
    ///
    /// # Errors
    /// [`QueueError::Ack`]; the turn may be delivered again.
    pub async fn ack(&self) -> Result<(), QueueError> {
        self.answer(Bytes::from_static(b"+ACK")).await
    }

    /// Given back: another agent may take it after `delay`.
    ///
    /// # Errors
    /// [`QueueError::Ack`]; it is delivered again after the acknowledgement wait.
    pub async fn nak(&self, delay: Duration) -> Result<(), QueueError> {
        self.answer(format!(r#"-NAK {{"delay":{}}}"#, delay.as_nanos()).into()).await
    }

    async fn answer(&self, payload: Bytes) -> Result<(), QueueError> {
        let request = async_nats::Request::new().payload(payload).timeout(Some(ANSWER_TIMEOUT));
        let answered = self.bus.client().send_request(self.reply.clone(), request).await;
        answered.map(drop).map_err(|error| QueueError::Ack(error.into()))
    }
}
