//! A task of its own for each courier: a way that is slow or hangs holds up neither the other way nor the next look.
//!
//! Between the look and a courier is room for one round, which holds all that is so at the moment: a newer one takes the place
//! of one that was not begun, and a courier leaves an older one for it after the notification that it is at. A
//! notification that was in a round, was not delivered and is not true any more is dropped, counted and logged.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::ids::FlightId;
use tokio::{sync::Notify, task::JoinSet};

use super::{courier::Courier, event::Event};

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
    fn put(&self, round: Arc<Round>) -> u64 {
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

    async fn take(&self) -> Arc<Round> {
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

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The couriers at work. They end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Couriers {
    slots: Vec<(&'static str, Arc<Slot>)>,
    tasks: JoinSet<()>,
}

impl Couriers {
    /// Sets another one to work.
    pub(super) fn add(&mut self, courier: Courier) {
        let slot = Arc::new(Slot::default());
        self.slots.push((courier.way(), slot.clone()));
        self.tasks.spawn(work(courier, slot));
    }

    /// Gives each the newest round; waits for none.
    pub(super) fn tell(&self, round: Round) {
        let round = Arc::new(round);
        for (way, slot) in &self.slots {
            let dropped = slot.put(round.clone());
            if dropped > 0 {
                let so_far = slot.waiting().dropped;
                tracing::warn!(way, dropped, so_far, "notifications were not sent in the time in which they were so");
            }
        }
    }

    /// Waits until each has delivered what it can of the last round.
    pub(super) async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// How many notifications were dropped, by way.
    #[cfg(test)]
    pub(super) fn dropped(&self) -> Vec<(&'static str, u64)> {
        self.slots.iter().map(|(way, slot)| (*way, slot.waiting().dropped)).collect()
    }
}

async fn work(mut courier: Courier, slot: Arc<Slot>) {
    loop {
        let round = slot.take().await;
        if round.is_last {
            courier.hurry();
        }
        courier.deliver(&round, &slot).await;
        if round.is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

    use holdpoint_protocol::view::FlightStatus;
    use holdpoint_runtime::webhook::Webhook;
    use tempfile::TempDir;
    use tokio::net::TcpListener;

    use super::{super::way::Way, *};

    const SOON: Duration = Duration::from_secs(60);

    fn over(flight: &str) -> Event {
        Event::FlightOver { flight: flight.parse().unwrap(), status: FlightStatus::Accepted }
    }

    fn round(flights: &[&str], is_last: bool) -> Round {
        Round::new(flights.iter().map(|flight| over(flight)).collect(), Vec::new(), is_last)
    }

    /// A command that writes its input into the file `told`.
    fn command(dir: &Path) -> Courier {
        let program = dir.join("tell");
        fs::write(&program, "#!/bin/sh\ncat >> \"$1\"/told; echo >> \"$1\"/told\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (program, args) = (program.to_str().unwrap().to_owned(), vec![dir.to_str().unwrap().to_owned()]);
        Courier::new(Way::Command { program, args, timeout: SOON }, dir.join("notified.json"))
    }

    async fn told(dir: &Path, lines: usize) {
        let all_told = async {
            while fs::read_to_string(dir.join("told")).unwrap_or_default().lines().count() < lines {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(SOON, all_told).await.expect("the command is told");
    }

    #[tokio::test]
    async fn a_webhook_that_hangs_holds_up_no_later_round_of_the_command_and_what_it_misses_is_counted() {
        let dir = TempDir::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let webhook = Webhook::new(&url, None, SOON * 10).unwrap();
        let mut couriers = Couriers::default();
        couriers.add(command(dir.path()));
        couriers.add(Courier::new(Way::Webhook(Box::new(webhook)), dir.path().join("notified-webhook.json")));
        couriers.tell(round(&["f1"], false));
        // It is at the webhook, which never answers.
        let _hangs = tokio::time::timeout(SOON, listener.accept()).await.unwrap().unwrap();
        told(dir.path(), 1).await;
        couriers.tell(round(&["f1", "f2"], false));
        told(dir.path(), 2).await;
        couriers.tell(round(&["f1", "f3"], false));
        told(dir.path(), 3).await;
        assert_eq!(couriers.dropped(), [("notify.command", 0), ("notify.webhook", 1)], "f2 is not so any more");
    }

    #[tokio::test]
    async fn the_last_round_is_delivered_before_the_couriers_end() {
        let dir = TempDir::new().unwrap();
        let mut couriers = Couriers::default();
        couriers.add(command(dir.path()));
        couriers.tell(round(&["f1"], false));
        couriers.tell(round(&["f1", "f2", "f3"], true));
        tokio::time::timeout(SOON, couriers.finish()).await.unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("told")).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_round_has_no_more_events_than_are_remembered() {
        let events = (0..EVENTS_MAX + 5).map(|n| over(&format!("f{n}"))).collect();
        assert_eq!(Round::new(events, Vec::new(), false).events.len(), EVENTS_MAX);
    }
}
