//! Doing what is due: after every input, and when a deadline passes.

use std::time::{Duration, Instant};

use holdpoint_engine::{
    flight::Due,
    waypoint::{self, Input, PersonAct},
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
                self.troubles.went_well(&Place::Due(None));
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
                self.troubles.failed(Place::Due(None), &ErrorChain(&error).to_string(), clock::now());
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
        // Others may have had the flight paused, its deadlines met, or done what failed here, since this one read its journals.
        let mut fresh = false;
        let mut waiting = Vec::new();
        // One that does not begin is due still.
        let (mut landing, mut stacking) = (self.track.makes(Kind::Land), self.track.makes(Kind::Stack));
        loop {
            let (due, now) = (self.due_now().await?, Instant::now());
            self.waits.keep(&due);
            self.setbacks.keep(&due, now);
            let serves = self.serves();
            let next = due.into_iter().filter(|due| !self.setbacks.puts_off(due, now)).find(|due| match due {
                Due::Land(_) | Due::Merge(_) => !landing,
                Due::Stack(_) => !stacking,
                Due::Deadline(..) | Due::Unanswered(_) => serves && !waiting.contains(due),
                Due::Open(_)
                | Due::Join(_)
                | Due::Judge(_)
                | Due::Migrate(_)
                | Due::Budget(_)
                | Due::Delegate(_)
                | Due::Gather(_)
                | Due::Recall(_)
                | Due::Cancel(_) => true,
            });
            let Some(next) = next else { return Ok(()) };
            let passed = matches!(next, Due::Deadline(..) | Due::Unanswered(_));
            if (passed || self.setbacks.has(&next)) && !fresh {
                self.fresh_books().await?;
                fresh = true;
                continue;
            }
            if passed && self.waits(&next).await {
                waiting.push(next);
                continue;
            }
            landing |= matches!(next, Due::Land(_) | Due::Merge(_));
            stacking |= matches!(next, Due::Stack(_));
            match self.do_one(myself, &next).await {
                Ok(()) => self.setbacks.went_well(&next),
                // Nothing can be done in a flight that cannot be read.
                Err(error @ ApplyError::Books(_)) => return Err(error),
                Err(error) => self.due_failed(next, &error),
            }
        }
    }

    /// It is tried again after a pause, and what else is due is done meanwhile.
    fn due_failed(&mut self, due: Due, error: &ApplyError) {
        let (waypoint, error) = (due.waypoint().clone(), ErrorChain(error).to_string());
        tracing::warn!({ fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %waypoint, error, "cannot do what is due now; trying again");
        self.troubles.failed(Place::Due(Some(waypoint)), &error, clock::now());
        self.setbacks.failed(due, Instant::now());
    }

    async fn do_one(&mut self, myself: &ActorRef<Msg>, due: &Due) -> Result<(), ApplyError> {
        match due {
            Due::Land(waypoint) => self.begin_landing(myself, waypoint.clone(), Kind::Land).await,
            Due::Merge(waypoint) => self.begin_landing(myself, waypoint.clone(), Kind::Merge).await,
            Due::Stack(waypoint) => self.begin_landing(myself, waypoint.clone(), Kind::Stack).await,
            Due::Open(waypoint) => self.apply(waypoint, Input::Open, None).await.map(drop),
            Due::Join(waypoint) => self.join(waypoint).await,
            Due::Judge(waypoint) => self.judge(waypoint).await,
            Due::Deadline(waypoint, turn) => self.deadline(waypoint, turn).await,
            Due::Unanswered(waypoint) => self.apply(waypoint, Input::AnswerOverdue, None).await.map(drop),
            Due::Migrate(waypoint) => self.migrate(waypoint).await,
            Due::Delegate(waypoint) => Box::pin(self.add_children(waypoint)).await,
            Due::Gather(waypoint) => self.apply(waypoint, Input::Gathered, None).await.map(drop),
            Due::Recall(waypoint) => self.apply(waypoint, Input::Recalled, None).await.map(drop),
            Due::Cancel(waypoint) => self.cancel(waypoint).await,
            Due::Budget(waypoint) => self.apply(waypoint, Input::BudgetExhausted, None).await.map(drop),
        }
    }

    /// The votes of a fork decide: with what the rejecting ones said, which is in their entries.
    async fn join(&mut self, waypoint: &WaypointId) -> Result<(), ApplyError> {
        let shell = self.shell.clone();
        let mut voted = Vec::new();
        self.books().await?.each_entry(&shell, waypoint, |_, entry| voted.extend(waypoint::voted(&entry))).await?;
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
