//! Reading many entries in order, up to where the stream's leader says that they end.

use std::collections::VecDeque;

use holdpoint_protocol::{codec::PAYLOAD_MAX, journal::Sequence};

use super::heads::Heads;
use crate::{
    Bus,
    leader::{ReadError, end_of, next_of},
    message::Stored,
    reading::{self, Room},
};

/// The room of a frugal replay: what the biggest message has with its subject and headers.
const FRUGAL: Room = Room { bytes: PAYLOAD_MAX + (64 << 10), ..reading::LARGE };

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
    /// Whether the message at the end came.
    whole: bool,
    buffer: VecDeque<Stored>,
    source: Source,
}

/// Where messages come from.
#[derive(Debug)]
enum Source {
    /// Whole, some at a time.
    Batches(Room),
    /// Without their payloads, which only a consumer leaves out.
    Heads(Heads),
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
            whole: end <= known,
            buffer: VecDeque::new(),
            source: Source::Batches(reading::LARGE),
        })
    }

    /// Leaves the payloads out. It needs a consumer, of which a stream has a limited number: read it to its end, or close it.
    pub(crate) fn headers_only(self) -> Self {
        Self { source: Source::Heads(Heads::default()), ..self }
    }

    /// Holds few messages at once: for callers that read many replays together, or may stop soon.
    #[must_use]
    pub fn frugal(self) -> Self {
        Self { source: Source::Batches(FRUGAL), ..self }
    }

    /// The sequence of the last entry this replay will give.
    #[must_use]
    pub fn end(&self) -> Sequence {
        self.end
    }

    /// Whether everything was there, once nothing more comes. Otherwise the message that was the last one left meanwhile, and others may
    /// have left with it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The next entry; `None` after the last.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn next(&mut self) -> Result<Option<Stored>, ReadError> {
        if self.buffer.is_empty() && self.seen < self.end {
            self.fill().await?;
        }
        if self.buffer.is_empty() {
            self.finish().await;
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

    /// Gets the next ones into the buffer, or finds that there are none.
    async fn fill(&mut self) -> Result<(), ReadError> {
        let Self { bus, stream, filter, seen, .. } = self;
        let mut got: Vec<Stored> = match &mut self.source {
            Source::Batches(room) => {
                let mut got = Vec::new();
                reading::batch(bus, stream, filter, *seen, *room, |one| got.push(Stored::from_stream(one))).await;
                got
            }
            Source::Heads(heads) => heads.pull(bus, stream, filter, *seen).await?,
        };
        if got.is_empty() {
            // A server that is behind was asked, or the answer was cut off: the leader has the next one.
            match next_of(bus, stream, filter, *seen).await? {
                Some(mut next) => {
                    if matches!(self.source, Source::Heads(_)) {
                        next.payload.clear();
                    }
                    got.push(next);
                }
                // What was the end has left.
                None => self.seen = self.end,
            }
        }
        if let Some(last) = got.last() {
            // What came after the beginning of this replay belongs to the next one.
            self.seen = last.sequence.min(self.end);
            self.whole |= got.iter().any(|stored| stored.sequence == self.end);
            self.buffer.extend(got.into_iter().filter(|stored| stored.sequence <= self.end));
        }
        Ok(())
    }

    async fn finish(&mut self) {
        if let Source::Heads(heads) = &mut self.source {
            heads.finish(&self.bus, &self.stream).await;
        }
    }
}
