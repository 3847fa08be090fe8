//! Problems of a file: collecting, ordering and showing them.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use holdpoint_text::{shown, units::counted};
use serde::Serialize;

use super::{
    findings::{KEPT_MAX, PROBLEMS_MAX},
    place::Position,
};

/// The most characters of a source line that are shown with a problem.
const EXCERPT_CHARS_MAX: usize = 160;

/// One problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanError {
    /// The file as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The source line as it is shown, cut to a length that fits a terminal.
    #[serde(skip)]
    excerpt: String,
    /// How many characters of it come before the problem; none where that was cut.
    #[serde(skip)]
    before: Option<usize>,
}

/// All problems of a file, in the order of their places; after [`PROBLEMS_MAX`] only their number. Its JSON form is the
/// contract's `{"errors": […]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{} in {}", counted(.errors.len(), "problem"), .errors.first().map_or_else(String::new, |error| shown::line(&error.file).into_owned()))]
pub struct PlanErrors {
    /// The problems; never empty.
    pub errors: Vec<PlanError>,
}

impl PlanError {
    /// The problem in a line, with its place and hint.
    #[must_use]
    pub fn in_a_line(&self) -> String {
        let Self { file, line, column, message, hint, .. } = self;
        format!("{}:{line}:{column}: {message}; {hint}", shown::line(file))
    }

    /// The problem for a terminal: place and message, the source line with a caret, and the hint. `label` comes before
    /// the message.
    #[must_use]
    pub fn render(&self, label: &str) -> String {
        let Self { file, line, column, message, hint, excerpt, before } = self;
        let mut out = format!("{file}:{line}:{column}: {label}{message}\n");
        if !excerpt.is_empty() {
            let margin = " ".repeat(line.to_string().len());
            // Writing into a string cannot fail.
            let _ = writeln!(out, " {line} | {excerpt}");
            if let Some(before) = before {
                let _ = writeln!(out, " {margin} | {}^", " ".repeat(*before));
            }
        }
        let _ = writeln!(out, "   hint: {hint}");
        out
    }
}

impl PlanErrors {
    /// All problems for a terminal, and their number.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out: String = self.errors.iter().map(|error| error.render("")).collect();
        let _ = writeln!(out, "{}", counted(self.errors.len(), "problem"));
        out
    }
}

/// Problems while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<(Position, String, String)>,
    /// How many more there were than are kept.
    pub(super) dropped: usize,
    /// Places of values that were reported: what the rules say of their substitutes is not reported.
    pub(super) reported: HashSet<Position>,
    /// Keys of mappings that were reported as misspelled: that they are missing is the same mistake.
    misspelled: HashSet<(Position, String)>,
    /// For lists of which not all items could be read: which were.
    pub(super) kept: HashMap<Position, Vec<usize>>,
}

impl Problems {
    /// Notes a problem.
    pub(crate) fn add(&mut self, at: Position, message: impl Into<String>, hint: impl Into<String>) {
        if self.is_full() {
            self.dropped += 1;
            return;
        }
        self.reported.insert(at);
        self.found.push((at, message.into(), hint.into()));
    }

    /// Notes that the value here was reported, at another place.
    pub(crate) fn was_reported(&mut self, value: Position) {
        self.reported.insert(value);
    }

    /// Notes that an unknown key of this mapping was reported as one that may be meant.
    pub(crate) fn was_misspelled(&mut self, mapping: Position, meant: &str) {
        self.misspelled.insert((mapping, meant.to_owned()));
    }

    /// Whether this key is in the mapping under another name.
    pub(crate) fn is_misspelled(&self, mapping: Position, key: &str) -> bool {
        !self.misspelled.is_empty() && self.misspelled.contains(&(mapping, key.to_owned()))
    }

    /// Notes that only these items of the list could be read.
    pub(crate) fn keep_only(&mut self, list: Position, items: Vec<usize>) {
        self.kept.insert(list, items);
    }

    /// Which item of the list in the file became the `item` of the plan's.
    pub(crate) fn item_in_file(&self, list: Position, item: usize) -> usize {
        self.kept.get(&list).map_or(item, |kept| kept.get(item).copied().unwrap_or(usize::MAX))
    }

    /// A collection for other findings about the same values.
    pub(crate) fn another(&self) -> Self {
        Self {
            reported: self.reported.clone(),
            misspelled: self.misspelled.clone(),
            kept: self.kept.clone(),
            ..Self::default()
        }
    }

    /// Whether any more are only counted, so that no effort for their words is worth it.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= KEPT_MAX
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Orders the problems, cuts their number and adds the source lines.
    pub(crate) fn finish(mut self, file: &str, text: &str) -> PlanErrors {
        self.found.sort_by_key(|(at, ..)| (at.line, at.column));
        let more = self.dropped + self.found.len().saturating_sub(PROBLEMS_MAX);
        self.found.truncate(PROBLEMS_MAX);
        if more > 0 {
            let last = self.found.last().map_or(Position::START, |(at, ..)| *at);
            self.found.push((last, format!("{more} more problems follow"), "correct these first".to_owned()));
        }
        let lines: Vec<&str> = text.lines().collect();
        let error = |(at, message, hint): (Position, String, String)| {
            let (file, Position { line, column }) = (file.to_owned(), at);
            let source = lines.get(line - 1).copied().unwrap_or_default().trim_end();
            let excerpt = first(source, EXCERPT_CHARS_MAX).into_owned();
            let before = (column <= EXCERPT_CHARS_MAX).then(|| first(source, column - 1).chars().count());
            PlanError { file, line, column, message, hint, excerpt, before }
        };
        PlanErrors { errors: self.found.into_iter().map(error).collect() }
    }
}

/// The first characters of a line, as they are shown.
fn first(line: &str, chars: usize) -> Cow<'_, str> {
    let end = line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at);
    shown::line(line.get(..end).unwrap_or_default())
}
