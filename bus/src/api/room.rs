//! How many requests of one key are in hand, and how many it sent lately. A count is kept only while it says anything,
//! so that it takes no more memory than the requests of a minute do.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{ApiFailure, REQUESTS_IN_HAND, TOO_MANY};

/// How many of [`REQUESTS_IN_HAND`] may wait for a decision, which takes seconds: an agent completes one turn at a time.
pub(super) const WAITING_OF_ONE_KEY_MAX: usize = 4;
/// What a rate is over.
const MINUTE: Duration = Duration::from_secs(60);
/// Keys whose rates are remembered, far more than a fleet has; past that those are forgotten that may send a minute's worth at once.
const RATES_MAX: usize = 4_096;

/// Who has how many requests in hand, and has sent how many; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    a_minute: u32,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    in_hand: HashMap<String, InHand>,
    rates: HashMap<String, Rate>,
}

#[derive(Debug, Clone, Copy, Default)]
struct InHand {
    all: usize,
    waiting: usize,
}

/// What a key may still send: as much as a minute brings at most.
#[derive(Debug, Clone, Copy)]
struct Rate {
    left: f64,
    at: Instant,
}

impl Keys {
    /// Each key may send so many requests a minute.
    pub(super) fn new(a_minute: u32) -> Self {
        Self { a_minute, counts: Arc::default() }
    }

    /// A place for another request of this key, or which bound it is over. `waits`: for a decision.
    pub(super) fn enter(&self, key: &str, waits: bool, now: Instant) -> Result<Place, ApiFailure> {
        let mut counts = self.counts();
        if !counts.may_send(key, f64::from(self.a_minute), now) {
            let what = format!(
                "this key sent more than {} requests a minute (orchestrator.requests_per_minute): wait before you ask again",
                self.a_minute
            );
            return Err(ApiFailure::new(TOO_MANY, what));
        }
        let mut in_hand = counts.in_hand.get(key).copied().unwrap_or_default();
        if in_hand.all >= REQUESTS_IN_HAND {
            let what =
                format!("this key has {REQUESTS_IN_HAND} requests in hand, as many as it may: wait for an answer");
            return Err(ApiFailure::new(TOO_MANY, what));
        }
        if waits && in_hand.waiting >= WAITING_OF_ONE_KEY_MAX {
            let what = format!(
                "this key has {WAITING_OF_ONE_KEY_MAX} requests in hand that wait for a decision, as many as it may: wait for an answer"
            );
            return Err(ApiFailure::new(TOO_MANY, what));
        }
        in_hand.all += 1;
        in_hand.waiting += usize::from(waits);
        counts.in_hand.insert(key.to_owned(), in_hand);
        Ok(Place { key: key.to_owned(), waits, keys: self.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn may_send(&mut self, key: &str, a_minute: f64, now: Instant) -> bool {
        let left = |rate: &Rate| {
            let brought = a_minute * now.saturating_duration_since(rate.at).as_secs_f64() / MINUTE.as_secs_f64();
            (rate.left + brought).min(a_minute)
        };
        if self.rates.len() >= RATES_MAX && !self.rates.contains_key(key) {
            self.rates.retain(|_, rate| left(rate) < a_minute);
        }
        let left = self.rates.get(key).map_or(a_minute, left);
        let may = left >= 1.0;
        self.rates.insert(key.to_owned(), Rate { left: if may { left - 1.0 } else { left }, at: now });
        may
    }
}

/// A request in hand. It counts until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    key: String,
    waits: bool,
    keys: Keys,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.keys.counts();
        if let Some(in_hand) = counts.in_hand.get_mut(&self.key) {
            in_hand.all -= 1;
            in_hand.waiting -= usize::from(self.waits);
            if in_hand.all == 0 {
                counts.in_hand.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_own_places_and_each_is_free_again_when_it_is_left() {
        let (keys, now) = (Keys::new(1_000), Instant::now());
        let mut places: Vec<Place> = (0..REQUESTS_IN_HAND).map(|_| keys.enter("ann", false, now).unwrap()).collect();
        assert!(keys.enter("ann", false, now).is_err());
        let other = keys.enter("bob", false, now).unwrap();
        places.pop();
        places.push(keys.enter("ann", false, now).unwrap());
        assert!(keys.enter("ann", false, now).is_err());
        drop((places, other));
        assert!(keys.counts().in_hand.is_empty(), "nothing is kept of who asks nothing");
    }

    #[test]
    fn few_of_a_keys_requests_wait_for_decisions_and_it_may_ask_meanwhile() {
        let (keys, now) = (Keys::new(1_000), Instant::now());
        let waiting: Vec<Place> = (0..WAITING_OF_ONE_KEY_MAX).map(|_| keys.enter("ann", true, now).unwrap()).collect();
        let refused = keys.enter("ann", true, now).unwrap_err();
        assert!(refused.code == TOO_MANY && refused.message.contains("4 requests in hand that wait"), "{refused}");
        drop(keys.enter("ann", false, now).unwrap());
        drop(waiting);
        keys.enter("ann", true, now).unwrap();
    }

    #[test]
    fn a_key_sends_a_minutes_requests_at_once_and_then_as_many_as_time_brings() {
        let (keys, began) = (Keys::new(60), Instant::now());
        let sends = |seconds: u64| {
            let now = began + Duration::from_secs(seconds);
            (0..100).take_while(|_| keys.enter("ann", false, now).is_ok()).count()
        };
        assert_eq!([sends(0), sends(0), sends(1), sends(11), sends(1_000)], [60, 0, 1, 10, 60]);
        let refused = keys.enter("ann", false, began).unwrap_err();
        assert!(refused.code == TOO_MANY && refused.message.contains("orchestrator.requests_per_minute"), "{refused}");
        assert!(keys.enter("bob", false, began).is_ok());
    }

    #[test]
    fn rates_of_keys_that_say_nothing_are_forgotten() {
        let (keys, began) = (Keys::new(60), Instant::now());
        for n in 0..RATES_MAX {
            drop(keys.enter(&format!("{n}"), false, began).unwrap());
        }
        drop(keys.enter("late", false, began + MINUTE).unwrap());
        assert_eq!(keys.counts().rates.len(), 1);
    }
}
