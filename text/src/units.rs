//! Durations, sizes, times and counts as people write and read them: `10m`, `1h30m`, `500ms`; `1MiB`, `64KB`, `4096`; `2 attempts`.

use std::{fmt::Display, time::Duration};

use holdpoint_protocol::{Timestamp, time::Millis};

/// Reads a duration: whole numbers with `ms`, `s`, `m` (`min`), `h` or `d`, one after another.
#[must_use]
pub fn duration(text: &str) -> Option<Millis> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(factor)?)?;
        rest = next;
    }
    Some(Millis(total))
}

/// A duration as it is written in files: `1h30m`.
#[must_use]
pub fn written(span: Millis) -> String {
    let mut rest = span.0;
    let mut text = String::new();
    for (unit, factor) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if rest >= factor {
            text += &format!("{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reads a size in bytes: a whole number, alone or with `B`, `KB`, `MB`, `GB` (thousands) or `KiB`, `MiB`, `GiB`.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// A size for people, with one decimal: `12.3 MiB`.
#[must_use]
pub fn roughly(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((unit, factor)) = units.into_iter().find(|(_, factor)| bytes >= *factor) else {
        return format!("{bytes} B");
    };
    let tenths = bytes / (factor / 10).max(1);
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A span for people, in two units at most: `3m 20s`; below ten seconds with a tenth.
#[must_use]
pub fn span(span: Duration) -> String {
    if span < Duration::from_secs(10) {
        return format!("{:.1}s", span.as_secs_f64());
    }
    let mut rest = span.as_secs();
    let mut parts = Vec::new();
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
        let many = rest / length;
        rest %= length;
        if many > 0 || !parts.is_empty() {
            parts.push((many, unit));
        }
    }
    let parts = parts.iter().take(2).filter(|(many, _)| *many > 0);
    parts.map(|(many, unit)| format!("{many}{unit}")).collect::<Vec<_>>().join(" ")
}

/// A point in time to the second.
#[must_use]
pub fn seconds(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

/// A number of things: `1 attempt`, `2 attempts`.
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{end}")
}

fn split_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        for (ms, expected) in [
            (0, "0.0s"),
            (1_540, "1.5s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (3_725_000, "1h 2m"),
            (86_400_000 * 3 + 60_000, "3d"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn one_thing_is_no_two_things() {
        assert_eq!([0_u64, 1, 2].map(|n| counted(n, "turn")), ["0 turns", "1 turn", "2 turns"]);
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("10m", 600_000),
            ("4h", 14_400_000),
            ("90s", 90_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Some(Millis(ms)), "{text}");
        }
        for text in ["", "10", "m", "-1s", "1.5h", "10 m", "10x", "99999999999999999999s", "1h-1m"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_size_for_people_has_one_decimal_and_the_unit_that_fits() {
        let table =
            [(0, "0 B"), (1_023, "1023 B"), (1 << 10, "1.0 KiB"), (12_897_484, "12.3 MiB"), (5 << 30, "5.0 GiB")];
        for (bytes, text) in table {
            assert_eq!(roughly(bytes), text);
        }
    }

    #[test]
    fn a_duration_is_written_as_it_can_be_read() {
        for (ms, text) in [(0, "0s"), (5_400_000, "1h30m"), (86_400_000, "1d"), (90_061_001, "1d1h1m1s1ms")] {
            assert_eq!(written(Millis(ms)), text);
            assert_eq!(duration(text), Some(Millis(ms)));
        }
    }

    #[test]
    fn sizes_are_bytes_unless_a_unit_says_otherwise() {
        for (text, bytes) in [("1MiB", 1 << 20), ("64KB", 64_000), ("4096", 4096), ("2 GiB", 2 << 30), ("7B", 7)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "1.5MiB", "-1", "1mib", "18446744073709551615KiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
