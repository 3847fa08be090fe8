//! Which consumers of turns hold pulls that a client left in the broker, and when such a consumer is to be made again.
//!
//! Agents ask for a turn that is there now: their pulls do not wait. A pull that waits takes the next turn, no matter who
//! listens to its answer, and the broker drops it only with its consumer. A consumer that is recreated loses nothing, but
//! turns in hand are delivered once more: where there are any, that is put off for a while and done seldom.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::Timestamp;

/// How long pulls have to wait until they count: a pull with an end may wait for a second.
const LASTING: Duration = Duration::from_secs(2);
/// How long turns in hand put it off: the time in which most agents could end theirs is longer than others may be kept from
/// all new turns.
const PUT_OFF: Duration = Duration::from_secs(10);
/// The least time between two of a consumer, where turns are in hand: each has agents do work twice.
const PAUSE: Duration = Duration::from_secs(60);

/// The state of a consumer at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Pulls that wait in the broker.
    pub waiting: usize,
    /// Turns that were delivered and are not acknowledged.
    pub in_hand: usize,
}

/// What is known of consumers in which pulls wait. Their names distinguish consumers.
#[derive(Debug, Default)]
pub struct LastingPulls {
    since: BTreeMap<String, Timestamp>,
    renewed: BTreeMap<String, Timestamp>,
}

impl LastingPulls {
    /// Takes in a look at a consumer; whether it is to be made again now.
    pub fn look(&mut self, consumer: &str, look: Look, now: Timestamp) -> bool {
        if look.waiting == 0 {
            self.since.remove(consumer);
            return false;
        }
        let since = *self.since.entry(consumer.to_owned()).or_insert(now);
        let paused = self.renewed.get(consumer).is_some_and(|last| now.since(*last) < PAUSE);
        let waited = now.since(since);
        let renew = waited >= LASTING && (look.in_hand == 0 || waited >= PUT_OFF && !paused);
        if renew {
            self.since.remove(consumer);
            self.renewed.insert(consumer.to_owned(), now);
        }
        renew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Look = Look { waiting: 3, in_hand: 0 };
    const IN_HAND: Look = Look { waiting: 3, in_hand: 1 };
    const NONE: Look = Look { waiting: 0, in_hand: 5 };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// The seconds at which a consumer is made again that always looks like this.
    fn renewed(look: Look, until: i64) -> Vec<i64> {
        let mut pulls = LastingPulls::default();
        (0..until).filter(|second| pulls.look("c", look, at(*second))).collect()
    }

    #[test]
    fn pulls_that_come_and_go_are_left_alone() {
        let mut pulls = LastingPulls::default();
        assert!((0..100).all(|second| !pulls.look("c", if second % 2 == 0 { LEFT } else { NONE }, at(second))));
        assert!(renewed(NONE, 100).is_empty());
    }

    #[test]
    fn pulls_that_stay_have_an_idle_consumer_made_again_at_once() {
        assert_eq!(renewed(LEFT, 6), [2, 5]);
    }

    #[test]
    fn turns_in_hand_put_it_off_and_it_is_done_seldom() {
        assert_eq!(renewed(IN_HAND, 150), [10, 70, 130]);
    }

    #[test]
    fn consumers_are_told_apart() {
        let mut pulls = LastingPulls::default();
        assert!(!pulls.look("a", LEFT, at(0)) && !pulls.look("b", LEFT, at(2)));
        assert!(pulls.look("a", LEFT, at(2)) && !pulls.look("b", LEFT, at(3)));
    }
}
