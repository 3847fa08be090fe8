//! Messages as they are stored: what is sent, what comes back, and the headers of both.

use async_nats::{HeaderMap, Message, jetstream};
use bytes::Bytes;
use holdpoint_protocol::{Timestamp, export, headers, journal::Sequence};

use crate::auth::{TrustRoots, verify_signature};

/// What is to be stored, besides its subject.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The payload, as it is signed and sent.
    pub payload: Bytes,
    /// [`headers::JSON`] or [`headers::MSGPACK`].
    pub content_type: &'static str,
    /// Kind and version of the payload.
    pub schema: String,
    /// The same for every attempt to store the same thing, and for nothing else.
    pub message_id: String,
    /// W3C trace context, passed through.
    pub traceparent: Option<String>,
}

impl Outgoing {
    pub(crate) fn headers(&self, signature: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(headers::CONTENT_TYPE, self.content_type);
        map.insert(headers::SCHEMA, self.schema.as_str());
        map.insert(headers::MESSAGE_ID, self.message_id.as_str());
        map.insert(headers::SIGNATURE, signature);
        if let Some(traceparent) = &self.traceparent {
            map.insert(headers::TRACEPARENT, traceparent.as_str());
        }
        map
    }
}

/// A stored message. Its headers are the sender's word until a signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its place in its stream.
    pub sequence: Sequence,
    /// The subject it was published on.
    pub subject: String,
    /// The payload as sent.
    pub payload: Bytes,
    /// When the broker stored it.
    pub time: Timestamp,
    /// `Hp-Signature`.
    pub signature: Option<String>,
    /// `Hp-Jwt`.
    pub jwt: Option<String>,
    /// `Hp-Schema`.
    pub schema: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `traceparent`.
    pub traceparent: Option<String>,
    /// `Nats-Msg-Id`.
    pub message_id: Option<String>,
    /// `Hp-Progress`.
    pub nonce: Option<String>,
}

impl Stored {
    /// Whether an orchestrator signed it, whose key counted when it was stored: what an entry of a journal has to be to
    /// count.
    #[must_use]
    pub fn is_orchestrators(&self, roots: &TrustRoots) -> bool {
        self.signature
            .as_ref()
            .is_some_and(|signature| roots.is_orchestrators(&self.subject, &self.payload, signature, self.time))
    }

    /// Whether this user signed it.
    #[must_use]
    pub fn is_signed_by(&self, public_key: &str) -> bool {
        self.signature
            .as_ref()
            .is_some_and(|signature| verify_signature(public_key, &self.subject, &self.payload, signature))
    }

    /// The message as an export shows it, with all of its payload.
    #[must_use]
    pub fn exported(&self, stream: &str) -> export::Message {
        let named = [
            (headers::CONTENT_TYPE, &self.content_type),
            (headers::SCHEMA, &self.schema),
            (headers::MESSAGE_ID, &self.message_id),
            (headers::SIGNATURE, &self.signature),
            (headers::JWT, &self.jwt),
            (headers::TRACEPARENT, &self.traceparent),
            (headers::PROGRESS, &self.nonce),
        ];
        let headers = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        export::Message {
            stream: stream.to_owned(),
            sequence: self.sequence,
            subject: self.subject.clone(),
            time: self.time,
            headers,
            payload: self.payload.to_vec(),
        }
    }

    pub(crate) fn from_stream(message: jetstream::message::StreamMessage) -> Self {
        let time = millis(message.time.unix_timestamp_nanos());
        Self::new(message.sequence, time, message.subject.to_string(), message.payload, &message.headers)
    }

    /// A delivered message, and which delivery of it this is (from 1); `None` if no consumer delivered it.
    pub(crate) fn from_delivery(message: &jetstream::Message) -> Option<(Self, u64)> {
        let info = message.info().ok()?;
        let delivery = u64::try_from(info.delivered).unwrap_or(1);
        let (sequence, time) = (info.stream_sequence, millis(info.published.unix_timestamp_nanos()));
        let Message { subject, payload, headers, .. } = &message.message;
        let none = HeaderMap::new();
        let headers = headers.as_ref().unwrap_or(&none);
        Some((Self::new(sequence, time, subject.to_string(), payload.clone(), headers), delivery))
    }

    fn new(sequence: u64, time: Timestamp, subject: String, payload: Bytes, map: &HeaderMap) -> Self {
        let text = |name: &str| header(map, name);
        Self {
            sequence: Sequence(sequence),
            subject,
            payload,
            time,
            signature: text(headers::SIGNATURE),
            jwt: text(headers::JWT),
            schema: text(headers::SCHEMA),
            content_type: text(headers::CONTENT_TYPE),
            traceparent: text(headers::TRACEPARENT),
            message_id: text(headers::MESSAGE_ID),
            nonce: text(headers::PROGRESS),
        }
    }
}

/// Bytes of a header's value that is read: several times what a JWT has. The broker takes 64 KiB of headers, and what is
/// read goes into pages, refusals and lines of the log.
const HEADER_LEN_MAX: usize = 8 << 10;

/// One header's value: the last where a sender wrote several, as the broker's own answers have it. One that is too long is passed over, as if it were not there: what needs it is refused for its lack.
pub(crate) fn header(map: &HeaderMap, name: &str) -> Option<String> {
    map.get_last(name).map(|value| value.as_str()).filter(|value| value.len() <= HEADER_LEN_MAX).map(str::to_owned)
}

fn millis(nanos: i128) -> Timestamp {
    Timestamp::from_millis(i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_up_to_a_bound_and_passed_over_beyond_it() {
        let of =
            |len: usize| HeaderMap::from_iter([(headers::SCHEMA.parse().unwrap(), "x".repeat(len).parse().unwrap())]);
        assert_eq!(header(&of(HEADER_LEN_MAX), headers::SCHEMA).map(|value| value.len()), Some(HEADER_LEN_MAX));
        assert_eq!(header(&of(HEADER_LEN_MAX + 1), headers::SCHEMA), None);
    }
}
