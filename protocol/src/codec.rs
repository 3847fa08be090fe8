//! JSON and MessagePack forms of the same content, and reading either.
//!
//! A client that can publish can send anything. So a payload is looked at before it is read: how large, how deep, how
//! heavy once it is in memory, and of which version.

mod survey;

use serde::{Serialize, de::DeserializeOwned};

use crate::{headers, refusal::RefusalCode, version};
use survey::Survey;

/// The largest payload that is sent or read, in bytes, and the limit our brokers are given: what their makers advise at
/// most. A plan of some ten thousand waypoints fits; what may be longer is answered in pages.
pub const PAYLOAD_MAX: usize = 8 * 1024 * 1024;

/// The deepest nesting of a payload in either form. A plan may have 32 levels in its free values, and is inside of one
/// or two other things; the stack of any thread bears several times as many.
pub const DEPTH_MAX: usize = 64;

/// The most memory that a payload's content may take once it is read, in bytes, by a careful estimate: 8 MiB of a
/// plan's or report's own content take less, made up ones up to a hundred times as much.
pub const WEIGHT_MAX: usize = 256 << 20;

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

impl CodecError {
    /// What a sender hears of it.
    #[must_use]
    pub fn refusal(&self) -> RefusalCode {
        match self {
            Self::ContentType { .. } => RefusalCode::ContentType,
            Self::TooLarge { .. } => RefusalCode::TooLarge,
            Self::Version(_) => RefusalCode::Version,
            Self::Shape(error) if is_of_shape(error.as_ref()) => RefusalCode::WrongShape,
            Self::Shape(_) => RefusalCode::Unreadable,
        }
    }
}

/// Whether bytes were of their form, and only the content is not what was expected.
fn is_of_shape(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let json = error.downcast_ref::<serde_json::Error>().map(serde_json::Error::is_data);
    let packed = error.downcast_ref::<rmp_serde::decode::Error>();
    json.or_else(|| packed.map(|error| matches!(error, rmp_serde::decode::Error::Syntax(_)))).unwrap_or(false)
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
/// Any [`CodecError`]; [`CodecError::Shape`] also for what is deeper than [`DEPTH_MAX`], would take more memory than
/// [`WEIGHT_MAX`], or has bytes after its end.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<T, CodecError> {
    if bytes.len() > PAYLOAD_MAX {
        return Err(CodecError::TooLarge { bytes: bytes.len() });
    }
    let survey = survey(bytes, encoding)?;
    if let Some(found) = survey.version {
        found.parse::<version::SchemaVersion>()?.check_readable()?;
    }
    read(bytes, encoding)
}

/// Reads a value without a look at it before: only what one of our own processes has written and signed. The caller
/// looks at its version.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<T, CodecError> {
    match encoding {
        Encoding::Json => serde_json::from_slice(bytes).map_err(|e| CodecError::Shape(e.into())),
        Encoding::MsgPack => rmp_serde::from_slice(bytes).map_err(|e| CodecError::Shape(e.into())),
    }
}

fn survey(bytes: &[u8], encoding: Encoding) -> Result<Survey, CodecError> {
    match encoding {
        Encoding::Json => {
            let mut payload = serde_json::Deserializer::from_slice(bytes);
            let survey = Survey::of(&mut payload).map_err(|e| CodecError::Shape(e.into()))?;
            payload.end().map_err(|e| CodecError::Shape(e.into()))?;
            Ok(survey)
        }
        Encoding::MsgPack => {
            let mut payload = rmp_serde::Deserializer::new(bytes);
            // A container counts for both; ours is the one that is reported.
            payload.set_max_depth(2 * DEPTH_MAX);
            let survey = Survey::of(&mut payload).map_err(|e| CodecError::Shape(e.into()))?;
            let rest = payload.into_inner().len();
            if rest > 0 {
                return Err(CodecError::Shape(format!("{rest} bytes after its end").into()));
            }
            Ok(survey)
        }
    }
}
