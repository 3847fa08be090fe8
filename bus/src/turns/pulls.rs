//! Asking the broker for one turn at a time, all answers over one inbox: an inbox for each pull would cost the broker two
//! subscriptions and ourselves two more messages a turn.

use std::{sync::OnceLock, time::Duration};

use async_nats::{Message, StatusCode, SubscribeError, Subscriber, jetstream};
use bytes::Bytes;
use futures::StreamExt as _;
use holdpoint_protocol::streams;

use super::{Delivery, Stored};
use crate::{Bus, settled::Settled};

/// How long the broker may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// A pull of one message that does not wait. Nothing may be delivered to an agent that is gone meanwhile.
const PULL: &[u8] = br#"{"batch":1,"no_wait":true}"#;

/// What a pull came to.
pub(super) enum Pulled {
    Turn(Box<Delivery>),
    Nothing,
    /// The broker did not say.
    Failed,
}

/// One pull at a time. The answer of one that was cancelled is that of the next.
#[derive(Debug)]
pub(super) struct Pulls {
    bus: Bus,
    inbox: String,
    answers: Subscriber,
    /// The consumer whose answer is still to come.
    asked: Option<String>,
}

impl Pulls {
    pub(super) async fn open(bus: &Bus) -> Result<Self, SubscribeError> {
        let inbox = bus.client().new_inbox();
        let answers = bus.client().subscribe(inbox.clone()).await?;
        Ok(Self { bus: bus.clone(), inbox, answers, asked: None })
    }

    /// The next turn of a consumer, if it has one now.
    pub(super) async fn pull(&mut self, consumer: &str) -> Pulled {
        if let Some(other) = self.asked.clone() {
            match self.answer(&other).await {
                Pulled::Nothing if other != consumer => {}
                pulled => return pulled,
            }
        }
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
        let client = self.bus.client();
        if let Err(error) = client.publish_with_reply(subject, self.inbox.clone(), Bytes::from_static(PULL)).await {
            tracing::warn!(%consumer, %error, "cannot pull turns");
            return Pulled::Failed;
        }
        self.asked = Some(consumer.to_owned());
        self.answer(consumer).await
    }

    async fn answer(&mut self, consumer: &str) -> Pulled {
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, self.answers.next()).await;
        self.asked = None;
        if let Ok(Some(answer)) = answer {
            return self.read(answer, consumer);
        }
        tracing::warn!(%consumer, "no answer to a pull of turns");
        // A late turn must not be taken for the answer to a later pull: it is delivered again.
        match Self::open(&self.bus).await {
            Ok(anew) => *self = anew,
            Err(error) => tracing::warn!(%error, "cannot listen for turns"),
        }
        Pulled::Failed
    }

    fn read(&self, answer: Message, consumer: &str) -> Pulled {
        if let Some(status) = answer.status {
            if is_nothing(status) {
                return Pulled::Nothing;
            }
            tracing::warn!(%consumer, %status, description = answer.description, "the broker gives no turns");
            return Pulled::Failed;
        }
        let message = jetstream::Message { message: answer, context: self.bus.jetstream().clone() };
        let Some((stored, number)) = Stored::from_delivery(&message) else { return Pulled::Failed };
        let Some(reply) = message.message.reply.as_ref().map(ToString::to_string) else { return Pulled::Failed };
        Pulled::Turn(Box::new(Delivery {
            stored,
            number,
            bus: self.bus.clone(),
            reply,
            passed_on: OnceLock::new(),
            settled: Settled::default(),
        }))
    }
}

/// Whether a status in place of a turn says that there is none to be had now. "Requests Pending" (408) does so: there are turns, and the
/// pulls of other agents, which were first, are for all of them.
fn is_nothing(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_are_for_others_are_no_failure_and_a_consumer_that_is_gone_is_one() {
        assert!([404, 408].map(|code| StatusCode::from_u16(code).unwrap()).into_iter().all(is_nothing));
        assert!(![400, 409, 503].map(|code| StatusCode::from_u16(code).unwrap()).into_iter().any(is_nothing));
    }
}
