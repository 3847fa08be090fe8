//! Taking handoffs: who sent it, what it says, is it still wanted; then the engine decides.

use std::time::Duration;

use holdpoint_bus::{handoffs::Received, journal::ReadError};
use holdpoint_engine::{
    completion::{self, CompletionRules},
    handed,
    waypoint::{Handoff, HandoffFacts, Input, InputParts, Refusal},
};
use holdpoint_protocol::{
    Digest,
    artifact::{Act, Artifact as _, Completion, Handed, HandedError, StatusUpdate, VerificationPurpose},
    codec::{self, Encoding},
    ids::{TurnId, WaypointId, role},
    journal::Cause,
    names::answers_turn,
    refusal::RefusalCode,
    state::{OpenTurn, Purpose},
    subjects::{HandedSubject, HandoffSubject},
    turn::Turn,
};
use holdpoint_runtime::{
    clock,
    telemetry::{self, ErrorChain, fields},
};
use ractor::ActorRef;

use super::{
    Applied, Msg, Place, RETRY_DELAY, State,
    trace::{Processing, Settled},
};
use crate::{books::BooksError, intake::Taken, refusals, senders};

/// The pause before a handoff of a paused flight is delivered again.
const PAUSED_DELAY: Duration = Duration::from_secs(5);

impl State {
    /// Agents hand off on waypoints; people act on waypoints and on the whole flight.
    pub(super) async fn on_handed(&mut self, myself: &ActorRef<Msg>, received: Box<Taken>, subject: HandedSubject) {
        if subject.role.as_str() == role::OPERATOR {
            return self.on_act(myself, received, subject).await;
        }
        // Only people's subjects name a whole flight.
        if let Some(subject) = subject.on_waypoint() {
            Box::pin(self.on_handoff(myself, received, subject)).await;
        }
    }

    async fn on_handoff(&mut self, myself: &ActorRef<Msg>, mut received: Box<Taken>, subject: HandoffSubject) {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::TakeHandoff);
        match self.belongs(&subject).await {
            Ok(true) => {}
            Ok(false) => {
                let what = format!("there is no flight {} with a waypoint {}", subject.flight, subject.waypoint);
                self.refuse(&received, &subject, RefusalCode::NoSuchWaypoint, &what).await;
                return;
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                let _ = received.nak(RETRY_DELAY).await;
                return;
            }
        }
        // The intake has read it, and knows its sender.
        let Some(head) = received.head.clone() else { return };
        let body = match read(&received, &subject) {
            Ok(body) => body,
            Err((code, what)) => {
                match self.lesson(&received, &subject, head.turn.as_ref()).await {
                    Some(refusal) => self.refuse_by(&received, &subject, &refusal).await,
                    None => self.refuse(&received, &subject, code, &what).await,
                }
                return;
            }
        };
        let Some(turn) = head.turn.clone() else {
            self.refuse(&received, &subject, RefusalCode::WrongShape, "it names no turn").await;
            return;
        };
        received.processing = Processing::begin(&subject, &turn, self.books.as_deref());
        if answers_turn(&subject.kind) {
            if self.stays_paused().await {
                // A turn's result is kept in the stream until the flight goes on.
                let _ = received.nak(PAUSED_DELAY).await;
                return;
            }
            match self.is_unplanned(&subject, &turn).await {
                Ok(false) => {}
                Ok(true) => {
                    let what = format!("no plan for turn {turn} came before this {}", subject.kind);
                    self.refuse(&received, &subject, RefusalCode::PlanMissing, &what).await;
                    return;
                }
                Err(error) => {
                    self.handoff_failed(&subject.waypoint, &error);
                    give_back(&received, &subject).await;
                    return;
                }
            }
        }
        let cause = Cause {
            stream: received.stream.clone(),
            sequence: received.stored.sequence,
            digest: Digest::of(&received.stored.payload),
            artifact: head.artifact_id.clone(),
        };
        let handoff = Handoff::on(turn.clone(), (subject.role.clone(), head.agent.clone()), cause, &body);
        match body {
            Handed::Plan => {
                // Plans for turns that never were push no open turn out of what is remembered.
                let state = self.books.as_ref().map(|books| books.state(&subject.waypoint));
                let open = state.as_ref().and_then(|state| state.open_turn(&turn));
                let judges =
                    |purpose| matches!(purpose, Purpose::Verify(purpose) if purpose != VerificationPurpose::Baseline);
                let is_judged = open.is_some_and(|open| judges(open.purpose));
                if open.is_some() {
                    self.shell.hints.taken(&turn);
                    self.planned.remember(&subject.waypoint, &turn);
                }
                let at = (&subject, received.stored.sequence);
                if let Err(error) = Box::pin(self.take_call_before(myself, at, &turn, &head)).await {
                    self.handoff_failed(&subject.waypoint, &error);
                    return give_back(&received, &subject).await;
                }
                self.took(&subject.waypoint, &turn, (head.delivery, head.agent.clone()));
                self.notify(&received.stored, &subject, &head, &turn).await;
                self.on_plan(myself, received, subject, &head, handoff).await;
                // A verifier that takes integrated work makes room for the next one.
                if is_judged {
                    self.pump(myself).await;
                }
            }
            Handed::GivenBack => acknowledge(&received, &subject, Settled::Taken).await,
            // For people, who read it in the history.
            Handed::Exchange(_) => acknowledge(&received, &subject, Settled::Taken).await,
            Handed::Status(update) => self.on_status(&received, &subject, &update).await,
            // The turn's result follows; without one, the next agent to take the turn brings it up.
            Handed::Help(ref help) if help.running => acknowledge(&received, &subject, Settled::Taken).await,
            Handed::Clarify(_) | Handed::Help(_) => {
                Box::pin(self.on_question(myself, received, subject, (handoff, body))).await;
            }
            Handed::Act(Act::Complete(completion)) => {
                if let Some(refusal) = self.lesson(&received, &subject, Some(&turn)).await {
                    return self.refuse_by(&received, &subject, &refusal).await;
                }
                Box::pin(self.fulfilled(myself, &received, &subject, (handoff, completion))).await;
            }
            Handed::Act(_) => {
                let what = format!("a {} is a person's to send", subject.kind);
                self.refuse(&received, &subject, RefusalCode::WrongKind, &what).await;
            }
            Handed::Reported(mut report) => {
                // Whatever it says of itself: what counts is whose key signed it.
                report.receipt.foreign = received.harness.is_foreign();
                let (waypoint, handoff) = (subject.waypoint.clone(), handoff.with(report));
                if let Err(error) = Box::pin(self.begin_weigh(myself, received, subject, handoff)).await {
                    // Dropped unacknowledged: it comes again.
                    self.handoff_failed(&waypoint, &error);
                }
            }
            Handed::Built(artifact) => {
                let waypoint = subject.waypoint.clone();
                let begun = Box::pin(self.begin_examine(myself, received, subject, handoff, artifact)).await;
                if let Err(error) = begun {
                    // Dropped unacknowledged: it comes again.
                    self.handoff_failed(&waypoint, &error);
                }
            }
        }
    }

    /// A completion, or a turn of that kind that failed.
    async fn fulfilled(
        &mut self,
        myself: &ActorRef<Msg>,
        received: &Taken,
        subject: &HandoffSubject,
        (handoff, completion): (Handoff<()>, Box<Completion>),
    ) {
        let turn = match self.needed(subject, &handoff.turn, &completion).await {
            Ok(turn) => turn.map(Box::new),
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                return give_back(received, subject).await;
            }
        };
        let body = Handed::Act(Act::Complete(completion));
        let parts = InputParts { turn, ..InputParts::default() };
        if let Some(input) = Input::handed(handoff, body, HandoffFacts::Nothing, parts) {
            self.settle(myself, received, subject, input).await;
        }
    }

    /// The open turn as it stands, where more than the completion counts: an advisor has it, or it failed.
    async fn needed(
        &mut self,
        subject: &HandoffSubject,
        turn: &TurnId,
        completion: &Completion,
    ) -> Result<Option<Turn>, BooksError> {
        let advises = |open: &OpenTurn| open.purpose == Purpose::Advise;
        let state = self.books().await?.state(&subject.waypoint);
        if completion.failure.is_none() && !state.open_turn(turn).is_some_and(advises) {
            return Ok(None);
        }
        self.opened(subject, turn).await
    }

    /// The open turn as it stands; `None` where it is over.
    pub(super) async fn opened(&mut self, subject: &HandoffSubject, turn: &TurnId) -> Result<Option<Turn>, BooksError> {
        let shell = self.shell.clone();
        self.books().await?.open_turn(&shell, &subject.waypoint, turn).await
    }

    /// How far a turn is. Only metrics and traces have it: a state that followed from an agent's word would not be the
    /// journal's (GATE-20a). One that comes when its turn is over is nobody's fault, and counts for nothing.
    async fn on_status(&mut self, received: &Taken, subject: &HandoffSubject, update: &StatusUpdate) {
        let books = match self.books().await {
            Ok(books) => books,
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                return give_back(received, subject).await;
            }
        };
        let state = books.state(&subject.waypoint);
        let open = state.open_turn(&update.turn).filter(|open| open.role == subject.role);
        let Some(open) = open else { return acknowledge(received, subject, Settled::Repeated).await };
        self.shell.metrics.status_update(self.books.as_deref(), open, subject);
        if let Some(processing) = &received.processing {
            processing.says(update);
        }
        acknowledge(received, subject, Settled::Taken).await;
    }

    /// What is wrong with a completion as it was sent, which knows more than what can be decoded of it: a word that is no
    /// outcome, a list that is not there. `None`: nothing, or it is another kind, or on no open turn of its role.
    async fn lesson(
        &mut self,
        received: &Received,
        subject: &HandoffSubject,
        turn: Option<&TurnId>,
    ) -> Option<Refusal> {
        if subject.kind != Completion::KIND {
            return None;
        }
        let encoding = Encoding::from_content_type(received.stored.content_type.as_deref()).ok()?;
        let said: serde_json::Map<String, serde_json::Value> =
            codec::decode(&received.stored.payload, encoding).ok()?;
        if said.get("failure").is_some_and(|failure| !failure.is_null()) {
            return None;
        }
        let books = self.books().await.ok()?;
        let state = books.state(&subject.waypoint);
        let open = state.open_turn(turn?)?;
        if open.is_peoples() || open.role != subject.role {
            return None;
        }
        let planned = books.flight.planned(&subject.waypoint)?;
        let workflow = books.flight.workflow_of(planned, &state)?;
        let gate = workflow.gate(&open.gate).filter(|_| open.purpose == Purpose::Complete)?;
        let (can_reject, default) = (gate.can_reject, workflow.default_outcome);
        let wanted =
            CompletionRules { waypoint: &subject.waypoint, gate: &gate.id, can_reject, default, demands: None };
        let lesson = completion::read(&said, wanted).err()?;
        Some(Refusal::Completion { turn: open.turn.clone(), lesson: Box::new(lesson) })
    }

    /// Whether the flight has such a waypoint; subjects are the sender's word.
    async fn belongs(&mut self, subject: &HandoffSubject) -> Result<bool, BooksError> {
        match self.books().await {
            Ok(books) => Ok(books.flight.planned(&subject.waypoint).is_some()),
            Err(gone) if gone.is_gone() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether an open turn of the sender's role was answered before anybody had planned for it. Of another one, that it
    /// is over or not the sender's is what the sender has to know.
    async fn is_unplanned(&mut self, subject: &HandoffSubject, turn: &TurnId) -> Result<bool, PlanError> {
        if self.planned.contains(&subject.waypoint, turn) || !self.is_current(&subject.waypoint, turn).await? {
            return Ok(false);
        }
        let state = self.books().await?.state(&subject.waypoint);
        if state.open_turn(turn).is_none_or(|open| open.role != subject.role) {
            return Ok(false);
        }
        // Another orchestrator may have taken the plan.
        let planned = senders::has_planned(&self.shell.bus, subject, turn).await?;
        if planned {
            self.planned.remember(&subject.waypoint, turn);
        }
        Ok(!planned)
    }

    /// Gives the input to the engine; acknowledges once what follows is appended. Whether this is what appended it.
    pub(super) async fn settle(
        &mut self,
        myself: &ActorRef<Msg>,
        received: &Taken,
        subject: &HandoffSubject,
        input: Input,
    ) -> bool {
        if self.stays_paused().await {
            // It was paused while the handoff was looked at.
            let _ = received.nak(PAUSED_DELAY).await;
            return false;
        }
        let parent = received.processing.as_ref().map(Processing::context);
        let applied = self.apply(&subject.waypoint, input, parent).await;
        if applied.is_ok() {
            self.troubles.went_well(&Place::Handoff(subject.waypoint.clone()));
        }
        match applied {
            Ok(applied @ (Applied::Appended | Applied::Nothing)) => {
                self.pump(myself).await;
                let settled = if matches!(applied, Applied::Appended) { Settled::Taken } else { Settled::Repeated };
                acknowledge(received, subject, settled).await;
                settled == Settled::Taken
            }
            Ok(Applied::Refused(refusal)) => {
                self.refuse_by(received, subject, &refusal).await;
                false
            }
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(received, subject).await;
                false
            }
        }
    }

    /// Says that a handoff cannot be taken now; the reason is not its own, and it comes again.
    pub(super) fn handoff_failed(&mut self, waypoint: &WaypointId, error: &dyn std::error::Error) {
        let error = ErrorChain(error).to_string();
        if self.shell.may_log("handoffs that wait") {
            tracing::warn!({ fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %waypoint, error, "cannot take a handoff now");
        }
        self.troubles.failed(
            Place::Handoff(waypoint.clone()),
            &format!("cannot take a handoff: {error}"),
            clock::now(),
        );
    }

    /// Reports to the sender what is wrong with it. It will not get better: it is stored, and the turn stays open.
    pub(super) async fn refuse(&self, received: &Taken, subject: &HandoffSubject, code: RefusalCode, error: &str) {
        self.shell.metrics.refused(self.books.as_deref(), subject, code);
        refusals::tell(&self.shell, received, code, error).await;
        acknowledge(received, subject, Settled::Refused).await;
    }

    /// Reports to the sender why the engine refuses it.
    async fn refuse_by(&self, received: &Taken, subject: &HandoffSubject, refusal: &Refusal) {
        self.shell.metrics.refused(self.books.as_deref(), subject, refusal.code());
        refusals::teach(&self.shell, received, refusal.code(), &refusal.to_string(), refusal.details()).await;
        acknowledge(received, subject, Settled::Refused).await;
    }
}

/// Acknowledges a handoff, and records it in its trace.
pub(super) async fn acknowledge(received: &Taken, subject: &HandoffSubject, settled: Settled) {
    let answering = telemetry::now();
    // A handoff that is not acknowledged comes again, and is recognised.
    let _ = received.ack().await;
    if let Some(processing) = &received.processing {
        processing.settled(received, subject, settled, answering);
    }
}

/// Lets a handoff come again, and records it in its trace.
pub(super) async fn give_back(received: &Taken, subject: &HandoffSubject) {
    let answering = telemetry::now();
    // Unacknowledged either way: it comes again.
    let _ = received.nak(RETRY_DELAY).await;
    if let Some(processing) = &received.processing {
        processing.settled(received, subject, Settled::Again, answering);
    }
}

/// Why it is not known whether an agent planned. The handoff comes again.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    /// The flight cannot be read.
    #[error(transparent)]
    Books(#[from] BooksError),
    /// The plans cannot be read.
    #[error("cannot look for the turn's plan")]
    Read(#[from] ReadError),
}

/// Decodes a handoff, or says what is wrong with it.
fn read(received: &Received, subject: &HandoffSubject) -> Result<Handed, (RefusalCode, String)> {
    let stored = &received.stored;
    let body = Handed::decode(&subject.kind, &stored.payload, stored.content_type.as_deref());
    let body = body.map_err(|error| match error {
        HandedError::Codec(error) => (error.refusal(), ErrorChain(&error).to_string()),
        HandedError::Kind { .. } => (RefusalCode::UnknownKind, error.to_string()),
    })?;
    match handed::oversized(&body) {
        None => Ok(body),
        Some(size) => Err((RefusalCode::TooLarge, size.to_string())),
    }
}
