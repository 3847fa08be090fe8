//! The byte order mark that some editors put before a text. It says nothing, and programs that read manifests pass over it.

/// What begins such a text.
const MARK: char = '\u{feff}';

/// A text without it.
#[must_use]
pub fn stripped(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}
