//! What people should know although nothing waits because of it, so that it is no item of the inbox: conditions that could not
//! be evaluated and left their gates out, and turns that agents have again because nobody answered them in time. Read from the
//! journals of flights.

use std::collections::{HashMap, HashSet};

use holdpoint_account::events::{self, EventKind};
use holdpoint_protocol::{
    ids::{AgentName, FlightId},
    workflow::WorkflowSpec,
};

use super::event::{ConditionFailed, Event, OfferedAgain};
use crate::{client::Client, failure::Failure, observe::Source};

/// How many are kept, the newest. All of them were offered for delivery before.
const KEPT_MAX: usize = 1_000;

/// What was read so far.
#[derive(Default)]
pub(crate) struct Notices {
    reading: HashMap<FlightId, Source>,
    /// Flights that are over and were read to their end.
    done: HashSet<FlightId>,
    found: Vec<Event>,
}

impl Notices {
    /// Reads on in the flights that are open, and once more in each of `ended`. A flight that cannot be read now is read
    /// the next time.
    pub(crate) async fn read_on(&mut self, client: &Client, open: &[FlightId], ended: &[FlightId]) {
        self.done.retain(|flight| !open.contains(flight));
        let ended: Vec<FlightId> = ended.iter().filter(|flight| !self.done.contains(flight)).cloned().collect();
        for flight in open.iter().chain(&ended) {
            if let Err(failure) = self.read(client, flight).await {
                tracing::debug!(%flight, ?failure, "cannot read what people should know of it");
                continue;
            }
            if ended.contains(flight) {
                self.reading.remove(flight);
                self.done.insert(flight.clone());
            }
        }
    }

    /// Everything that was found, oldest first.
    pub(crate) fn found(&self) -> &[Event] {
        &self.found
    }

    async fn read(&mut self, client: &Client, flight: &FlightId) -> Result<(), Failure> {
        if !self.reading.contains_key(flight) {
            self.reading.insert(flight.clone(), Source::open(client, flight).await?);
        }
        let Some(source) = self.reading.get_mut(flight) else { return Ok(()) };
        for event in source.read_journal(client).await? {
            let reader = source.reader();
            let (workflow, to) = (reader.workflow(&event.task_id), reader.notified(&event.task_id));
            self.found.extend(notice(event, workflow, to).filter(|notice| !self.found.contains(notice)));
        }
        let extra = self.found.len().saturating_sub(KEPT_MAX);
        self.found.drain(..extra);
        Ok(())
    }
}

/// What people hear of an event, if it is one that they do not find among what waits.
fn notice(event: events::Event, workflow: Option<&WorkflowSpec>, to: Vec<AgentName>) -> Option<Event> {
    let again = event.what.offered_again(workflow).cloned();
    let skipped = event.what.is_condition_skip();
    let (flight, waypoint, at, reference) = (event.flight, event.task_id, event.timestamp, event.reference);
    match event.what {
        EventKind::GateConditionError { gate, expression, error, .. } if skipped => {
            let failed = ConditionFailed { flight, waypoint, gate, at, expression, error, to, reference };
            Some(Event::ConditionFailed(Box::new(failed)))
        }
        EventKind::GateTimeout { gate, agent, timeout, .. } => {
            let timeout = timeout.duration().as_secs();
            let again = OfferedAgain { flight, waypoint, gate, at, agent, timeout, role: again?, to, reference };
            Some(Event::OfferedAgain(Box::new(again)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        Timestamp,
        time::Millis,
        workflow::{Escalation, GateSpec},
    };
    use serde_json::json;

    use super::*;

    fn timeout(gate: &str, escalate_to: Option<&str>, reopened: bool) -> events::Event {
        let what = EventKind::GateTimeout {
            gate: gate.parse().unwrap(),
            role: "reviewer".parse().unwrap(),
            agent: Some("reviewer-1".parse().unwrap()),
            timeout: Millis(60_000),
            escalate_to: escalate_to.map(|role| role.parse().unwrap()),
            reopened,
        };
        events::Event {
            timestamp: Timestamp::from_millis(1_000),
            level: events::Level::Warn,
            what,
            task_id: "w".parse().unwrap(),
            flight: "f".parse().unwrap(),
            project: "p".to_owned(),
            workflow: "x".to_owned(),
            reference: "HP_JOURNAL/7".to_owned(),
            message: None,
        }
    }

    fn workflow() -> WorkflowSpec {
        let gate = |id: &str| GateSpec::new(id.parse().unwrap(), "reviewer".parse().unwrap());
        let link = |role: &str, people: &[&str]| Escalation {
            people: people.iter().map(|name| name.parse().unwrap()).collect(),
            ..Escalation::from(role.parse::<holdpoint_protocol::ids::RoleId>().unwrap())
        };
        let escalating =
            GateSpec { escalations: vec![link("senior", &[]), link("lead", &["human-ann"])], ..gate("look") };
        WorkflowSpec::new("x", [escalating, GateSpec { require_human: true, ..gate("sign") }])
    }

    #[test]
    fn people_are_told_of_an_agents_turn_that_is_offered_again_and_of_no_other_timeout() {
        let told = |gate: &str, to: Option<&str>, reopened| {
            let to_notify = vec!["human-ann".parse().unwrap()];
            notice(timeout(gate, to, reopened), Some(&workflow()), to_notify).map(|told| told.json())
        };
        let expected = json!({
            "kind": "gate_timeout", "flight": "f", "waypoint": "w", "gate": "look", "at": "1970-01-01T00:00:01Z",
            "agent": "reviewer-1", "timeout": 60, "role": "reviewer", "to": ["human-ann"], "ref": "HP_JOURNAL/7",
        });
        assert_eq!(told("look", None, true), Some(expected));
        assert_eq!(told("look", Some("senior"), true).unwrap()["role"], "senior");
        assert_eq!(told("look", None, false), None, "held: the inbox has it");
        assert_eq!(told("look", Some("lead"), true), None, "for people: the inbox has it");
        assert_eq!(told("sign", None, true), None, "for people: the inbox has it");
    }
}
