//! Object ids. An id says which hash the repository uses; it does not say what kind of object it names.

use std::fmt;
use std::str::FromStr;

/// Which hash names the objects of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectFormat {
    /// 40 hexadecimal digits: what nearly every repository uses.
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

impl ObjectFormat {
    /// The name git uses for it in options and configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The format git calls `name`; `None` for one that does not exist yet.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|format| format.name() == name)
    }

    /// Bytes of an id, and of every other digest that git makes with it.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    fn hex_digits(self) -> usize {
        2 * self.bytes()
    }
}

/// The id of a git object: 40 or 64 lowercase hexadecimal digits, never abbreviated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(String);

/// A text that is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an object id is 40 or 64 lowercase hexadecimal digits, not {text:?}")]
pub struct NotAnOid {
    /// The text.
    pub text: String,
}

impl ObjectId {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash this id was made with.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        if self.0.len() == ObjectFormat::Sha1.hex_digits() { ObjectFormat::Sha1 } else { ObjectFormat::Sha256 }
    }

    /// Whether it is the id that stands for "no object".
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }

    /// The id that stands for "no object".
    #[must_use]
    pub fn zero(format: ObjectFormat) -> Self {
        Self("0".repeat(format.hex_digits()))
    }
}

impl FromStr for ObjectId {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        let length_fits = [ObjectFormat::Sha1, ObjectFormat::Sha256].iter().any(|f| f.hex_digits() == text.len());
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if length_fits && is_hex { Ok(Self(text.to_owned())) } else { Err(NotAnOid { text: text.to_owned() }) }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<std::ffi::OsStr> for ObjectId {
    fn as_ref(&self) -> &std::ffi::OsStr {
        self.0.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_lowercase_ids_are_taken() {
        let sha1: ObjectId = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        assert_eq!(sha1.format(), ObjectFormat::Sha1);
        let sha256: ObjectId = "a".repeat(64).parse().unwrap();
        assert_eq!(sha256.format(), ObjectFormat::Sha256);
        assert!(ObjectId::zero(ObjectFormat::Sha256).is_zero() && !sha256.is_zero());
    }

    #[test]
    fn abbreviations_options_and_capitals_are_not_ids() {
        for text in ["", "abc", "HEAD", "--all", &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
            assert!(text.parse::<ObjectId>().is_err(), "{text}");
        }
    }
}
