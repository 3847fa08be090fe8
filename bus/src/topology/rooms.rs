//! How full streams are, and how far they go.

use async_nats::jetstream::{ErrorCode, context::GetStreamErrorKind};
use holdpoint_protocol::journal::Sequence;

use super::TopologyError;
use crate::Bus;

/// How full a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that are stored in it.
    pub bytes: u64,
    /// What may be; `None`: there is no bound.
    pub bytes_max: Option<u64>,
    /// Messages that are stored in it.
    pub messages: u64,
    /// What may be; `None`: there is no bound.
    pub messages_max: Option<u64>,
}

/// The sequence of the last message that a stream ever had; `None`: the broker has no such stream.
///
/// # Errors
/// [`TopologyError::NoStream`]: the broker does not say.
pub async fn last(bus: &Bus, stream: &str) -> Result<Option<Sequence>, TopologyError> {
    match bus.jetstream().get_stream(stream).await {
        Ok(found) => Ok(Some(Sequence(found.cached_info().state.last_sequence))),
        Err(source) => match source.kind() {
            GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
            _ => Err(TopologyError::NoStream { name: stream.to_owned(), source }),
        },
    }
}

/// How full a stream is.
///
/// # Errors
/// [`TopologyError::NoStream`]: it is not there, or the broker does not say.
pub async fn room(bus: &Bus, stream: &str) -> Result<Room, TopologyError> {
    let failed = |source| TopologyError::NoStream { name: stream.to_owned(), source };
    let found = bus.jetstream().get_stream(stream).await.map_err(failed)?;
    let info = found.cached_info();
    Ok(Room {
        bytes: info.state.bytes,
        bytes_max: u64::try_from(info.config.max_bytes).ok(),
        messages: info.state.messages,
        messages_max: u64::try_from(info.config.max_messages).ok(),
    })
}
