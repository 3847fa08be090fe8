//! Journals: appended to under the check that nobody else did, read back in order. For orchestrators only.

mod heads;
mod replay;
mod signed;

use async_nats::HeaderMap;
use holdpoint_faults::Step;
use holdpoint_protocol::{
    journal::{EntryKind, Sequence},
    streams,
    subjects::{Fence, JournalKey},
};

use crate::{
    Bus,
    leader::{ALL, end_of, last_of, message_at, next_of},
    message::{Outgoing, Stored},
    publish::{self, ATTEMPTS_MAX, RETRY_PAUSE, StoreFailure},
    tries::{self, RetriedKind},
};

pub use crate::leader::ReadError;
pub use replay::Replay;
pub use signed::are_orchestrators;

const EXPECTED_SEQUENCE: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_SEQUENCE_FILTER: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// Why an entry was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another entry came first: fold again and decide again.
    #[error("the journal {journal} moved past sequence {}", expected.0)]
    Conflict {
        /// The filter of the journals that fence the entry.
        journal: String,
        /// The sequence that was taken for its last.
        expected: Sequence,
    },
    /// The broker did not say whether it stored the entry. Fold again and look for the message id.
    #[error("an entry of {journal} was not acknowledged")]
    Unacknowledged {
        /// The journal's filter.
        journal: String,
        /// The last attempt's failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The entry is larger than a message of this broker may be: it will never be stored.
    #[error("an entry of {journal} has {bytes} bytes, and a message may have {most}")]
    TooLarge {
        /// The journal's filter.
        journal: String,
        /// The entry's size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The broker will not store this entry.
    #[error("an entry of {journal} was refused")]
    Refused {
        /// The journal's filter.
        journal: String,
        /// Its reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl AppendError {
    /// Whether others may have appended first: fold again and decide again.
    #[must_use]
    pub fn is_race(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Unacknowledged { .. })
    }
}

/// What an append builds on.
#[derive(Debug, Clone)]
pub struct Append<'a> {
    /// The journal.
    pub key: &'a JournalKey,
    /// The kind of the entry, which is part of its subject.
    pub kind: &'a EntryKind,
    /// The journals that must not have moved.
    pub fence: Fence,
    /// Their last sequence on which the entry was decided; 0 for an empty journal.
    pub expected: Sequence,
    /// The entry.
    pub entry: Outgoing,
}

/// Which attempt stored an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// This one.
    Now(Sequence),
    /// An earlier one with the same message id.
    Earlier(Sequence),
}

/// The entry that the broker knows by a message id.
enum Known {
    /// The one that was to be appended, at its place.
    Own(Sequence),
    /// It cannot be read yet.
    NotYet,
    /// Another one.
    Other,
}

/// Bytes of an entry's headers, at most: the broker counts them with its payload.
const HEADERS_ROOM: usize = 8 << 10;

/// The journals of all flights.
#[derive(Debug, Clone)]
pub struct Journal {
    bus: Bus,
}

impl Journal {
    /// The journals behind this connection.
    #[must_use]
    pub fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
    }

    /// Signs and appends an entry, if the last sequence of what fences it still is the expected one.
    ///
    /// An entry with this message id that is at its place already (an earlier attempt whose acknowledgement got
    /// lost) is success: the server checks the expected sequence before it looks at message ids, so this is done here.
    ///
    /// # Errors
    /// [`AppendError`]; only a conflict means for sure that the entry is not there.
    pub async fn append(&self, append: Append<'_>) -> Result<Sequence, AppendError> {
        match self.begin(append).await? {
            Begun::Now(sequence) | Begun::Earlier(sequence) => Ok(sequence),
        }
    }

    /// As [`Journal::append`], for a message id that others may have used for the same: whether it was this attempt or
    /// an earlier one that stored the entry. Its payload may then be another.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub async fn begin(&self, append: Append<'_>) -> Result<Begun, AppendError> {
        let Append { key, kind, fence, expected, entry } = append;
        let _at = holdpoint_faults::at(step_of(kind));
        let (subject, journal) = (key.entry(kind), key.fence(fence));
        let (bytes, most) = (entry.payload.len(), self.bus.payload_max().saturating_sub(HEADERS_ROOM));
        if bytes > most {
            return Err(AppendError::TooLarge { journal, bytes, most });
        }
        let mut headers = entry.headers(&self.bus.sign(&subject, &entry.payload));
        expect(&mut headers, &journal, expected);
        let mut attempt = 1;
        loop {
            let sent = publish::store(&self.bus, subject.clone(), headers.clone(), entry.payload.clone()).await;
            match sent {
                Ok(ack) if ack.duplicate => {
                    let own = self.known_by_id(&journal, expected, &entry.message_id, Sequence(ack.sequence)).await;
                    return match own.map_err(|source| unacknowledged(&journal, source))? {
                        Known::Own(own) => Ok(Begun::Earlier(own)),
                        Known::NotYet => {
                            Err(unacknowledged(&journal, "the entry of its message id cannot be read yet"))
                        }
                        Known::Other => {
                            Err(AppendError::Refused { journal, source: "its message id is another entry's".into() })
                        }
                    };
                }
                Ok(ack) => return Ok(Begun::Now(Sequence(ack.sequence))),
                Err(StoreFailure::Conflict) => {
                    let own = self.own_after(&journal, expected, &entry.message_id).await;
                    let own = own.map_err(|source| unacknowledged(&journal, source))?;
                    return own.map(Begun::Earlier).ok_or(AppendError::Conflict { journal, expected });
                }
                Err(failure) if failure.is_passing() && attempt < ATTEMPTS_MAX => {
                    tracing::debug!(%subject, attempt, error = %failure, "appending again");
                    tries::again(RetriedKind::Write);
                    tokio::time::sleep(RETRY_PAUSE * attempt).await;
                    attempt += 1;
                }
                Err(failure) if failure.is_passing() => return Err(unacknowledged(&journal, failure)),
                Err(failure) => return Err(AppendError::Refused { journal, source: failure.into() }),
            }
        }
    }

    /// The journal's last entry, as the stream's leader has it.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn last(&self, key: &JournalKey) -> Result<Option<Stored>, ReadError> {
        last_of(&self.bus, streams::JOURNAL, &key.filter()).await
    }

    /// Where the last entry of all is, as the stream's leader has it.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn end(&self) -> Result<Sequence, ReadError> {
        end_of(&self.bus, streams::JOURNAL, ALL).await
    }

    /// The first entry under `filter` behind a sequence, as the stream's leader has it.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn next_under(&self, filter: &str, after: Sequence) -> Result<Option<Stored>, ReadError> {
        next_of(&self.bus, streams::JOURNAL, filter, after).await
    }

    /// The entries under `filter` (a subject with wildcards), in order, up to the one that is the last now.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn replay(&self, filter: &str) -> Result<Replay, ReadError> {
        self.replay_after(filter, Sequence(0)).await
    }

    /// As [`Journal::replay`], from behind a sequence that is known already.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn replay_after(&self, filter: &str, known: Sequence) -> Result<Replay, ReadError> {
        Replay::start(&self.bus, streams::JOURNAL, filter, known).await
    }

    /// All entries of all journals, from behind a sequence that is known already.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn all_after(&self, known: Sequence) -> Result<Replay, ReadError> {
        // The broker counts what is left after each batch, and this filter alone costs it nothing.
        self.replay_after(ALL, known).await
    }

    /// As [`Journal::replay_after`], without payloads: for callers that look at subjects only.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn replay_subjects(&self, filter: &str, known: Sequence) -> Result<Replay, ReadError> {
        Ok(self.replay_after(filter, known).await?.headers_only())
    }

    /// Which entry the broker knows by this message id, at this place. In a cluster a leader that was just chosen compares ids
    /// before it looks where the journal ends, and so calls our own earlier attempt a duplicate.
    async fn known_by_id(
        &self,
        filter: &str,
        expected: Sequence,
        id: &str,
        place: Sequence,
    ) -> Result<Known, ReadError> {
        if let Some(own) = self.own_after(filter, expected, id).await? {
            return Ok(Known::Own(own));
        }
        let there = message_at(&self.bus, streams::JOURNAL, place).await?;
        Ok(there.map_or(Known::NotYet, |_| Known::Other))
    }

    /// The entry that follows `expected` under this filter, if it is the one with this message id. The one that won the
    /// race is there, whatever was appended since.
    async fn own_after(&self, filter: &str, expected: Sequence, id: &str) -> Result<Option<Sequence>, ReadError> {
        let next = self.next_under(filter, expected).await?;
        Ok(next.filter(|entry| entry.message_id.as_deref() == Some(id)).map(|entry| entry.sequence))
    }
}

fn step_of(kind: &EntryKind) -> Step {
    match kind {
        EntryKind::Submitted => Step::AppendSubmitted,
        EntryKind::Landed => Step::AppendLanded,
        EntryKind::Turn { .. } => Step::AppendTurn,
        EntryKind::Decided
        | EntryKind::Dead
        | EntryKind::Steered
        | EntryKind::Answered
        | EntryKind::Revised
        | EntryKind::Queued
        | EntryKind::Reserved
        | EntryKind::Added
        | EntryKind::Retired => Step::AppendDecided,
    }
}

/// The condition of an append. Subject and filter come from one [`JournalKey`]: the server takes a filter that does not
/// match the subject, and then fences nothing.
fn expect(headers: &mut HeaderMap, filter: &str, expected: Sequence) {
    headers.insert(EXPECTED_SEQUENCE, expected.0.to_string().as_str());
    headers.insert(EXPECTED_SEQUENCE_FILTER, filter);
}

fn unacknowledged(journal: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> AppendError {
    AppendError::Unacknowledged { journal: journal.to_owned(), source: source.into() }
}
