//! Paths inside a repository, as the bytes git has. They are never turned into text on the way: two names that look
//! alike stay two names.

use std::{ffi::OsStr, fmt, os::unix::ffi::OsStrExt, path::Path};

use holdpoint_text::shown;

use crate::fit::unfit_path;

/// A path inside a repository: relative, `/` between components, any bytes but NUL, no `.`, `..` or `.git` component.
///
/// `Display` escapes what a terminal or a log line must not get; it is for people, not for comparing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Vec<u8>);

/// Bytes that are no path inside a repository, shown escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a path inside a repository: {shown}")]
pub struct NotARepoPath {
    /// The bytes, escaped.
    pub shown: String,
}

impl RepoPath {
    /// The path with these bytes.
    ///
    /// # Errors
    /// The bytes are empty, absolute, contain NUL, or have an empty, `.`, `..` or `.git` (in any case) component.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, NotARepoPath> {
        let bytes = bytes.into();
        let usable = !bytes.contains(&0) && bytes.split(|byte| *byte == b'/').all(component_is_usable);
        if usable { Ok(Self(bytes)) } else { Err(NotARepoPath { shown: escaped(&bytes) }) }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path for the file system, relative to the root of the tree.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Whether it is short enough to be checked out: as a whole, and each of its names.
    #[must_use]
    pub fn fits(&self) -> bool {
        unfit_path(&self.0).is_none()
    }

    /// The names of its folders from the root on, and its own.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Where it leads if its first `depth` names are a link with this text; `None`: outside of the tree, or to its root.
    pub(crate) fn led(&self, depth: usize, text: &[u8]) -> Option<Self> {
        if text.starts_with(b"/") {
            return None;
        }
        let mut names: Vec<&[u8]> = self.names().take(depth.saturating_sub(1)).collect();
        for name in text.split(|byte| *byte == b'/').chain(self.names().skip(depth)) {
            match name {
                b"" | b"." => {}
                b".." => {
                    names.pop()?;
                }
                name => names.push(name),
            }
        }
        Self::new(names.join(&b'/')).ok()
    }

    /// How many folders the entry is below the root: 0 for one in the root.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.iter().filter(|byte| **byte == b'/').count()
    }
}

fn component_is_usable(component: &[u8]) -> bool {
    !matches!(component, b"" | b"." | b"..") && !component.eq_ignore_ascii_case(b".git")
}

/// Bytes as one line of printable text: control characters, invisible ones and bytes that are not UTF-8 escaped.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        // A name with a backslash is not the one in which it stands for another character.
        text.push_str(&shown::line(&chunk.valid().replace('\\', "\\\\")));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_paths_and_shown_on_one_line() {
        let path = RepoPath::new(b"dir/new\nline \xff \"q\" \xc3\xa4".to_vec()).unwrap();
        assert_eq!(path.to_string(), "dir/new\\nline \\xff \"q\" ä");
        assert_eq!((path.depth(), path.as_str()), (1, None));
    }

    #[test]
    fn a_link_leads_to_a_path_of_the_same_tree_or_nowhere() {
        let led = |path: &str, depth, text: &str| {
            let led = RepoPath::new(path).unwrap().led(depth, text.as_bytes());
            led.map(|path| path.as_str().unwrap().to_owned())
        };
        assert_eq!(led("AGENTS.md", 1, "CLAUDE.md").as_deref(), Some("CLAUDE.md"));
        assert_eq!(led("a/b/c.md", 2, "../x/./y").as_deref(), Some("x/y/c.md"));
        for (path, depth, text) in
            [("a", 1, "/etc/passwd"), ("a", 1, "../a"), ("a/b", 2, ".."), ("a", 1, ".git/config")]
        {
            assert_eq!(led(path, depth, text), None, "{path} {text}");
        }
    }

    #[test]
    fn names_that_leave_the_tree_or_mean_git_are_not_paths() {
        for bytes in ["", "/etc/passwd", "a//b", "a/", "./a", "a/../b", "..", ".git/config", "a/.GIT/hooks", "a\0b"] {
            assert!(RepoPath::new(bytes).is_err(), "{bytes:?}");
        }
        assert!(RepoPath::new(".github/workflows/ci.yml").is_ok());
    }

    #[test]
    fn a_path_or_a_name_in_it_that_no_file_system_takes_does_not_fit() {
        let fits = |path: String| RepoPath::new(path).unwrap().fits();
        assert!(fits("a".repeat(255)) && !fits("a".repeat(256)));
        assert!(fits("a/".repeat(1_791) + "b") && !fits("a/".repeat(1_792) + "b"));
    }
}
