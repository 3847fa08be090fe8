//! How long to wait for a model's provider that refuses for the time being. Pure.

use std::time::Duration;

use holdpoint_protocol::Timestamp;

use crate::dialect::Limited;

/// Waits of one exchange: more is a provider that is away, and the turn is given back.
const WAITS_MAX: u32 = 20;
/// The first pause, and the longest where the provider does not say when it will be back.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// The pause before the next try, after so many; `None`: there were enough.
#[must_use]
pub fn pause(waited: u32, limited: Option<Limited>, now: Timestamp) -> Option<Duration> {
    if waited >= WAITS_MAX {
        return None;
    }
    let doubled = FIRST.saturating_mul(1 << waited.min(8)).min(LONGEST);
    let until =
        limited.and_then(|limited| limited.until).map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
    let told = until.map(|until| until.since(now));
    Some(told.map_or(doubled, |told| told.max(FIRST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute_or_are_as_long_as_the_provider_says_and_end() {
        let now = Timestamp::from_millis(1_000_000);
        let seconds: Vec<_> = (0..6).map(|waited| pause(waited, None, now).unwrap().as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 60, 60]);
        let until = |seconds| Some(Limited { status: Some(429), until: Some(seconds) });
        assert_eq!(pause(0, until(1_090), now), Some(Duration::from_secs(90)));
        assert_eq!(pause(0, until(900), now), Some(FIRST), "a clock that is behind");
        assert_eq!(pause(WAITS_MAX, until(1_090), now), None);
    }
}
