//! Storing one message and hearing of it: the acknowledgement, and every way in which there is none.
//!
//! The client library knows one of the two conflict codes only, so the answer is read here.

use std::time::Duration;

use async_nats::{HeaderMap, Request, RequestErrorKind};
use bytes::Bytes;
use serde::Deserialize;

use crate::{
    Bus,
    topology::disk::{Bound, FullRoom},
};

/// How long the broker may take to acknowledge. A broker that goes down in order may take 5 s for the last ones.
const ACK_TIMEOUT: Duration = Duration::from_secs(6);
/// The pause before something is sent again that nobody took.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often something is sent at most: long enough for a broker to come back, short enough to tell the caller.
pub(crate) const ATTEMPTS_MAX: u32 = 6;

/// The expected sequence was not the last one: wrong sequence.
const WRONG_LAST_SEQUENCE: u32 = 10071;
/// The same on a replicated stream, where another append is in flight.
const WRONG_LAST_SEQUENCE_IN_FLIGHT: u32 = 10164;
/// A stream refused to store; for a full subject of a write-once stream this is "already there".
const STORE_FAILED: u32 = 10077;
/// The words with which the server refuses to store when a stream's `max_bytes` are reached.
const BYTES_FULL: &str = "maximum bytes exceeded";
/// The words with which it does so when its `max_msgs` are.
const MESSAGES_FULL: &str = "maximum messages exceeded";

/// What the broker says when it stored something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) sequence: u64,
    /// The message id was known already; the sequence is that of the first message with it.
    pub(crate) duplicate: bool,
}

/// Why a message is not known to be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFailure {
    /// It may be stored or not.
    #[error("no acknowledgement in {ACK_TIMEOUT:?}")]
    TimedOut,
    /// It may be stored or not.
    #[error("the connection was lost")]
    ConnectionLost,
    /// It was not stored: no stream listens, or the broker is away.
    #[error("the broker did not take it: {0}")]
    NotTaken(String),
    /// It was not stored: its condition does not hold.
    #[error("the expected sequence is not the last one")]
    Conflict,
    /// It was not stored: the stream has its one message on that subject.
    #[error("already there")]
    AlreadyThere,
    /// It was not stored: the stream has taken up its share of the broker's disk.
    #[error("{0}")]
    Full(FullRoom),
    /// It was not stored, and will not be if sent again.
    #[error("refused with code {code}: {description}")]
    Refused {
        /// The server's code.
        code: u32,
        /// The server's words.
        description: String,
    },
}

impl StoreFailure {
    /// Whether the same message may be sent again.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::TimedOut | Self::ConnectionLost | Self::NotTaken(_))
    }
}

#[derive(Deserialize)]
struct Answer {
    error: Option<AnswerError>,
    #[serde(default)]
    stream: String,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

#[derive(Deserialize)]
struct AnswerError {
    #[serde(default)]
    err_code: u32,
    #[serde(default)]
    description: String,
}

/// Publishes and waits for the acknowledgement.
pub(crate) async fn store(bus: &Bus, subject: String, headers: HeaderMap, payload: Bytes) -> Result<Ack, StoreFailure> {
    let request = Request::new().headers(headers).payload(payload).timeout(Some(ACK_TIMEOUT));
    let lost = bus.lost();
    let answer = tokio::select! {
        answer = bus.client().send_request(subject, request) => answer,
        () = lost => return Err(StoreFailure::ConnectionLost),
    };
    let answer = answer.map_err(|error| match error.kind() {
        RequestErrorKind::TimedOut => StoreFailure::TimedOut,
        RequestErrorKind::NoResponders | RequestErrorKind::Other => StoreFailure::NotTaken(error.to_string()),
        _ => StoreFailure::Refused { code: 0, description: error.to_string() },
    })?;
    read_answer(&answer.payload)
}

fn read_answer(payload: &[u8]) -> Result<Ack, StoreFailure> {
    let answer: Answer = serde_json::from_slice(payload)
        .map_err(|error| StoreFailure::Refused { code: 0, description: format!("not an acknowledgement: {error}") })?;
    let Some(error) = answer.error else { return Ok(Ack { sequence: answer.seq, duplicate: answer.duplicate }) };
    Err(match error.err_code {
        WRONG_LAST_SEQUENCE | WRONG_LAST_SEQUENCE_IN_FLIGHT => StoreFailure::Conflict,
        STORE_FAILED if error.description.contains("per subject") => StoreFailure::AlreadyThere,
        code => match full_room(&answer.stream, &error) {
            Some(room) => StoreFailure::Full(room),
            None => StoreFailure::Refused { code, description: error.description },
        },
    })
}

/// The room that is used up, if that is why.
fn full_room(stream: &str, error: &AnswerError) -> Option<FullRoom> {
    let bound = match (error.err_code, error.description.as_str()) {
        (STORE_FAILED, BYTES_FULL) => Bound::Bytes,
        (STORE_FAILED, MESSAGES_FULL) => Bound::Messages,
        _ => return None,
    };
    FullRoom::of(stream, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u32, description: &str) -> StoreFailure {
        let text = format!(
            r#"{{"error":{{"code":400,"err_code":{code},"description":"{description}"}},"stream":"HP_BLOB_REPAIR","seq":0}}"#
        );
        read_answer(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn both_codes_of_a_lost_race_are_conflicts_and_no_other_is() {
        assert!(matches!(error(10071, "wrong last sequence: 3"), StoreFailure::Conflict));
        assert!(matches!(error(10164, "wrong last sequence"), StoreFailure::Conflict));
        assert!(matches!(error(10077, "maximum messages per subject exceeded"), StoreFailure::AlreadyThere));
        for (words, bound) in [("maximum bytes exceeded", "take 8 %"), ("maximum messages exceeded", "4 KiB of 8 %")] {
            let StoreFailure::Full(room) = error(10077, words) else { panic!("{words}") };
            assert!(room.to_string().contains("HP_BLOB_REPAIR") && room.to_string().contains(bound), "{room}");
        }
        assert!(matches!(error(10077, "disk full"), StoreFailure::Refused { code: 10077, .. }));
        assert!(matches!(error(10052, "x"), StoreFailure::Refused { code: 10052, .. }));
    }

    #[test]
    fn an_acknowledgement_carries_its_sequence_and_other_answers_are_refused() {
        let ack = read_answer(br#"{"stream":"S","seq":7,"duplicate":true}"#).unwrap();
        assert_eq!(ack, Ack { sequence: 7, duplicate: true });
        assert!(matches!(read_answer(b"+OK"), Err(StoreFailure::Refused { code: 0, .. })));
    }
}
