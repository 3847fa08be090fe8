//! What people hear of: something that waits for them, a gate that was passed over by mistake, a turn that agents have
//! again because nobody answered it in time, or the end of a flight.

use holdpoint_protocol::{
    Timestamp,
    api::InboxItem,
    ids::{AgentName, FlightId, GateId, RoleId, WaypointId},
    view::FlightStatus,
};
use serde::Serialize;
use serde_json::{Value, json};

/// One notification.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Something waits, and so many other waypoints with it for the same thing.
    Waits(Box<InboxItem>, usize),
    /// Nothing of a flight moves on by itself.
    FlightOver {
        /// The flight.
        flight: FlightId,
        /// How it ended.
        status: FlightStatus,
    },
    /// Work passed over a gate because its condition could not be evaluated. Nothing waits.
    ConditionFailed(Box<ConditionFailed>),
    /// Nobody answered an agents' turn in time, and agents have it again. Nothing waits.
    OfferedAgain(Box<OfferedAgain>),
}

/// A condition that could not be evaluated, and that left its gate out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ConditionFailed {
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
    /// The gate.
    pub(crate) gate: GateId,
    /// When.
    pub(crate) at: Timestamp,
    /// The condition.
    pub(crate) expression: String,
    /// Why it could not be evaluated.
    pub(crate) error: String,
    /// Whom it concerns: the owner and stakeholders of the workflow.
    pub(crate) to: Vec<AgentName>,
    /// The journal entry, as `STREAM/SEQUENCE`.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
}

/// An agents' turn that nobody answered in time, and that agents have again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OfferedAgain {
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
    /// The gate.
    pub(crate) gate: GateId,
    /// When.
    pub(crate) at: Timestamp,
    /// Who let it pass, as far as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentName>,
    /// How long the turn might take, in seconds.
    pub(crate) timeout: u64,
    /// The role that has it now.
    pub(crate) role: RoleId,
    /// Whom it concerns: the owner and stakeholders of the workflow.
    pub(crate) to: Vec<AgentName>,
    /// The journal entry, as `STREAM/SEQUENCE`.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
}

impl Event {
    /// What waits, as people hear of it: once for what waits for one thing.
    pub(crate) fn waits(items: &[InboxItem]) -> Vec<Self> {
        let by_cause = InboxItem::by_cause(items).into_iter();
        by_cause.map(|(first, others)| Self::Waits(Box::new(first.clone()), others.len())).collect()
    }

    /// What is sent.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Waits(item, others) => {
                let mut json = json!(item);
                if *others > 0 {
                    json["others"] = (*others).into();
                }
                json
            }
            Self::FlightOver { flight, status } => json!({"kind": "flight_over", "flight": flight, "status": status}),
            Self::ConditionFailed(failed) => of_kind("gate_condition_error", json!(failed)),
            Self::OfferedAgain(again) => of_kind("gate_timeout", json!(again)),
        }
    }

    /// The same for the same news, and for nothing else.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Waits(item, _) => {
                format!("{}/waits/{}/{}/{}", item.flight, item.waypoint, item.kind, item.reference)
            }
            Self::ConditionFailed(failed) => {
                format!("{}/condition/{}/{}", failed.flight, failed.reference, failed.gate)
            }
            Self::OfferedAgain(again) => format!("{}/timeout/{}/{}", again.flight, again.reference, again.gate),
            Self::FlightOver { flight, status } => format!("{flight}/over/{status}"),
        }
    }
}

fn of_kind(kind: &str, mut json: Value) -> Value {
    json["kind"] = kind.into();
    json
}

/// Which flight a key says is over.
pub(super) fn ended_flight(key: &str) -> Option<&str> {
    key.split_once("/over/").map(|(flight, _)| flight)
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{api::InboxKind, reason::ReasonCode};

    use super::*;
    use crate::people::words::tests::question;

    #[test]
    fn people_hear_once_of_a_cause_that_holds_several_waypoints_and_of_how_many() {
        let held = |waypoint: &str, reference: &str| InboxItem {
            kind: InboxKind::Held,
            waypoint: waypoint.parse().unwrap(),
            reason_code: Some(ReasonCode::NotExecutable),
            reference: reference.to_owned(),
            ..question()
        };
        let heard = |items: &[InboxItem]| -> Vec<(String, Value)> {
            Event::waits(items).iter().map(|event| (event.key(), event.json()["others"].clone())).collect()
        };
        let first = heard(&[held("a", "h1")]);
        assert_eq!(first[0].1, Value::Null, "a notification of one waypoint is as it was");
        let all = heard(&[held("a", "h1"), question(), held("b", "h2"), held("c", "h3")]);
        assert_eq!(all.iter().map(|(_, others)| others.clone()).collect::<Vec<_>>(), [json!(2), Value::Null]);
        assert_eq!(all[0].0, first[0].0, "what joins it later is no news");
        assert_ne!(heard(&[held("a", "h4")])[0].0, first[0].0, "once it was tried again and is held again, it is");
    }
}
