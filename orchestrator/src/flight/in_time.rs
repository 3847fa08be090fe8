//! Answers that were stored in time and that nobody has looked at yet: of an orchestrator that was killed or stood still, they come
//! again. A deadline does not pass before them.
//!
//! Which answers are still to be looked at, the broker knows by what was acknowledged. One that is never acknowledged delays a deadline
//! by [`State::patience`] at most.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdpoint_bus::{handoffs, past};
use holdpoint_core::flight::Due;
use holdpoint_protocol::{
    Timestamp,
    ids::{RoleId, TurnId, WaypointId, role},
    state::Phase,
    subjects,
};
use holdpoint_runtime::clock;

use super::{ApplyError, State};

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
    pub(super) async fn waits(&mut self, due: &Due) -> Result<bool, ApplyError> {
        let Some((waypoint, role, deadline)) = self.passed(due) else { return Ok(false) };
        let since = *self.waits.0.entry(due.clone()).or_insert_with(Instant::now);
        if since.elapsed() >= self.patience() {
            return Ok(false);
        }
        // A role of people has no stream of its own.
        let handing = self.shell.roles().handing();
        let role = role.filter(|role| handing.contains(role));
        for role in role.into_iter().chain([role::id(role::OPERATOR)]) {
            if self.is_answered(&role, &waypoint, deadline).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whose deadline it is, and when it was.
    fn passed(&self, due: &Due) -> Option<(WaypointId, Option<RoleId>, Timestamp)> {
        let (books, now) = (self.books.as_ref()?, clock::now());
        let of_turn = |waypoint: &WaypointId, turn: &TurnId| {
            let state = books.state(waypoint);
            let open = state.open_turn(turn)?;
            Some((open.role.clone(), books.flight.deadline_of(open, now)))
        };
        match due {
            Due::Deadline(waypoint, turn) => {
                of_turn(waypoint, turn).map(|(role, deadline)| (waypoint.clone(), Some(role), deadline))
            }
            Due::Unanswered(waypoint) => {
                let state = books.state(waypoint);
                let asked = state.phases().filter_map(|phase| match phase {
                    Phase::Waiting(question) => Some(books.flight.shifted(question.deadline?, question.since, now)),
                    _ => None,
                });
                asked.min().map(|deadline| (waypoint.clone(), None, deadline))
            }
            _ => None,
        }
    }

    /// Whether the last handoff of a role on a waypoint came before `deadline` and is not acknowledged.
    async fn is_answered(&self, role: &RoleId, waypoint: &WaypointId, deadline: Timestamp) -> Result<bool, ApplyError> {
        let (bus, partition) = (&self.shell.bus, subjects::partition(&self.id));
        let last = past::last_of_waypoint(bus, role, &self.id, waypoint).await;
        let last = last.map_err(|error| ApplyError::Answers(error.into()))?;
        let Some(last) = last.filter(|last| last.time <= deadline) else { return Ok(false) };
        let settled = handoffs::is_settled(bus, role, partition, last.sequence).await;
        Ok(!settled.map_err(|error| ApplyError::Answers(error.into()))?)
    }

    /// How long an answer has to be taken: it comes again when its acknowledgement is overdue, perhaps to one that just started.
    fn patience(&self) -> Duration {
        self.shell.settings.handoff_ack_wait * 2
    }
}
