//! Saying outside what was verified: an in-toto statement (v1) with SLSA's verification summary (v1), in a DSSE envelope.
//!
//! Plain data in the words of those specifications; the bus decides who signs, the engine what is said.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    ids::{FlightId, WaypointId},
};

/// The type of a statement in an envelope.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of a statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of its predicate.
pub const PREDICATE_TYPE: &str = "https://slsa.dev/verification_summary/v1";

/// Digests by algorithm; git objects under `gitCommit` and `gitTree`.
pub type DigestSet = BTreeMap<String, String>;

/// What is said of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// What it is said of.
    pub subject: Vec<Resource>,
    /// [`PREDICATE_TYPE`].
    pub predicate_type: String,
    /// What is said.
    pub predicate: VerificationSummary,
}

/// Something with a name and digests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// Its name in this statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its name anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: DigestSet,
}

/// SLSA's verification summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationSummary {
    /// Who verified.
    pub verifier: Verifier,
    /// When.
    pub time_verified: Timestamp,
    /// What the subject belongs to.
    pub resource_uri: String,
    /// By which rules.
    pub policy: Resource,
    /// What it rests on: the verifier's report.
    pub input_attestations: Vec<Resource>,
    /// `PASSED`.
    pub verification_result: String,
    /// What was shown.
    pub verified_levels: Vec<String>,
}

/// Who verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verifier {
    /// A URI.
    pub id: String,
    /// Versions of its parts.
    pub version: BTreeMap<String, String>,
}

/// A signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// What the payload is.
    pub payload_type: String,
    /// Its bytes, base64.
    pub payload: String,
    /// Signatures over [`pae`] of both.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeSignature {
    /// A hint, not signed: the public key in NATS's text form (`U…`).
    pub keyid: String,
    /// ed25519, base64.
    pub sig: String,
}

/// Asks for the signed statement on a landed waypoint; the answer is an [`Envelope`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestQuery {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
}

/// The bytes that an envelope's signatures are over: DSSE's pre-authentication encoding.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The specification's own example, and one in which bytes and characters differ.
        let encoded = pae("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
        assert_eq!(pae("ä", "ö".as_bytes()), "DSSEv1 2 ä 2 ö".as_bytes());
        assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
    }
}
