//! Globs over paths from the repository's root: `*` and `?` stay within a segment, `**` crosses them.
//!
//! Frameworks name folders `[slug]` and `{id}`, so brackets and braces are read both ways: as a pattern, and as they stand. Behind
//! a `\` they only stand for themselves. Which reading was meant does not depend on the files that happen to be there.

use std::{borrow::Cow, fmt};

use globset::{Error, ErrorKind, GlobBuilder, GlobSet};

/// The longest glob in bytes. Longer ones are mistakes, and compiling them costs memory.
const GLOB_BYTES_MAX: usize = 1_024;
/// Characters that make a segment a pattern.
const PATTERN: [char; 6] = ['*', '?', '[', ']', '{', '}'];
/// Those of them that names of files have as well.
const IN_NAMES: [char; 4] = ['[', ']', '{', '}'];

/// A compiled glob.
#[derive(Clone)]
pub struct Glob {
    text: String,
    /// One, or two where it has brackets or braces.
    readings: Vec<Reading>,
}

/// One way to read a glob.
#[derive(Clone)]
struct Reading {
    text: String,
    matcher: GlobSet,
}

/// Why a text is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGlob {
    /// Nothing, or more than a glob can be.
    #[error("it is empty or longer than {GLOB_BYTES_MAX} bytes")]
    Length,
    /// It would never match, because paths have no such beginning or segment.
    #[error("it begins with `/` or has an empty, `.` or `..` segment, so it would match nothing")]
    NeverMatches,
    /// It ends with `/`, and folders are never matched themselves.
    #[error("it ends with `/`, and only files have changes")]
    Folder,
    /// The syntax is wrong.
    #[error("{0}")]
    Syntax(String),
}

impl InvalidGlob {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Length => "write a path pattern such as `src/**`",
            Self::NeverMatches => "write it from the repository's root, such as `src/**` or `**/*.md`",
            Self::Folder => "write `folder/**` for everything below a folder",
            Self::Syntax(_) => "close every `[` and `{`, and put `\\` before characters that are meant as they stand",
        }
    }
}

impl Glob {
    /// Compiles a glob.
    ///
    /// # Errors
    /// [`InvalidGlob`], with a hint.
    pub fn new(text: &str) -> Result<Self, InvalidGlob> {
        if text.is_empty() || text.len() > GLOB_BYTES_MAX {
            return Err(InvalidGlob::Length);
        }
        if text.ends_with('/') {
            return Err(InvalidGlob::Folder);
        }
        if text.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(InvalidGlob::NeverMatches);
        }
        let syntax = |error: Error| InvalidGlob::Syntax(syntax(error.kind()));
        let as_it_stands = match standing(text) {
            Cow::Owned(escaped) => Some(Reading::new(escaped).map_err(syntax)?),
            Cow::Borrowed(_) => None,
        };
        let as_pattern = match Reading::new(text.to_owned()) {
            // `[user-id]` is no range: it can only be a name.
            Err(error) if as_it_stands.is_some() && matches!(error.kind(), ErrorKind::InvalidRange(..)) => None,
            other => Some(other.map_err(syntax)?),
        };
        Ok(Self { text: text.to_owned(), readings: as_pattern.into_iter().chain(as_it_stands).collect() })
    }

    /// Whether it matches a path.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.readings.iter().any(|reading| reading.matches(path))
    }

    /// Whether it plainly matches all that `other` matches. No is no proof of the contrary.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.text == other.text || other.readings.iter().all(|of| self.readings.iter().any(|own| own.covers(of)))
    }

    /// Whether it is a path and no pattern.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.text.contains(PATTERN) && !self.text.contains('\\')
    }

    /// Whether a reading of it that matches `path` satisfies both: `name`, its last segment if that is a name and no pattern, or
    /// `folders`, its folders up to the first pattern (`src/tests` of `src/tests/**/*.rs`, nothing of `**/a`).
    pub fn names(&self, path: &str, name: impl Fn(&str) -> bool, folders: impl Fn(&str) -> bool) -> bool {
        self.readings.iter().any(|reading| reading.matches(path) && reading.says(&name, &folders))
    }

    /// Whether every reading of it has such a last segment, or such folders, as [`Self::names`] has them.
    pub(super) fn only_names(&self, name: impl Fn(&str) -> bool, folders: impl Fn(&str) -> bool) -> bool {
        self.readings.iter().all(|reading| reading.says(&name, &folders))
    }
}

impl Reading {
    fn new(text: String) -> Result<Self, Error> {
        let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build()?;
        // A set of one: its building says when a glob is too deep or too large, where a lone matcher's would panic.
        let matcher = GlobSet::builder().add(glob).build()?;
        Ok(Self { text, matcher })
    }

    fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }

    fn covers(&self, other: &Self) -> bool {
        if self.text == other.text || self.text == "**" {
            return true;
        }
        if let (path, true) = literal(&other.text) {
            return self.matches(&path);
        }
        let below = |folder: &str| {
            let folders = other.folders();
            let rest = folders.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let folder = self.text.strip_suffix("/**").map(literal);
        folder.is_some_and(|(folder, whole)| whole && below(&folder))
    }

    /// Its folders up to the first pattern.
    fn folders(&self) -> String {
        let (literal, _) = literal(&self.text);
        literal.rsplit_once('/').map_or_else(String::new, |(folders, _)| folders.to_owned())
    }

    fn says(&self, name: impl Fn(&str) -> bool, folders: impl Fn(&str) -> bool) -> bool {
        let last = self.text.rsplit('/').next().map(literal);
        last.is_some_and(|(last, whole)| whole && name(&last)) || folders(&self.folders())
    }
}

/// A glob with its brackets and braces as they stand; borrowed where it has none.
fn standing(text: &str) -> Cow<'_, str> {
    let (mut escaped, mut changed, mut behind) = (String::with_capacity(text.len() + 8), false, false);
    for c in text.chars() {
        if !behind && IN_NAMES.contains(&c) {
            escaped.push('\\');
            changed = true;
        }
        behind = !behind && c == '\\';
        escaped.push(c);
    }
    if changed { Cow::Owned(escaped) } else { Cow::Borrowed(text) }
}

/// The beginning of a glob that is no pattern, without its `\`, and whether that is all of it.
fn literal(text: &str) -> (String, bool) {
    let (mut plain, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            c if PATTERN.contains(&c) => return (plain, false),
            c => plain.push(c),
        }
    }
    (plain, true)
}

/// What is wrong with a glob, in a line: errors of the regular expression it becomes have several, with a drawing.
fn syntax(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Regex(_) => "it is too large, or its braces are nested too deep".to_owned(),
        other => other.to_string(),
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
