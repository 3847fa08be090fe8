//! The clock of a process: the one place that reads the time of day.
//!
//! The engine takes times as arguments; only the edges ask here. The time of day is read once, when it is asked for first;
//! from then on this process counts by itself. When the system's clock is set, deadlines and budgets of this
//! process are not touched: they are spans, and nothing took longer. The next start believes the system again.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use holdpoint_protocol::Timestamp;

/// A difference that a person should hear of; corrections of a clock that is kept right are far smaller.
const TOLD_FROM_MS: i64 = 60_000;

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    wall_ms: i64,
    counted: Instant,
}

/// The time of day in UTC, with millisecond precision, as it was when this process first asked plus what passed since.
#[must_use]
pub fn now() -> Timestamp {
    static ANCHOR: OnceLock<Anchor> = OnceLock::new();
    static TOLD_MS: AtomicI64 = AtomicI64::new(0);
    let (wall_ms, counted) = (wall_ms(), Instant::now());
    let anchor = ANCHOR.get_or_init(|| Anchor { wall_ms, counted });
    let now_ms = anchor.at(counted);
    let off_ms = wall_ms.saturating_sub(now_ms);
    let told_ms = TOLD_MS.load(Ordering::Relaxed);
    if off_ms.abs_diff(told_ms) >= TOLD_FROM_MS.unsigned_abs() {
        TOLD_MS.store(off_ms, Ordering::Relaxed);
        tracing::warn!(
            seconds = off_ms / 1_000,
            "the system's clock was set, or the machine slept: not followed before the next start"
        );
    }
    Timestamp::from_millis(now_ms)
}

impl Anchor {
    fn at(&self, counted: Instant) -> i64 {
        let passed = counted.saturating_duration_since(self.counted);
        self.wall_ms.saturating_add(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
    }
}

/// What the system says.
fn wall_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
    millis.saturating_add(holdpoint_faults::clock_offset_ms())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_goes_on_from_where_it_was_first_read() {
        let begin = Instant::now();
        let anchor = Anchor { wall_ms: 1_000_000, counted: begin };
        assert_eq!(anchor.at(begin + Duration::from_secs(2)), 1_002_000);
        let (first, second) = (now(), now());
        assert!(first <= second && (wall_ms() - second.as_millis()).abs() < TOLD_FROM_MS);
    }
}
