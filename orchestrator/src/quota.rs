//! Who has how much open, as this orchestrator knows it: what submissions are held against.
//!
//! Counted from the journals when the process starts, and from then on by what is submitted anywhere, by how the flights
//! stand that are in memory here, and, before anybody is refused, by reading the flights that others may have ended.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use holdpoint_admission::quota::{Ledger, Quota, QuotaExcess};
use holdpoint_bus::{Stored, api::ApiFailure, journal::ReadError};
use holdpoint_protocol::{
    ids::{AgentName, FlightId},
    journal::Sequence,
    subjects::{self, JournalKey},
};
use holdpoint_runtime::telemetry::ErrorChain;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::{
    books::{Books, Checked},
    catalog::{self, LOOK_BYTES_MAX, Wanted},
    shell::Shell,
};

/// How long a submission waits for the first reading of the journals after a start.
const FIRST_READING: Duration = Duration::from_secs(20);
/// How old a count may be for an operator with plenty of room: one reading serves all submissions of a busy moment. Each orchestrator
/// may give away half of what an operator may have open without seeing what others did in this time.
const PLENTY_FOR: Duration = Duration::from_millis(50);
/// How often the flights of one operator are read again to see which are over: that reads journals.
const RECOUNT_PERIOD: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct OpenFlights {
    quota: Quota,
    known: Mutex<Known>,
    /// Whether the journals were read since the start.
    read: watch::Sender<bool>,
    /// When the last reading of flights that were submitted elsewhere began; held by the reader.
    reading: AsyncMutex<Option<Instant>>,
    /// When each operator's flights were read again; held by the reader.
    recounted: AsyncMutex<BTreeMap<AgentName, Instant>>,
}

/// What counts of an open flight.
pub(crate) struct Counted<'a> {
    pub(crate) flight: &'a FlightId,
    /// Who submitted it.
    pub(crate) by: Option<&'a AgentName>,
    pub(crate) waypoints: usize,
    /// Where its submission is.
    pub(crate) begun: Sequence,
}

impl Books {
    /// What counts of the flight while it is open.
    pub(crate) fn counted(&self) -> Counted<'_> {
        let (by, waypoints) = (self.flight.submitted.by.as_ref(), self.flight.planned_count());
        Counted { flight: self.id(), by, waypoints, begun: self.begun() }
    }
}

#[derive(Default)]
struct Known {
    ledger: Ledger,
    /// Up to where submissions are counted.
    until: Sequence,
    /// Submissions behind that which are counted as well: those that were taken here.
    beyond: BTreeSet<Sequence>,
}

impl Known {
    fn read_until(&mut self, until: Sequence) {
        self.until = self.until.max(until);
        self.beyond = self.beyond.split_off(&Sequence(self.until.0 + 1));
    }
}

impl OpenFlights {
    pub(crate) fn new(quota: Quota) -> Self {
        Self {
            quota,
            known: Mutex::default(),
            read: watch::Sender::new(false),
            reading: AsyncMutex::default(),
            recounted: AsyncMutex::default(),
        }
    }

    /// Makes room for a flight, or refuses it with the bound that it would go over (409).
    pub(crate) async fn admit(
        self: &Arc<Self>,
        shell: &Shell,
        flight: &FlightId,
        by: &AgentName,
        waypoints: usize,
    ) -> Result<Room, ApiFailure> {
        let unread = |e: ReadError| ApiFailure::new(503, format!("cannot count open flights: {}", ErrorChain(&e)));
        let mut read = self.read.subscribe();
        if !matches!(tokio::time::timeout(FIRST_READING, read.wait_for(|read| *read)).await, Ok(Ok(_))) {
            return Err(ApiFailure::new(503, "the orchestrator is reading the open flights: try again"));
        }
        self.read_on(shell, PLENTY_FOR).await.map_err(unread)?;
        if let Some(room) = self.reserve_of_plenty(flight, by, waypoints) {
            return Ok(room);
        }
        self.read_on(shell, Duration::ZERO).await.map_err(unread)?;
        if let Ok(room) = self.reserve(flight, by, waypoints) {
            return Ok(room);
        }
        // A repeated submission of a flight that is over opens nothing.
        if shell.journal.last(&JournalKey::flight(flight)).await.map_err(unread)?.is_some() {
            return Ok(Room { reserved: None });
        }
        self.recount(shell, by).await.map_err(unread)?;
        self.reserve(flight, by, waypoints).map_err(|excess| ApiFailure::new(409, excess.to_string()))
    }

    /// Makes room for more waypoints of an open flight, or says which bound they would go over.
    pub(crate) async fn admit_more(
        &self,
        shell: &Shell,
        counted: &Counted<'_>,
        more: usize,
    ) -> Result<Result<(), QuotaExcess>, ReadError> {
        let Some(by) = counted.by else { return Ok(Ok(())) };
        self.read_on(shell, Duration::ZERO).await?;
        if self.known().ledger.has_room(by, more, self.quota).is_ok() {
            return Ok(Ok(()));
        }
        self.recount(shell, by).await?;
        Ok(self.known().ledger.has_room(by, more, self.quota))
    }

    /// Journals say that a flight is open.
    pub(crate) fn opened(&self, counted: Counted<'_>) {
        let Counted { flight, by, waypoints, begun } = counted;
        let mut known = self.known();
        known.ledger.opened(flight, by, waypoints, begun);
        if begun > known.until {
            known.beyond.insert(begun);
        }
    }

    /// A flight is over.
    pub(crate) fn over(&self, flight: &FlightId) {
        self.known().ledger.over(flight);
    }

    /// All flights that are open and were submitted up to this place are counted.
    pub(crate) fn read_until(&self, until: Sequence) {
        self.known().read_until(until);
        self.read.send_replace(true);
    }

    /// As [`Self::reserve`], for an operator that has plenty of room.
    fn reserve_of_plenty(self: &Arc<Self>, flight: &FlightId, by: &AgentName, waypoints: usize) -> Option<Room> {
        let mut known = self.known();
        if !known.ledger.has_plenty(by, waypoints, self.quota) {
            return None;
        }
        let new = known.ledger.reserve(flight, by, waypoints, self.quota).ok()?;
        Some(self.room(flight, new))
    }

    fn reserve(self: &Arc<Self>, flight: &FlightId, by: &AgentName, waypoints: usize) -> Result<Room, QuotaExcess> {
        let new = self.known().ledger.reserve(flight, by, waypoints, self.quota)?;
        Ok(self.room(flight, new))
    }

    fn room(self: &Arc<Self>, flight: &FlightId, new: bool) -> Room {
        Room { reserved: new.then(|| (self.clone(), flight.clone())) }
    }

    /// Counts what was submitted until now, or until so long ago, to any orchestrator. Of those who ask meanwhile the first reads
    /// for all.
    async fn read_on(&self, shell: &Shell, ago: Duration) -> Result<(), ReadError> {
        let asked = Instant::now();
        let mut last = self.reading.lock().await;
        if last.is_some_and(|begun| begun + ago >= asked) {
            return Ok(());
        }
        let begun = Instant::now();
        // Not the last submission: to find that, the broker looks at the subjects of all flights.
        let end = shell.journal.end().await?;
        let mut until = self.known().until;
        while until < end {
            let next = shell.journal.next_under(&subjects::journal_submissions(), until).await?;
            let Some(stored) = next else { break };
            self.submitted(shell, &stored);
            self.known().read_until(stored.sequence);
            until = self.known().until;
        }
        self.known().read_until(end);
        *last = Some(begun);
        Ok(())
    }

    /// Counts a flight that was submitted.
    fn submitted(&self, shell: &Shell, stored: &Stored) {
        // It may have been when it was taken here, or by a scan since, and be over.
        let is_counted = |known: &Known| stored.sequence <= known.until || known.beyond.contains(&stored.sequence);
        if is_counted(&self.known()) {
            return;
        }
        let checked = Checked::of(&shell.trust.roots(), stored);
        // One that cannot be read is not flown, and the scan raises the alarm.
        if let Some(flight) = checked.key.as_ref().map(|key| key.flight.clone())
            && let Ok(Some(books)) = Books::begin(&flight, checked)
        {
            self.opened(books.counted());
        }
    }

    /// Reads the operator's flights again, if that was not done a moment ago, and forgets those that are over.
    async fn recount(&self, shell: &Shell, by: &AgentName) -> Result<(), ReadError> {
        let mut recounted = self.recounted.lock().await;
        if recounted.get(by).is_some_and(|last| last.elapsed() < RECOUNT_PERIOD) {
            return Ok(());
        }
        let begun = self.known().ledger.begun_by(by);
        let Some(first) = begun.iter().map(|(_, sequence)| *sequence).min() else { return Ok(()) };
        let flights: HashSet<FlightId> = begun.into_iter().map(|(flight, _)| flight).collect();
        let before = Sequence(first.0.saturating_sub(1));
        let catalog = catalog::read(shell, before, &Wanted::Open(&flights), LOOK_BYTES_MAX).await?;
        flights.iter().filter(|flight| !catalog.is_open(flight)).for_each(|flight| self.over(flight));
        recounted.insert(by.clone(), Instant::now());
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The room of a submission that is worked on; given back when this is dropped, unless the flight was begun.
pub(crate) struct Room {
    reserved: Option<(Arc<OpenFlights>, FlightId)>,
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some((open, flight)) = &self.reserved {
            open.known().ledger.release(flight);
        }
    }
}
