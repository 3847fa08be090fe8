//! At which priorities an agent looks for turns, and when. It asks nobody.

use std::time::Duration;

use holdpoint_protocol::plan::Priority;
use tokio::time::Instant;

/// How long an agent waits for a hint before it looks by itself (contract, "Subjects for external agents").
const POLL_EVERY: Duration = Duration::from_secs(5);
/// How long after a hint that led to nothing an agent looks once more. A broker that says that a turn is stored counts it for those
/// who pull a moment later: a hint may be faster, and nobody else may look for seconds.
const SETTLED_AFTER: Duration = Duration::from_millis(20);
/// How long after the broker did not say an agent asks again.
const FAILED_PAUSE: Duration = Duration::from_secs(2);

/// What there may be at one priority.
#[derive(Debug, Clone, Copy, Default)]
struct Chance {
    /// Hinted at, or not looked at for a while.
    now: bool,
    /// Hinted at since it was last looked at.
    hinted: bool,
    /// When to look once more.
    again: Option<Instant>,
}

/// The priorities, most urgent first.
#[derive(Debug)]
pub(super) struct Looks {
    chances: [Chance; Priority::ALL.len()],
    /// When all priorities were last looked at: hints get lost, and what comes again has none.
    looked_at_all: Instant,
}

impl Looks {
    /// Everything is to be looked at.
    pub(super) fn new(now: Instant) -> Self {
        let mut looks = Self { chances: Default::default(), looked_at_all: now };
        looks.at_all(now);
        looks
    }

    /// There may be a turn of any priority.
    pub(super) fn at_all(&mut self, now: Instant) {
        self.chances.iter_mut().for_each(|chance| chance.now = true);
        self.looked_at_all = now;
    }

    /// A hint names the priority of the turn; one that does not may mean any.
    pub(super) fn hint(&mut self, payload: &[u8]) {
        let named = Priority::ALL.iter().position(|priority| priority.as_str().as_bytes() == payload);
        let hinted = self.chances.iter_mut().enumerate().filter(|(index, _)| named.is_none_or(|named| named == *index));
        hinted.for_each(|(_, chance)| (chance.now, chance.hinted) = (true, true));
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Instant) {
        for chance in &mut self.chances {
            if chance.again.take_if(|again| *again <= now).is_some() {
                chance.now = true;
            }
        }
        if now >= self.looked_at_all + POLL_EVERY {
            self.at_all(now);
        }
    }

    /// The most urgent priority that is to be looked at.
    pub(super) fn next(&self) -> Option<Priority> {
        let due = |(chance, priority): (&Chance, Priority)| chance.now.then_some(priority);
        self.chances.iter().zip(Priority::ALL).find_map(due)
    }

    /// There was no turn.
    pub(super) fn nothing(&mut self, at: Priority, now: Instant) {
        let chance = self.of(at);
        let again = std::mem::take(&mut chance.hinted).then_some(now + SETTLED_AFTER);
        (chance.now, chance.again) = (false, again.or(chance.again));
    }

    /// The broker did not say.
    pub(super) fn failed(&mut self, at: Priority, now: Instant) {
        let chance = self.of(at);
        (chance.now, chance.again) = (false, Some(now + FAILED_PAUSE));
    }

    /// There was one; there may be more.
    pub(super) fn turn(&mut self, at: Priority) {
        let chance = self.of(at);
        *chance = Chance { now: true, ..Chance::default() };
    }

    /// When to look if no hint comes before.
    pub(super) fn wait_until(&self) -> Instant {
        let poll = self.looked_at_all + POLL_EVERY;
        self.chances.iter().filter_map(|chance| chance.again).fold(poll, Instant::min)
    }

    fn of(&mut self, priority: Priority) -> &mut Chance {
        let index = Priority::ALL.iter().position(|other| *other == priority).unwrap_or_default();
        // Each priority is one of all.
        &mut self.chances[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks that found nothing anywhere.
    fn looked(now: Instant) -> Looks {
        let mut looks = Looks::new(now);
        while let Some(priority) = looks.next() {
            looks.nothing(priority, now);
        }
        looks
    }

    #[test]
    fn everything_is_looked_at_by_urgency_and_then_after_a_while() {
        let now = Instant::now();
        let mut looks = Looks::new(now);
        for priority in Priority::ALL {
            assert_eq!(looks.next(), Some(priority));
            looks.nothing(priority, now);
        }
        assert_eq!((looks.next(), looks.wait_until()), (None, now + POLL_EVERY));
        looks.tick(now + POLL_EVERY);
        assert_eq!(looks.next(), Some(Priority::Critical));
    }

    #[test]
    fn a_hint_names_what_is_looked_at() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"low");
        looks.hint(b"high");
        assert_eq!(looks.next(), Some(Priority::High));
        looks.nothing(Priority::High, now);
        assert_eq!(looks.next(), Some(Priority::Low));
        looks.hint(b"whatever");
        assert_eq!(looks.next(), Some(Priority::Critical));
    }

    #[test]
    fn a_hint_that_was_faster_than_its_turn_is_followed_once_more_and_no_further() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium");
        looks.nothing(Priority::Medium, now);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + SETTLED_AFTER));
        looks.tick(now + SETTLED_AFTER / 2);
        assert_eq!(looks.next(), None);
        looks.tick(now + SETTLED_AFTER);
        assert_eq!(looks.next(), Some(Priority::Medium));
        looks.nothing(Priority::Medium, now + SETTLED_AFTER);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + POLL_EVERY));
    }

    #[test]
    fn what_the_broker_did_not_say_is_asked_again_without_a_hint() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"low");
        looks.failed(Priority::Low, now);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + FAILED_PAUSE));
        looks.tick(now + FAILED_PAUSE);
        assert_eq!(looks.next(), Some(Priority::Low));
    }

    #[test]
    fn a_hint_that_led_to_a_turn_is_not_followed_again() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium");
        looks.turn(Priority::Medium);
        assert_eq!(looks.next(), Some(Priority::Medium), "there may be more");
        looks.nothing(Priority::Medium, now);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + POLL_EVERY));
    }
}
