//! Words and signs of a masked line, with their places.

use std::ops::Range;

use super::mask::is_letter;

/// Characters of which operators are made.
const SIGNS: &[u8] = b"=!<>+-*/%&|^~?:";
/// Words after which a sign has no left side.
const NO_OPERANDS: [&[u8]; 16] = [
    b"return", b"yield", b"in", b"and", b"or", b"not", b"else", b"if", b"elif", b"while", b"case", b"await", b"typeof",
    b"move", b"lambda", b"is",
];

/// The words of a line.
pub(super) fn words(code: &[u8]) -> Vec<Range<usize>> {
    runs(code, is_letter)
}

/// The longest runs of signs.
pub(super) fn signs(code: &[u8]) -> Vec<Range<usize>> {
    runs(code, |byte| SIGNS.contains(&byte))
}

fn runs(code: &[u8], belongs: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in (0..code.len()).filter(|at| code.get(*at).is_some_and(|byte| belongs(*byte))) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Whether a word is in a line.
pub(super) fn has_word(code: &[u8], word: &str) -> bool {
    words(code).into_iter().any(|range| code.get(range) == Some(word.as_bytes()))
}

/// The first word of a line.
pub(super) fn first_word(code: &[u8]) -> &[u8] {
    let start = code.len() - code.trim_ascii_start().len();
    words(code)
        .into_iter()
        .next()
        .filter(|word| word.start == start)
        .and_then(|word| code.get(word))
        .unwrap_or_default()
}

/// What is on both sides of a place, without blanks, and whether blanks are there.
pub(super) struct Sides<'a> {
    pub(super) before: &'a [u8],
    pub(super) after: &'a [u8],
    pub(super) spaced: (bool, bool),
}

impl<'a> Sides<'a> {
    pub(super) fn of(code: &'a [u8], place: &Range<usize>) -> Self {
        let before = code.get(..place.start).unwrap_or_default();
        let after = code.get(place.end..).unwrap_or_default();
        let spaced = (before.last() == Some(&b' '), after.first() == Some(&b' '));
        Self { before: before.trim_ascii_end(), after: after.trim_ascii_start(), spaced }
    }

    /// Whether something that has a value is on the left, and is no text.
    pub(super) fn has_left(&self) -> bool {
        let Some(last) = self.before.last() else { return false };
        let word = words(self.before).pop().filter(|word| word.end == self.before.len());
        let word = word.and_then(|word| self.before.get(word)).unwrap_or_default();
        matches!(last, b')' | b']') || (is_letter(*last) && !NO_OPERANDS.contains(&word))
    }

    /// Whether something that has a value is on the right, and is no text.
    pub(super) fn has_right(&self) -> bool {
        self.after.first().is_some_and(|first| is_letter(*first) || *first == b'(')
    }
}

/// Whether all brackets that a piece of code opens are closed in it, and none before it was opened.
pub(super) fn is_balanced(code: &[u8]) -> bool {
    let mut open = Vec::new();
    for byte in code {
        match byte {
            b'(' | b'[' | b'{' => open.push(*byte),
            b')' | b']' | b'}' => {
                let fits = matches!((open.pop(), byte), (Some(b'('), b')') | (Some(b'['), b']') | (Some(b'{'), b'}'));
                if !fits {
                    return false;
                }
            }
            _ => {}
        }
    }
    open.is_empty()
}

/// Where the bracket that opens at `open` is closed.
pub(super) fn closing(code: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether the sign behind this is the one in `1e-5`.
pub(super) fn is_exponent(before: &[u8]) -> bool {
    let word = words(before).pop().and_then(|word| before.get(word)).unwrap_or_default();
    word.first().is_some_and(u8::is_ascii_digit) && matches!(word.last(), Some(b'e' | b'E'))
}
