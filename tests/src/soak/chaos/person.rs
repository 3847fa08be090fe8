//! A person who approves work that was verified, and first does what the case says.

use holdpoint_bus::{Bus, handoffs::ShowJwt};
use holdpoint_protocol::{
    artifact::{Artifact as _, Completion, CompletionBody, Origin},
    ids::{AgentName, FlightId, WaypointId, role},
    state::Outcome,
    subjects,
};
use holdpoint_runtime::{clock, fresh};
use serde_json::json;

use super::{
    agents::{Sender, Wire},
    program::{RIGHT, WRONG},
};

/// See the module.
pub(super) struct Person {
    pub(super) name: AgentName,
    pub(super) bus: Bus,
    pub(super) wire: Wire,
}

impl Person {
    /// Does what the case says of the next act on a waypoint; where nothing is left to do wrong, approves it.
    pub(super) async fn acts(&self, flight: &FlightId, waypoint: &WaypointId) {
        let prefix = subjects::handoff_prefix(&role::id(role::OPERATOR), flight, waypoint);
        let id = format!("act.0.{}", self.name);
        let lies = [("on", json!("turn-of-another")), ("agent", json!("human-bob"))];
        let sender = Sender { bus: &self.bus, prefix: &prefix, id, jwt: ShowJwt::Yes, lies };
        // A person who dies has sent nothing, and comes back.
        while let Some(fault) = self.wire.book.acts(waypoint) {
            self.wire.goes_wrong(fault, &sender, (Completion::KIND, json!(self.approval(waypoint, WRONG)))).await;
        }
        sender.send(Completion::KIND, json!(self.approval(waypoint, RIGHT)).to_string()).await;
    }

    fn approval(&self, waypoint: &WaypointId, summary: &str) -> Completion {
        let origin = Origin {
            artifact_id: fresh::artifact(),
            waypoint_id: waypoint.clone(),
            produced_by_role: role::id(role::OPERATOR),
            produced_at: clock::now(),
            source_refs: Vec::new(),
        };
        let body = CompletionBody::of_person(self.name.clone(), None, Outcome::Complete);
        Completion::new(origin, CompletionBody { summary: summary.to_owned(), ..body })
    }
}
