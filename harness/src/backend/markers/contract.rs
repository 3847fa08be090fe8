//! By what an object names the contract of a turn. One that does not is output: a line of a log, the answer of a health check, a
//! fixture, whatever keys it has.

use holdpoint_protocol::{envelope::EnvelopeStatus, ids::WaypointId, version::SchemaVersion};
use serde::Deserialize as _;
use serde_json::{Map, Value};

/// Keys under which a question may name its waypoint.
const WAYPOINT_KEYS: [&str; 3] = ["waypoint", "waypoint_id", "task_id"];
/// Keys that only a question of this contract has.
const QUESTION_KEYS: [&str; 3] = ["blocking_question", "requested_options", "decision_context"];

/// What an object has to name to be a result or a question.
#[derive(Debug, Clone, Copy, Default)]
pub struct Contract<'a> {
    /// What the program may call itself; empty: anything.
    pub names: &'a [String],
    /// The waypoint that a result names; `None`: it need not.
    pub waypoint: Option<&'a WaypointId>,
    /// The program prints nothing but answers: a question need not be named.
    pub answers_only: bool,
}

impl Contract<'_> {
    /// Whether an object is an answer envelope: by its version, or by component and waypoint. One that lacks a part is one all the same:
    /// the missing parts are reported.
    pub(super) fn is_envelope(&self, map: &Map<String, Value>) -> bool {
        let Some(component) = map.get("component").and_then(Value::as_str) else { return false };
        if !map.contains_key("status") && !map.contains_key("data") {
            return false;
        }
        let ours = self.is_ours(component);
        let version = map.get("version").and_then(Value::as_str);
        let versioned = version.is_some_and(|version| version.parse::<SchemaVersion>().is_ok());
        let stands = map.get("status").is_some_and(|status| EnvelopeStatus::deserialize(status).is_ok());
        let task = map.get("data").and_then(|data| data.get("task_id")).and_then(Value::as_str);
        versioned && (ours || stands) || ours && self.waypoint.is_none_or(|waypoint| task == Some(waypoint.as_str()))
    }

    /// Whether the beginning of an object that is not whole was meant as an envelope: it is never taken for silence.
    pub(super) fn is_broken_envelope(&self, head: &str) -> bool {
        let Some((_, after)) = head.split_once("\"component\"") else { return false };
        // One of the characters between key and value may be what is missing.
        let value = after.trim_start_matches(|next: char| next.is_whitespace() || ":\"".contains(next));
        let component = value.split(['"', ',', '}']).next().unwrap_or_default();
        self.is_ours(component.trim_end()) && (head.contains("\"status\"") || head.contains("\"data\""))
    }

    /// Whether an object with a question is one to the people of this flight.
    pub(super) fn is_question(&self, map: &Map<String, Value>) -> bool {
        let waypoint = self.waypoint.map(WaypointId::as_str);
        let named = || WAYPOINT_KEYS.iter().filter_map(|key| map.get(*key)?.as_str()).any(|id| waypoint == Some(id));
        self.answers_only || QUESTION_KEYS.iter().any(|key| map.contains_key(*key)) || named()
    }

    fn is_ours(&self, component: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == component)
    }
}
