//! Reading many entries in order: one short-lived consumer, pulled in batches, recreated when it was cut off.

use std::{collections::VecDeque, time::Duration};

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use futures::StreamExt as _;
use holdpoint_protocol::{codec::PAYLOAD_MAX, journal::Sequence};

use super::{ReadError, end_of, stream};
use crate::{Bus, message::Stored};

/// Entries per pull, and their bytes. Bounds what is in memory at once.
const BATCH_LEN: usize = 500;
const BATCH_BYTES: usize = 32 << 20;
/// The same of a replay that is read together with others.
const FRUGAL_LEN: usize = 32;
/// What the biggest message has with its subject and headers: a pull for less would never get it.
const FRUGAL_BYTES: usize = PAYLOAD_MAX + (64 << 10);
/// How long the broker keeps the consumer of a replay that nobody goes on with.
const INACTIVE_MAX: Duration = Duration::from_secs(30);
/// How often a replay that was cut off is taken up again without getting further.
const RESUMES_MAX: u32 = 10;
/// How long the broker may be silent within a batch.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The pause before that.
const RESUME_PAUSE: Duration = Duration::from_millis(200);

/// A reading of all entries under a filter, up to the one that was the last when it began.
#[derive(Debug)]
pub struct Replay {
    bus: Bus,
    stream: String,
    filter: String,
    /// The last sequence given out or buffered.
    seen: Sequence,
    /// The last sequence to give out; the stream's leader named it.
    end: Sequence,
    buffer: VecDeque<Stored>,
    /// The consumer, and how many messages it delivered.
    consumer: Option<(Consumer<pull::Config>, u64)>,
    headers_only: bool,
    /// Messages and bytes of a pull.
    batch: (usize, usize),
}

impl Replay {
    pub(crate) async fn start(bus: &Bus, stream: &str, filter: &str, known: Sequence) -> Result<Self, ReadError> {
        let end = end_of(bus, stream, filter).await?;
        Ok(Self {
            bus: bus.clone(),
            stream: stream.to_owned(),
            filter: filter.to_owned(),
            seen: known,
            end,
            buffer: VecDeque::new(),
            consumer: None,
            headers_only: false,
            batch: (BATCH_LEN, BATCH_BYTES),
        })
    }

    /// Leaves the payloads out.
    pub(crate) fn headers_only(self) -> Self {
        Self { headers_only: true, ..self }
    }

    /// Holds few messages at once: for callers that read many replays together.
    #[must_use]
    pub fn frugal(self) -> Self {
        Self { batch: (FRUGAL_LEN, FRUGAL_BYTES), ..self }
    }

    /// The sequence of the last entry this replay will give.
    #[must_use]
    pub fn end(&self) -> Sequence {
        self.end
    }

    /// The next entry; `None` after the last.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn next(&mut self) -> Result<Option<Stored>, ReadError> {
        let mut resumes = 0;
        while self.buffer.is_empty() {
            if self.seen >= self.end {
                self.finish().await;
                return Ok(None);
            }
            if resumes > RESUMES_MAX {
                return Err(ReadError::Interrupted { filter: self.filter.clone() });
            }
            if !self.fill().await? {
                // Cut off, or behind the leader: recreate the consumer from where we are.
                self.consumer = None;
                resumes += 1;
                tokio::time::sleep(RESUME_PAUSE).await;
            }
        }
        Ok(self.buffer.pop_front())
    }

    /// The next entries, as many as the broker gave at once; none after the last.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn next_batch(&mut self) -> Result<Vec<Stored>, ReadError> {
        let Some(first) = self.next().await? else { return Ok(Vec::new()) };
        Ok(std::iter::once(first).chain(self.buffer.drain(..)).collect())
    }

    /// Reads no further.
    pub async fn close(mut self) {
        self.finish().await;
    }

    /// All that is left.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn collect(mut self) -> Result<Vec<Stored>, ReadError> {
        let mut entries = Vec::new();
        while let Some(entry) = self.next().await? {
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Pulls one batch into the buffer; whether it got further.
    async fn fill(&mut self) -> Result<bool, ReadError> {
        let (consumer, mut delivered) = match self.consumer.take() {
            Some(consumer) => consumer,
            None => (self.make_consumer().await?, 0),
        };
        // The client waits for the end of a batch without end: a broker that died with the pull never answers it.
        let mut lost = std::pin::pin!(self.bus.lost());
        let Ok(mut batch) = consumer.fetch().max_messages(self.batch.0).max_bytes(self.batch.1).messages().await else {
            return Ok(false);
        };
        let before = self.seen;
        let mut whole = true;
        loop {
            let next = tokio::select! {
                next = tokio::time::timeout(SILENCE_MAX, batch.next()) => next,
                () = &mut lost => return Ok(self.seen > before),
            };
            let Ok(Some(Ok(message))) = next else { break };
            delivered += 1;
            // A gap in the consumer's own count: a delivery got lost, and nothing after it may be given out.
            whole = whole && message.info().is_ok_and(|info| info.consumer_sequence == delivered);
            let Some((stored, _)) = Stored::from_delivery(&message).filter(|_| whole) else { break };
            // What came after the beginning of this replay belongs to the next one.
            if stored.sequence > self.end {
                self.seen = self.end;
                break;
            }
            self.seen = stored.sequence;
            self.buffer.push_back(stored);
        }
        if whole {
            self.consumer = Some((consumer, delivered));
        }
        Ok(self.seen > before)
    }

    async fn make_consumer(&self) -> Result<Consumer<pull::Config>, ReadError> {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.seen.0 + 1 },
            ack_policy: AckPolicy::None,
            filter_subject: self.filter.clone(),
            inactive_threshold: INACTIVE_MAX,
            headers_only: self.headers_only,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let made = stream(&self.bus, &self.stream).await?.create_consumer(config).await;
        made.map_err(|source| ReadError::Start { filter: self.filter.clone(), source })
    }

    /// Gives the consumer back: a server has room for a limited number of them.
    async fn finish(&mut self) {
        let Some((consumer, _)) = self.consumer.take() else { return };
        let Ok(stream) = stream(&self.bus, &self.stream).await else { return };
        if let Err(error) = stream.delete_consumer(&consumer.cached_info().name).await {
            tracing::debug!(%error, "the consumer of a replay ends by itself later");
        }
    }
}
