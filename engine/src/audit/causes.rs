//! What an entry answers: the handoff is there, is the one that was meant, and is its sender's.

use holdpoint_protocol::{
    artifact::{Act, Artifact as _, Cancel, Handed, HandedHead, Reconfigure},
    ids::{WaypointId, role},
    journal::{Cause, Dead, Death, Entry, Sequence},
    state::WaypointState,
    streams,
};

use super::{Auditor, BrokenLink, EntryLine, Known, lines::reference};
use crate::waypoint;

/// Acts on a whole flight that lead to entries of its waypoints.
const ON_ALL: [&str; 2] = [Cancel::KIND, Reconfigure::KIND];

impl Auditor {
    /// Looks at the cause of an entry, if it has one; whether anything more can be said of the entry.
    pub(super) fn cause(
        &mut self,
        line: &EntryLine,
        entry: &Entry,
        waypoint: &WaypointId,
        before: &WaypointState,
    ) -> bool {
        let Some(cause) = &entry.record().cause else { return true };
        let wrong = match self.handoffs.get_mut(&(cause.stream.clone(), cause.sequence)) {
            None => Some((
                BrokenLink::Cause,
                format!("the handoff {}, which it answers", cause.reference()),
                "no such handoff".to_owned(),
            )),
            Some(known) => {
                // One act on a whole flight is the cause of an entry for each waypoint.
                let once = known.line.subject.waypoint.is_some();
                let earlier = known.answered_by.replace(line.sequence);
                let ends = !matches!(entry, Entry::Dead(_));
                let wrong = match waypoint::keeps(before, cause) {
                    // It was looked at when it was kept, and is taken once more when it counts.
                    Some(_) if earlier.is_some() => None,
                    _ => wrong(known, cause, waypoint, before, earlier.filter(|_| once), ends),
                };
                if earlier.is_none() {
                    self.counts.answered += 1;
                }
                wrong
            }
        };
        if let Some((link, expected, found)) = wrong {
            self.broken(link, line.reference(), Some(waypoint.clone()), expected, found);
            return false;
        }
        if let Entry::Dead(dead) = entry {
            return self.died(line, dead, waypoint);
        }
        self.remember_evidence(cause);
        self.cited(cause, waypoint);
        self.answered_once(line, entry, waypoint, before);
        true
    }

    /// Each death is shown by a plan; nobody who gave the turn back died of it.
    fn died(&mut self, line: &EntryLine, dead: &Dead, waypoint: &WaypointId) -> bool {
        let of = |known: &&Known, delivery: u32| {
            let (subject, sender) = (&known.line.subject, &known.line.sender);
            let head = known.line.body.as_ref().ok().map(|(head, _)| head);
            let named = head.is_some_and(|head| head.turn.as_ref() == Some(&dead.turn) && head.delivery == delivery);
            named && sender.is_ok() && subject.role == dead.role && subject.waypoint.as_ref() == Some(waypoint)
        };
        let shown = |death: &Death| {
            let mut of_delivery = self.handoffs.values().filter(|known| of(known, death.delivery));
            let mut taken = false;
            let given_back = of_delivery.any(|known| match &known.line.body {
                Ok((_, Handed::GivenBack)) => true,
                Ok((head, Handed::Plan)) => {
                    taken |= head.agent == death.agent;
                    false
                }
                _ => false,
            });
            taken && !given_back
        };
        let Some(unshown) = dead.deaths.iter().find(|death| !shown(death)) else { return true };
        let expected = format!("a plan of {} for delivery {}, not given back", unshown.agent, unshown.delivery);
        self.broken(
            BrokenLink::Cause,
            line.reference(),
            Some(waypoint.clone()),
            expected,
            "none, or it was given back",
        );
        false
    }

    fn remember_evidence(&mut self, cause: &Cause) {
        let Some(known) = self.handoffs.get(&(cause.stream.clone(), cause.sequence)) else { return };
        for (digest, needed) in &known.evidence {
            let named = self.evidence.entry(*digest).or_insert_with(|| (cause.reference(), false));
            named.1 |= needed;
        }
    }

    /// A turn is answered once.
    fn answered_once(&mut self, line: &EntryLine, entry: &Entry, waypoint: &WaypointId, before: &WaypointState) {
        let state = entry.record().state.as_ref();
        let answered = state.and_then(|state| state.answered.last());
        let Some(answered) = answered.filter(|answered| before.answered.last() != Some(*answered)) else {
            return;
        };
        if let Some(earlier) = self.answered.insert(answered.turn.clone(), line.sequence) {
            let expected = format!("turn {} to be answered once", answered.turn);
            let found = format!("{} took an answer to it already", reference(earlier));
            self.broken(BrokenLink::Turn, line.reference(), Some(waypoint.clone()), expected, found);
        }
    }
}

/// What is wrong with a handoff as the cause of an entry: which link, what was expected, what was found.
fn wrong(
    known: &Known,
    cause: &Cause,
    waypoint: &WaypointId,
    before: &WaypointState,
    earlier: Option<Sequence>,
    ends: bool,
) -> Option<(BrokenLink, String, String)> {
    let line = &known.line;
    let name = cause.reference();
    if line.digest != cause.digest {
        return Some((
            BrokenLink::Cause,
            format!("handoff {name} with digest {}", cause.digest),
            line.digest.to_string(),
        ));
    }
    if let Some(earlier) = earlier {
        let found = format!("{} took it already", reference(earlier));
        return Some((BrokenLink::Turn, format!("handoff {name} to be taken once"), found));
    }
    if let Err(why) = &line.sender {
        let expected = format!("handoff {name} signed by an agent of role {}", line.subject.role);
        return Some((BrokenLink::Sender, expected, why.clone()));
    }
    let (head, body) = match &line.body {
        Ok(body) => body,
        Err(error) => return Some((BrokenLink::Cause, format!("handoff {name}, which can be read"), error.clone())),
    };
    if head.artifact_id != cause.artifact {
        return Some((
            BrokenLink::Cause,
            format!("handoff {name} to be {}", cause.artifact),
            head.artifact_id.to_string(),
        ));
    }
    let on_waypoint = line
        .subject
        .waypoint
        .as_ref()
        .map_or_else(|| ON_ALL.contains(&line.subject.kind.as_str()), |named| named == waypoint);
    if !on_waypoint || streams::handoff(&line.subject.role) != line.stream {
        let named = line.subject.waypoint.as_ref().map_or("the flight", |named| named.as_str());
        let found = format!("one on {named} by role {}", line.subject.role);
        return Some((BrokenLink::Cause, format!("handoff {name} on this waypoint, in its role's stream"), found));
    }
    // A completion is an agent's handoff where it answers a turn.
    let is_agents = matches!(body, Handed::Act(Act::Complete(_))) && line.subject.role.as_str() != role::OPERATOR;
    if matches!(body, Handed::Act(_)) && !is_agents {
        let expected = format!("act {name} by role {}", role::OPERATOR);
        let found = format!("it is by role {}", line.subject.role);
        return (line.subject.role.as_str() != role::OPERATOR).then_some((BrokenLink::Sender, expected, found));
    }
    let Some(known) = before.open_turns().next() else {
        return Some((
            BrokenLink::Turn,
            "a turn to be open that a handoff can answer".to_owned(),
            "none is".to_owned(),
        ));
    };
    let Some(open) = head.turn.as_ref().and_then(|turn| before.open_turn(turn)) else {
        let expected = format!("handoff {name} to answer turn {}, which is open", known.turn);
        return Some((BrokenLink::Turn, expected, format!("it answers turn {}, which is not open", turn_of(head))));
    };
    if open.role != line.subject.role {
        let expected = format!("handoff {name} by role {}, whose turn it is", open.role);
        return Some((BrokenLink::Sender, expected, format!("it is by role {}", line.subject.role)));
    }
    // A turn that is given up is given up over a plan: an agent took it once more.
    if matches!(body, Handed::Plan) == ends
        || matches!(body, Handed::GivenBack | Handed::Status(_) | Handed::Exchange(_))
    {
        let expected =
            format!("handoff {name} to {}", if ends { "end a turn" } else { "be the plan of another agent" });
        return Some((BrokenLink::Cause, expected, format!("it is a {}", line.subject.kind)));
    }
    None
}

/// The turn that a handoff names.
pub(super) fn turn_of(head: &HandedHead) -> &str {
    head.turn.as_ref().map_or("none", |turn| turn.as_str())
}
