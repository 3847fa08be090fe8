//! One line of a file, and what replaces a part of it.

use std::ops::Range;

use super::{language::Language, mask::Literal};

/// Bytes of a text, and their replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

impl Edit {
    /// Puts `with` in the place of these bytes.
    pub(super) fn new(range: Range<usize>, with: impl Into<String>) -> Self {
        Self { range, with: with.into() }
    }

    /// The text with the replacement.
    pub(super) fn apply(&self, text: &str) -> String {
        let before = text.get(..self.range.start).unwrap_or(text);
        let after = text.get(self.range.end..).unwrap_or_default();
        format!("{before}{}{after}", self.with)
    }
}

/// One line of a file.
pub(super) struct Line<'a> {
    pub(super) language: Language,
    pub(super) text: &'a str,
    /// Where it begins in the file.
    pub(super) start: usize,
    /// Masked.
    pub(super) code: &'a [u8],
    /// Those of the file that are in it.
    pub(super) literals: Vec<&'a Literal>,
    /// Whether a statement begins in it.
    pub(super) begins: bool,
}

impl Line<'_> {
    /// An edit of a part of this line.
    pub(super) fn edit(&self, range: Range<usize>, with: impl Into<String>) -> Edit {
        Edit::new(self.start + range.start..self.start + range.end, with)
    }

    /// An edit that puts something before and behind a part of this line.
    pub(super) fn wrap(&self, range: Range<usize>, before: &str, behind: &str) -> Edit {
        let inner = self.text.get(range.clone()).unwrap_or_default();
        self.edit(range, format!("{before}{inner}{behind}"))
    }

    /// The masked code of a part of this line.
    pub(super) fn at(&self, range: Range<usize>) -> &[u8] {
        self.code.get(range).unwrap_or_default()
    }
}
