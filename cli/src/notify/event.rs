//! What people are told: something that waits for them, or the end of a flight.

use holdpoint_protocol::{
    api::{InboxItem, InboxKind},
    ids::FlightId,
    view::FlightStatus,
};
use serde_json::{Value, json};

/// One notification.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// Something waits.
    Waits(Box<InboxItem>),
    /// Nothing of a flight moves on by itself.
    FlightOver {
        /// The flight.
        flight: FlightId,
        /// How it ended.
        status: FlightStatus,
    },
}

impl Event {
    /// What the command reads.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Waits(item) => json!(item),
            Self::FlightOver { flight, status } => json!({"kind": "flight_over", "flight": flight, "status": status}),
        }
    }

    /// The same for the same news, and for nothing else.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Waits(item) => {
                format!("{}/waits/{}/{}/{}", item.flight, item.waypoint, word(item.kind), item.reference)
            }
            Self::FlightOver { flight, status } => format!("{flight}/over/{}", crate::view::flight_status(*status)),
        }
    }
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
        InboxKind::Held => "held",
        InboxKind::Failed => "failed",
    }
}
