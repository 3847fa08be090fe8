//! Globs over paths from the repository's root: `*` and `?` stay within a segment, `**` crosses them.

use std::fmt;

use globset::{ErrorKind, GlobBuilder, GlobSet};

/// The longest glob in bytes. Longer ones are mistakes, and compiling them costs memory.
const GLOB_BYTES_MAX: usize = 1_024;
/// Characters that make a segment a pattern.
const PATTERN: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A compiled glob.
#[derive(Clone)]
pub struct Glob {
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
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        // A set of one: its building says when a glob is too deep or too large, where a lone matcher's would panic.
        let set = glob.and_then(|glob| GlobSet::builder().add(glob).build());
        let matcher = set.map_err(|error| InvalidGlob::Syntax(syntax(error.kind())))?;
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Whether it matches a path.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }

    /// Whether it plainly matches all that `other` matches. No is no proof of the contrary.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if self.text == other.text || self.text == "**" {
            return true;
        }
        if other.is_literal() {
            return self.matches(&other.text);
        }
        let below = |folder: &str| {
            let rest = other.literal_prefix().strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.text.strip_suffix("/**").is_some_and(|folder| !folder.contains(PATTERN) && below(folder))
    }

    /// Whether it is a path and no pattern.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.text.contains(PATTERN)
    }

    /// Its last segment, if that is a name and no pattern.
    #[must_use]
    pub fn literal_name(&self) -> Option<&str> {
        self.text.rsplit('/').next().filter(|name| !name.contains(PATTERN))
    }

    /// Its folders up to the first pattern: `src/tests` of `src/tests/**/*.rs`, nothing of `**/a`.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        let literal = self.text.find(PATTERN).map_or(self.text.as_str(), |at| &self.text[..at]);
        literal.rsplit_once('/').map_or("", |(folders, _)| folders)
    }
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
