//! Spans of time and sizes in the configuration, above zero. They are written as in plans: `30m`, `10MiB`.

use std::{fmt, str::FromStr, time::Duration};

use holdpoint_text::units;
use serde::{Deserialize, Serialize};

/// Milliseconds per unit, largest first.
const TIME_UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
/// Bytes per unit, largest first.
const SIZE_UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A text that is no span of time or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUnit {
    /// Not a span of time.
    #[error("{text:?} is not a span of time: write a number above 0 and ms, s, m, h or d, for example 30m or 1h30m")]
    Span {
        /// The refused text, cut to 40 characters.
        text: String,
    },
    /// Not a size.
    #[error(
        "{text:?} is not a size: write a number above 0 of bytes, or one with KiB, MiB, GiB, KB, MB or GB, for example 10MiB"
    )]
    Size {
        /// The refused text, cut to 40 characters.
        text: String,
    },
}

/// A span of time above zero, written `250ms`, `30s`, `30m`, `4h` or `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeSpan(u64);

/// A size above zero, written `512B`, `64KiB`, `10MiB` or `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

impl TimeSpan {
    /// A number of seconds; one at least.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(if secs == 0 { 1_000 } else { secs.saturating_mul(1_000) })
    }

    /// As a standard duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl ByteSize {
    /// A number of KiB; one at least.
    #[must_use]
    pub const fn from_kib(kib: u64) -> Self {
        Self(if kib == 0 { 1 << 10 } else { kib.saturating_mul(1 << 10) })
    }

    /// A number of MiB; one at least.
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(if mib == 0 { 1 << 20 } else { mib.saturating_mul(1 << 20) })
    }

    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// In the largest unit that leaves no remainder.
fn write(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fitting = units.iter().find(|(_, factor)| value.is_multiple_of(*factor));
    let (unit, factor) = fitting.expect("the smallest unit is 1");
    write!(f, "{}{unit}", value / factor)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

impl FromStr for TimeSpan {
    type Err = InvalidUnit;
    fn from_str(text: &str) -> Result<Self, InvalidUnit> {
        let read = units::duration(text).map(|span| span.0).filter(|ms| *ms > 0);
        read.map(Self).ok_or_else(|| InvalidUnit::Span { text: shown(text) })
    }
}

impl FromStr for ByteSize {
    type Err = InvalidUnit;
    fn from_str(text: &str) -> Result<Self, InvalidUnit> {
        let read = units::size(text).filter(|bytes| *bytes > 0);
        read.map(Self).ok_or_else(|| InvalidUnit::Size { text: shown(text) })
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, &TIME_UNITS, f)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, &SIZE_UNITS, f)
    }
}

impl TryFrom<String> for TimeSpan {
    type Error = InvalidUnit;
    fn try_from(text: String) -> Result<Self, InvalidUnit> {
        text.parse()
    }
}

impl TryFrom<String> for ByteSize {
    type Error = InvalidUnit;
    fn try_from(text: String) -> Result<Self, InvalidUnit> {
        text.parse()
    }
}

impl From<TimeSpan> for String {
    fn from(span: TimeSpan) -> Self {
        span.to_string()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_read_back_as_written() {
        for text in ["250ms", "30s", "30m", "4h", "2d"] {
            assert_eq!(text.parse::<TimeSpan>().unwrap().to_string(), text);
        }
        for text in ["512B", "64KiB", "10MiB", "2GiB"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        assert_eq!("90m".parse::<TimeSpan>().unwrap().duration(), Duration::from_secs(5_400));
        assert_eq!("1h30m".parse::<TimeSpan>().unwrap(), "90m".parse().unwrap());
        assert_eq!("10MiB".parse::<ByteSize>().unwrap().bytes(), 10 << 20);
        assert_eq!("10MB".parse::<ByteSize>().unwrap().bytes(), 10_000_000);
    }

    #[test]
    fn what_is_no_number_and_unit_is_refused() {
        for text in ["", "30", "m", "0s", "-1s", "1.5h", "99999999999999999d"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
        for text in ["", "0B", "10mib", "-1KiB", "99999999999999GiB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
