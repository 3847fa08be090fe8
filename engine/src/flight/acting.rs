//! When an act on a flight, or on one of its waypoints, can be taken at all.
//!
//! An act counts for how things stood when the broker stored it. The broker may deliver one again that was refused and
//! acknowledged, and what was refused once stays refused, whatever was done meanwhile.

use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Verb},
    journal::Entry,
};

use crate::{state::FlightState, waypoint::Refusal};

/// When the journals moved, by the broker's clock: the one that says when an act was stored, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// The flight was submitted; `None` if it was not.
    submitted: Option<Timestamp>,
    /// A person last paused it or let it go on.
    steered: Option<Timestamp>,
    /// It last was given other workflows.
    configured: Option<Timestamp>,
    /// The last entry of the waypoint that the act is on.
    moved: Option<Timestamp>,
}

impl Course {
    /// By the entries of the flight's own journal, oldest first, and when the waypoint's last entry was stored.
    pub fn of<'a>(own: impl IntoIterator<Item = (Timestamp, &'a Entry)>, moved: Option<Timestamp>) -> Self {
        let mut course = Self { submitted: None, steered: None, configured: None, moved };
        for (at, entry) in own {
            match entry {
                Entry::Submitted(_) => course.submitted = Some(at),
                Entry::Steered(steered) if steered.verb == Verb::Reconfigure => course.configured = Some(at),
                Entry::Steered(steered) if !matches!(steered.verb, Verb::Cancel | Verb::Budget) => {
                    course.steered = Some(at);
                }
                _ => {}
            }
        }
        course
    }

    /// Whether the waypoint moved on after an act was stored.
    #[must_use]
    pub fn overtook(&self, stored: Timestamp) -> bool {
        self.moved.is_some_and(|moved| moved > stored)
    }
}

/// Whether an act that was stored at this time can be taken: not one that is older than the flight, none but its end and the edit of
/// a document on a waypoint of a paused flight, none that was there before the flight was last paused or let go on, and none on a waypoint that was
/// there before it was last given other workflows: what was refused by the chart of then could be taken by today's.
///
/// # Errors
/// [`Refusal::Act`]: what happened instead.
pub fn takes(flight: &FlightState, verb: Verb, stored: Timestamp, course: &Course) -> Result<(), Refusal> {
    let id = &flight.submitted.flight;
    let refuse = |code, message: String, hint: &str| Err(Refusal::act(code, message, hint));
    let on_flight = matches!(verb, Verb::Pause | Verb::Resume | Verb::Reconfigure);
    if course.submitted.is_none_or(|submitted| stored < submitted) {
        let message = format!("flight {id} was submitted after this came");
        return refuse(ActCode::NothingOpen, message, "`holdpoint status` shows how it stands");
    }
    // Each raise is more than the one before: nothing that was done meanwhile changes what it means.
    if matches!(verb, Verb::Cancel | Verb::Budget) {
        return Ok(());
    }
    // It opens no turn, and names the document that was edited.
    let edits = verb == Verb::Revise;
    if !on_flight && !edits && flight.steering.is_paused() {
        let message = format!("flight {id} is paused: no turn opens in it");
        return refuse(ActCode::Invalid, message, "`holdpoint resume` lets it go on");
    }
    if verb == Verb::Reconfigure {
        if course.configured.is_some_and(|configured| stored < configured) {
            let message = format!("flight {id} was given other workflows after this came");
            return refuse(ActCode::AnswerLate, message, "`holdpoint org reload` compares the files with them");
        }
        return Ok(());
    }
    if !edits && course.steered.is_some_and(|steered| stored < steered) {
        let message = format!("flight {id} was paused or let go on after this came");
        return refuse(ActCode::AnswerLate, message, "look at `holdpoint inbox` before you act again");
    }
    if !on_flight && course.configured.is_some_and(|configured| stored < configured) {
        let message = format!("flight {id} was given other workflows after this came");
        return refuse(ActCode::AnswerLate, message, "look at `holdpoint inbox` before you act again");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
