//! Mutations of values that are written down: truths, numbers and texts.

use super::{
    language::Language,
    line::{Edit, Line},
    statements::is_for_people,
    words::{is_exponent, words},
};

/// What a text gets at its beginning.
const MARK: &str = "XX";
/// Types behind a whole number of Rust's.
const RUST_TYPES: [&str; 12] = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// `true` becomes `false`.
pub(super) fn booleans(line: &Line<'_>) -> Vec<Edit> {
    let pairs: [(&[u8], &str); 2] = if line.language == Language::Python {
        [(b"True", "False"), (b"False", "True")]
    } else {
        [(b"true", "false"), (b"false", "true")]
    };
    let other = |word: &[u8]| pairs.iter().find(|(known, _)| *known == word).map(|(_, other)| *other);
    words(line.code).into_iter().filter_map(|place| Some(line.edit(place.clone(), other(line.at(place))?))).collect()
}

/// A whole number becomes the next one.
pub(super) fn integers(line: &Line<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for place in words(line.code) {
        let neighbour = |at: Option<usize>| at.and_then(|at| line.code.get(at)).copied().unwrap_or_default();
        // A part of a fraction, of a version, or of what has parts.
        if neighbour(place.start.checked_sub(1)) == b'.' || neighbour(Some(place.end)) == b'.' {
            continue;
        }
        let before = line.at(0..place.start);
        if before.strip_suffix(b"-").or_else(|| before.strip_suffix(b"+")).is_some_and(is_exponent) {
            continue;
        }
        let text = std::str::from_utf8(line.at(place.clone())).unwrap_or_default();
        if let Some(next) = next(line.language, text) {
            edits.push(line.edit(place, next));
        }
    }
    edits
}

/// The number after `text`, if that is a plain decimal one.
fn next(language: Language, text: &str) -> Option<String> {
    let end = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count();
    let (digits, kind) = text.split_at(end);
    let known = kind.is_empty() || (language == Language::Rust && RUST_TYPES.contains(&kind));
    let octal = digits.len() > 1 && digits.starts_with('0');
    if !known || octal || !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.replace('_', "").parse().ok()?;
    Some(format!("{}{}{kind}", number.checked_add(1)?, if digits.ends_with('_') { "_" } else { "" }))
}

/// A text gets letters at its beginning. Not one that only says something to people, nor one that is a line by itself:
/// a comment in other words, or the path of an import.
pub(super) fn texts(line: &Line<'_>) -> Vec<Edit> {
    let begins = line.code.len() - line.code.trim_ascii_start().len();
    let alone = |start: usize| start == begins && line.begins;
    let markup = line.code.trim_ascii_start().starts_with(b"<");
    if is_for_people(line) || markup {
        return Vec::new();
    }
    let literals = line.literals.iter().filter(|literal| !alone(literal.whole.start - line.start));
    literals.map(|literal| Edit::new(literal.content..literal.content, MARK)).collect()
}
