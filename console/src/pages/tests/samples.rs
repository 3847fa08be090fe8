//! What pages are tried with.

use holdpoint_protocol::{state::Status, view::WaypointView};
use serde_json::json;

/// A waypoint that has only begun.
pub(crate) fn waypoint(id: &str, status: Status) -> WaypointView {
    serde_json::from_value(json!({
        "id": id, "title": "A title", "status": status, "gate": null, "disposition": null, "reason_code": null, "attempts": 0,
        "commit": null, "criteria": [], "guards": [], "remediation": null, "turn": null,
    }))
    .unwrap()
}
