//! Single messages of a stream, as the stream's leader has them: the last one, the next one, the one at a place. For many,
//! there is [`crate::reading`].

use async_nats::jetstream::{self, stream::RawMessageErrorKind};
use holdpoint_protocol::journal::Sequence;

use crate::{Bus, message::Stored};

/// All messages of a stream. The broker does not look at subjects for this filter, so it costs the same however many there are. But of
/// the last message under it, it looks only at the last place that was given away: if that message was deleted, it says that there is
/// none (nats-server 2.15.1).
pub(crate) const ALL: &str = ">";
/// The same messages, for which the broker looks at every subject: every one of ours has two tokens or more.
const ALL_BY_SUBJECT: &str = "*.>";

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream is not there, or the broker is away.
    #[error("cannot reach the stream {stream}")]
    Stream {
        /// The stream.
        stream: String,
        /// What the client said.
        #[source]
        source: jetstream::context::GetStreamError,
    },
    /// A message could not be got.
    #[error("cannot get a message of {stream}")]
    Get {
        /// The stream.
        stream: String,
        /// What the client said.
        #[source]
        source: jetstream::stream::RawMessageError,
    },
    /// A replay could not be started.
    #[error("cannot start the replay of {filter}")]
    Start {
        /// What was to be replayed.
        filter: String,
        /// What the client said.
        #[source]
        source: jetstream::stream::ConsumerError,
    },
    /// A reading ended before its end: the process ends.
    #[error("the replay of {filter} does not come to its end")]
    Interrupted {
        /// What was to be replayed.
        filter: String,
    },
}

/// A stream, without asking whether it is there.
pub(crate) async fn stream(bus: &Bus, name: &str) -> Result<jetstream::stream::Stream<()>, ReadError> {
    let stream = bus.jetstream().get_stream_no_info(name).await;
    stream.map_err(|source| ReadError::Stream { stream: name.to_owned(), source })
}

/// The last message under a filter, as the stream's leader has it.
pub(crate) async fn last_of(bus: &Bus, name: &str, filter: &str) -> Result<Option<Stored>, ReadError> {
    let last = stream(bus, name).await?.raw_message_builder().last_by_subject(filter).send().await;
    found(name, last)
}

/// The first message under a filter behind a sequence, as the stream's leader has it.
pub(crate) async fn next_of(bus: &Bus, name: &str, filter: &str, after: Sequence) -> Result<Option<Stored>, ReadError> {
    let builder = stream(bus, name).await?.raw_message_builder();
    found(name, builder.sequence(after.0 + 1).next_by_subject(filter).send().await)
}

/// Where that one is; 0 where there is none.
pub(crate) async fn end_of(bus: &Bus, name: &str, filter: &str) -> Result<Sequence, ReadError> {
    let mut last = last_of(bus, name, filter).await?;
    if last.is_none() && filter == ALL {
        last = last_of(bus, name, ALL_BY_SUBJECT).await?;
    }
    Ok(last.map_or(Sequence(0), |last| last.sequence))
}

/// One message by its sequence, as the stream's leader has it.
pub(crate) async fn message_at(bus: &Bus, name: &str, sequence: Sequence) -> Result<Option<Stored>, ReadError> {
    found(name, stream(bus, name).await?.get_raw_message(sequence.0).await)
}

fn found(
    stream: &str,
    got: Result<jetstream::message::StreamMessage, jetstream::stream::RawMessageError>,
) -> Result<Option<Stored>, ReadError> {
    match got {
        Ok(message) => Ok(Some(Stored::from_stream(message))),
        Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(None),
        Err(source) => Err(ReadError::Get { stream: stream.to_owned(), source }),
    }
}
