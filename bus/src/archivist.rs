//! What an archivist does at the broker: it reads all streams, and deletes messages of them by subject. Its key is the only one that
//! may, and may do nothing else there.
//!
//! What is deleted is decided elsewhere: entries and handoffs by what an orchestrator recorded
//! ([`holdpoint_protocol::retire`]), blobs by whether a message names them (the command line looks for that).

mod blobs;
mod uploads;

use std::collections::{BTreeMap, BTreeSet};

use async_nats::jetstream::{
    self, context::GetStreamError, context::StreamsErrorKind, stream::InfoError, stream::PurgeError,
};
use futures::TryStreamExt as _;
use holdpoint_protocol::{
    export::HandoffsEnd,
    ids::FlightId,
    journal::{EntryKind, Sequence},
    streams,
    subjects::{self, JournalKey},
};

use crate::{Bus, Stored, leader::last_of, reading};
pub use blobs::StoredBlob;
pub use uploads::Uploads;

/// Why something was not read or deleted.
#[derive(Debug, thiserror::Error)]
pub enum ArchivistError {
    /// The credentials are an agent's or an operator's.
    #[error("these credentials may not read or delete streams")]
    NoArchivist,
    /// The broker does not say which streams there are.
    #[error("cannot list the streams")]
    List(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stream is not there, or the broker is away.
    #[error("cannot reach the stream {stream}")]
    Stream {
        /// The stream.
        stream: String,
        /// What the client said.
        #[source]
        source: GetStreamError,
    },
    /// The broker does not say how a stream stands.
    #[error("cannot tell how the stream {stream} stands")]
    Info {
        /// The stream.
        stream: String,
        /// What the client said.
        #[source]
        source: InfoError,
    },
    /// An earlier version made the stream, and such a stream lets nobody delete its messages.
    #[error("the stream {stream} is of an earlier version and lets nobody delete messages")]
    Guarded {
        /// The stream.
        stream: String,
    },
    /// Messages could not be read.
    #[error("cannot read the stream {stream}")]
    Read {
        /// The stream.
        stream: String,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Messages could not be deleted.
    #[error("cannot delete messages of the stream {stream}")]
    Delete {
        /// The stream.
        stream: String,
        /// What the client said.
        #[source]
        source: PurgeError,
    },
    /// Uploads cannot be listened to.
    #[error("cannot listen to uploads")]
    Listen(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// How far each stream was read.
pub type Read = BTreeMap<String, Sequence>;

/// Whether this is the subject of the entry that retires a flight.
fn is_retirement(key: &JournalKey, subject: &str) -> bool {
    key.waypoint.is_none() && subject == key.entry(&EntryKind::Retired)
}

/// The streams of a fleet, as an archivist sees them.
#[derive(Debug)]
pub struct Archivist {
    bus: Bus,
    handoffs: Vec<String>,
    blobs: Vec<String>,
}

impl Archivist {
    /// Finds the streams.
    ///
    /// # Errors
    /// [`ArchivistError::NoArchivist`], [`ArchivistError::Guarded`] if a stream lets nobody delete, [`ArchivistError::List`] and [`ArchivistError::Info`] when the
    /// broker does not answer.
    pub async fn open(bus: &Bus) -> Result<Self, ArchivistError> {
        // The broker does not answer these.
        if bus.is_outside() {
            return Err(ArchivistError::NoArchivist);
        }
        let listed: Result<Vec<String>, _> = bus.jetstream().stream_names().try_collect().await;
        let names =
            listed.map_err(|source: async_nats::error::Error<StreamsErrorKind>| ArchivistError::List(source.into()))?;
        let of = |prefix: &str| {
            let mut names: Vec<String> = names.iter().filter(|name| name.starts_with(prefix)).cloned().collect();
            names.sort_unstable();
            names
        };
        let own = Self { bus: bus.clone(), handoffs: of(streams::HANDOFF_PREFIX), blobs: of(streams::BLOB_PREFIX) };
        for name in own.streams() {
            if own.info(name).await?.config.deny_purge {
                return Err(ArchivistError::Guarded { stream: name.to_owned() });
            }
        }
        Ok(own)
    }

    /// Bytes that the streams hold, by the broker's own count; its disk follows once it has synced.
    ///
    /// # Errors
    /// [`ArchivistError::Info`].
    pub async fn bytes(&self) -> Result<u64, ArchivistError> {
        let mut bytes = 0;
        for name in self.streams() {
            bytes += self.info(name).await?.state.bytes;
        }
        Ok(bytes)
    }

    /// Gives the payload of every entry and handoff behind `read` to `take`, up to the last one now, and remembers in `read` how far
    /// that was.
    ///
    /// # Errors
    /// [`ArchivistError::Read`]: nothing can be said about what was not read.
    pub async fn each_payload(&self, read: &mut Read, mut take: impl FnMut(&[u8])) -> Result<(), ArchivistError> {
        for name in std::iter::once(streams::JOURNAL).chain(self.handoffs.iter().map(String::as_str)) {
            let after = read.entry(name.to_owned()).or_default();
            let done = reading::read_stream(&self.bus, name, after, &mut |message| take(&message.payload)).await;
            done.map_err(|source| ArchivistError::Read { stream: name.to_owned(), source })?;
        }
        Ok(())
    }

    /// Flights that are retired and of which entries are left: somebody was cut off while deleting them.
    ///
    /// # Errors
    /// [`ArchivistError::Info`].
    pub async fn unfinished(&self) -> Result<Vec<FlightId>, ArchivistError> {
        let (mut retired, mut others) = (BTreeSet::new(), BTreeSet::new());
        for subject in self.subjects(streams::JOURNAL, &subjects::journals()).await? {
            let Some(key) = subjects::parse_journal(&subject) else { continue };
            if is_retirement(&key, &subject) { &mut retired } else { &mut others }.insert(key.flight);
        }
        Ok(retired.intersection(&others).cloned().collect())
    }

    /// The entry that retires a flight, if there is one.
    ///
    /// # Errors
    /// [`ArchivistError::Read`].
    pub async fn retirement(&self, flight: &FlightId) -> Result<Option<Stored>, ArchivistError> {
        let subject = JournalKey::flight(flight).entry(&EntryKind::Retired);
        let last = last_of(&self.bus, streams::JOURNAL, &subject).await;
        last.map_err(|source| ArchivistError::Read { stream: streams::JOURNAL.to_owned(), source: source.into() })
    }

    /// Deletes the entries of a flight but the one that retired it, and its handoffs as far as its export goes; how many messages those
    /// were. Once more, it deletes what is left. Handoffs go first, so that [`Archivist::unfinished`] finds a flight with any left.
    ///
    /// # Errors
    /// [`ArchivistError::Delete`].
    pub async fn delete_flight(
        &self,
        flight: &FlightId,
        entry: Sequence,
        handoffs: &[HandoffsEnd],
    ) -> Result<u64, ArchivistError> {
        let mut deleted = 0;
        for HandoffsEnd { stream, until, .. } in handoffs {
            if self.handoffs.contains(stream) {
                deleted +=
                    self.purge(stream, &subjects::handoffs_of_flight(flight), Some(Sequence(until.0 + 1))).await?;
            }
        }
        deleted += self.purge(streams::JOURNAL, &subjects::journal_of_flight(flight), Some(entry)).await?;
        // Journals of waypoints are empty now, and an orchestrator that slept since before the flight was over may have begun one again.
        for subject in self.subjects(streams::JOURNAL, &subjects::journal_of_flight(flight)).await? {
            let key = subjects::parse_journal(&subject);
            if key.is_some_and(|key| !is_retirement(&key, &subject)) {
                deleted += self.purge(streams::JOURNAL, &subject, None).await?;
            }
        }
        Ok(deleted)
    }

    /// Deletes what is under a filter, as far as it stands before a sequence; how many messages that were.
    async fn purge(&self, name: &str, filter: &str, before: Option<Sequence>) -> Result<u64, ArchivistError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::Delete);
        let stream = self.stream(name).await?;
        let purge = stream.purge().filter(filter);
        let purged = match before {
            // The broker takes 0 for "all", and nothing is before the first.
            Some(before) if before.0 <= 1 => return Ok(0),
            Some(before) => purge.sequence(before.0).await,
            None => purge.await,
        };
        let purged = purged.map_err(|source| ArchivistError::Delete { stream: name.to_owned(), source })?;
        Ok(purged.purged)
    }

    fn streams(&self) -> impl Iterator<Item = &str> {
        let all = self.handoffs.iter().chain(&self.blobs).map(String::as_str);
        std::iter::once(streams::JOURNAL).chain(all)
    }

    async fn stream(&self, name: &str) -> Result<jetstream::stream::Stream<()>, ArchivistError> {
        let stream = self.bus.jetstream().get_stream_no_info(name).await;
        stream.map_err(|source| ArchivistError::Stream { stream: name.to_owned(), source })
    }

    async fn info(&self, name: &str) -> Result<jetstream::stream::Info, ArchivistError> {
        let info = self.stream(name).await?.get_info().await;
        info.map_err(|source| ArchivistError::Info { stream: name.to_owned(), source })
    }

    /// The subjects of a stream's messages under a filter, each once.
    async fn subjects(&self, name: &str, filter: &str) -> Result<Vec<String>, ArchivistError> {
        let failed = |source| ArchivistError::Info { stream: name.to_owned(), source };
        let listed = self.stream(name).await?.info_with_subjects(filter).await.map_err(failed)?;
        let listed: Result<Vec<(String, usize)>, _> = listed.try_collect().await;
        Ok(listed.map_err(failed)?.into_iter().map(|(subject, _)| subject).collect())
    }
}
