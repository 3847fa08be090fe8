//! What the orchestrator knows of one flight: the fold of its journals, and where each of them ends.
//!
//! A cache. It can be thrown away at any time; an append that meets a newer entry refreshes it.

mod checked;
mod reading;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use holdpoint_bus::{
    Outgoing,
    journal::{Append, AppendError, ReadError, Replay},
    topology::{self, TopologyError},
};
use holdpoint_engine::{
    flight::{FlightState, Waypoints, flight_status},
    waypoint::{self, Alarm, Folded},
};
use holdpoint_protocol::{
    Digest,
    codec::{self, CodecError, Encoding},
    ids::{FlightId, WaypointId},
    journal::{Entry, EntryKind, Sequence, Submitted},
    plan::Priority,
    retire::Retired,
    state::WaypointState,
    streams,
    subjects::{self, Fence, JournalKey},
    version,
    view::FlightStatus,
};
use tokio::sync::Semaphore;

use crate::{ended::Ends, shell::Shell};
pub(crate) use checked::Checked;
use checked::Says;

/// Flights that are read by themselves at once: each reading has some of the entries in memory.
static READINGS: Semaphore = Semaphore::const_new(8);

/// Why a flight's journals cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BooksError {
    /// The broker did not answer.
    #[error("cannot read the journals of flight {flight}")]
    Read {
        flight: FlightId,
        #[source]
        source: ReadError,
    },
    /// An entry of ours that we cannot read: another version wrote it, or it was changed.
    #[error("cannot read entry {} of flight {flight}", sequence.0)]
    Entry {
        flight: FlightId,
        sequence: Sequence,
        #[source]
        source: CodecError,
    },
    /// The journal contradicts itself.
    #[error("the journal of flight {flight} is not sound")]
    Alarm {
        flight: FlightId,
        #[source]
        source: Alarm,
    },
    /// The chain of the flight's own journal is broken.
    #[error("the journal of flight {flight} lost or changed an entry before {}", sequence.0)]
    ChainBroken { flight: FlightId, sequence: Sequence },
    /// The consumers of its agents could not be made.
    #[error("cannot make the consumers of the agents of flight {flight}")]
    Consumers {
        flight: FlightId,
        #[source]
        source: Box<TopologyError>,
    },
    /// No such flight.
    #[error("there is no flight {flight}")]
    Unknown { flight: FlightId },
    /// It left the broker.
    #[error("flight {flight} was archived on {} and is not on the broker any more. Its export has the digest {}", retired.record.at, retired.export)]
    Retired {
        flight: FlightId,
        /// Where that stands.
        entry: Sequence,
        retired: Box<Retired>,
    },
}

impl BooksError {
    /// It left, by this entry.
    pub(crate) fn retired(entry: Sequence, retired: &Retired) -> Self {
        Self::Retired { flight: retired.flight.clone(), entry, retired: Box::new(retired.clone()) }
    }

    /// Whether there is no such flight here, or none any more: trying again would not help.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Retired { .. })
    }
}

/// The end of one journal: what the next append builds on.
#[derive(Debug, Clone, Default)]
struct End {
    /// Counts entries that the fold ignored, too: the broker's check does.
    sequence: Sequence,
    digest: Option<Digest>,
    /// How long the last entry that counts is.
    bytes: usize,
}

/// The fold of all journals of one flight.
pub(crate) struct Books {
    pub(crate) flight: FlightState,
    pub(crate) waypoints: Waypoints,
    ends: BTreeMap<Option<WaypointId>, End>,
    known: Sequence,
    begun: Sequence,
    bytes: usize,
}

impl Books {
    /// Reads a flight's journals from their beginning, once there is a place for another reading.
    pub(crate) async fn load(shell: &Shell, flight: &FlightId) -> Result<Self, BooksError> {
        // Never closed.
        let _place = READINGS.acquire().await.ok();
        Self::read(shell, flight).await
    }

    async fn read(shell: &Shell, flight: &FlightId) -> Result<Self, BooksError> {
        let read = |source| BooksError::Read { flight: flight.clone(), source };
        let filter = subjects::journal_of_flight(flight);
        let mut entries = shell.journal.replay(&filter).await.map_err(read)?;
        let mut books: Option<Self> = None;
        while let Some(batch) = next_batch(shell, &mut entries).await.map_err(read)? {
            for checked in batch {
                match &mut books {
                    Some(books) => books.take(checked)?,
                    None => books = Self::begin(flight, checked)?,
                }
            }
        }
        let Some(mut books) = books else {
            if entries.is_whole() {
                return Err(BooksError::Unknown { flight: flight.clone() });
            }
            // All of it was deleted but the entry that retired it.
            return Box::pin(Self::read(shell, flight)).await;
        };
        if !entries.is_whole() {
            books.refresh(shell).await?;
        }
        Ok(books)
    }

    /// The first entry that counts is the submission.
    pub(crate) fn begin(flight: &FlightId, checked: Checked) -> Result<Option<Self>, BooksError> {
        let (sequence, bytes) = (checked.sequence, checked.bytes);
        match checked.says {
            Says::Nothing => Ok(None),
            Says::Entry(digest, Entry::Submitted(submitted)) => {
                let mut books = Self::new(*submitted, sequence, digest);
                books.bytes = bytes;
                Ok(Some(books))
            }
            Says::Entry(_, Entry::Retired(retired)) => Err(BooksError::retired(sequence, &retired)),
            Says::Entry(..) => Err(BooksError::ChainBroken { flight: flight.clone(), sequence }),
            Says::Unreadable(source) => Err(BooksError::Entry { flight: flight.clone(), sequence, source }),
        }
    }

    /// A flight of which nothing but its submission is journalled: at this place, with this digest.
    pub(crate) fn new(submitted: Submitted, sequence: Sequence, digest: Digest) -> Self {
        Self {
            flight: FlightState::new(submitted),
            waypoints: Waypoints::new(),
            ends: BTreeMap::from([(None, End { sequence, digest: Some(digest), bytes: 0 })]),
            known: sequence,
            begun: sequence,
            bytes: 0,
        }
    }

    /// Reads what was appended since, by whomever.
    pub(crate) async fn refresh(&mut self, shell: &Shell) -> Result<(), BooksError> {
        let flight = self.id().clone();
        let read = |source| BooksError::Read { flight: flight.clone(), source };
        let filter = subjects::journal_of_flight(&flight);
        loop {
            let mut entries = shell.journal.replay_after(&filter, self.known).await.map_err(read)?;
            while let Some(batch) = next_batch(shell, &mut entries).await.map_err(read)? {
                batch.into_iter().try_for_each(|checked| self.take(checked))?;
            }
            if entries.is_whole() {
                return Ok(());
            }
            // The flight was archived meanwhile: the entry that says so is behind the end of this reading.
        }
    }

    /// A local flight's agents pull from consumers of its own, which the broker forgets when nobody asked for a while.
    pub(crate) async fn ensure_consumers(&self, shell: &Shell) -> Result<(), BooksError> {
        let pool = &self.flight.submitted.fleet.pool;
        let over = flight_status(&self.flight, &self.waypoints) != FlightStatus::Running;
        if over || pool == &streams::fleet_pool() {
            return Ok(());
        }
        let _at = holdpoint_faults::at(holdpoint_faults::Step::OpenConsumers);
        let flight = self.id();
        for role in self.flight.agent_roles() {
            topology::ensure_turn_consumers(&shell.bus, &role, pool, Some(flight), &shell.settings)
                .await
                .map_err(|source| BooksError::Consumers { flight: flight.clone(), source: Box::new(source) })?;
        }
        Ok(())
    }

    pub(crate) fn id(&self) -> &FlightId {
        &self.flight.submitted.flight
    }

    /// Where its submission is.
    pub(crate) fn begun(&self) -> Sequence {
        self.begun
    }

    /// Up to where it is folded.
    pub(crate) fn known(&self) -> Sequence {
        self.known
    }

    /// Bytes of the entries that the fold was read from and stands for: a measure of the memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where each journal of the flight ends.
    pub(crate) fn ends(&self) -> Ends {
        self.ends.iter().map(|(waypoint, end)| (waypoint.clone(), end.sequence)).collect()
    }

    /// The state of a waypoint; pending if it has no entries.
    pub(crate) fn state(&self, waypoint: &WaypointId) -> WaypointState {
        self.waypoints.get(waypoint).cloned().unwrap_or_default()
    }

    /// Appends an entry to a waypoint's journal (or the flight's own) and takes it in. One that all journals of the flight fence is a
    /// conflict unless they were read since the last append.
    pub(crate) async fn append(
        &mut self,
        shell: &Shell,
        waypoint: Option<&WaypointId>,
        mut entry: Entry,
        traceparent: Option<String>,
    ) -> Result<(), AppendError> {
        let key = JournalKey { flight: self.id().clone(), waypoint: waypoint.cloned() };
        let end = self.ends.get(&key.waypoint).cloned().unwrap_or_default();
        entry.record_mut().previous = end.digest;
        let kind = self.kind(&entry);
        let outgoing = outgoing(&entry, &kind, holdpoint_runtime::fresh::artifact().to_string(), traceparent)
            .map_err(|source| unsendable(&key, source))?;
        let (digest, bytes) = (Digest::of(&outgoing.payload), outgoing.payload.len());
        let counted = shell.metrics.look(&self.flight, &self.waypoints, waypoint, &entry);
        let fence = FlightState::fence(&self.waypoints, waypoint);
        let expected = match fence {
            Fence::Journal => end.sequence,
            Fence::Flight => self.known,
        };
        let append = Append { key: &key, kind: &kind, fence, expected, entry: outgoing };
        let sequence = shell.journal.append(append).await?;
        if fence == Fence::Flight {
            self.known = sequence;
        }
        shell.metrics.count(counted);
        self.end(key.waypoint.clone(), End { sequence, digest: Some(digest), bytes });
        self.remember(key.waypoint, entry);
        Ok(())
    }

    /// What kind of entry it is, with the queue that a turn goes into.
    pub(crate) fn kind(&self, entry: &Entry) -> EntryKind {
        match entry {
            Entry::Submitted(_) => EntryKind::Submitted,
            Entry::Landed(_) => EntryKind::Landed,
            Entry::Decided(_) => EntryKind::Decided,
            Entry::Dead(_) => EntryKind::Dead,
            Entry::Steered(_) => EntryKind::Steered,
            Entry::Answered(_) => EntryKind::Answered,
            Entry::Revised(_) => EntryKind::Revised,
            Entry::Queued(_) => EntryKind::Queued,
            Entry::Reserved(_) => EntryKind::Reserved,
            Entry::Added(_) => EntryKind::Added,
            Entry::Retired(_) => EntryKind::Retired,
            Entry::Turn(turn) => {
                let planned = self.flight.planned(&turn.waypoint);
                let priority = waypoint::queue(turn, planned.map_or(Priority::Medium, |w| w.priority));
                let pool = self.flight.submitted.fleet.pool.clone();
                EntryKind::Turn { role: waypoint::queued_for(turn), priority, pool }
            }
        }
    }

    /// Takes a stored entry in; what no orchestrator signed is ignored, and still counted.
    ///
    /// # Errors
    /// [`BooksError`], as often as it is tried: what cannot be read is never passed over, so that nothing can be appended
    /// behind it.
    pub(crate) fn take(&mut self, checked: Checked) -> Result<(), BooksError> {
        let Checked { key, sequence, is_submission: _, bytes, says } = checked;
        let Some(key) = key else { return Ok(()) };
        let end = self.ends.get(&key.waypoint).cloned().unwrap_or_default();
        if sequence > end.sequence {
            self.take_next(key.waypoint, end, End { sequence, digest: None, bytes }, says)?;
        }
        self.known = self.known.max(sequence);
        Ok(())
    }

    fn take_next(&mut self, waypoint: Option<WaypointId>, end: End, next: End, says: Says) -> Result<(), BooksError> {
        let (flight, sequence) = (|| self.id().clone(), next.sequence);
        let (digest, entry) = match says {
            Says::Nothing => {
                self.ends.insert(waypoint, End { sequence, ..end });
                return Ok(());
            }
            Says::Unreadable(source) => return Err(BooksError::Entry { flight: flight(), sequence, source }),
            Says::Entry(digest, entry) => (digest, entry),
        };
        // Entries before it may be deleted already, those that this fold was to take next among them.
        if let Entry::Retired(retired) = &entry {
            return Err(BooksError::retired(sequence, retired));
        }
        if let Some(waypoint) = &waypoint {
            let mut folded = Folded { state: self.state(waypoint), last: end.digest };
            let alarm = |source| BooksError::Alarm { flight: flight(), source };
            folded.take(sequence, digest, &entry).map_err(alarm)?;
        } else if entry.record().previous != end.digest {
            return Err(BooksError::ChainBroken { flight: flight(), sequence });
        }
        self.end(waypoint.clone(), End { digest: Some(digest), ..next });
        self.remember(waypoint, entry);
        Ok(())
    }

    /// A journal ends here now. An entry of a waypoint has its whole state and stands for those before it; the flight's own add up.
    fn end(&mut self, waypoint: Option<WaypointId>, end: End) {
        let is_state = waypoint.is_some();
        self.bytes += end.bytes;
        let before = self.ends.insert(waypoint, end);
        self.bytes -= before.filter(|_| is_state).map_or(0, |before| before.bytes);
    }

    fn remember(&mut self, waypoint: Option<WaypointId>, entry: Entry) {
        if let (Some(waypoint), Some(state)) = (waypoint, &entry.record().state) {
            self.waypoints.insert(waypoint, state.clone());
        }
        self.flight.take(&entry);
    }
}

/// The next entries, checked together; `None` after the last.
async fn next_batch(shell: &Shell, entries: &mut Replay) -> Result<Option<Vec<Checked>>, ReadError> {
    let batch = entries.next_batch().await?;
    Ok((!batch.is_empty()).then(|| Checked::all(&shell.trust.roots(), &batch)))
}

/// Encodes an entry: turns as JSON, because any agent reads them; the rest for our own processes only.
pub(crate) fn outgoing(
    entry: &Entry,
    kind: &EntryKind,
    message_id: String,
    traceparent: Option<String>,
) -> Result<Outgoing, CodecError> {
    let (encoding, payload) = match entry {
        Entry::Turn(turn) => (Encoding::Json, codec::encode(turn, Encoding::Json)?),
        Entry::Submitted(submitted) => (Encoding::MsgPack, codec::encode(submitted, Encoding::MsgPack)?),
        Entry::Landed(landed) => (Encoding::MsgPack, codec::encode(landed, Encoding::MsgPack)?),
        Entry::Decided(decided) => (Encoding::MsgPack, codec::encode(decided, Encoding::MsgPack)?),
        Entry::Dead(dead) => (Encoding::MsgPack, codec::encode(dead, Encoding::MsgPack)?),
        Entry::Steered(steered) => (Encoding::MsgPack, codec::encode(steered, Encoding::MsgPack)?),
        Entry::Answered(answered) => (Encoding::MsgPack, codec::encode(answered, Encoding::MsgPack)?),
        Entry::Revised(revised) => (Encoding::MsgPack, codec::encode(revised, Encoding::MsgPack)?),
        Entry::Queued(queued) => (Encoding::MsgPack, codec::encode(queued, Encoding::MsgPack)?),
        Entry::Reserved(reserved) => (Encoding::MsgPack, codec::encode(reserved, Encoding::MsgPack)?),
        Entry::Added(added) => (Encoding::MsgPack, codec::encode(added, Encoding::MsgPack)?),
        Entry::Retired(retired) => (Encoding::MsgPack, codec::encode(retired, Encoding::MsgPack)?),
    };
    Ok(Outgoing {
        payload: Bytes::from(payload),
        content_type: encoding.content_type(),
        schema: format!("{}/{}", kind.schema_name(), version::CURRENT),
        message_id,
        traceparent,
    })
}

/// Why an entry cannot be sent at all.
fn unsendable(key: &JournalKey, source: CodecError) -> AppendError {
    let journal = key.filter();
    match source {
        CodecError::TooLarge { bytes } => AppendError::TooLarge { journal, bytes, most: codec::PAYLOAD_MAX },
        source => AppendError::Refused { journal, source: source.into() },
    }
}
