//! An export: one flight as one file of JSON lines, with everything as it was sent.
//!
//! The first line is a [`Head`], then come the messages (journal first, then handoffs), then bytes of evidence and of work if
//! they were asked for, and an [`End`]. A reader needs one line in memory at a time. Nothing in it is trusted by itself:
//! messages carry their makers' signatures, and the [`Seal`] says where the journals ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    ids::{FlightId, WaypointId},
    journal::Sequence,
    version::SchemaVersion,
};

/// The value of [`Head::format`].
pub const FORMAT: &str = "holdpoint-export/1";
/// Bytes of a blob on one line at most.
pub const BLOB_PART_LEN: usize = 192 << 10;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Export(Box<Head>),
    /// A journal entry or a handoff.
    Message(Message),
    /// Bytes of evidence, or of work.
    Blob(BlobPart),
    /// Evidence or work that could not be got.
    Missing(MissingBlob),
    /// The last line.
    End(End),
}

/// What the file is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    /// [`FORMAT`].
    pub format: String,
    /// The flight.
    pub flight: FlightId,
    /// Whether the bytes of evidence are in the file; else only their digests are, in the reports.
    pub evidence: bool,
    /// Whether the bundles that bring what landed are in the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work: bool,
    /// Whose signatures counted where it was made (`trust.json`). As trustworthy as the file's way to its reader.
    pub trust: serde_json::Value,
    /// Where the journals ended.
    pub seal: Seal,
}

/// A [`Cut`], signed by the orchestrator that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seal {
    /// The cut as JSON.
    #[serde(with = "base64")]
    #[schemars(with = "String")]
    pub payload: Vec<u8>,
    /// As `Hp-Signature`, over the subject `hp.v1.seal.<flight>`, a line feed and the payload.
    pub signature: String,
}

/// How far an export goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cut {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The flight.
    pub flight: FlightId,
    /// When it was made.
    pub at: Timestamp,
    /// The end of every journal of the flight that has entries.
    pub journals: Vec<JournalEnd>,
    /// The handoffs of each role.
    pub handoffs: Vec<HandoffsEnd>,
}

/// The last entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalEnd {
    /// Whose journal; `None`: the flight's own.
    pub waypoint: Option<WaypointId>,
    /// Its place in the stream.
    pub sequence: Sequence,
    /// The digest of its payload.
    pub digest: Digest,
}

/// How far the handoffs of a role go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffsEnd {
    /// The stream.
    pub stream: String,
    /// Stored before the journals were read: each is on a turn that the journals know.
    pub known: Sequence,
    /// The last one in the export: each that an entry answers is there.
    pub until: Sequence,
}

/// A stored message as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The stream it is stored in.
    pub stream: String,
    /// Its place there.
    pub sequence: Sequence,
    /// The subject it was published on.
    pub subject: String,
    /// When the broker stored it: the broker's word.
    pub time: Timestamp,
    /// Its headers, signature and JWT among them.
    pub headers: BTreeMap<String, String>,
    /// Its payload.
    #[serde(with = "base64")]
    #[schemars(with = "String")]
    pub payload: Vec<u8>,
}

impl Message {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// How people and entries name it: `STREAM/SEQUENCE`.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}", self.stream, self.sequence.0)
    }
}

/// Bytes of evidence or of work; those of one blob stand one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobPart {
    /// The digest of the whole.
    pub digest: Digest,
    /// Where these bytes stand in it.
    pub offset: u64,
    /// Whether it ends here.
    pub last: bool,
    /// The bytes.
    #[serde(with = "base64")]
    #[schemars(with = "String")]
    pub data: Vec<u8>,
}

/// Evidence that a report names, or work that a landing names, and that could not be got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingBlob {
    /// Its name.
    pub digest: Digest,
    /// Why.
    pub error: String,
}

/// The last line: a file without it was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// Messages in the file.
    pub messages: u64,
    /// Blobs in the file.
    pub blobs: u64,
}

/// Asks for the cut of a flight; the answer is an [`ExportCut`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutQuery {
    /// The flight.
    pub flight: FlightId,
}

/// What an export begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportCut {
    /// How far it goes.
    pub seal: Seal,
    /// The orchestrator's trust roots.
    pub trust: serde_json::Value,
}

/// Asks for the messages of a flight in one stream, a page at a time; the answer is a [`MessagePage`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageQuery {
    /// The flight.
    pub flight: FlightId,
    /// The stream.
    pub stream: String,
    /// Where to go on: behind this message, or within the one behind it.
    pub after: ExportPlace,
    /// The last message that is wanted.
    pub until: Sequence,
}

/// A place in a stream: behind a message, and so many bytes into the payload of the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportPlace {
    /// The message.
    pub sequence: Sequence,
    /// Bytes of the payload of the next one of the flight that came already; with 0 it begins.
    pub offset: u64,
}

/// Some messages, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagePage {
    /// Each with the bytes of its payload from [`ExportPlace::offset`] on (the first), or from 0.
    pub messages: Vec<Message>,
    /// Where to go on; `None`: that was all. With an offset, the payload of the last message goes on.
    pub next: Option<ExportPlace>,
}

/// Bytes as base64 with padding.
mod base64 {
    use data_encoding::BASE64;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map_err(D::Error::custom)
    }
}
