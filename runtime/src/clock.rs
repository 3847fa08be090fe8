//! The clock of a process: the one place that reads the time of day.
//!
//! The core takes times as arguments; only the edges ask here.

use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint_protocol::Timestamp;

/// The time of day in UTC, with millisecond precision.
#[must_use]
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
