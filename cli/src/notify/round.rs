//! One round of notifications, and the place in which the next one waits for its courier.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::ids::FlightId;
use tokio::sync::Notify;

use super::event::Event;

/// Notifications of one round: as many as are remembered once they were delivered.
pub(super) const EVENTS_MAX: usize = super::delivered::KEPT_MAX;

/// Everything that is so at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    /// What there is to report.
    pub(super) events: Vec<Event>,
    /// The flights that were looked at.
    pub(super) flights: Vec<FlightId>,
    /// No other round comes: what failed is tried at once, and then the courier ends.
    pub(super) is_last: bool,
}

impl Round {
    /// With as many events as a round may have.
    pub(super) fn new(mut events: Vec<Event>, flights: Vec<FlightId>, is_last: bool) -> Self {
        let left_out = events.len().saturating_sub(EVENTS_MAX);
        if left_out > 0 {
            tracing::warn!(left_out, bound = EVENTS_MAX, "more waits than notifications are sent of at a time");
            events.truncate(EVENTS_MAX);
        }
        Self { events, flights, is_last }
    }
}

/// Where the next round waits for its courier.
#[derive(Debug, Default)]
pub(super) struct Slot {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    round: Option<Arc<Round>>,
    /// What of rounds that were begun or overtaken is not delivered.
    untold: HashSet<String>,
    /// What of the last rounds is.
    told: HashSet<String>,
    dropped: u64,
}

impl Slot {
    /// Puts the newest round there, and says how many notifications are dropped by that.
    pub(super) fn put(&self, round: Arc<Round>) -> u64 {
        let mut waiting = self.waiting();
        let now: HashSet<String> = round.events.iter().map(Event::key).collect();
        let overtaken = waiting.round.replace(round);
        let keys = overtaken.iter().flat_map(|round| round.events.iter().map(Event::key));
        let missed: Vec<String> = keys.filter(|key| !waiting.told.contains(key)).collect();
        waiting.untold.extend(missed);
        let before = waiting.untold.len();
        waiting.untold.retain(|key| now.contains(key));
        waiting.told.retain(|key| now.contains(key));
        let dropped = (before - waiting.untold.len()) as u64;
        waiting.dropped += dropped;
        drop(waiting);
        self.filled.notify_one();
        dropped
    }

    /// Waits for a round, and takes it.
    pub(super) async fn take(&self) -> Arc<Round> {
        loop {
            if let Some(round) = self.waiting().round.take() {
                return round;
            }
            self.filled.notified().await;
        }
    }

    /// Whether a newer round waits.
    pub(super) fn is_filled(&self) -> bool {
        self.waiting().round.is_some()
    }

    /// A round is begun: of its notifications these are not delivered yet.
    pub(super) fn begins(&self, round: &Round, due: &[&Event]) {
        let due: HashSet<String> = due.iter().map(|event| event.key()).collect();
        let mut waiting = self.waiting();
        waiting.told.extend(round.events.iter().map(Event::key).filter(|key| !due.contains(key)));
        waiting.untold.extend(due);
    }

    /// This one is being sent: whatever comes meanwhile, it is not dropped.
    pub(super) fn sends(&self, key: &str) {
        self.waiting().untold.remove(key);
    }

    /// This one could not be sent.
    pub(super) fn failed(&self, key: String) {
        self.waiting().untold.insert(key);
    }

    /// This one is delivered.
    pub(super) fn tells(&self, key: String) {
        self.waiting().told.insert(key);
    }

    /// How many notifications were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.waiting().dropped
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::view::FlightStatus;

    use super::*;

    fn over(n: usize) -> Event {
        Event::FlightOver { flight: format!("f{n}").parse().unwrap(), status: FlightStatus::Accepted }
    }

    #[test]
    fn a_round_has_no_more_events_than_are_remembered() {
        let events = (0..EVENTS_MAX + 5).map(over).collect();
        assert_eq!(Round::new(events, Vec::new(), false).events.len(), EVENTS_MAX);
    }
}
