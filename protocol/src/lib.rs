//! The words on the wire: ids, artifacts, turns, journal entries, subjects and headers.
//!
//! Everything here is plain data with serde forms, in JSON and in MessagePack. There is no I/O, no clock and no
//! decision in this crate: what a word *means* for a flight is decided in `holdpoint-engine`.

pub mod api;
pub mod artifact;
pub mod asyncapi;
pub mod attestation;
pub mod budget;
pub mod checkpoint;
pub mod codec;
pub mod completing;
pub mod digest;
pub mod envelope;
pub mod export;
pub mod facts;
pub mod headers;
pub mod ids;
pub mod journal;
pub mod live;
pub mod names;
pub mod org;
pub mod pages;
pub mod plan;
pub mod presence;
pub mod proposal;
pub mod reason;
pub mod refusal;
pub mod retire;
pub mod roles;
pub mod schema;
pub mod state;
pub mod storage;
pub mod streams;
pub mod subjects;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod turn;
pub mod unsound;
pub mod version;
pub mod view;
mod words;
pub mod workflow;

pub use digest::Digest;
pub use time::Timestamp;
pub use version::SchemaVersion;
