//! Lines that can be broken, and how.

use super::line::Edit;

/// A changed line that can be broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// How, the first to be tried first. Never empty.
    pub mutants: Vec<Mutant>,
}

/// One line of one file, broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// What was done, in words: file, line, and the line before and after.
    pub said: String,
    pub(super) edit: Edit,
}

impl Mutant {
    /// The file with this line broken; `text` is the file under review.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.edit.apply(text)
    }
}
