//! What became of final handoffs that no entry answers.

use holdpoint_protocol::ids::{TurnId, WaypointId};

use super::{Final, FlightReader, Opened};
use crate::events::{
    event::{Event, EventKind},
    refused::{self, is_before},
};

enum Settled {
    Taken,
    Open,
    Told(Box<Event>),
}

impl FlightReader {
    /// The conflicts and wrong roles of which it is known by now, oldest first. Each is reported once.
    pub fn conflicts(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for handed in std::mem::take(&mut self.unsettled) {
            match self.settle(&handed) {
                Settled::Taken => {}
                Settled::Open => self.unsettled.push(handed),
                Settled::Told(event) => events.push(*event),
            }
        }
        events.sort_by_key(|event| event.timestamp);
        events
    }

    fn settle(&self, handed: &Final) -> Settled {
        if self.causes.contains(&handed.reference) {
            return Settled::Taken;
        }
        // A turn that was never opened may be opened yet, or is a word of its sender's.
        let Some(opened) = self.turns.get(&handed.turn) else { return Settled::Open };
        let (waypoint, gate) = (&opened.waypoint, opened.gate.clone());
        if let Some(actual_role) = handed.role.clone().filter(|role| *role != opened.role) {
            let message = format!(
                "{waypoint} at gate '{gate}' was answered by '{}' (role: {actual_role}), and its turn is for role '{}'",
                handed.agent, opened.role
            );
            let (expected_role, agent) = (opened.role.clone(), handed.agent.clone());
            return self.told(
                handed,
                waypoint,
                EventKind::GateAssignmentError { gate, expected_role, actual_role, agent },
                message,
            );
        }
        if self.is_unlisted(handed, opened) {
            let (role, agent) = (opened.role.clone(), handed.agent.clone());
            let message = format!(
                "{waypoint} at gate '{gate}' was answered by '{agent}', whom the org chart does not name for role '{role}'"
            );
            let (expected_role, actual_role) = (role.clone(), role);
            let what = EventKind::GateAssignmentError { gate, expected_role, actual_role, agent };
            return self.told(handed, waypoint, what, message);
        }
        if let Some(expected_role) = opened.taken_back_for.clone() {
            let (actual_role, agent) = (opened.role.clone(), handed.agent.clone());
            let message = format!(
                "{waypoint} at gate '{gate}' was answered by '{agent}' (role: {actual_role}), and the gate went to role \
                 '{expected_role}' meanwhile"
            );
            let what = EventKind::GateAssignmentError { gate, expected_role, actual_role, agent };
            return self.told(handed, waypoint, what, message);
        }
        match &opened.answered {
            Some((_, digest)) if *digest == handed.digest => Settled::Taken,
            None if self.is_open(waypoint, &handed.turn) => Settled::Open,
            // It was refused while the turn was open, and nobody handed off what could be taken.
            _ if self.is_unusable(handed, opened) || self.is_not_among(handed, opened) => Settled::Taken,
            answered => {
                let answer = answered.as_ref().map(|(reference, _)| reference);
                let winner = answer.and_then(|reference| self.handed.get(reference));
                let winning_agent = winner.and_then(|winner| winner.agent.clone());
                // It was refused, and its agent corrected it: nobody lost anything.
                if winning_agent.as_ref() == Some(&handed.agent)
                    && answer.is_some_and(|answer| is_before(&handed.reference, answer))
                {
                    return Settled::Taken;
                }
                let first = match &winning_agent {
                    Some(winner) => format!("{winner} was first"),
                    None => "its turn was over".to_owned(),
                };
                let message =
                    format!("{waypoint} at gate '{gate}': the completion of {} was discarded, {first}", handed.agent);
                let losing_agent = handed.agent.clone();
                self.told(handed, waypoint, EventKind::GateConflict { gate, winning_agent, losing_agent }, message)
            }
        }
    }

    /// Whether it was refused because the org chart names others.
    fn is_unlisted(&self, handed: &Final, opened: &Opened) -> bool {
        let Some(spec) = self.workflow(&opened.waypoint) else { return false };
        let Some(by) = opened.listed_by.filter(|_| handed.role.is_some()) else { return false };
        !self.listings.is_listed((&spec.name, &opened.role, by), &handed.agent, handed.at)
    }

    /// Whether it is a completion that no orchestrator takes, and came before its turn was over.
    fn is_unusable(&self, handed: &Final, opened: &Opened) -> bool {
        let was_open = opened.over.is_none_or(|over| handed.at <= over);
        let (Some(completion), Some(spec)) = (&handed.completion, self.workflow(&opened.waypoint)) else {
            return false;
        };
        was_open && refused::is_unusable(completion, &opened.waypoint, &opened.gate, spec)
    }

    /// Whether it is the act of a person whom the gate does not name.
    fn is_not_among(&self, handed: &Final, opened: &Opened) -> bool {
        let spec = self.workflow(&opened.waypoint).filter(|_| handed.role.is_none());
        spec.is_some_and(|spec| refused::is_not_among(&handed.agent, &opened.gate, spec))
    }

    fn is_open(&self, waypoint: &WaypointId, turn: &TurnId) -> bool {
        let state = self.states.get(waypoint);
        state.is_some_and(|state| state.open_turn(turn).is_some())
    }

    fn told(&self, handed: &Final, waypoint: &WaypointId, what: EventKind, message: String) -> Settled {
        let (Some(flight), Some(workflow)) = (&self.flight, self.workflow(waypoint)) else { return Settled::Taken };
        Settled::Told(Box::new(Event {
            timestamp: handed.at,
            level: what.level(),
            what,
            task_id: waypoint.clone(),
            flight: flight.submitted.flight.clone(),
            project: flight.submitted.plan.plan.clone(),
            workflow: workflow.name.clone(),
            reference: handed.reference.clone(),
            message: Some(message),
        }))
    }
}
