//! Findings as callers see them: of which files, and what is said of each place.

use serde::{Deserialize, Serialize};

/// Findings that are named of one change. [`ChangeFindings::more`] counts the others.
pub const FINDINGS_MAX: usize = 50;
/// Characters of a source line that are quoted; longer ones are cut.
pub const FINDING_TEXT_CHARS_MAX: usize = 200;

/// A file that a change adds, edits or deletes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSource {
    /// Its path in the repository, with `/`. Its ending, or a first line with `#!`, says which language it is in.
    pub path: String,
    /// Its text on the base; `None` where it is new.
    pub before: Option<String>,
    /// Its text now: empty for a file that is deleted, and `None` for one that is no text, which is reported as unseen.
    pub after: Option<String>,
    /// Whether it belongs to the tests: other rules hold there.
    pub is_test: bool,
}

impl ChangedSource {
    /// A file as git has it. `before` is `None` where it is new, `after` where it is deleted.
    #[must_use]
    pub fn from_bytes(path: &str, before: Option<&[u8]>, after: Option<&[u8]>, is_test: bool) -> Self {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        Self {
            path: path.to_owned(),
            before: before.and_then(text),
            after: after.map_or_else(|| Some(String::new()), text),
            is_test,
        }
    }
}

/// How much weight a finding has. The first one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingGroup {
    /// The place may make a verdict say nothing, such as product code that asks who runs it.
    Suspicious,
    /// The place silences a warning or skips a test.
    Suppression,
}

/// A place that a change adds and that a rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFinding {
    /// The file.
    pub path: String,
    /// Which line of it now, from 1.
    pub line: u32,
    /// The rule's id, such as `looks-at-callers`.
    pub rule: String,
    /// Its group.
    pub group: FindingGroup,
    /// The rule's sentence: what such a line does, and why it matters.
    pub sentence: String,
    /// The line itself without the blanks around it, cut to [`FINDING_TEXT_CHARS_MAX`].
    pub text: String,
}

/// Why nobody looked at a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnseenReason {
    /// It is longer than [`crate::SCANNED_BYTES_MAX`].
    TooLong,
    /// It is not UTF-8.
    NotText,
    /// Its parser or a query went over its time or its bounds, or ended the helper.
    TooComplex,
}

/// A changed file in a language that has rules, at which nobody looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnseenFile {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: UnseenReason,
}

/// The places that a change adds and that a person should see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFindings {
    /// At most [`FINDINGS_MAX`], by group, path and line.
    pub findings: Vec<ChangeFinding>,
    /// How many there are besides.
    pub more: u32,
    /// Files at which nobody looked, by path. A change can hide whatever it likes in them.
    pub unseen: Vec<UnseenFile>,
}
