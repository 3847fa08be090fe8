//! Looking at the broker's streams from outside, with the raw client: what is stored, how big it is, what was decided.

use async_nats::{
    Client, ConnectOptions, HeaderMap, HeaderName, HeaderValue,
    jetstream::{
        self,
        consumer::{AckPolicy, DeliverPolicy, pull},
    },
};
use futures::{StreamExt as _, TryStreamExt as _};
use holdpoint_bus::auth::Credentials;
use holdpoint_protocol::{
    artifact::Disposition,
    codec::{self, Encoding},
    headers,
    ids::{FlightId, role},
    journal::Decided,
    streams,
    subjects::{self, ROOT},
};

use crate::{BenchError, error::Doing as _};

/// Messages in the streams that are not blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    /// How many.
    pub(crate) messages: u64,
    /// What they take up on disk, as the broker counts it.
    pub(crate) bytes: u64,
}

impl Stored {
    /// What was stored since.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { messages: self.messages - before.messages, bytes: self.bytes - before.bytes }
    }
}

/// One message of a waypoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    /// The last token of its subject that says what it is.
    pub(crate) kind: String,
    /// Headers and payload, in bytes.
    pub(crate) len: usize,
    /// How long after the waypoint's first message it was stored, in milliseconds.
    pub(crate) after_ms: f64,
}

/// A connection of its own. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Streams {
    jetstream: jetstream::Context,
}

impl Streams {
    /// Connects.
    pub(crate) async fn connect(url: &str, credentials: &Credentials) -> Result<Self, BenchError> {
        const ACTION: &str = "connect to the broker with the raw client";
        let options = ConnectOptions::with_credentials(&credentials.to_text()).doing(ACTION)?;
        let options = options.custom_inbox_prefix(format!("_INBOX.{}", credentials.name()));
        let client: Client = options.connect(url).await.doing(ACTION)?;
        Ok(Self { jetstream: jetstream::new(client) })
    }

    /// What is stored now, blobs apart.
    pub(crate) async fn stored(&self) -> Result<Stored, BenchError> {
        const ACTION: &str = "ask the broker what is stored";
        let mut stored = Stored { messages: 0, bytes: 0 };
        for name in stream_names() {
            let stream = self.jetstream.get_stream(name).await.doing(ACTION)?;
            let state = &stream.cached_info().state;
            stored.messages += state.messages;
            stored.bytes += state.bytes;
        }
        Ok(stored)
    }

    /// How many entries all journals have together.
    pub(crate) async fn journal_entries(&self) -> Result<u64, BenchError> {
        let stream = self.jetstream.get_stream(streams::JOURNAL).await.doing("ask the broker what is stored")?;
        Ok(stream.cached_info().state.messages)
    }

    /// How many entries are under this subject.
    pub(crate) async fn count(&self, filter: &str) -> Result<usize, BenchError> {
        const ACTION: &str = "ask the broker what is stored";
        let stream = self.jetstream.get_stream_no_info(streams::JOURNAL).await.doing(ACTION)?;
        let subjects: Result<Vec<_>, _> = stream.info_with_subjects(filter).await.doing(ACTION)?.try_collect().await;
        Ok(subjects.doing(ACTION)?.into_iter().map(|(_, count)| count).sum())
    }

    /// Bytes in all streams, blobs among them, as the broker counts.
    pub(crate) async fn held(&self) -> Result<u64, BenchError> {
        const ACTION: &str = "ask the broker what is stored";
        let streams: Result<Vec<_>, _> = self.jetstream.streams().try_collect().await;
        Ok(streams.doing(ACTION)?.iter().map(|info| info.state.bytes).sum())
    }

    /// All messages of one flight, blobs apart, in the order in which they were stored.
    pub(crate) async fn shapes(&self, flight: &FlightId) -> Result<Vec<Shape>, BenchError> {
        const ACTION: &str = "read a flight's messages";
        let mut found = Vec::new();
        for name in stream_names() {
            let stream = self.jetstream.get_stream(&name).await.doing(ACTION)?;
            let config = pull::Config { filter_subject: filter(&name, flight), ..reading(DeliverPolicy::All) };
            let consumer = stream.create_consumer(config).await.doing(ACTION)?;
            let pending = usize::try_from(consumer.cached_info().num_pending).unwrap_or(usize::MAX);
            if pending == 0 {
                continue;
            }
            let mut messages = consumer.fetch().max_messages(pending).messages().await.doing(ACTION)?;
            while let Some(message) = messages.next().await {
                let message = message.doing(ACTION)?;
                let at = message.info().doing(ACTION)?.published;
                let len = message.payload.len() + message.headers.as_ref().map_or(0, headers_len);
                found.push((at, kind(&message.subject), len));
            }
        }
        found.sort_by_key(|(at, ..)| *at);
        let first = found.first().map(|(at, ..)| *at);
        let shapes = found.into_iter().map(|(at, kind, len)| {
            let after_ms = first.map_or(0.0, |first| (at - first).as_seconds_f64() * 1e3);
            Shape { kind, len, after_ms }
        });
        Ok(shapes.collect())
    }

    /// Everything that is decided from now on and opens no turn.
    pub(crate) async fn decisions(&self) -> Result<Decisions, BenchError> {
        const ACTION: &str = "follow the decisions";
        let stream = self.jetstream.get_stream(streams::JOURNAL).await.doing(ACTION)?;
        let filter_subject = format!("{ROOT}.journal.*.*.decided");
        let config = pull::Config { filter_subject, ..reading(DeliverPolicy::New) };
        let consumer = stream.create_consumer(config).await.doing(ACTION)?;
        Ok(Decisions { messages: consumer.messages().await.doing(ACTION)? })
    }
}

/// See [`Streams::decisions`].
pub(crate) struct Decisions {
    messages: pull::Stream,
}

impl Decisions {
    /// The next one: which journal it is in, and what it says.
    pub(crate) async fn next(&mut self) -> Result<(subjects::JournalKey, Disposition), BenchError> {
        const ACTION: &str = "follow the decisions";
        let message = self.messages.next().await.ok_or("the connection was closed");
        let message = message.doing(ACTION)?.doing(ACTION)?;
        let content_type = message.headers.as_ref().and_then(|map| map.get(headers::CONTENT_TYPE));
        let encoding = Encoding::from_content_type(content_type.map(|value| value.as_str()));
        let decided: Result<Decided, _> = encoding.and_then(|encoding| codec::decode(&message.payload, encoding));
        let decided = decided.doing(ACTION)?;
        let key = subjects::parse_journal(&message.subject).ok_or("a subject that is no journal's");
        Ok((key.doing(ACTION)?, decided.decision.disposition))
    }
}

fn stream_names() -> Vec<String> {
    let handoffs = role::AGENTS.into_iter().map(|name| streams::handoff(&role::id(name)));
    std::iter::once(streams::JOURNAL.to_owned()).chain(handoffs).collect()
}

fn filter(stream: &str, flight: &FlightId) -> String {
    if stream == streams::JOURNAL {
        subjects::journal_of_flight(flight)
    } else {
        format!("{ROOT}.handoff.*.*.{flight}.>")
    }
}

/// A consumer that only looks.
fn reading(deliver_policy: DeliverPolicy) -> pull::Config {
    pull::Config { deliver_policy, ack_policy: AckPolicy::None, memory_storage: true, ..pull::Config::default() }
}

/// `turn.builder`, `build_plan`, `decided`, …
fn kind(subject: &str) -> String {
    let tokens: Vec<&str> = subject.split('.').collect();
    match tokens.as_slice() {
        [.., "turn", role, _, _] => format!("turn.{role}"),
        [.., last] => (*last).to_owned(),
        [] => String::new(),
    }
}

/// What headers take up on the wire.
fn headers_len(map: &HeaderMap) -> usize {
    let len = |(name, values): (&HeaderName, &Vec<HeaderValue>)| {
        let name: &str = name.as_ref();
        values.iter().map(|value| name.len() + value.as_str().len() + ": \r\n".len()).sum::<usize>()
    };
    "NATS/1.0\r\n\r\n".len() + map.iter().map(len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_called_by_what_it_is() {
        assert_eq!(kind("hp.v1.journal.f1.w1.turn.builder.high.fleet"), "turn.builder");
        assert_eq!(kind("hp.v1.journal.f1._.submitted"), "submitted");
        assert_eq!(kind("hp.v1.handoff.builder.3.f1.w1.build_plan"), "build_plan");
    }

    #[test]
    fn headers_are_measured_as_they_are_sent() {
        let mut map = HeaderMap::new();
        map.insert("A", "1");
        map.append("A", "2");
        assert_eq!(headers_len(&map), "NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n".len());
    }
}
