//! Things that are due and could not be done: each is tried again by itself, so that it holds up nothing else.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdpoint_engine::flight::Due;
use holdpoint_protocol::ids::WaypointId;

use super::RETRY_DELAY;

/// The longest pause before something is tried again. The first is [`RETRY_DELAY`], and each is twice the one before.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Things that failed when they were tried last.
#[derive(Debug, Default)]
pub(super) struct Setbacks(HashMap<Due, Setback>);

#[derive(Debug)]
struct Setback {
    again: Instant,
    pause: Duration,
}

impl Setbacks {
    /// It failed, perhaps not for the first time.
    pub(super) fn failed(&mut self, due: Due, now: Instant) {
        let before = self.0.get(&due);
        let pause = before.map_or(RETRY_DELAY, |before| (before.pause * 2).min(PAUSE_MAX));
        self.0.insert(due, Setback { again: now + pause, pause });
    }

    /// It was done.
    pub(super) fn went_well(&mut self, due: &Due) {
        self.0.remove(due);
    }

    /// Forgets those that are not due any more. An opening that is put off is not, while others go before it.
    pub(super) fn keep(&mut self, due: &[Due], now: Instant) {
        self.0.retain(|failed, setback| due.contains(failed) || matches!(failed, Due::Open(_)) && now < setback.again);
    }

    /// Whether it failed when it was tried last.
    pub(super) fn has(&self, due: &Due) -> bool {
        self.0.contains_key(due)
    }

    /// Whether it failed a moment ago.
    pub(super) fn puts_off(&self, due: &Due, now: Instant) -> bool {
        self.0.get(due).is_some_and(|setback| now < setback.again)
    }

    /// Whether something of this waypoint failed when it was tried last.
    pub(super) fn concerns(&self, waypoint: &WaypointId) -> bool {
        self.0.keys().any(|due| due.waypoint() == waypoint)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(waypoint: &str) -> Due {
        Due::Open(waypoint.parse().unwrap())
    }

    #[test]
    fn each_failure_is_put_off_by_itself_and_longer_each_time() {
        let (mut setbacks, begun) = (Setbacks::default(), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        setbacks.failed(open("a"), begun);
        assert!(setbacks.puts_off(&open("a"), after(1)) && !setbacks.puts_off(&open("b"), after(1)));
        assert!(!setbacks.puts_off(&open("a"), after(2)) && setbacks.has(&open("a")));
        setbacks.failed(open("a"), after(2));
        assert!(setbacks.puts_off(&open("a"), after(5)) && !setbacks.puts_off(&open("a"), after(6)));
        (0..40).for_each(|_| setbacks.failed(open("a"), after(6)));
        assert!(setbacks.puts_off(&open("a"), after(65)) && !setbacks.puts_off(&open("a"), after(66)));
        setbacks.went_well(&open("a"));
        assert!(setbacks.is_empty());
    }

    #[test]
    fn what_is_not_due_any_more_is_forgotten() {
        let (mut setbacks, begun) = (Setbacks::default(), Instant::now());
        let joins = Due::Join("a".parse().unwrap());
        for due in [open("a"), joins.clone()] {
            setbacks.failed(due, begun);
        }
        setbacks.keep(&[open("b")], begun);
        assert!(setbacks.has(&open("a")) && !setbacks.has(&joins), "others are opened while it is put off");
        assert!(setbacks.concerns(&"a".parse().unwrap()) && !setbacks.concerns(&"b".parse().unwrap()));
        setbacks.keep(&[open("b")], begun + RETRY_DELAY);
        assert!(setbacks.is_empty());
    }
}
