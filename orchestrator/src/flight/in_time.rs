//! Answers that were stored in time and that nobody has looked at yet: of an orchestrator that was killed or stood still, they come
//! again. A deadline does not pass before them.
//!
//! Which answers are still to be looked at, the broker knows by what was acknowledged. One that is never acknowledged delays a deadline
//! by [`State::patience`] at most.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdpoint_bus::{Stored, handoffs};
use holdpoint_core::flight::Due;
use holdpoint_protocol::{
    Timestamp,
    ids::{RoleId, TurnId, WaypointId, role},
    names::answers_turn,
    state::Phase,
    subjects,
};
use holdpoint_runtime::{
    clock,
    telemetry::{ErrorChain, fields},
};

use super::State;

/// How often it is looked whether an answer was taken.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Deadlines that wait, and since when each does.
#[derive(Debug, Default)]
pub(super) struct Waits(HashMap<Due, Instant>);

impl Waits {
    /// Forgets those that are not due any more.
    pub(super) fn keep(&mut self, due: &[Due]) {
        self.0.retain(|waits, _| due.contains(waits));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl State {
    /// Whether a deadline that has passed waits for what was stored before it.
    pub(super) async fn waits(&mut self, due: &Due) -> bool {
        let Some(passed) = self.passed(due) else { return false };
        let since = *self.waits.0.entry(due.clone()).or_insert_with(Instant::now);
        if since.elapsed() >= self.patience() {
            return false;
        }
        // A role of people has no stream of its own.
        let handing = self.shell.roles().handing();
        let role = passed.turn.as_ref().map(|(role, _)| role.clone()).filter(|role| handing.contains(role));
        for role in role.into_iter().chain([role::id(role::OPERATOR)]) {
            match handoffs::unsettled(&self.shell.bus, &role, &self.id, &passed.waypoint).await {
                Ok(unsettled) if !unsettled.iter().any(|stored| passed.is_met_by(stored)) => {}
                Ok(_) => return true,
                Err(error) => {
                    tracing::debug!({ fields::FLIGHT } = %self.id, error = %ErrorChain(&error), "cannot see whether an answer came in time");
                    return true;
                }
            }
        }
        false
    }

    fn passed(&self, due: &Due) -> Option<Passed> {
        let (books, now) = (self.books.as_ref()?, clock::now());
        match due {
            Due::Deadline(waypoint, turn) => {
                let state = books.state(waypoint);
                let open = state.open_turn(turn)?;
                let turn = Some((open.role.clone(), turn.clone()));
                Some(Passed { waypoint: waypoint.clone(), turn, at: books.flight.deadline_of(open, now) })
            }
            Due::Unanswered(waypoint) => {
                let state = books.state(waypoint);
                let asked = state.phases().filter_map(|phase| match phase {
                    Phase::Waiting(question) => Some(books.flight.shifted(question.deadline?, question.since, now)),
                    _ => None,
                });
                let at = asked.filter(|deadline| *deadline <= now).max()?;
                Some(Passed { waypoint: waypoint.clone(), turn: None, at })
            }
            _ => None,
        }
    }

    /// How long an answer has to be taken: it comes again when its acknowledgement is overdue, perhaps to one that just started.
    fn patience(&self) -> Duration {
        self.shell.settings.handoff_ack_wait * 2
    }
}

/// A deadline that has passed.
struct Passed {
    waypoint: WaypointId,
    /// Of which turn; `None`: people did not answer a question.
    turn: Option<(RoleId, TurnId)>,
    at: Timestamp,
}

impl Passed {
    /// Whether a handoff came in time, and may be what was waited for: an act, or a result that names the turn.
    fn is_met_by(&self, stored: &Stored) -> bool {
        let Some(subject) = subjects::parse_handed(&stored.subject) else { return false };
        let names = |turn: &TurnId| String::from_utf8_lossy(&stored.payload).contains(turn.as_str());
        stored.time <= self.at
            && (subject.role.as_str() == role::OPERATOR
                || answers_turn(&subject.kind) && self.turn.as_ref().is_some_and(|(_, turn)| names(turn)))
    }
}
