//! How full the broker is, for people who look after a fleet. Nothing is decided by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Endpoint of [`StorageQuery`].
pub const STORAGE: &str = "storage";

/// Asks how full the broker is; the answer is [`Storage`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageQuery {
    /// Of this stream alone; `None`: of all.
    pub stream: Option<String>,
}

/// What the fleet's streams take up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// The version of the orchestrator that answers.
    pub version: String,
    /// Bytes of the streams that were asked for.
    pub bytes: u64,
    /// Bytes that all streams together may have, as the orchestrator is configured (`orchestrator.broker_disk`).
    pub bytes_max: u64,
    /// The journals, then blobs and handoffs by role.
    pub streams: Vec<StreamStorage>,
}

/// What one stream takes up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStorage {
    /// Its name.
    pub stream: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes that it may have; `None`: what all others leave.
    pub bytes_max: Option<u64>,
    /// Messages.
    pub messages: u64,
    /// Messages that it may have.
    pub messages_max: Option<u64>,
}
