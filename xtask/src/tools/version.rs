//! Version numbers as tools print them.

use std::fmt;

/// Major, minor and patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl Version {
    /// The first `1.2` or `1.2.3` in `words`, with or without a `v`; what follows the numbers is ignored.
    pub(super) fn find_in(words: &str) -> Option<Self> {
        words.split_whitespace().find_map(|word| {
            let mut numbers = word.trim_start_matches('v').split('.').map(leading_number);
            let (major, minor) = (numbers.next()??, numbers.next()??);
            Some(Self(major, minor, numbers.next().flatten().unwrap_or(0)))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_as_the_tools_print_them() {
        let check = |words: &str, expected| assert_eq!(Version::find_in(words), expected, "{words}");
        check("git version 2.47.3", Some(Version(2, 47, 3)));
        check("git version 2.39.5 (Apple Git-154)", Some(Version(2, 39, 5)));
        check("git version 2.38.0.windows.1", Some(Version(2, 38, 0)));
        check("git version 2.40.rc1", Some(Version(2, 40, 0)));
        check("nats-server: v2.15.1", Some(Version(2, 15, 1)));
        check("nats-server: v2.14.4-RC.1", Some(Version(2, 14, 4)));
        check("nats-server", None);
    }

    #[test]
    fn versions_order_by_number_and_not_by_text() {
        assert!(Version(2, 9, 10) < Version(2, 14, 4));
    }
}
