//! Doing what is due: after every input, and when a deadline passes.

use std::time::{Duration, Instant};

use holdpoint_core::{
    engine::{self, Input, PersonAct},
    flight::Due,
};
use holdpoint_protocol::ids::WaypointId;
use holdpoint_runtime::{
    clock,
    telemetry::{ErrorChain, fields},
};
use ractor::ActorRef;

use super::{ApplyError, Msg, Place, RETRY_DELAY, State, landing::Kind};

impl State {
    /// Does everything that is due, then sets the timer for what will be.
    pub(super) async fn pump(&mut self, myself: &ActorRef<Msg>) {
        match self.do_due(myself).await {
            Ok(()) => {
                self.troubles.went_well(&Place::Due);
                self.idleness.unknown = false;
                self.arm(myself);
            }
            Err(ApplyError::Books(gone)) if gone.is_gone() => {
                tracing::debug!({ fields::FLIGHT } = %self.id, why = %gone, "no such flight");
                self.idleness.unknown = true;
                self.arm(myself);
            }
            Err(error) => {
                tracing::warn!({ fields::FLIGHT } = %self.id, error = %ErrorChain(&error), "cannot go on now; trying again");
                self.troubles.failed(Place::Due, &ErrorChain(&error).to_string(), clock::now());
                self.books = None;
                self.set_alarm(myself, RETRY_DELAY);
            }
        }
    }

    /// Looks at what is due after `delay`. One alarm at a time; its generation makes an older one harmless that is
    /// under way already.
    pub(super) fn set_alarm(&mut self, myself: &ActorRef<Msg>, delay: Duration) {
        self.timer += 1;
        let generation = self.timer;
        let alarm = myself.send_after(delay, move || Msg::Tick(generation));
        if let Some((earlier, _)) = self.alarm.replace((alarm.abort_handle(), Instant::now() + delay)) {
            earlier.abort();
        }
    }

    async fn do_due(&mut self, myself: &ActorRef<Msg>) -> Result<(), ApplyError> {
        // Others may have had the flight paused, or its deadlines met, since this one read its journals.
        let mut fresh = false;
        let mut waiting = Vec::new();
        // One that does not begin is due still.
        let (mut landing, mut stacking) = (self.track.makes(Kind::Land), self.track.makes(Kind::Stack));
        loop {
            let due = self.due_now().await?;
            self.waits.keep(&due);
            let serves = self.serves();
            let next = due.iter().find(|d| match d {
                Due::Land(_) | Due::Merge(_) => !landing,
                Due::Stack(_) => !stacking,
                Due::Deadline(..) | Due::Unanswered(_) => serves && !waiting.contains(*d),
                Due::Open(_) | Due::Join(_) | Due::Migrate(_) | Due::Budget(_) | Due::Cancel(_) => true,
            });
            match next.cloned() {
                None => return Ok(()),
                Some(Due::Deadline(..) | Due::Unanswered(_)) if !fresh => {
                    self.fresh_books().await?;
                    fresh = true;
                }
                Some(due @ (Due::Deadline(..) | Due::Unanswered(_))) if self.waits(&due).await => waiting.push(due),
                Some(Due::Land(waypoint)) => {
                    landing = true;
                    self.begin_landing(myself, waypoint, Kind::Land).await?;
                }
                Some(Due::Merge(waypoint)) => {
                    landing = true;
                    self.begin_landing(myself, waypoint, Kind::Merge).await?;
                }
                Some(Due::Stack(waypoint)) => {
                    stacking = true;
                    self.begin_landing(myself, waypoint, Kind::Stack).await?;
                }
                Some(Due::Open(waypoint)) => {
                    self.apply(&waypoint, Input::Open, None).await?;
                }
                Some(Due::Join(waypoint)) => self.join(&waypoint).await?,
                Some(Due::Deadline(waypoint, turn)) => self.deadline(&waypoint, &turn).await?,
                Some(Due::Unanswered(waypoint)) => {
                    self.apply(&waypoint, Input::AnswerOverdue, None).await?;
                }
                Some(Due::Migrate(waypoint)) => self.migrate(&waypoint).await?,
                Some(Due::Cancel(waypoint)) => self.cancel(&waypoint).await?,
                Some(Due::Budget(waypoint)) => {
                    self.apply(&waypoint, Input::BudgetExhausted, None).await?;
                }
            }
        }
    }

    /// The votes of a fork decide: with what the rejecting ones said, which is in their entries.
    async fn join(&mut self, waypoint: &WaypointId) -> Result<(), ApplyError> {
        let shell = self.shell.clone();
        let entries = self.books().await?.entries(&shell, waypoint).await?;
        let voted = entries.iter().filter_map(engine::voted).collect();
        self.apply(waypoint, Input::Joined(voted), None).await?;
        Ok(())
    }

    /// A person ended the whole flight: this waypoint with it.
    async fn cancel(&mut self, waypoint: &WaypointId) -> Result<(), ApplyError> {
        let cancelled = self.books().await?.flight.steering.cancelled.clone();
        // What is due follows from it.
        let (by, cause) = cancelled.ok_or(ApplyError::Races)?;
        self.apply(waypoint, Input::Cancelled(PersonAct { by, cause, overtaken: false, body: None }), None).await?;
        Ok(())
    }

    async fn deadline(
        &mut self,
        waypoint: &WaypointId,
        turn: &holdpoint_protocol::ids::TurnId,
    ) -> Result<(), ApplyError> {
        let shell = self.shell.clone();
        let last = self.books().await?.open_turn(&shell, waypoint, turn).await?;
        // The entries that the state names are in the journal; if not, others moved on and the journal is read again.
        let last = last.ok_or(ApplyError::Races)?;
        self.apply(waypoint, Input::DeadlinePassed(Box::new(last)), None).await?;
        Ok(())
    }
}
