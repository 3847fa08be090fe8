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
use holdpoint_engine::flight::{Due, Passed};
use holdpoint_protocol::{ids::role, subjects};
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
        let passed =
            self.books.as_ref().and_then(|books| Passed::of(due, &books.flight, &books.waypoints, clock::now()));
        let Some(passed) = passed else { return false };
        let since = *self.waits.0.entry(due.clone()).or_insert_with(Instant::now);
        if since.elapsed() >= self.patience() {
            return false;
        }
        // A role of people has no stream of its own.
        let handing = self.shell.roles().handing();
        let role = passed.turn.as_ref().map(|(role, _)| role.clone()).filter(|role| handing.contains(role));
        for role in role.into_iter().chain([role::id(role::OPERATOR)]) {
            match handoffs::unsettled(&self.shell.bus, &role, &self.id, &passed.waypoint).await {
                Ok(unsettled) if !unsettled.iter().any(|stored| meets(stored, &passed)) => {}
                Ok(_) => return true,
                Err(error) => {
                    tracing::debug!({ fields::FLIGHT } = %self.id, error = %ErrorChain(&error), "cannot see whether an answer came in time");
                    return true;
                }
            }
        }
        false
    }

    /// How long an answer has to be taken: it comes again when its acknowledgement is overdue, perhaps to one that just started.
    fn patience(&self) -> Duration {
        self.shell.settings.handoff_ack_wait * 2
    }
}

fn meets(stored: &Stored, passed: &Passed) -> bool {
    let subject = subjects::parse_handed(&stored.subject);
    subject.is_some_and(|subject| passed.is_met_by(&subject, stored.time, &stored.payload))
}
