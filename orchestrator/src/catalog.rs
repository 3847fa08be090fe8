//! Many flights at once: all journals in one reading, folded as they come. Flights that are over are not kept.
//!
//! Only so many folds are kept. A flight whose entries came longest ago keeps an outline; if it goes on, it is read again by itself.
//! Outlines are not bounded: one takes less than a kilobyte, and operators may have so many flights open.
//!
//! A flight that cannot be read is left out with an error in the log; a request for it is answered with the reason.

mod open;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use futures::{StreamExt as _, stream};
use holdpoint_bus::journal::ReadError;
use holdpoint_protocol::{
    api::FlightLine,
    ids::FlightId,
    journal::{Entry, Sequence},
    subjects,
};
use holdpoint_runtime::telemetry::{ErrorChain, fields};
pub(crate) use open::OpenFlight;
use open::Outline;
use reading::{batches_at_once, checked};

use crate::{
    books::{Books, BooksError, Checked},
    ended::Ends,
    shell::Shell,
};

/// Bytes of the entries of all folds that are kept at once by a reading whose folds are used. They take about twice as much.
pub(crate) const FOLDS_BYTES_MAX: usize = 256 << 20;
/// The same for one that only looks how each flight stands.
pub(crate) const LOOK_BYTES_MAX: usize = 64 << 20;
/// Flights that are read by themselves at once.
const SINGLY_AT_ONCE: usize = 4;
/// Waypoints of flights that are asked after each entry whether they are over.
const LOOKED_AT_EACH_TIME_MAX: usize = 16;

/// What the journals say.
pub(crate) struct Catalog {
    /// Flights that are not over.
    open: HashMap<FlightId, OpenFlight>,
    /// Bytes of the entries of the folds among them, and how many there may be.
    bytes: usize,
    bytes_max: usize,
    /// Flights that are over, where they were asked for.
    over: Vec<FlightLine>,
    /// Of those, the ones in which something waits for people.
    held: HashSet<FlightId>,
    /// Flights without a fold, of which more was read: they were over, and a person had them go on, or there is an outline only. Each is
    /// read again by itself.
    unfolded: HashSet<FlightId>,
    unreadable: HashSet<FlightId>,
    /// Flights that left; entries of them may not be deleted yet.
    retired: HashSet<FlightId>,
}

/// Which flights are read.
pub(crate) enum Wanted<'a> {
    /// All there are, those that are over as lines.
    All,
    /// These, as far as they are not over.
    Open(&'a HashSet<FlightId>),
}

impl Wanted<'_> {
    fn wants(&self, flight: &FlightId) -> bool {
        match self {
            Self::All => true,
            Self::Open(flights) => flights.contains(flight),
        }
    }
}

/// The flights that were submitted after a place in the stream, in order, and the last place that was looked at. Only
/// subjects are read: it is cheap.
pub(crate) async fn submissions(
    shell: &Shell,
    after: Sequence,
) -> Result<(Vec<(FlightId, Sequence)>, Sequence), ReadError> {
    let mut subjects = shell.journal.replay_subjects(&subjects::journal_submissions(), after).await?;
    let end = subjects.end().max(after);
    let mut flights = Vec::new();
    while let Some(stored) = subjects.next().await? {
        flights.extend(subjects::parse_journal(&stored.subject).map(|key| (key.flight, stored.sequence)));
    }
    Ok((flights, end))
}

/// What was appended to a flight after a place in the stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touched {
    /// Its submission, where that is among it.
    pub(crate) submitted: Option<Sequence>,
    /// Where those of its journals end that have any of it, where that was looked for.
    pub(crate) ends: Ends,
}

/// The flights of which anything was appended after a place in the stream, and the last place that was looked at. Only
/// subjects are read.
pub(crate) async fn touched(
    shell: &Shell,
    after: Sequence,
) -> Result<(BTreeMap<FlightId, Touched>, Sequence), ReadError> {
    let mut entries = shell.journal.replay_subjects(&subjects::journals(), after).await?;
    let end = entries.end().max(after);
    if after == Sequence(0) {
        // All that there are: their submissions say as much, and are fewer.
        entries.close().await;
        let (flights, _) = submissions(shell, after).await?;
        let all =
            flights.into_iter().map(|(id, submitted)| (id, Touched { submitted: Some(submitted), ends: Ends::new() }));
        return Ok((all.collect(), end));
    }
    let mut flights: BTreeMap<FlightId, Touched> = BTreeMap::new();
    while let Some(stored) = entries.next().await? {
        let Some(key) = subjects::parse_journal(&stored.subject) else { continue };
        let submitted = subjects::is_submission(&stored.subject).then_some(stored.sequence);
        let touched = flights.entry(key.flight).or_insert_with(|| Touched { submitted, ends: Ends::new() });
        touched.ends.insert(key.waypoint, stored.sequence);
    }
    Ok((flights, end))
}

/// Reads all entries after a place in the stream, and folds those of the wanted flights, whose submissions have to be
/// among them.
pub(crate) async fn read(
    shell: &Shell,
    after: Sequence,
    wanted: &Wanted<'_>,
    bytes_max: usize,
) -> Result<Catalog, ReadError> {
    let entries = shell.journal.all_after(after).await?;
    let end = entries.end();
    let mut catalog = Catalog::new(bytes_max);
    let mut batches = Box::pin(checked(shell, entries, wanted).buffered(batches_at_once()));
    while let Some(batch) = batches.next().await {
        for entry in batch? {
            catalog.take(entry, wanted);
        }
    }
    catalog.take_retired(shell, end, wanted).await?;
    catalog.read_unfolded(shell, wanted).await?;
    Ok(catalog)
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(FOLDS_BYTES_MAX)
    }
}

impl Catalog {
    fn new(bytes_max: usize) -> Self {
        let (open, over, held) = (HashMap::new(), Vec::new(), HashSet::new());
        let (unfolded, unreadable, retired) = (HashSet::new(), HashSet::new(), HashSet::new());
        Self { open, bytes: 0, bytes_max, over, held, unfolded, unreadable, retired }
    }

    fn take(&mut self, entry: Checked, wanted: &Wanted<'_>) {
        let Some(flight) = entry.key.as_ref().map(|key| key.flight.clone()) else { return };
        match self.fold(&flight, entry) {
            Ok(()) => {}
            Err(BooksError::Retired { .. }) => {
                self.remove(&flight);
                self.unfolded.remove(&flight);
                self.retired.insert(flight);
                return;
            }
            Err(error) => return self.leave_out(flight, &error),
        }
        // Soon, so that flights that are over do not fill the memory; of a long plan this costs too much for each entry.
        let small = |books: &&Books| books.flight.planned_count() <= LOOKED_AT_EACH_TIME_MAX;
        if self.books(&flight).filter(small).is_some_and(Books::is_over) {
            self.close(&flight, wanted);
        }
        self.make_room(wanted);
    }

    /// The fold of an open flight, where that is kept.
    fn books(&self, flight: &FlightId) -> Option<&Books> {
        match self.open.get(flight)? {
            OpenFlight::Folded(books) => Some(books),
            OpenFlight::Outlined(_) => None,
        }
    }

    fn insert(&mut self, flight: FlightId, books: Books) {
        self.remove(&flight);
        self.bytes += books.bytes();
        self.open.insert(flight, OpenFlight::Folded(Box::new(books)));
    }

    fn remove(&mut self, flight: &FlightId) -> Option<OpenFlight> {
        let removed = self.open.remove(flight);
        if let Some(OpenFlight::Folded(books)) = &removed {
            self.bytes -= books.bytes();
        }
        removed
    }

    /// Keeps outlines in the place of folds where there are too many of these, until there is room for as many again.
    fn make_room(&mut self, wanted: &Wanted<'_>) {
        if self.bytes <= self.bytes_max {
            return;
        }
        self.close_all(wanted);
        let folds = self.open.iter().filter_map(|(flight, open)| match open {
            OpenFlight::Folded(books) => Some((books.known(), flight.clone())),
            OpenFlight::Outlined(_) => None,
        });
        let mut folds: Vec<(Sequence, FlightId)> = folds.collect();
        folds.sort_unstable();
        for (_, flight) in folds {
            if self.bytes <= self.bytes_max / 2 {
                break;
            }
            if let Some(OpenFlight::Folded(books)) = self.remove(&flight) {
                self.open.insert(flight, OpenFlight::Outlined(Box::new(Outline::of(&books))));
            }
        }
    }

    /// Whether a flight is not over.
    pub(crate) fn is_open(&self, flight: &FlightId) -> bool {
        self.open.contains_key(flight)
    }

    /// Where the submission of an open flight is.
    pub(crate) fn begun(&self, flight: &FlightId) -> Option<Sequence> {
        self.open.get(flight).map(OpenFlight::begun)
    }

    /// All that are not over.
    pub(crate) fn into_open(self) -> Vec<OpenFlight> {
        self.open.into_values().collect()
    }

    /// Takes the entries that retired flights since the reading's end. What was read of such a flight may lack what was deleted
    /// meanwhile.
    async fn take_retired(&mut self, shell: &Shell, end: Sequence, wanted: &Wanted<'_>) -> Result<(), ReadError> {
        let mut after = end;
        while let Some(stored) = shell.journal.next_under(&subjects::journal_retirements(), after).await? {
            after = stored.sequence;
            if subjects::parse_journal(&stored.subject).is_some_and(|key| wanted.wants(&key.flight)) {
                self.take(Checked::of(&shell.trust.roots(), &stored), wanted);
            }
        }
        Ok(())
    }

    /// Whether more than a line of it is worth knowing at the next start: it is not over, or cannot be read.
    pub(crate) fn is_left(&self, flight: &FlightId) -> bool {
        self.is_open(flight) || self.unreadable.contains(flight)
    }

    fn leave_out(&mut self, flight: FlightId, error: &BooksError) {
        tracing::error!({ fields::FLIGHT } = %flight, error = %ErrorChain(error), "ALARM: a flight that cannot be read");
        self.remove(&flight);
        self.unreadable.insert(flight);
    }

    /// Reads flights each by itself, as far as they are not over.
    pub(crate) async fn read_singly(&mut self, shell: &Shell, flights: HashSet<FlightId>) -> Result<(), ReadError> {
        self.unfolded = flights;
        self.read_unfolded(shell, &Wanted::Open(&HashSet::new())).await
    }

    /// What is kept of a flight without its fold does not say how to go on with it.
    async fn read_unfolded(&mut self, shell: &Shell, wanted: &Wanted<'_>) -> Result<(), ReadError> {
        let unfolded = std::mem::take(&mut self.unfolded);
        self.over.retain(|line| !unfolded.contains(&line.flight));
        self.held.retain(|flight| !unfolded.contains(flight));
        let loads = unfolded.into_iter().map(async |flight| (Books::load(shell, &flight).await, flight));
        let mut loaded = Box::pin(stream::iter(loads).buffer_unordered(SINGLY_AT_ONCE));
        while let Some((books, flight)) = loaded.next().await {
            match books {
                Ok(books) if books.is_over() => self.ended(&OpenFlight::Folded(Box::new(books)), wanted),
                Ok(books) => {
                    self.insert(flight, books);
                    self.make_room(wanted);
                }
                Err(BooksError::Read { source, .. }) => return Err(source),
                Err(BooksError::Retired { .. }) => drop(self.retired.insert(flight)),
                Err(error) => self.leave_out(flight, &error),
            }
        }
        self.close_all(wanted);
        let retired = &self.retired;
        self.over.retain(|line| !retired.contains(&line.flight));
        Ok(())
    }

    /// It is over.
    fn ended(&mut self, flight: &OpenFlight, wanted: &Wanted<'_>) {
        if matches!(wanted, Wanted::All) {
            if flight.waits_for_people() {
                self.held.insert(flight.id().clone());
            }
            self.over.push(flight.line());
        }
    }

    fn close(&mut self, flight: &FlightId, wanted: &Wanted<'_>) {
        if let Some(flight) = self.remove(flight) {
            self.ended(&flight, wanted);
        }
    }

    fn close_all(&mut self, wanted: &Wanted<'_>) {
        let over = self.open.keys().filter(|flight| self.books(flight).is_some_and(Books::is_over));
        for flight in over.cloned().collect::<Vec<_>>() {
            self.close(&flight, wanted);
        }
    }

    fn fold(&mut self, flight: &FlightId, entry: Checked) -> Result<(), BooksError> {
        if let Some(OpenFlight::Folded(books)) = self.open.get_mut(flight) {
            let before = books.bytes();
            let taken = books.take(entry);
            self.bytes = self.bytes - before + books.bytes();
            return taken;
        }
        let is_outlined = self.remove(flight).is_some();
        if is_outlined || !entry.is_submission {
            if let Some(Entry::Retired(retired)) = entry.entry() {
                return Err(BooksError::retired(entry.sequence, retired));
            }
            if !self.unreadable.contains(flight) {
                self.unfolded.insert(flight.clone());
            }
        } else if let Some(books) = Books::begin(flight, entry)? {
            self.insert(flight.clone(), books);
        }
        Ok(())
    }

    /// Flights in which something waits for people, newest first.
    pub(crate) fn waiting(mut self) -> Vec<FlightId> {
        self.open.retain(|_, open| open.waits_for_people());
        let mut lines: Vec<FlightLine> = self.open.values().map(OpenFlight::line).collect();
        lines.extend(self.over.into_iter().filter(|line| self.held.contains(&line.flight)));
        lines.sort_by(|a, b| b.submitted_at.cmp(&a.submitted_at).then_with(|| a.flight.cmp(&b.flight)));
        lines.into_iter().map(|line| line.flight).collect()
    }

    /// One line for each flight, newest first.
    pub(crate) fn lines(self) -> Vec<FlightLine> {
        let mut lines = self.over;
        lines.extend(self.open.values().map(OpenFlight::line));
        lines.sort_by(|a, b| b.submitted_at.cmp(&a.submitted_at).then_with(|| a.flight.cmp(&b.flight)));
        lines
    }
}
