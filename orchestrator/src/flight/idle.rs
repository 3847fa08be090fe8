//! Leaving memory: an actor that has nothing to do for a while asks the router to forget it, and ends.
//!
//! A message in between makes it stay. If another actor has its flight by then, it finishes what is under way and ends.

use std::time::{Duration, Instant};

use holdpoint_engine::flight;
use holdpoint_protocol::{Timestamp, view::FlightStatus};
use holdpoint_runtime::clock;
use ractor::ActorRef;

use super::{Msg, RETRY_DELAY, State, acts, in_time::LOOK_AGAIN};
use crate::router;

/// How long an open flight stays in memory when nothing happens to it. Its agents say every few seconds that they work.
const QUIET: Duration = Duration::from_secs(10);
/// How long one that is over stays, for questions about how it ended.
const LINGER: Duration = Duration::from_secs(1);

/// Since when nothing happens.
#[derive(Debug)]
pub(super) struct Idleness {
    since: Instant,
    /// The router was asked to forget this actor, and nothing has happened since.
    announced: bool,
    ending: bool,
    /// There is no such flight, yet.
    pub(super) unknown: bool,
}

impl Idleness {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), announced: false, ending: false, unknown: false }
    }

    /// Something happened.
    pub(super) fn disturbed(&mut self) {
        self.since = Instant::now();
        self.announced = false;
    }

    /// Another actor has the flight.
    pub(super) fn end(&mut self) {
        self.ending = true;
    }
}

impl State {
    /// The alarm went off: does what is due, and asks to leave when nothing has happened for long.
    pub(super) async fn tick(&mut self, myself: &ActorRef<Msg>) {
        self.alarm = None;
        self.pump(myself).await;
        let Some(quiet) = self.quiet_after() else { return };
        let troubled = !self.current_troubles().is_empty();
        if troubled || self.is_busy() || !self.waits.is_empty() || self.idleness.since.elapsed() < quiet {
            return;
        }
        let until = self.next_deadline();
        let moves = self.books.as_ref().is_some_and(|books| books.status() == FlightStatus::Running);
        if moves && self.serves() && until.is_none() {
            return;
        }
        self.idleness.announced = true;
        self.router.cast(router::Msg::Idle(self.id.clone(), myself.get_id(), until));
    }

    /// The router has forgotten this actor. Something may have come in the meantime.
    pub(super) fn leave(&mut self, myself: &ActorRef<Msg>) {
        if self.idleness.announced && !self.is_busy() {
            myself.stop(None);
        } else {
            self.router.cast(router::Msg::Back(self.id.clone(), myself.clone()));
        }
    }

    pub(super) fn end_if_done(&self, myself: &ActorRef<Msg>) {
        if self.idleness.ending && !self.is_busy() {
            myself.stop(None);
        }
    }

    /// Sets the alarm for the next deadline, or for leaving.
    pub(super) fn arm(&mut self, myself: &ActorRef<Msg>) {
        self.count();
        let Some(quiet) = self.quiet_after() else { return };
        let deadline = self.next_deadline().map(|deadline| deadline.since(clock::now()));
        let mut delay = deadline.map_or(quiet, |deadline| deadline.min(quiet));
        if !self.waits.is_empty() || !self.setbacks.is_empty() {
            // Its deadline may have passed already.
            delay = delay.clamp(LOOK_AGAIN, RETRY_DELAY);
        }
        // One that goes off a little early looks again.
        let early = |at: Instant| at <= Instant::now() + delay;
        if !self.alarm.as_ref().is_some_and(|(_, at)| early(*at)) {
            self.set_alarm(myself, delay);
        }
    }

    /// Has the flight counted as open or over when that has changed.
    fn count(&mut self) {
        let Some(books) = &self.books else { return };
        let open = !books.is_over();
        if self.counted.replace(open) != Some(open) {
            if open {
                self.shell.open.opened(books.counted());
            } else {
                self.shell.open.over(&self.id);
                self.shell.ended.saw(&self.id, books.ends());
            }
        }
    }

    /// How long nothing has to happen before the flight leaves memory; `None` while it is not known how it stands.
    fn quiet_after(&self) -> Option<Duration> {
        if self.idleness.unknown {
            return Some(LINGER);
        }
        let quiet = self.books.as_ref().map(|books| if books.is_over() { LINGER } else { QUIET })?;
        Some(if self.acts.has_news() { acts::NEWS_FOR } else { quiet })
    }

    /// When to look again although nothing happens; an orchestrator that does not serve the flight's agents does not.
    fn next_deadline(&self) -> Option<Timestamp> {
        let books = self.books.as_ref().filter(|_| self.serves())?;
        flight::next_deadline(&books.flight, &books.waypoints, clock::now())
    }

    fn is_busy(&self) -> bool {
        self.slow > 0 || self.track.is_busy()
    }
}
