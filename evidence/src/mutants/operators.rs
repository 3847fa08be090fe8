//! The mutations of one line: which there are, in the order in which they are tried.

use std::ops::Range;

use super::{
    conditions,
    language::Language,
    line::{Edit, Line},
    literals,
    mask::{Literal, mask},
    regions, statements,
    words::{Sides, is_exponent, signs},
};

/// Arithmetic signs, and their replacements.
const ARITHMETIC: [(&[u8], &str); 10] = [
    (b"+", "-"),
    (b"-", "+"),
    (b"*", "/"),
    (b"/", "*"),
    (b"//", "*"),
    (b"**", "*"),
    (b"%", "*"),
    (b"+=", "-="),
    (b"-=", "+="),
    (b"*=", "+="),
];

/// A file whose lines may be broken.
pub(super) struct Source<'a> {
    language: Language,
    text: &'a str,
    /// Lines without their line breaks.
    pub(super) lines: Vec<Range<usize>>,
    code: Vec<u8>,
    literals: Vec<Literal>,
    open: Vec<bool>,
    /// Whether a statement begins in a line.
    begins: Vec<bool>,
}

impl<'a> Source<'a> {
    pub(super) fn new(language: Language, text: &'a str) -> Self {
        let masked = mask(language, text);
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            lines.push(start..start + line.trim_end_matches(['\n', '\r']).len());
            start += line.len();
        }
        let open = regions::open(language, &masked.code, &lines);
        let begins = statements::begins(language, &masked.code, &lines);
        Self { language, text, lines, code: masked.code, literals: masked.literals, open, begins }
    }

    fn line(&self, at: usize) -> Option<Line<'_>> {
        let range = self.lines.get(at).filter(|_| self.open.get(at) == Some(&true))?;
        let from = self.literals.partition_point(|literal| literal.whole.start < range.start);
        let literals = self.literals.iter().skip(from).take_while(|literal| literal.whole.end <= range.end);
        Some(Line {
            language: self.language,
            text: self.text.get(range.clone())?,
            start: range.start,
            code: self.code.get(range.clone())?,
            literals: literals.collect(),
            begins: self.begins.get(at) == Some(&true),
        })
    }
}

/// The mutations of a line. One of each kind comes before a second of any, and those that are most seldom equal to the
/// line itself come first.
pub(super) fn edits(source: &Source<'_>, at: usize) -> Vec<Edit> {
    let Some(line) = source.line(at) else { return Vec::new() };
    let kinds = [
        conditions::comparisons(&line),
        conditions::negated(&line),
        conditions::connectives(&line),
        arithmetic(&line),
        literals::booleans(&line),
        literals::integers(&line),
        statements::returned(&line),
        statements::deleted(&line),
        literals::texts(&line),
    ];
    let mut kinds: Vec<_> = kinds.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(kinds.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// `a + b` becomes `a - b`. Only between values, so that signs, pointers and bounds of types stay.
fn arithmetic(line: &Line<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for place in signs(line.code) {
        let sign = line.at(place.clone());
        let Some((_, other)) = ARITHMETIC.iter().find(|(known, _)| *known == sign) else { continue };
        let sides = Sides::of(line.code, &place);
        let spaced = sides.spaced == (true, true);
        // A counter that runs the other way may never end: its step is changed instead.
        let counts = sign.ends_with(b"=") && sides.after.first().is_some_and(u8::is_ascii_digit);
        let pointer = sign == b"*" && !spaced && line.language != Language::Python;
        let bound = line.language == Language::Rust && sign == b"+" && is_bound(&sides);
        let exponent = !spaced && is_exponent(sides.before);
        if spaced != (sides.spaced != (false, false)) || counts || pointer || bound || exponent {
            continue;
        }
        if sides.has_left() && sides.has_right() {
            edits.push(line.edit(place, *other));
        }
    }
    edits
}

/// `impl Read + Send`.
fn is_bound(sides: &Sides<'_>) -> bool {
    sides.after.first().is_some_and(u8::is_ascii_uppercase)
}
