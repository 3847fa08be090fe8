//! Versions of the server, and the oldest that is accepted.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The oldest server accepted. Older ones take newer stream settings without a word and ignore them: half of a
/// conflicting batch was stored.
pub const FLOOR: ServerVersion = ServerVersion { major: 2, minor: 14, patch: 4 };

/// A server's version, without what follows a `-` or `+`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

/// A text without a version in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version")]
pub struct InvalidVersion(String);

impl FromStr for ServerVersion {
    type Err = InvalidVersion;
    /// Reads `2.15.1`, `v2.15.1`, `2.15.1-beta.1` and `nats-server: v2.15.1`.
    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let invalid = || InvalidVersion(text.chars().take(80).collect());
        let number = text.trim().rsplit(' ').next().unwrap_or_default().trim_start_matches('v');
        let release = number.split(['-', '+']).next().unwrap_or_default();
        let parts: Vec<u32> = release.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| invalid())?;
        let [major, minor, patch] = parts.as_slice() else { return Err(invalid()) };
        Ok(Self { major: *major, minor: *minor, patch: *patch })
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_in_all_forms_servers_print_and_compare_by_number() {
        for (text, expected) in [
            ("2.15.1", "2.15.1"),
            ("v2.9.10\n", "2.9.10"),
            ("nats-server: v2.14.4", "2.14.4"),
            ("2.16.0-RC.2", "2.16.0"),
        ] {
            assert_eq!(text.parse::<ServerVersion>().unwrap().to_string(), expected);
        }
        for bad in ["", "nats-server", "2.15", "2.15.x", "a.b.c"] {
            assert!(bad.parse::<ServerVersion>().is_err(), "{bad}");
        }
        let old: ServerVersion = "2.9.10".parse().unwrap();
        assert!(old < FLOOR);
        assert!("2.14.4".parse::<ServerVersion>().unwrap() >= FLOOR);
    }
}
