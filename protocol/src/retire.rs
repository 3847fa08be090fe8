//! Retiring a flight: its export is kept elsewhere, and its messages leave the broker (`holdpoint archive`).
//!
//! An orchestrator records it first, in the flight's own journal. That entry is never deleted: it stands for all others, and by it
//! the broker refuses any other beginning of a flight with this id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    export::{HandoffsEnd, Seal},
    ids::{AgentName, FlightId},
    journal::{Record, Sequence},
    version::SchemaVersion,
};

/// Records that a flight is exported and may leave the broker; an archivist's key may call it.
pub const RETIRE: &str = "retire";

/// The last entry of a flight's own journal: its other entries and its handoffs are deleted, because an export has them. Only a
/// flight that nothing and nobody can move on has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retired {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The flight.
    pub flight: FlightId,
    /// Whose key asked for it.
    pub by: AgentName,
    /// The digest of the export, without compression.
    pub export: Digest,
    /// How far the export goes in each stream of handoffs: what came later is not deleted by this.
    pub handoffs: Vec<HandoffsEnd>,
    /// The journal's part.
    pub record: Record,
}

/// Asks that a flight be retired; the answer is a [`RetireAnswer`]. The same request again is answered the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetireQuery {
    /// The flight.
    pub flight: FlightId,
    /// The seal of its export. Refused if the flight's journals have gone on since.
    pub seal: Seal,
    /// The digest of the export, without compression.
    pub export: Digest,
}

/// A flight is retired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetireAnswer {
    /// Where the entry stands in the journal's stream: entries of the flight before it may be deleted.
    pub entry: Sequence,
    /// How far the handoffs of each stream may be deleted.
    pub handoffs: Vec<HandoffsEnd>,
}
