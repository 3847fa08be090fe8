//! What travels over the broker: payloads in both encodings, subjects, ids, signatures, bundles.

use std::fmt::Debug;

use holdpoint_bus::auth::{Credentials, TrustRoots, verify_signature};
use holdpoint_protocol::{
    Digest, SchemaVersion, Timestamp, api, artifact,
    codec::{self, Encoding},
    ids::{FlightId, WaypointId},
    journal, subjects, turn, view,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Everything that can be read can be written in both encodings, and means the same when it is read again.
fn reads<T: Serialize + DeserializeOwned + Debug>(data: &[u8], encoding: Encoding) {
    let Ok(value) = codec::decode::<T>(data, encoding) else { return };
    for other in [Encoding::Json, Encoding::MsgPack] {
        // A payload near the limit may be too large in the other encoding.
        let Ok(bytes) = codec::encode(&value, other) else { continue };
        let again: T = codec::decode(&bytes, other).unwrap_or_else(|error| panic!("{value:?} in {other:?}: {error:?}"));
        assert_eq!(json(&again), json(&value), "{value:?} in {other:?}");
    }
}

fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("every payload has a JSON form")
}

fn artifacts(data: &[u8], encoding: Encoding) {
    reads::<artifact::BuildArtifact>(data, encoding);
    reads::<artifact::BuildPlan>(data, encoding);
    reads::<artifact::Cancel>(data, encoding);
    reads::<artifact::ChecklistReceipt>(data, encoding);
    reads::<artifact::ClarificationRequest>(data, encoding);
    reads::<artifact::ClarificationResponse>(data, encoding);
    reads::<artifact::Completion>(data, encoding);
    reads::<artifact::GivenBack>(data, encoding);
    reads::<artifact::GuidancePacket>(data, encoding);
    reads::<artifact::HelpRequest>(data, encoding);
    reads::<artifact::OrchestratorDecision>(data, encoding);
    reads::<artifact::Pause>(data, encoding);
    reads::<artifact::Resume>(data, encoding);
    reads::<artifact::Retry>(data, encoding);
    reads::<artifact::VerificationPlan>(data, encoding);
    reads::<artifact::VerificationReport>(data, encoding);
    reads::<artifact::VerificationRequest>(data, encoding);
}

fn entries(data: &[u8], encoding: Encoding) {
    reads::<journal::Submitted>(data, encoding);
    reads::<journal::Landed>(data, encoding);
    reads::<journal::Decided>(data, encoding);
    reads::<journal::Dead>(data, encoding);
    reads::<journal::Steered>(data, encoding);
    reads::<journal::Answered>(data, encoding);
    reads::<turn::Turn>(data, encoding);
    reads::<turn::Feedback>(data, encoding);
}

fn calls(data: &[u8], encoding: Encoding) {
    reads::<api::Submit>(data, encoding);
    reads::<api::ActQuery>(data, encoding);
    reads::<api::ActStanding>(data, encoding);
    reads::<api::Inbox>(data, encoding);
    reads::<api::InboxQuery>(data, encoding);
    reads::<api::StatusQuery>(data, encoding);
    reads::<api::Flights>(data, encoding);
    reads::<api::FlightsQuery>(data, encoding);
    reads::<api::FlightLine>(data, encoding);
    reads::<api::HistoryLine>(data, encoding);
    reads::<api::Progress>(data, encoding);
    reads::<api::ProgressAnswer>(data, encoding);
    reads::<api::RefusedHandoff>(data, encoding);
    reads::<view::FlightView>(data, encoding);
}

pub fn artifact_json(data: &[u8]) {
    artifacts(data, Encoding::Json);
}

pub fn artifact_msgpack(data: &[u8]) {
    artifacts(data, Encoding::MsgPack);
}

pub fn journal_json(data: &[u8]) {
    entries(data, Encoding::Json);
}

pub fn journal_msgpack(data: &[u8]) {
    entries(data, Encoding::MsgPack);
}

pub fn api_json(data: &[u8]) {
    calls(data, Encoding::Json);
}

pub fn api_msgpack(data: &[u8]) {
    calls(data, Encoding::MsgPack);
}

/// Subjects, ids, digests and versions read back as they were written.
pub fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(found) = subjects::parse_handed(text) {
        let built = match &found.waypoint {
            Some(waypoint) => subjects::handoff(&found.role, &found.flight, waypoint, &found.kind),
            None => subjects::act(&found.flight, None, &found.kind),
        };
        assert_eq!(built, text, "a handoff's subject has one form");
    }
    if let Some(key) = subjects::parse_journal(text) {
        assert!(text.starts_with(key.filter().trim_end_matches('>')), "{text}");
    }
    if let Ok(id) = text.parse::<WaypointId>() {
        assert!(id.as_str() == text && !text.contains(['.', '*', '>', ' ', '/']), "{text}");
    }
    if let Ok(flight) = text.parse::<FlightId>() {
        assert!(subjects::partition(&flight) < subjects::PARTITIONS);
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string(), text);
    }
    if let Ok(version) = text.parse::<SchemaVersion>() {
        assert_eq!(version.to_string().parse(), Ok(version));
        let _ = version.check_readable();
    }
    if let Ok(at) = serde_json::from_str::<Timestamp>(text) {
        let _ =
            (at.as_millis(), at.as_seconds(), at.after(std::time::Duration::MAX), at.since(Timestamp::from_millis(0)));
    }
    let _ = Encoding::from_content_type(Some(text));
}

/// JWTs, signatures and credentials that an attacker made up.
pub fn jwt(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let roots = TrustRoots {
        agents_account: String::new(),
        roles: [("builder".parse().expect("an id"), KEY.to_owned())].into(),
        former: [].into(),
        orchestrators: vec![KEY.to_owned()],
        revoked: [].into(),
    };
    assert!(roots.verify_jwt(text, Timestamp::from_millis(0)).is_err(), "nobody can sign for this key");
    let (key, signature) = text.split_once('\n').unwrap_or((text, text));
    let _ = verify_signature(key, "subject", b"payload", signature);
    assert!(
        !roots.is_orchestrators("subject", b"payload", signature, Timestamp::from_millis(0)),
        "nobody can sign for this key"
    );
    let _ = Credentials::parse(text);
    if let Ok(roots) = serde_json::from_slice::<TrustRoots>(data) {
        let _ = roots.verify_jwt(text, Timestamp::from_millis(0));
    }
}

/// The public half of a key that nobody has the other half of.
const KEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

/// The header of a bundle file.
pub fn bundle(data: &[u8]) {
    let Ok(header) = holdpoint_workspace::bundle::parse_header(data) else { return };
    assert!(header.refs.len() + header.prerequisites.len() <= data.len());
}
