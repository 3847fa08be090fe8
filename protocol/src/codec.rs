//! JSON and MessagePack forms of the same content, and reading either.

use serde::{Serialize, de::DeserializeOwned};

use crate::{headers, version};

/// The largest payload that is sent or read, in bytes, and the limit our brokers are given: what their makers advise at
/// most. A plan of some ten thousand waypoints and its status fit.
pub const PAYLOAD_MAX: usize = 8 * 1024 * 1024;

/// Which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// What external agents read and write.
    Json,
    /// What only Holdpoint's own processes read.
    MsgPack,
}

impl Encoding {
    /// The value of the content type header.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => headers::JSON,
            Self::MsgPack => headers::MSGPACK,
        }
    }

    /// Reads the content type header; a missing one means JSON.
    ///
    /// # Errors
    /// [`CodecError::ContentType`] for any other type.
    pub fn from_content_type(value: Option<&str>) -> Result<Self, CodecError> {
        match value {
            None | Some(headers::JSON) => Ok(Self::Json),
            Some(headers::MSGPACK) => Ok(Self::MsgPack),
            Some(other) => Err(CodecError::ContentType { found: other.chars().take(80).collect() }),
        }
    }
}

/// Why bytes are not what they should be.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// Neither JSON nor MessagePack.
    #[error("content type {found:?} is not one of application/json and application/msgpack")]
    ContentType {
        /// What was found.
        found: String,
    },
    /// Larger than [`PAYLOAD_MAX`].
    #[error("payload of {bytes} bytes is larger than {PAYLOAD_MAX}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Not of this shape.
    #[error("payload does not have the expected shape")]
    Shape(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A version this build does not read.
    #[error("payload cannot be read by this version")]
    Version(#[from] version::VersionError),
}

/// Writes a value.
///
/// # Errors
/// [`CodecError::Shape`] when the value has no such form, [`CodecError::TooLarge`] when it is too large to be sent.
pub fn encode<T: Serialize>(value: &T, encoding: Encoding) -> Result<Vec<u8>, CodecError> {
    let bytes = match encoding {
        Encoding::Json => serde_json::to_vec(value).map_err(|e| CodecError::Shape(e.into()))?,
        Encoding::MsgPack => rmp_serde::to_vec_named(value).map_err(|e| CodecError::Shape(e.into()))?,
    };
    if bytes.len() > PAYLOAD_MAX {
        return Err(CodecError::TooLarge { bytes: bytes.len() });
    }
    Ok(bytes)
}

/// Reads a value; its version is looked at before its shape, so that a newer one is refused by that name.
///
/// # Errors
/// Any [`CodecError`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<T, CodecError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema_version: Option<version::SchemaVersion>,
    }
    if bytes.len() > PAYLOAD_MAX {
        return Err(CodecError::TooLarge { bytes: bytes.len() });
    }
    let versioned: Versioned = decode_shape(bytes, encoding)?;
    if let Some(found) = versioned.schema_version {
        found.check_readable()?;
    }
    decode_shape(bytes, encoding)
}

fn decode_shape<T: DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<T, CodecError> {
    match encoding {
        Encoding::Json => serde_json::from_slice(bytes).map_err(|e| CodecError::Shape(e.into())),
        Encoding::MsgPack => rmp_serde::from_slice(bytes).map_err(|e| CodecError::Shape(e.into())),
    }
}
