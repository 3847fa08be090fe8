//! Reading the headers of many messages: one short-lived consumer, pulled in batches, made again when it was cut off.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use futures::StreamExt as _;
use holdpoint_protocol::journal::Sequence;

use crate::{
    Bus,
    leader::{ReadError, stream},
    message::Stored,
};

/// Messages per pull.
const BATCH_LEN: usize = 500;
/// How long the broker keeps the consumer of a reading that nobody goes on with.
const INACTIVE_MAX: Duration = Duration::from_secs(30);
/// How long the broker may be silent within a batch.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// The consumer, and how many messages it delivered.
#[derive(Debug, Default)]
pub(super) struct Heads(Option<Box<(Consumer<pull::Config>, u64)>>);

impl Heads {
    /// The next ones behind `seen`, without their payloads. None: they are at their end, or were cut off.
    pub(super) async fn pull(
        &mut self,
        bus: &Bus,
        name: &str,
        filter: &str,
        seen: Sequence,
    ) -> Result<Vec<Stored>, ReadError> {
        if self.0.is_none() {
            self.0 = Some(Box::new((make(bus, name, filter, seen).await?, 0)));
        }
        let Some((consumer, delivered)) = self.0.as_deref_mut() else { return Ok(Vec::new()) };
        // The client waits for the end of a batch without end: a broker that died with the pull never answers it.
        let mut lost = std::pin::pin!(bus.lost());
        let Ok(mut batch) = consumer.fetch().max_messages(BATCH_LEN).messages().await else { return Ok(Vec::new()) };
        let mut heads = Vec::new();
        let is_over = loop {
            let next = tokio::select! {
                next = tokio::time::timeout(SILENCE_MAX, batch.next()) => next,
                () = &mut lost => {
                    self.0 = None;
                    return Ok(heads);
                }
            };
            let Ok(Some(Ok(message))) = next else { break heads.is_empty() };
            *delivered += 1;
            // A gap in the consumer's own count: a delivery got lost, and nothing after it may be given out.
            let whole = message.info().is_ok_and(|info| info.consumer_sequence == *delivered);
            let Some((stored, _)) = Stored::from_delivery(&message).filter(|_| whole) else { break true };
            heads.push(stored);
        };
        if is_over {
            self.finish(bus, name).await;
        }
        Ok(heads)
    }

    /// Gives the consumer back: a stream has room for a limited number of them.
    pub(super) async fn finish(&mut self, bus: &Bus, name: &str) {
        let Some(consumer) = self.0.take() else { return };
        let Ok(stream) = stream(bus, name).await else { return };
        if let Err(error) = stream.delete_consumer(&consumer.0.cached_info().name).await {
            tracing::debug!(%error, "the consumer of a replay ends by itself later");
        }
    }
}

async fn make(bus: &Bus, name: &str, filter: &str, seen: Sequence) -> Result<Consumer<pull::Config>, ReadError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: seen.0 + 1 },
        ack_policy: AckPolicy::None,
        filter_subject: filter.to_owned(),
        inactive_threshold: INACTIVE_MAX,
        headers_only: true,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let made = stream(bus, name).await?.create_consumer(config).await;
    made.map_err(|source| ReadError::Start { filter: filter.to_owned(), source })
}
