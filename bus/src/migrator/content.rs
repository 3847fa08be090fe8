//! What is in a stream, as one digest: whether a copy is what it is a copy of.

use std::time::{Duration, Instant};

use async_nats::jetstream::message::StreamMessage;
use holdpoint_protocol::{Digest, journal::Sequence};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{MigrateError, Migrator, StreamContent};
use crate::{connection::API_TIMEOUT, reading};

/// Headers that the broker adds to what it gives out, and that depend on how it was asked for. A sender's own of these names come before
/// them.
const OF_THE_ANSWER: [&str; 2] = ["Nats-Num-Pending", "Nats-Last-Sequence"];

/// How long servers that start may take to choose who leads a stream.
const LEADER_WITHIN: Duration = Duration::from_secs(60);

/// How a stream stands.
#[derive(Debug, Deserialize)]
struct Info {
    state: State,
}

#[derive(Debug, Deserialize)]
struct State {
    messages: u64,
    last_seq: u64,
}

impl Migrator {
    /// How many messages a stream has, and the last place that was given away. Waits for the stream's leader: servers of a cluster that
    /// just started are well before they have chosen one, and until then none of them answers for the stream.
    ///
    /// # Errors
    /// [`MigrateError`] when the broker does not answer.
    pub async fn standing(&self, stream: &str) -> Result<(u64, Sequence), MigrateError> {
        let deadline = Instant::now() + LEADER_WITHIN;
        loop {
            match self.ask::<Info>(("describe", "INFO"), stream, &json!({}), API_TIMEOUT).await {
                Err(MigrateError::Silent { .. }) if Instant::now() < deadline => {}
                described => {
                    let Info { state } = described?;
                    return Ok((state.messages, Sequence(state.last_seq)));
                }
            }
        }
    }

    /// Reads all of a stream.
    ///
    /// # Errors
    /// [`MigrateError`] when the broker does not answer or messages cannot be read.
    pub async fn content(&self, stream: &str) -> Result<StreamContent, MigrateError> {
        let (expected, last) = self.standing(stream).await?;
        let (mut after, mut hasher, mut messages) = (Sequence(0), Sha256::new(), 0);
        let mut take = |message: &StreamMessage| {
            messages += 1;
            hash(&mut hasher, message);
        };
        let read = reading::read_stream(&self.bus, stream, &mut after, &mut take).await;
        let failed = |source| MigrateError::Read { stream: stream.to_owned(), source };
        read.map_err(failed)?;
        // A gap at the end would go unseen.
        if messages != expected {
            return Err(failed(format!("{messages} messages were read, and it has {expected}").into()));
        }
        let digest = Digest::of_hash(hasher);
        Ok(StreamContent { messages, last, digest })
    }
}

/// Place, time and subject are headers of the answer.
fn hash(hasher: &mut Sha256, message: &StreamMessage) {
    let mut headers: Vec<(&str, &str)> = Vec::new();
    for (name, values) in message.headers.iter() {
        let name: &str = name.as_ref();
        let stored = values.len() - usize::from(OF_THE_ANSWER.contains(&name));
        headers.extend(values.iter().take(stored).map(|value| (name, value.as_str())));
    }
    // They come in any order; the values of one name in theirs.
    headers.sort_by_key(|(name, _)| *name);
    for text in headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]) {
        part(hasher, text);
    }
    part(hasher, &message.payload);
}

/// With its length, so that no two lists of parts have the same bytes.
fn part(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}
