//! Points in time and spans of it, as they stand in artifacts and journals.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point in time with millisecond precision, written as RFC 3339 in UTC. It is data: nothing here reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The time `ms` milliseconds after the Unix epoch; times out of range are cut to the range.
    #[must_use]
    pub fn from_millis(ms: i64) -> Self {
        let fallback = if ms < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_millisecond(ms).unwrap_or(fallback))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Whole seconds since the Unix epoch: the precision of a git commit.
    #[must_use]
    pub fn as_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// This time plus `span`.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let span_ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.as_millis().saturating_add(span_ms))
    }

    /// How long ago `earlier` was; zero if it was not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let ms = self.as_millis().saturating_sub(earlier.as_millis());
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A span of time in whole milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// As a standard duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl From<Duration> for Millis {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }
}
