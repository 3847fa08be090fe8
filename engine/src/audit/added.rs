//! Waypoints that were added to a flight: they are what a handoff proposes whose gate was passed, and nothing else.

use holdpoint_protocol::{
    artifact::{Act, Handed},
    ids::WaypointId,
    journal::Added,
};

use super::{Auditor, BrokenLink, EntryLine, differences::Difference};
use crate::{
    flight::{self, Due},
    state::{FlightState, Waypoints},
    waypoint::Input,
};

impl Auditor {
    /// Whether what other journals say has what is done because of children.
    pub(super) fn due(&self, flight: &FlightState, waypoint: &WaypointId, input: &Input) -> Result<(), Difference> {
        let (due, expected) = match input {
            Input::Gathered => (Due::Gather(waypoint.clone()), "all of its children to be complete"),
            Input::Recalled => (Due::Recall(waypoint.clone()), "to be a child that its parent does not want any more"),
            _ => return Ok(()),
        };
        if flight::of_families(flight, &self.waypoint_states().collect()).contains(&due) {
            return Ok(());
        }
        Err((expected.to_owned(), "it is not so".to_owned()))
    }

    /// Children were added to a flight.
    pub(super) fn added(&mut self, line: &EntryLine, added: &Added) {
        if let Some((link, expected, found)) = self.wrong_children(added) {
            self.broken(link, line.reference(), Some(added.parent.clone()), expected, found);
        }
    }

    fn wrong_children(&self, added: &Added) -> Option<(BrokenLink, String, String)> {
        let flight = self.state.as_ref()?;
        let wanted = || format!("the handoff that proposes children of {}", added.parent);
        let known = added.record.cause.as_ref().and_then(|cause| {
            let known = self.handoffs.get(&(cause.stream.clone(), cause.sequence))?;
            (known.line.digest == cause.digest).then_some(known)
        });
        let Some(known) = known else {
            return Some((BrokenLink::Cause, wanted(), "there is no such handoff".to_owned()));
        };
        let proposal = match &known.line.body {
            Ok((_, Handed::Act(Act::Complete(completion)))) => {
                completion.document.as_ref().and_then(|document| document.proposal.as_ref())
            }
            _ => None,
        };
        let Some(proposal) = proposal else {
            return Some((BrokenLink::Cause, wanted(), format!("{} proposes nothing", known.line.reference())));
        };
        let states: Waypoints = self.waypoint_states().collect();
        match flight::add(flight, &states, &added.parent, proposal, added.record.at) {
            None => {
                let found = "children were added".to_owned();
                Some((BrokenLink::Decision, format!("no children of {}: it waits for none", added.parent), found))
            }
            Some(made) if made != (Added { record: made.record.clone(), ..added.clone() }) => {
                let found = "others were added".to_owned();
                Some((BrokenLink::Decision, format!("the children of {} that are proposed", added.parent), found))
            }
            Some(made) if made.record.cause != added.record.cause => {
                Some((BrokenLink::Cause, wanted(), "another one is named".to_owned()))
            }
            Some(_) => None,
        }
    }
}
