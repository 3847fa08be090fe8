//! What people hear of: something that waits for them, a gate that was passed over by mistake, a turn that agents have
//! again because nobody answered it in time, or the end of a flight.

use holdpoint_protocol::{
    Timestamp,
    api::{InboxItem, InboxKind},
    ids::{AgentName, FlightId, GateId, RoleId, WaypointId},
    view::FlightStatus,
};
use serde::Serialize;
use serde_json::{Value, json};

/// One notification.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Something waits.
    Waits(Box<InboxItem>),
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
    /// What is sent.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Waits(item) => json!(item),
            Self::FlightOver { flight, status } => json!({"kind": "flight_over", "flight": flight, "status": status}),
            Self::ConditionFailed(failed) => of_kind("gate_condition_error", json!(failed)),
            Self::OfferedAgain(again) => of_kind("gate_timeout", json!(again)),
        }
    }

    /// The same for the same news, and for nothing else.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Waits(item) => {
                format!("{}/waits/{}/{}/{}", item.flight, item.waypoint, word(item.kind), item.reference)
            }
            Self::ConditionFailed(failed) => {
                format!("{}/condition/{}/{}", failed.flight, failed.reference, failed.gate)
            }
            Self::OfferedAgain(again) => format!("{}/timeout/{}/{}", again.flight, again.reference, again.gate),
            Self::FlightOver { flight, status } => format!("{flight}/over/{}", crate::view::flight_status(*status)),
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

fn word(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::Question => "question",
        InboxKind::Help => "help",
        InboxKind::Approval => "approval",
        InboxKind::Turn => "turn",
        InboxKind::Taken => "taken",
        InboxKind::Held => "held",
        InboxKind::Failed => "failed",
    }
}
