//! What was read, for all pages together: however many are open, a fleet is asked once.
//!
//! Every question is asked to the end in a task, though the page that wanted it may have gone: the next one finds it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::Duration,
};

use holdpoint_protocol::{
    api::{DeadTurn, FlightLine, HistoryLine, InboxItem},
    artifact::Verb,
    ids::{FlightId, WaypointId},
    storage::Storage,
    view::{FlightStatus, FlightView, WaypointView},
};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::Instant,
};

use crate::{
    account::FlightAccount,
    fleet::{ConsoleFleet, Shared},
    pages::Summary,
    problem::ConsoleProblem,
    slots::Slots,
};

/// Flights whose account is kept.
const BOOKS_MAX: usize = 64;
/// Waypoints whose history is kept.
const PASTS_MAX: usize = 32;
/// How long a history counts of a waypoint that stands as it stood: plans and signs of life come without a change.
const PAST_COUNTS: Duration = Duration::from_secs(20);
/// Flights of which a summary is kept.
const SUMMARIES_MAX: usize = 5_000;
/// How much longer an answer counts than it took: looking must not cost what flying needs.
const PAUSE_TO_LOOK: u32 = 10;
/// How long an answer counts at most, however long it took.
const COUNTS_MAX: Duration = Duration::from_secs(30);

/// An answer, and when it came.
#[derive(Debug)]
struct Kept<T> {
    value: Arc<T>,
    at: Instant,
    took: Duration,
}

impl<T> Kept<T> {
    fn counts(&self, age: Duration) -> bool {
        self.at.elapsed() < age.max((self.took * PAUSE_TO_LOOK).min(COUNTS_MAX))
    }
}

/// One flight.
#[derive(Debug)]
pub(crate) struct Book<R> {
    reading: Option<R>,
    kept: Option<Kept<FlightView>>,
    /// What its journal says.
    pub(crate) account: FlightAccount,
}

impl<R> Default for Book<R> {
    fn default() -> Self {
        Self { reading: None, kept: None, account: FlightAccount::default() }
    }
}

impl<R> Book<R> {
    /// How it stands, once it was looked at.
    pub(crate) fn view(&self) -> Option<Arc<FlightView>> {
        self.kept.as_ref().map(|kept| Arc::clone(&kept.value))
    }
}

/// What happened to a waypoint, and what of it waits.
#[derive(Debug)]
pub(crate) struct Past {
    /// As it stood then.
    pub(crate) of: WaypointView,
    at: Instant,
    /// Its artifacts and decisions.
    pub(crate) history: Vec<HistoryLine>,
    /// What of it waits for people.
    pub(crate) waits: Vec<InboxItem>,
}

/// An answer that is renewed by one of those who want it.
type Answer<T> = Arc<Mutex<Option<Kept<T>>>>;

/// What is kept of a summary: the status that it was made at, and when.
type Summarized = (FlightStatus, Instant, Summary);

/// Everything that was read.
pub(crate) struct Cache<F: ConsoleFleet> {
    pub(crate) fleet: Shared<F>,
    flights: Answer<Vec<FlightLine>>,
    inbox: Answer<Vec<InboxItem>>,
    dead: Answer<Vec<DeadTurn>>,
    storage: Answer<Storage>,
    waits: StdMutex<Option<usize>>,
    pasts: Slots<(FlightId, WaypointId), Option<Arc<Past>>>,
    books: Arc<Slots<FlightId, Book<F::Reading>>>,
    summaries: StdMutex<HashMap<FlightId, Summarized>>,
    /// Held by the task that makes summaries.
    filling: Arc<Mutex<()>>,
}

impl<F: ConsoleFleet> Cache<F> {
    pub(crate) fn new(fleet: Shared<F>) -> Self {
        Self {
            fleet,
            flights: Answer::default(),
            inbox: Answer::default(),
            dead: Answer::default(),
            storage: Answer::default(),
            waits: StdMutex::default(),
            pasts: Slots::new(PASTS_MAX),
            books: Arc::new(Slots::new(BOOKS_MAX)),
            summaries: StdMutex::default(),
            filling: Arc::default(),
        }
    }

    /// All flights, not older than this.
    pub(crate) async fn flights(&self, age: Duration) -> Result<Arc<Vec<FlightLine>>, ConsoleProblem> {
        let fleet = Arc::clone(&self.fleet);
        renewed(&self.flights, age, async move { fleet.flights().await }).await
    }

    /// What waits, not older than this.
    pub(crate) async fn inbox(&self, age: Duration) -> Result<Arc<Vec<InboxItem>>, ConsoleProblem> {
        let fleet = Arc::clone(&self.fleet);
        let items = renewed(&self.inbox, age, async move { fleet.inbox(None).await }).await?;
        let me = self.fleet.me();
        let mine = InboxItem::by_cause(items.iter().filter(|item| item.is_for(&me))).len();
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(mine);
        Ok(items)
    }

    /// The turns that are given up, not older than this.
    pub(crate) async fn dead(&self, age: Duration) -> Result<Arc<Vec<DeadTurn>>, ConsoleProblem> {
        let fleet = Arc::clone(&self.fleet);
        renewed(&self.dead, age, async move { fleet.dead().await }).await
    }

    /// How full the broker is, not older than this.
    pub(crate) async fn storage(&self, age: Duration) -> Result<Arc<Storage>, ConsoleProblem> {
        let fleet = Arc::clone(&self.fleet);
        renewed(&self.storage, age, async move { fleet.storage().await }).await
    }

    /// How much waited for whom the console is of when that was last looked at.
    pub(crate) fn waits(&self) -> Option<usize> {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happened to a waypoint that stands like this. It is read again when it stands otherwise.
    pub(crate) async fn past(&self, flight: &FlightId, waypoint: &WaypointView) -> Result<Arc<Past>, ConsoleProblem> {
        let slot = self.pasts.get(&(flight.clone(), waypoint.id.clone()));
        let (fleet, flight, of) = (Arc::clone(&self.fleet), flight.clone(), waypoint.clone());
        finished(async move {
            let mut past = slot.lock().await;
            let known = past.as_ref().filter(|past| past.of == of && past.at.elapsed() < PAST_COUNTS);
            if let Some(known) = known {
                return Ok(Arc::clone(known));
            }
            let history = fleet.history(&flight, &of.id).await?;
            let mut waits = Vec::new();
            if of.needs_people() || of.actions.contains(&Verb::Answer) {
                waits = fleet.inbox(Some(&flight)).await?;
                waits.retain(|item| item.waypoint == of.id);
            }
            Ok(Arc::clone(past.insert(Arc::new(Past { of, at: Instant::now(), history, waits }))))
        })
        .await
    }

    /// An act was done: what is kept is old.
    pub(crate) async fn forget(&self, flight: &FlightId) {
        *self.flights.lock().await = None;
        *self.inbox.lock().await = None;
        // What waited may wait no more: no number is better than an old one.
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.dead.lock().await = None;
        self.pasts.retain(|(of, _)| of != flight);
        self.summaries().remove(flight);
        if let Some(slot) = self.books.known(flight) {
            slot.lock().await.kept = None;
        }
    }

    /// A flight, not older than this.
    pub(crate) async fn book(
        &self,
        flight: &FlightId,
        age: Duration,
    ) -> Result<OwnedMutexGuard<Book<F::Reading>>, ConsoleProblem> {
        let (slot, fleet) = (self.books.get(flight), Arc::clone(&self.fleet));
        let (books, flight) = (Arc::clone(&self.books), flight.clone());
        finished(async move {
            let mut book = slot.lock_owned().await;
            if book.kept.as_ref().is_some_and(|kept| kept.counts(age)) {
                return Ok(book);
            }
            let since = Instant::now();
            let looked = look(fleet.as_ref(), &flight, &mut book).await;
            if looked.is_err() && book.kept.is_none() {
                // The requested flight is not there: it takes no room.
                books.remove(&flight);
            }
            let view = looked?;
            book.kept = Some(Kept { value: view, at: Instant::now(), took: since.elapsed() });
            Ok(book)
        })
        .await
    }

    fn summaries(&self) -> std::sync::MutexGuard<'_, HashMap<FlightId, Summarized>> {
        self.summaries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a flight beyond its line.
    pub(crate) fn summary(&self, line: &FlightLine) -> Option<Summary> {
        self.summaries().get(&line.flight).map(|(_, _, summary)| *summary)
    }

    /// Makes the summaries that are missing or may be old; whether one changed. One task does that, for all askers.
    pub(crate) async fn fill(&self, lines: &[FlightLine], age: Duration) -> bool {
        let Ok(_filling) = Arc::clone(&self.filling).try_lock_owned() else { return false };
        let mut changed = false;
        for line in lines {
            let open = !line.status.is_over();
            let known = self.summaries().get(&line.flight).copied();
            let counts = known.is_some_and(|(status, at, _)| status == line.status && (!open || at.elapsed() < age));
            if counts {
                continue;
            }
            let Ok(book) = self.book(&line.flight, age).await else { continue };
            let Some(view) = book.view() else { continue };
            let summary = summarize(&view, &book.account);
            drop(book);
            if !open {
                self.books.remove(&line.flight);
            }
            let mut summaries = self.summaries();
            if summaries.len() >= SUMMARIES_MAX {
                summaries.clear();
            }
            changed |= known.is_none_or(|(_, _, known)| known != summary);
            summaries.insert(line.flight.clone(), (line.status, Instant::now(), summary));
        }
        changed
    }
}

async fn look<F: ConsoleFleet>(
    fleet: &F,
    flight: &FlightId,
    book: &mut Book<F::Reading>,
) -> Result<Arc<FlightView>, ConsoleProblem> {
    let view = fleet.status(flight).await?;
    let is_new = book.kept.as_ref().is_none_or(|kept| *kept.value != view);
    let mut reading = match book.reading.take() {
        Some(reading) if !is_new => {
            book.reading = Some(reading);
            return Ok(Arc::new(view));
        }
        Some(reading) => reading,
        None => {
            // Read from the beginning.
            book.account = FlightAccount::default();
            fleet.open(flight).await?
        }
    };
    // One that failed half-way is not put back: what it gave might come twice.
    fleet.read_on(&mut reading, &mut book.account).await?;
    book.reading = Some(reading);
    Ok(Arc::new(view))
}

async fn renewed<T: Send + Sync + 'static>(
    answer: &Answer<T>,
    age: Duration,
    ask: impl Future<Output = Result<T, ConsoleProblem>> + Send + 'static,
) -> Result<Arc<T>, ConsoleProblem> {
    let answer = Arc::clone(answer);
    finished(async move {
        let mut kept = answer.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.counts(age)) {
            return Ok(Arc::clone(&kept.value));
        }
        let since = Instant::now();
        let value = Arc::new(ask.await?);
        *kept = Some(Kept { value: Arc::clone(&value), at: Instant::now(), took: since.elapsed() });
        Ok(value)
    })
    .await
}

/// Runs this to its end, also if nobody waits for it any more.
async fn finished<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends.
            Err(_) => std::future::pending().await,
        },
    }
}

fn summarize(view: &FlightView, account: &FlightAccount) -> Summary {
    let (complete, all) = view.progress();
    let used = account.used();
    Summary { complete, all, used, paused: view.paused }
}
