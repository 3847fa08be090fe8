//! Messages that the reader of files and the rules share: what a text could not be read as, the other says of a value.

use std::{fmt::Display, ops::RangeInclusive};

use holdpoint_text::shown;

/// A message and what to do about it.
pub(crate) type Words = (String, String);

/// A user's text in a message: on one line, not too long, without what a terminal would act on.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let end = text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", shown::line(text.get(..end).unwrap_or_default()))
}

pub(crate) fn not_an_id(text: &str) -> Words {
    let hint = "use letters, digits, `_` and `-`, start with a letter or digit, at most 64 characters";
    (format!("`{}` is not an id", quoted(text)), hint.to_owned())
}

pub(crate) fn not_a_number(key: &str, value: impl Display, range: &RangeInclusive<u64>) -> Words {
    let hint = if *range.end() == u64::MAX {
        format!("write a whole number from {}", range.start())
    } else {
        format!("write a whole number from {} to {}", range.start(), range.end())
    };
    (format!("`{key}: {value}` is not a number that is allowed here"), hint)
}

pub(crate) fn not_an_amount(key: &str, value: impl Display) -> Words {
    let hint = "write dollars as a number, such as `2.50`";
    (format!("`{key}: {value}` is not an amount above zero"), hint.to_owned())
}

pub(crate) fn not_a_duration(key: &str, value: impl Display) -> Words {
    let hint = "write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d";
    (format!("`{key}: {value}` is not a duration"), hint.to_owned())
}

pub(crate) fn not_a_size(key: &str, value: impl Display) -> Words {
    let hint = "write a number with B, KiB, MiB or GiB, such as `1MiB`";
    (format!("`{key}: {value}` is not a size"), hint.to_owned())
}
