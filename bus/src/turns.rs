//! Turns, as agents pull them: by priority, one at a time, only what an orchestrator signed.

mod looks;
mod pulls;

use std::{
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    sync::OnceLock,
    time::Duration,
};

use bytes::Bytes;
use holdpoint_protocol::{
    ids::{PoolId, RoleId},
    streams, subjects,
};
use looks::Looks;
use pulls::{Pulled, Pulls};
use tokio::time::Instant;

use crate::{
    Bus,
    auth::Trust,
    handoffs::QueueError,
    message::Stored,
    settled::Settled,
    signals::{SignalError, Signals},
};

/// For how long an agent leaves a turn to others that it passed on: each of them looks once in this time.
const OTHERS_FIRST: Duration = Duration::from_secs(7);
/// How long the broker may take to answer an acknowledgement.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The turns that one agent may take.
#[derive(Debug)]
pub struct TurnQueue {
    trust: Trust,
    role: RoleId,
    pool: PoolId,
    /// To all agents of the role.
    hints: Signals,
    /// To this one of the pool's agents.
    calls: Signals,
    pulls: Pulls,
    looks: Looks,
    /// Numbers that no two queues have in common.
    dice: RandomState,
    /// When a turn that this agent passed on is there again, and others look first.
    others_first: Option<Range<Instant>>,
}

impl TurnQueue {
    /// Opens the queue of a role and pool. The credentials have to be of both.
    ///
    /// # Errors
    /// [`SignalError::Listen`] when the connection is closed.
    pub async fn open(bus: &Bus, role: &RoleId, pool: &PoolId, trust: impl Into<Trust>) -> Result<Self, SignalError> {
        let pulls = Pulls::open(bus).await;
        let pulls = pulls.map_err(|source| SignalError::Listen { subject: "an inbox".to_owned(), source })?;
        let hints = Signals::listen(bus, subjects::wake(role)).await?;
        let calls = Signals::share(bus, subjects::wake_one(role, pool), subjects::WAKE_GROUP).await?;
        let (role, pool, looks) = (role.clone(), pool.clone(), Looks::new(Instant::now()));
        let dice = RandomState::new();
        Ok(Self { trust: trust.into(), role, pool, hints, calls, pulls, looks, dice, others_first: None })
    }

    /// Waits for the next turn: critical ones first. A broker that is away is waited for.
    ///
    /// When this is cancelled, a turn that was under way is delivered again after the acknowledgement wait.
    pub async fn next(&mut self) -> Delivery {
        loop {
            while let Some(hint) = self.hints.next_now() {
                self.hinted(&hint.payload);
            }
            while let Some(call) = self.calls.next_now() {
                self.looks.call(&call.payload, Instant::now());
            }
            self.looks.tick(Instant::now());
            if let Some(delivery) = self.look().await {
                return delivery;
            }
            // A closed connection gives no hints, and must not make this a busy loop.
            let until = self.looks.wait_until();
            tokio::select! {
                Some(hint) = self.hints.next() => self.hinted(&hint.payload),
                Some(call) = self.calls.next() => self.looks.call(&call.payload, Instant::now()),
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    fn hinted(&mut self, payload: &[u8]) {
        let now = Instant::now();
        self.looks.hint(payload, now, self.share(now));
    }

    /// How late to look, of 256, if not at once.
    fn share(&self, now: Instant) -> u8 {
        let [share, ..] = self.dice.hash_one(now).to_le_bytes();
        share
    }

    /// A turn was passed on: when it is there again, this agent does not look before the others of its role had the time to. Else
    /// agents that look at the same moments would get it in turn for ever, each time the same one first.
    pub fn after(&mut self, delivery: &Delivery) {
        if let Some(again) = delivery.passed_on.get() {
            self.others_first = Some(*again..*again + OTHERS_FIRST);
        }
    }

    /// The next turn, if one is there now.
    pub async fn poll(&mut self) -> Option<Delivery> {
        self.looks.at_all(Instant::now());
        self.look().await
    }

    /// The next turn where there may be one.
    async fn look(&mut self) -> Option<Delivery> {
        if self.others_first.as_ref().is_some_and(|span| span.contains(&Instant::now())) {
            return None;
        }
        while let Some(priority) = self.looks.next() {
            let consumer = streams::turn_consumer(&self.role, &self.pool, priority);
            let asked = Instant::now();
            match self.pulls.pull(&consumer).await {
                Pulled::Nothing => self.looks.nothing(priority, asked, self.share(asked)),
                Pulled::Failed => self.looks.failed(priority, Instant::now()),
                Pulled::Turn(delivery) => {
                    self.looks.turn(priority);
                    if delivery.stored.is_orchestrators(&self.trust.roots()) {
                        return Some(*delivery);
                    }
                    let Stored { sequence, subject, .. } = &delivery.stored;
                    tracing::error!(sequence = sequence.0, %subject, "ALARM: an entry that no orchestrator signed");
                    if let Err(error) = delivery.ack().await {
                        tracing::warn!(%error, "it will come again");
                    }
                }
            }
        }
        None
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
    /// When it is there again for others to take.
    passed_on: OnceLock<Instant>,
    settled: Settled,
}

impl Delivery {
    /// Still at it: the time to answer begins again. To be sent at a third of the acknowledgement wait.
    ///
    /// # Errors
    /// [`QueueError::Ack`] when the connection is closed.
    pub async fn heartbeat(&self) -> Result<(), QueueError> {
        let beat = async { self.bus.client().publish(self.reply.clone(), Bytes::from_static(b"+WPI")).await };
        self.settled.beat(beat).await.map_err(|error| QueueError::Ack(error.into()))
    }

    /// Done: the final handoff is stored. Does not wait for the broker: an acknowledgement that gets lost means that the
    /// turn is delivered again, and found to be over.
    ///
    /// # Errors
    /// [`QueueError::Ack`] when the connection is closed.
    pub async fn finish(&self) -> Result<(), QueueError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::AckTurn);
        self.settled.settle().await;
        let sent = self.bus.client().publish(self.reply.clone(), Bytes::from_static(b"+ACK")).await;
        sent.map_err(|error| QueueError::Ack(error.into()))
    }

    /// As [`Delivery::finish`]. Returns when the broker has the acknowledgement.
    ///
    /// # Errors
    /// [`QueueError::Ack`]; the turn may be delivered again.
    pub async fn ack(&self) -> Result<(), QueueError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::AckTurn);
        self.answer(Bytes::from_static(b"+ACK")).await
    }

    /// Given back: another agent may take it after `delay`.
    ///
    /// # Errors
    /// [`QueueError::Ack`]; it is delivered again after the acknowledgement wait.
    pub async fn nak(&self, delay: Duration) -> Result<(), QueueError> {
        self.answer(format!(r#"-NAK {{"delay":{}}}"#, delay.as_nanos()).into()).await
    }

    /// Given back for another agent, because this one must not do it: it is there again after `delay`.
    ///
    /// # Errors
    /// As [`Delivery::nak`].
    pub async fn pass_on(&self, delay: Duration) -> Result<(), QueueError> {
        // The first time counts: nobody passes a delivery on twice.
        let _ = self.passed_on.set(Instant::now() + delay);
        self.nak(delay).await
    }

    async fn answer(&self, payload: Bytes) -> Result<(), QueueError> {
        self.settled.settle().await;
        let request = async_nats::Request::new().payload(payload).timeout(Some(ANSWER_TIMEOUT));
        let answered = self.bus.client().send_request(self.reply.clone(), request).await;
        answered.map(drop).map_err(|error| QueueError::Ack(error.into()))
    }
}
