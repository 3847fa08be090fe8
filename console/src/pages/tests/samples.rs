//! What pages are tried with.

use holdpoint_protocol::{Timestamp, api::HistoryLine, plan::Plan, state::Status, view::WaypointView};
use serde_json::{Value, json};

use crate::{pages::Frame, wanted::Rights};

/// A sample of the protocol.
pub(crate) fn golden(name: &str) -> Value {
    let path = format!("{}/../protocol/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A waypoint that has only begun.
pub(crate) fn waypoint(id: &str, status: Status) -> WaypointView {
    serde_json::from_value(json!({
        "id": id, "title": "A title", "status": status, "gate": null, "disposition": null, "reason_code": null, "attempts": 0,
        "commit": null, "criteria": [], "guards": [], "remediation": null, "turn": null,
    }))
    .unwrap()
}

/// A history of one line.
pub(crate) fn history(kind: &str, artifact: &Value) -> Vec<HistoryLine> {
    vec![serde_json::from_value(line(kind, "HP/1", artifact)).unwrap()]
}

/// A line of a history.
pub(crate) fn line(kind: &str, reference: &str, artifact: &Value) -> Value {
    json!({"at": "2026-11-22T10:00:00Z", "kind": kind, "ref": reference, "artifact": artifact})
}

/// The plan of a submission, whose first waypoint is `w`.
pub(crate) fn plan() -> Plan {
    let mut plan: Plan = serde_json::from_value(golden("submit")["plan"].clone()).unwrap();
    plan.waypoints[0].id = "w".parse().unwrap();
    plan
}

/// For a person who may act.
pub(crate) fn frame() -> Frame {
    Frame {
        base: "/p".to_owned(),
        rights: Rights { me: "human-ann".parse().unwrap(), read_only: false },
        waits: Some(2),
        unplanned: None,
        now: Timestamp::from_millis(1_790_000_000_000),
        typed: str::to_owned,
    }
}
