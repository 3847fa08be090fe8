//! Digests: what bytes are called.

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written `sha256:<64 hex digits>`. Digests are over bytes as they were sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Digest([u8; 32]);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected `sha256:` and 64 lower-case hex digits")]
pub struct InvalidDigest;

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of everything that was given to `hash`: of bytes that are never together in memory.
    #[must_use]
    pub fn of_hash(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// The hex digits alone: the token of a blob's subjects.
    #[must_use]
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// Reads bare hex digits.
    ///
    /// # Errors
    /// [`InvalidDigest`] for anything but 64 lower-case hex digits.
    pub fn from_hex(hex: &str) -> Result<Self, InvalidDigest> {
        let bytes = HEXLOWER.decode(hex.as_bytes()).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes.try_into().map_err(|_| InvalidDigest)?))
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;
    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        Self::from_hex(text.strip_prefix("sha256:").ok_or(InvalidDigest)?)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;
    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_refuses_other_texts() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in ["", "sha256:", "sha256:ba78", "md5:00", &digest.hex(), &digest.to_string().to_uppercase()] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
