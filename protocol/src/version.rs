//! Versions of schemas: `MAJOR.MINOR` (FLY-14).

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of a schema. New fields raise the minor number, anything else the major number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct SchemaVersion {
    /// Readers refuse a newer one.
    pub major: u16,
    /// Readers ignore what a newer one added.
    pub minor: u16,
}

/// The version this build writes.
pub const CURRENT: SchemaVersion = SchemaVersion { major: 1, minor: 0 };

/// Why a version is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not `MAJOR.MINOR`.
    #[error("{text:?} is not a schema version: expected MAJOR.MINOR, for example 1.0")]
    Malformed {
        /// The refused text.
        text: String,
    },
    /// Written by a newer Holdpoint.
    #[error("schema version {found} is newer than {CURRENT}, the newest this build reads: update this program")]
    Newer {
        /// The version found.
        found: SchemaVersion,
    },
    /// Older than the previous major version.
    #[error(
        "schema version {found} is older than this build reads: it reads {CURRENT} and the major version before it"
    )]
    Older {
        /// The version found.
        found: SchemaVersion,
    },
}

impl SchemaVersion {
    /// Whether this build reads that version: the current and the previous major version.
    ///
    /// # Errors
    /// [`VersionError::Newer`] or [`VersionError::Older`].
    pub fn check_readable(self) -> Result<(), VersionError> {
        if self.major > CURRENT.major {
            return Err(VersionError::Newer { found: self });
        }
        if self.major == 0 || self.major + 1 < CURRENT.major {
            return Err(VersionError::Older { found: self });
        }
        Ok(())
    }
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for SchemaVersion {
    type Err = VersionError;
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let malformed = || VersionError::Malformed { text: text.chars().take(40).collect() };
        let (major, minor) = text.split_once('.').ok_or_else(malformed)?;
        Ok(Self { major: major.parse().map_err(|_| malformed())?, minor: minor.parse().map_err(|_| malformed())? })
    }
}

impl TryFrom<String> for SchemaVersion {
    type Error = VersionError;
    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<SchemaVersion> for String {
    fn from(version: SchemaVersion) -> String {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_minor_is_read_and_newer_major_is_refused() {
        let parse = |t: &str| t.parse::<SchemaVersion>().unwrap();
        assert_eq!(parse("1.7").check_readable(), Ok(()));
        assert_eq!(parse("2.0").check_readable(), Err(VersionError::Newer { found: parse("2.0") }));
        assert_eq!(parse("0.9").check_readable(), Err(VersionError::Older { found: parse("0.9") }));
        assert!("1".parse::<SchemaVersion>().is_err());
        assert!("1.x".parse::<SchemaVersion>().is_err());
    }
}
