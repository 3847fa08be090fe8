//! Many flights at once: all journals in one reading, folded as they come. Flights that are over are not kept.
//!
//! A flight that cannot be read is left out with an error in the log; a request for it is answered with the reason.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZero,
};

use futures::{Stream, StreamExt as _, stream};
use holdpoint_bus::{
    Stored,
    journal::{ReadError, Replay},
};
use holdpoint_core::flight::{self as core_flight, flight_status};
use holdpoint_protocol::{
    api::FlightLine,
    ids::FlightId,
    journal::{Entry, Sequence},
    subjects,
    view::FlightStatus,
};
use holdpoint_runtime::telemetry::{ErrorChain, fields};
use tokio::sync::mpsc;

use crate::{
    books::{Books, BooksError, Checked},
    ended::Ends,
    shell::Shell,
};

/// Batches that are fetched and wait to be checked.
const BATCHES_AHEAD: usize = 2;
/// Waypoints of flights that are asked after each entry whether they are over.
const LOOKED_AT_EACH_TIME_MAX: usize = 16;

/// What the journals say.
#[derive(Default)]
pub(crate) struct Catalog {
    /// Flights that are not over.
    pub(crate) open: HashMap<FlightId, Books>,
    /// Flights that are over, where they were asked for.
    pub(crate) over: Vec<FlightLine>,
    /// Of those, the ones in which something waits for people.
    held: HashSet<FlightId>,
    /// Flights that were over, and of which more was read: a person had them go on. Each is read again by itself.
    reopened: HashSet<FlightId>,
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
pub(crate) async fn read(shell: &Shell, after: Sequence, wanted: &Wanted<'_>) -> Result<Catalog, ReadError> {
    let entries = shell.journal.all_after(after).await?;
    let end = entries.end();
    let mut catalog = Catalog::default();
    let mut batches = Box::pin(checked(shell, entries, wanted).buffered(batches_at_once()));
    while let Some(batch) = batches.next().await {
        for entry in batch? {
            catalog.take(entry, wanted);
        }
    }
    catalog.take_retired(shell, end, wanted).await?;
    catalog.read_reopened(shell).await?;
    catalog.close_all(wanted);
    Ok(catalog)
}

/// The entries of wanted flights, checked a batch at a time: several batches at once, but given out in order.
fn checked(
    shell: &Shell,
    entries: Replay,
    wanted: &Wanted<'_>,
) -> impl Stream<Item = impl Future<Output = Result<Vec<Checked>, ReadError>>> {
    fetched(entries).map(|batch| {
        // Begun before anybody waits for it.
        let checking = batch.map(|mut batch| {
            batch
                .retain(|stored| subjects::parse_journal(&stored.subject).is_some_and(|key| wanted.wants(&key.flight)));
            let roots = shell.trust.roots();
            tokio::task::spawn_blocking(move || Checked::all(&roots, &batch))
        });
        async {
            match checking?.await {
                Ok(checked) => Ok(checked),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The process ends.
                    Err(_) => Err(ReadError::Interrupted { filter: subjects::journals() }),
                },
            }
        }
    })
}

/// Entries as the broker gives them, fetched while earlier ones are checked and folded.
fn fetched(mut entries: Replay) -> impl Stream<Item = Result<Vec<Stored>, ReadError>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    tokio::spawn(async move {
        loop {
            let batch = entries.next_batch().await;
            // None after the last, which is sent as well: without it the reading was cut off.
            let is_last = batch.as_ref().map_or(true, Vec::is_empty);
            if sender.send(batch).await.is_err() || is_last {
                return;
            }
        }
    });
    stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Ok(batch)) if batch.is_empty() => None,
            Some(Ok(batch)) => Some((Ok(batch), Some(receiver))),
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Err(ReadError::Interrupted { filter: subjects::journals() }), None)),
        }
    })
}

/// Batches that are checked at once: one on each core, and one that comes meanwhile.
fn batches_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get) + 1
}

impl Catalog {
    fn take(&mut self, entry: Checked, wanted: &Wanted<'_>) {
        let Some(flight) = entry.key.as_ref().map(|key| key.flight.clone()) else { return };
        match self.fold(&flight, entry) {
            Ok(()) => {}
            Err(BooksError::Retired { .. }) => {
                self.open.remove(&flight);
                self.reopened.remove(&flight);
                self.retired.insert(flight);
                return;
            }
            Err(error) => return self.leave_out(flight, &error),
        }
        // Soon, so that flights that are over do not fill the memory; of a long plan this costs too much for each entry.
        let small = |books: &&Books| books.flight.submitted.plan.waypoints.len() <= LOOKED_AT_EACH_TIME_MAX;
        if self.open.get(&flight).filter(small).is_some_and(Books::is_over) {
            self.close(&flight, wanted);
        }
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
        self.open.contains_key(flight) || self.unreadable.contains(flight)
    }

    fn leave_out(&mut self, flight: FlightId, error: &BooksError) {
        tracing::error!({ fields::FLIGHT } = %flight, error = %ErrorChain(error), "ALARM: a flight that cannot be read");
        self.open.remove(&flight);
        self.unreadable.insert(flight);
    }

    /// Reads flights each by itself, as far as they are not over.
    pub(crate) async fn read_singly(&mut self, shell: &Shell, flights: HashSet<FlightId>) -> Result<(), ReadError> {
        self.reopened = flights;
        self.read_reopened(shell).await?;
        self.close_all(&Wanted::Open(&HashSet::new()));
        Ok(())
    }

    /// They are few: what is kept of a flight that is over does not say how to go on with it.
    async fn read_reopened(&mut self, shell: &Shell) -> Result<(), ReadError> {
        let reopened = std::mem::take(&mut self.reopened);
        self.over.retain(|line| !reopened.contains(&line.flight));
        for flight in reopened {
            match Books::load(shell, &flight).await {
                Ok(books) => drop(self.open.insert(flight, books)),
                Err(BooksError::Read { source, .. }) => return Err(source),
                Err(BooksError::Retired { .. }) => drop(self.retired.insert(flight)),
                Err(error) => self.leave_out(flight, &error),
            }
        }
        Ok(())
    }

    fn close(&mut self, flight: &FlightId, wanted: &Wanted<'_>) {
        let Some(books) = self.open.remove(flight) else { return };
        if matches!(wanted, Wanted::All) {
            if books.waits_for_people() {
                self.held.insert(flight.clone());
            }
            self.over.push(books.line());
        }
    }

    fn close_all(&mut self, wanted: &Wanted<'_>) {
        let over = self.open.values().filter(|books| books.is_over()).map(|books| books.id().clone());
        for flight in over.collect::<Vec<_>>() {
            self.close(&flight, wanted);
        }
        let retired = &self.retired;
        self.over.retain(|line| !retired.contains(&line.flight));
    }

    fn fold(&mut self, flight: &FlightId, entry: Checked) -> Result<(), BooksError> {
        if let Some(books) = self.open.get_mut(flight) {
            return books.take(entry);
        }
        if !entry.is_submission {
            if let Some(Entry::Retired(retired)) = entry.entry() {
                return Err(BooksError::retired(entry.sequence, retired));
            }
            if !self.unreadable.contains(flight) {
                self.reopened.insert(flight.clone());
            }
        } else if let Some(books) = Books::begin(flight, entry)? {
            self.open.insert(flight.clone(), books);
        }
        Ok(())
    }

    /// Flights in which something waits for people, newest first.
    pub(crate) fn waiting(mut self) -> Vec<FlightId> {
        self.open.retain(|_, books| books.waits_for_people());
        let mut lines: Vec<FlightLine> = self.open.values().map(Books::line).collect();
        lines.extend(self.over.into_iter().filter(|line| self.held.contains(&line.flight)));
        lines.sort_by(|a, b| b.submitted_at.cmp(&a.submitted_at).then_with(|| a.flight.cmp(&b.flight)));
        lines.into_iter().map(|line| line.flight).collect()
    }

    /// One line for each flight, newest first.
    pub(crate) fn lines(self) -> Vec<FlightLine> {
        let mut lines = self.over;
        lines.extend(self.open.values().map(Books::line));
        lines.sort_by(|a, b| b.submitted_at.cmp(&a.submitted_at).then_with(|| a.flight.cmp(&b.flight)));
        lines
    }
}

impl Books {
    /// How the flight stands.
    pub(crate) fn status(&self) -> FlightStatus {
        flight_status(&self.flight, &self.waypoints)
    }

    /// Whether nothing and nobody can move the flight on.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status(), FlightStatus::Accepted | FlightStatus::Incomplete)
    }

    /// Whether something waits for people.
    pub(crate) fn waits_for_people(&self) -> bool {
        !core_flight::waits(&self.flight, &self.waypoints).is_empty()
    }

    /// How the flight stands, in one line.
    pub(crate) fn line(&self) -> FlightLine {
        FlightLine {
            flight: self.id().clone(),
            plan: self.flight.submitted.plan.plan.clone(),
            submitted_at: self.flight.submitted.record.at,
            status: self.status(),
            paused: self.flight.steering.is_paused(),
        }
    }
}
