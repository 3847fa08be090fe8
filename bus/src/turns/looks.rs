//! At which priorities an agent looks for turns, and when. It asks nobody.
//!
//! A turn is called out to one agent of its pool, which looks at once. If that agent is busy, or hangs, a hint goes to every agent of
//! the role, and one of them gets the turn. If all the others looked at once each time, a fleet with many
//! idle agents would keep the broker busy with saying no. So an agent that followed a hint in vain follows the next ones a few
//! milliseconds later, each agent at a moment of its own, and all that came until then with one look. Agents that just ended a turn are
//! ahead of it.
//!
//! A broker that says that a turn is stored counts it for those who pull a moment later, so that a hint may be faster than its turn, and
//! nobody else may look for seconds. Each hint is followed until a look comes long enough after it.

use std::{ops::Range, time::Duration};

use holdpoint_protocol::plan::Priority;
use tokio::time::Instant;

/// How long an agent waits for a hint before it looks by itself (contract, "Subjects for external agents").
const POLL_EVERY: Duration = Duration::from_secs(5);
/// How long after a hint an agent looks that does not look at once.
const LATER: Range<Duration> = Duration::from_millis(4)..Duration::from_millis(20);
/// How long after a hint the broker counts its turn at the latest.
const SETTLED_AFTER: Duration = LATER.end;
/// How long after the broker did not say an agent asks again.
const FAILED_PAUSE: Duration = Duration::from_secs(2);

/// What there may be at one priority.
#[derive(Debug, Clone, Copy, Default)]
struct Chance {
    /// Hinted at, or not looked at for a while.
    now: bool,
    /// The last hint that no look came long enough after.
    hinted: Option<Instant>,
    /// When to look once more.
    again: Option<Instant>,
}

/// The priorities, most urgent first.
#[derive(Debug)]
pub(super) struct Looks {
    chances: [Chance; Priority::ALL.len()],
    /// Hints are followed at once: the last one led to a turn, or was long ago.
    prompt: bool,
    /// When all priorities were last looked at: hints get lost, and what comes again has none.
    looked_at_all: Instant,
}

impl Looks {
    /// Everything is to be looked at.
    pub(super) fn new(now: Instant) -> Self {
        let mut looks = Self { chances: Default::default(), prompt: true, looked_at_all: now };
        looks.at_all(now);
        looks
    }

    /// There may be a turn of any priority.
    pub(super) fn at_all(&mut self, now: Instant) {
        self.chances.iter_mut().for_each(|chance| chance.now = true);
        (self.prompt, self.looked_at_all) = (true, now);
    }

    /// A hint to all. `share` of 256 is how late it is followed, if not at once.
    pub(super) fn hint(&mut self, payload: &[u8], now: Instant, share: u8) {
        let prompt = self.prompt;
        for chance in self.named(payload) {
            chance.hinted = Some(now);
            if prompt {
                chance.now = true;
            } else {
                let later = later(now, share);
                chance.again = Some(chance.again.map_or(later, |again| again.min(later)));
            }
        }
    }

    /// A turn was called out to this agent alone.
    pub(super) fn call(&mut self, payload: &[u8], now: Instant) {
        for chance in self.named(payload) {
            (chance.now, chance.hinted) = (true, Some(now));
        }
    }

    /// What a payload names; one that names no priority may mean any.
    fn named(&mut self, payload: &[u8]) -> impl Iterator<Item = &mut Chance> {
        let named = Priority::ALL.iter().position(|priority| priority.as_str().as_bytes() == payload);
        let of = self.chances.iter_mut().enumerate();
        of.filter(move |(index, _)| named.is_none_or(|named| named == *index)).map(|(_, chance)| chance)
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

    /// There was no turn when the broker was asked at `asked`. `share` is as for a hint.
    pub(super) fn nothing(&mut self, at: Priority, asked: Instant, share: u8) {
        let chance = self.of(at);
        chance.now = false;
        let Some(hinted) = chance.hinted else { return };
        if asked < hinted + LATER.start {
            chance.again = Some(later(asked, share));
        } else if asked < hinted + SETTLED_AFTER {
            chance.again = Some(later(hinted + SETTLED_AFTER - LATER.start, share));
        } else {
            chance.hinted = None;
        }
        self.prompt = false;
    }

    /// The broker did not say.
    pub(super) fn failed(&mut self, at: Priority, now: Instant) {
        let chance = self.of(at);
        (chance.now, chance.again) = (false, Some(now + FAILED_PAUSE));
    }

    /// There was one; there may be more.
    pub(super) fn turn(&mut self, at: Priority) {
        *self.of(at) = Chance { now: true, ..Chance::default() };
        self.prompt = true;
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

fn later(now: Instant, share: u8) -> Instant {
    now + LATER.start + (LATER.end - LATER.start) * u32::from(share) / 256
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The earliest of `LATER`.
    const FIRST: u8 = 0;

    /// Looks that found nothing anywhere.
    fn looked(now: Instant) -> Looks {
        let mut looks = Looks::new(now);
        while let Some(priority) = looks.next() {
            looks.nothing(priority, now, FIRST);
        }
        looks
    }

    #[test]
    fn everything_is_looked_at_by_urgency_and_then_after_a_while() {
        let now = Instant::now();
        let mut looks = Looks::new(now);
        for priority in Priority::ALL {
            assert_eq!(looks.next(), Some(priority));
            looks.nothing(priority, now, FIRST);
        }
        assert_eq!((looks.next(), looks.wait_until()), (None, now + POLL_EVERY));
        looks.tick(now + POLL_EVERY);
        assert_eq!(looks.next(), Some(Priority::Critical));
    }

    #[test]
    fn a_hint_names_what_is_looked_at() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"low", now, FIRST);
        looks.hint(b"high", now, FIRST);
        assert_eq!(looks.next(), Some(Priority::High));
        looks.turn(Priority::High);
        looks.nothing(Priority::High, now, FIRST);
        assert_eq!(looks.next(), Some(Priority::Low));
        looks.hint(b"whatever", now, FIRST);
        assert_eq!(looks.next(), Some(Priority::Critical));
    }

    #[test]
    fn a_call_is_followed_at_once_also_after_hints_in_vain() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium", now, FIRST);
        looks.nothing(Priority::Medium, now, FIRST);
        let called = now + Duration::from_secs(1);
        looks.call(b"high", called);
        assert_eq!(looks.next(), Some(Priority::High));
        looks.nothing(Priority::High, called, FIRST);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + LATER.start));
        looks.tick(called + SETTLED_AFTER);
        assert!(looks.next().is_some(), "the call may have been faster than its turn");
    }

    /// Looks at the moments for which it is planned, in vain, until only a regular look is left; when that was, from `from`.
    fn in_vain(looks: &mut Looks, from: Instant, share: u8) -> Vec<Duration> {
        let mut moments = Vec::new();
        loop {
            let moment = looks.wait_until();
            if moment >= from + POLL_EVERY / 2 {
                return moments;
            }
            looks.tick(moment);
            assert_eq!(looks.next(), Some(Priority::Medium));
            looks.nothing(Priority::Medium, moment, share);
            moments.push(moment - from);
        }
    }

    #[test]
    fn a_hint_that_was_faster_than_its_turn_is_followed_until_it_is_settled_and_no_further() {
        let now = Instant::now();
        for share in [FIRST, 100, u8::MAX] {
            let mut looks = looked(now);
            looks.hint(b"medium", now, share);
            assert_eq!(looks.next(), Some(Priority::Medium), "at once");
            looks.nothing(Priority::Medium, now, share);
            let moments = in_vain(&mut looks, now, share);
            let [first, last] = moments[..] else { panic!("{moments:?}") };
            assert!(LATER.contains(&first) && last >= SETTLED_AFTER && last < SETTLED_AFTER + LATER.end);
        }
    }

    #[test]
    fn hints_after_one_that_led_to_nothing_are_followed_together_and_each_agent_has_its_moment() {
        let now = Instant::now();
        let firsts = [FIRST, 100, u8::MAX].map(|share| {
            let mut looks = looked(now);
            looks.hint(b"medium", now, share);
            looks.nothing(Priority::Medium, now, share);
            in_vain(&mut looks, now, share);
            let hinted = now + 2 * SETTLED_AFTER + LATER.end;
            looks.hint(b"medium", hinted, share);
            let moment = looks.wait_until();
            looks.hint(b"medium", moment - LATER.start, share);
            assert_eq!((looks.next(), looks.wait_until()), (None, moment), "one look for both");
            let moments = in_vain(&mut looks, hinted, share);
            assert!(moments.len() == 2 && moments[1] >= moments[0] - LATER.start + SETTLED_AFTER, "{moments:?}");
            moments[0]
        });
        assert!(firsts.is_sorted() && firsts[0] == LATER.start && firsts[0] < firsts[1]);
        assert!(firsts.iter().all(|first| LATER.contains(first)), "{firsts:?}");
    }

    #[test]
    fn a_hint_right_before_a_look_has_others_after_it() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium", now, FIRST);
        looks.nothing(Priority::Medium, now, u8::MAX);
        let moment = looks.wait_until();
        looks.hint(b"medium", moment, u8::MAX);
        let moments = in_vain(&mut looks, moment, FIRST);
        assert_eq!(moments, [Duration::ZERO, LATER.start, SETTLED_AFTER]);
    }

    #[test]
    fn a_hint_ends_the_pause_after_a_broker_that_did_not_say() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium", now, FIRST);
        looks.nothing(Priority::Medium, now, FIRST);
        looks.failed(Priority::Medium, now);
        looks.hint(b"medium", now, FIRST);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + LATER.start));
    }

    #[test]
    fn hints_are_followed_at_once_after_a_turn_and_after_a_while_without_one() {
        let now = Instant::now();
        let mut looks = looked(now);
        let miss = |looks: &mut Looks| {
            looks.hint(b"medium", now, FIRST);
            looks.nothing(Priority::Medium, now, FIRST);
            looks.hint(b"medium", now, FIRST);
            assert_eq!(looks.next(), None);
            in_vain(looks, now, FIRST);
        };
        miss(&mut looks);
        looks.turn(Priority::Medium);
        looks.nothing(Priority::Medium, now, FIRST);
        looks.hint(b"medium", now, FIRST);
        assert_eq!(looks.next(), Some(Priority::Medium));
        let mut looks = looked(now);
        miss(&mut looks);
        looks.tick(now + POLL_EVERY);
        Priority::ALL.into_iter().for_each(|priority| looks.nothing(priority, now + POLL_EVERY, FIRST));
        looks.hint(b"medium", now + POLL_EVERY, FIRST);
        assert_eq!(looks.next(), Some(Priority::Medium));
    }

    #[test]
    fn what_the_broker_did_not_say_is_asked_again_without_a_hint() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"low", now, FIRST);
        looks.failed(Priority::Low, now);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + FAILED_PAUSE));
        looks.tick(now + FAILED_PAUSE);
        assert_eq!(looks.next(), Some(Priority::Low));
    }

    #[test]
    fn a_hint_that_led_to_a_turn_is_not_followed_again() {
        let now = Instant::now();
        let mut looks = looked(now);
        looks.hint(b"medium", now, FIRST);
        looks.turn(Priority::Medium);
        assert_eq!(looks.next(), Some(Priority::Medium), "there may be more");
        looks.nothing(Priority::Medium, now, FIRST);
        assert_eq!((looks.next(), looks.wait_until()), (None, now + POLL_EVERY));
    }
}
