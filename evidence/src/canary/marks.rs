//! Marks: the unguessable parts of canaries' names, all computed from one seed.

use holdpoint_protocol::Digest;

/// Letters of the stem, and of what follows it.
const LETTERS: usize = 8;

/// The marks of one turn and check.
#[derive(Debug, Clone)]
pub(super) struct Marks {
    seed: String,
    stem: String,
}

/// The marks of one file, one after another.
pub(super) struct FileMarks<'a> {
    marks: &'a Marks,
    path: &'a str,
    given: u32,
}

impl Marks {
    pub(super) fn new(seed: &str) -> Self {
        Self { seed: seed.to_owned(), stem: letters(seed) }
    }

    /// What all of them begin with.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    pub(super) fn of<'a>(&'a self, path: &'a str) -> FileMarks<'a> {
        FileMarks { marks: self, path, given: 0 }
    }
}

impl FileMarks<'_> {
    /// The next mark: letters that are part of an identifier in any language.
    pub(super) fn next(&mut self) -> String {
        self.given += 1;
        let Self { marks, path, given } = self;
        format!("{}{}", marks.stem, letters(&format!("{} {given} {path}", marks.seed)))
    }

    /// A number for a canary to be wrong about.
    pub(super) fn number(&self) -> u16 {
        let text = format!("{} {} {}", self.given, self.marks.seed, self.path);
        let digits = Digest::of(text.as_bytes()).hex();
        u16::from_str_radix(digits.get(..3).unwrap_or_default(), 16).unwrap_or_default()
    }
}

/// The mark that begins at `text`'s beginning.
pub(super) fn at(text: &str) -> Option<&str> {
    text.get(..2 * LETTERS).filter(|mark| mark.bytes().all(|letter| letter.is_ascii_lowercase()))
}

fn letters(text: &str) -> String {
    let digits = Digest::of(text.as_bytes()).hex();
    digits
        .bytes()
        .take(LETTERS)
        .map(|digit| char::from(if digit.is_ascii_digit() { digit - b'0' + b'g' } else { digit }))
        .collect()
}
