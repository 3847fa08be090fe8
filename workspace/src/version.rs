//! Versions of git, and the oldest that will do.

use std::fmt;

/// The oldest git that will do: the first with `merge-tree --write-tree`.
pub const GIT_FLOOR: GitVersion = GitVersion { major: 2, minor: 38 };

/// The version of a git program, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

impl GitVersion {
    /// Reads `git version 2.47.3` and what vendors make of it (`2.39.5 (Apple Git-154)`, `2.38.1.windows.1`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().strip_prefix("git version ")?.split('.');
        Some(Self { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_all_their_forms() {
        for (text, major, minor) in [
            ("git version 2.47.3\n", 2, 47),
            ("git version 2.39.5 (Apple Git-154)", 2, 39),
            ("git version 2.38.1.windows.1", 2, 38),
            ("git version 3.0.rc1", 3, 0),
        ] {
            assert_eq!(GitVersion::parse(text), Some(GitVersion { major, minor }), "{text}");
        }
        assert_eq!(GitVersion::parse("hub version 1"), None);
    }

    #[test]
    fn the_floor_itself_will_do() {
        assert!(GitVersion { major: 2, minor: 37 } < GIT_FLOOR);
        assert!(GitVersion { major: 3, minor: 0 } > GIT_FLOOR);
    }
}
