//! Acts of people on a whole flight: each answers a signed act, and is what the rules make of it.

use holdpoint_protocol::{
    artifact::{Act, Handed},
    ids::{WaypointId, role},
    journal::Steered,
    state::WaypointState,
};

use super::{Auditor, BrokenLink, EntryLine};
use crate::{flight, state::Waypoints};

impl Auditor {
    /// A flight was paused, resumed or ended.
    pub(super) fn steered(&mut self, line: &EntryLine, steered: &Steered) {
        let wrong = self.wrong_act(steered);
        if let Some(cause) = &steered.record.cause
            && let Some(known) = self.handoffs.get_mut(&(cause.stream.clone(), cause.sequence))
            && known.answered_by.replace(line.sequence).is_none()
        {
            self.counts.answered += 1;
        }
        if let Some((link, expected, found)) = wrong {
            self.broken(link, line.reference(), None, expected, found);
        }
    }

    fn wrong_act(&self, steered: &Steered) -> Option<(BrokenLink, String, String)> {
        let flight = self.state.as_ref()?;
        let wanted = || format!("a signed `{}` of {}", steered.verb.as_str(), steered.by);
        let Some(cause) = &steered.record.cause else {
            return Some((BrokenLink::Cause, wanted(), "no cause".to_owned()));
        };
        let Some(known) = self.handoffs.get(&(cause.stream.clone(), cause.sequence)) else {
            return Some((BrokenLink::Cause, wanted(), format!("there is no handoff {}", cause.reference())));
        };
        let line = &known.line;
        if let Err(why) = &line.sender {
            return Some((BrokenLink::Sender, wanted(), why.clone()));
        }
        if line.digest != cause.digest {
            return Some((BrokenLink::Cause, format!("an act with digest {}", cause.digest), line.digest.to_string()));
        }
        let on_flight = line.subject.waypoint.is_none() && line.subject.role.as_str() == role::OPERATOR;
        let act = match &line.body {
            Ok((_, Handed::Act(act))) if on_flight => act,
            _ => return Some((BrokenLink::Cause, wanted(), format!("{} is no act on the flight", line.reference()))),
        };
        if act.verb() != steered.verb || act.agent() != &steered.by {
            let found = format!("it is `{}` of {}", act.verb().as_str(), act.agent());
            return Some((BrokenLink::Decision, wanted(), found));
        }
        let states: Waypoints = self.waypoint_states().collect();
        let made = match act {
            // Which roles the fleet had is not written.
            Act::Reconfigure(act) => {
                let made = flight::reconfigure(flight, &states, act, cause, steered.record.at, |_| true);
                if let Ok(made) = &made
                    && made.workflows != steered.workflows
                {
                    let expected = "the workflows of the act that the plan names".to_owned();
                    return Some((BrokenLink::Decision, expected, "others were taken".to_owned()));
                }
                made
            }
            Act::Budget(act) => {
                let made = flight::raise(flight, &states, act, cause, steered.record.at);
                if let Ok(made) = &made
                    && made.raised != steered.raised
                {
                    let expected = "the raise of the act".to_owned();
                    return Some((BrokenLink::Decision, expected, "another was taken".to_owned()));
                }
                made
            }
            _ => flight::steer(flight, &states, steered.verb, &steered.by, cause, steered.record.at),
        };
        made.err()
            .map(|refusal| (BrokenLink::Decision, format!("it to be refused: {refusal}"), "it was taken".to_owned()))
    }

    /// The states of all waypoints after the last entries that were taken.
    pub(super) fn waypoint_states(&self) -> impl Iterator<Item = (WaypointId, WaypointState)> + '_ {
        self.journals.iter().filter_map(|(id, journal)| Some((id.clone()?, journal.folded.state.clone())))
    }
}
