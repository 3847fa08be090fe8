//! Flights without an actor, and when each needs one again.

use std::collections::{BTreeSet, HashMap};

use holdpoint_protocol::{Timestamp, ids::FlightId};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Asleep {
    until: HashMap<FlightId, Timestamp>,
    order: BTreeSet<(Timestamp, FlightId)>,
}

impl Asleep {
    /// It sleeps until then.
    pub(super) fn insert(&mut self, flight: FlightId, until: Timestamp) {
        self.remove(&flight);
        self.order.insert((until, flight.clone()));
        self.until.insert(flight, until);
    }

    /// It sleeps until then, or for less, as is known already: it may have gone on since `until` was read.
    pub(super) fn insert_at_latest(&mut self, flight: FlightId, until: Timestamp) {
        let known = self.until.get(&flight).copied();
        self.insert(flight, known.map_or(until, |known| known.min(until)));
    }

    /// It is awake, or over.
    pub(super) fn remove(&mut self, flight: &FlightId) {
        if let Some((flight, until)) = self.until.remove_entry(flight) {
            self.order.remove(&(until, flight));
        }
    }

    /// So many at most of those whose time has come, the earliest first. They sleep no longer.
    pub(super) fn due(&mut self, now: Timestamp, at_most: usize) -> Vec<FlightId> {
        let mut due = Vec::new();
        while due.len() < at_most && self.order.first().is_some_and(|(until, _)| *until <= now) {
            let Some((_, flight)) = self.order.pop_first() else { break };
            self.until.remove(&flight);
            due.push(flight);
        }
        due
    }

    /// Those that sleep.
    pub(super) fn flights(&self) -> impl Iterator<Item = &FlightId> {
        self.until.keys()
    }

    /// How many sleep.
    pub(super) fn len(&self) -> usize {
        self.until.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn id(name: &str) -> FlightId {
        name.parse().unwrap()
    }

    #[test]
    fn flights_wake_in_the_order_of_their_times_and_once() {
        let mut asleep = Asleep::default();
        asleep.insert(id("late"), at(9));
        asleep.insert(id("early"), at(3));
        asleep.insert(id("never"), at(99));
        assert_eq!(asleep.due(at(2), 9), []);
        assert_eq!(asleep.due(at(10), 1), [id("early")], "in portions");
        assert_eq!(asleep.due(at(10), 9), [id("late")]);
        assert_eq!((asleep.due(at(10), 9), asleep.len()), (vec![], 1));
    }

    #[test]
    fn a_flight_sleeps_until_the_last_time_it_was_given_and_not_at_all_once_removed() {
        let mut asleep = Asleep::default();
        asleep.insert(id("f"), at(3));
        asleep.insert(id("f"), at(9));
        assert_eq!((asleep.due(at(5), 9), asleep.len()), (vec![], 1));
        asleep.insert_at_latest(id("f"), at(20));
        assert_eq!(asleep.due(at(9), 9), [id("f")], "what was read before it went on");
        asleep.insert_at_latest(id("f"), at(20));
        assert_eq!((asleep.due(at(19), 9), asleep.len()), (vec![], 1));
        asleep.remove(&id("f"));
        assert_eq!((asleep.due(at(99), 9), asleep.len()), (vec![], 0));
    }
}
