//! Recording in a waypoint's trace what was journalled (ADR 10).
//!
//! Nothing is recorded before it is stored, and every id follows from the journal: any orchestrator that goes on
//! records the same spans, and none is below a span that never was. A span of another process is only ever linked to:
//! it is lost when that process is killed.

use std::time::SystemTime;

use holdpoint_bus::handoffs::Received;
use holdpoint_engine::{
    flight,
    waypoint::{self, BuildOutcome, Input},
};
use holdpoint_protocol::{
    artifact::{Disposition, StatusUpdate, VerificationPurpose},
    ids::{AgentName, ArtifactId, FlightId, TurnId, WaypointId},
    journal::Entry,
    state::{OpenTurn, Purpose, Status, WaypointState},
    streams,
    subjects::HandoffSubject,
    turn::Turn,
};
use holdpoint_runtime::telemetry::{self, PastSpan, SpanRole, TraceContext, WaypointTrace, fields, time_of};
use holdpoint_text::shown;

use super::landing;
use crate::books::Books;

/// A handoff that is being worked on. It is there only while spans are exported.
#[derive(Debug)]
pub(crate) struct Processing {
    begun: SystemTime,
    context: TraceContext,
    turn: TurnId,
    /// Whether the turn is known to have been opened.
    known: bool,
}

/// What became of a delivered handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    Taken,
    Repeated,
    Refused,
    /// It cannot be taken now, and comes again.
    Again,
}

impl Settled {
    fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Repeated => "repeated",
            Self::Refused => "refused",
            Self::Again => "again",
        }
    }
}

impl Processing {
    /// Work on a handoff of this turn begins.
    pub(super) fn begin(subject: &HandoffSubject, turn: &TurnId, books: Option<&Books>) -> Option<Self> {
        if !telemetry::is_recording() {
            return None;
        }
        let state = books.map(|books| books.state(&subject.waypoint)).unwrap_or_default();
        let known = state.open_turn(turn).is_some() || state.answered.iter().any(|answered| &answered.turn == turn);
        let context = WaypointTrace::of(&subject.flight, &subject.waypoint).another();
        Some(Self { begun: telemetry::now(), context, turn: turn.clone(), known })
    }

    /// What happens because of the handoff is below this.
    pub(super) fn context(&self) -> TraceContext {
        self.context.clone()
    }

    /// Records something that was done for it.
    pub(super) fn did(&self, name: &'static str, begun: SystemTime, failed: Option<&'static str>) {
        let span = PastSpan::new(name, WaypointTrace::around(&self.context).another(), begun).below(&self.context);
        let span = if let Some(why) = failed { span.failed(why) } else { span };
        span.ended(telemetry::now());
    }

    /// Records how far an agent says that its turn is.
    pub(super) fn says(&self, update: &StatusUpdate) {
        let trace = WaypointTrace::around(&self.context);
        let said = shown::line(&update.summary).into_owned();
        let span = PastSpan::new("status", trace.another(), self.begun)
            .below(&self.context)
            .with(fields::STATUS_SUMMARY, said)
            .with(fields::AGENT, update.agent.to_string());
        span.with_some(fields::STATUS_PERCENT, update.percent.map(i64::from)).ended(telemetry::now());
    }

    /// Records that it is over. `answering` is when the broker got the answer.
    pub(super) fn settled(
        &self,
        received: &Received,
        subject: &HandoffSubject,
        settled: Settled,
        answering: SystemTime,
    ) {
        let trace = WaypointTrace::around(&self.context);
        let now = telemetry::now();
        let operation = if settled == Settled::Again { "nak" } else { "ack" };
        PastSpan::new(format!("settle {}", subject.kind), trace.another(), answering)
            .below(&self.context)
            .kind(SpanRole::Client)
            .with(fields::MESSAGING_SYSTEM, "nats")
            .with(fields::MESSAGING_DESTINATION, received.stream.clone())
            .with(fields::MESSAGING_OPERATION, operation)
            .with(fields::MESSAGING_OPERATION_TYPE, "settle")
            .ended(now);
        let of_a_turn = self.known || matches!(settled, Settled::Taken | Settled::Repeated);
        let parent = if of_a_turn { trace.turn(&self.turn) } else { trace.root() };
        let span = PastSpan::new(format!("process {}", subject.kind), self.context.clone(), self.begun)
            .below(&parent)
            .kind(SpanRole::Consumer)
            .with(fields::MESSAGING_SYSTEM, "nats")
            .with(fields::MESSAGING_DESTINATION, received.stream.clone())
            .with(fields::MESSAGING_OPERATION, "process")
            .with(fields::MESSAGING_OPERATION_TYPE, "process")
            .with(fields::MESSAGING_BODY_SIZE, telemetry::number(received.stored.payload.len()))
            .with(fields::KIND, subject.kind.clone())
            .with(fields::TURN, self.turn.to_string())
            .with(fields::SETTLED, settled.as_str());
        let span = of_waypoint(span, &subject.flight, &subject.waypoint);
        // The header is the sender's word: it may name any trace.
        let sent = received.stored.traceparent.as_deref().and_then(TraceContext::read).filter(|sent| trace.has(sent));
        let span = if let Some(sent) = sent { span.linked(&sent, "sent") } else { span };
        match settled {
            Settled::Taken | Settled::Repeated => span,
            Settled::Refused => span.failed("refused"),
            Settled::Again => span.failed("cannot be taken now"),
        }
        .ended(now);
    }
}

/// An entry that was appended because of an input.
pub(super) struct Decision<'a> {
    pub(super) flight: &'a FlightId,
    pub(super) waypoint: &'a WaypointId,
    pub(super) trace: &'a WaypointTrace,
    /// What the decision is below; `None`: the waypoint.
    pub(super) parent: Option<&'a TraceContext>,
    /// The waypoint's state before it.
    pub(super) before: &'a WaypointState,
    pub(super) begun: SystemTime,
    /// When it was sent to the journal.
    pub(super) sending: SystemTime,
}

/// Says in the log what was decided, and on what if that is nobody's message.
pub(super) fn note(input: &Input, entry: &Entry) {
    if let Input::DeadlinePassed(turn) = input {
        tracing::warn!({ fields::TURN } = %turn.turn_id, { fields::ROLE } = %turn.role, gate = %turn.gate, "a turn was not answered in time");
    }
    if let Entry::Turn(turn) = entry {
        tracing::info!({ fields::TURN } = %turn.turn_id, { fields::ROLE } = %turn.role, { fields::ATTEMPT } = turn.attempt, "turn opens");
    }
    if let Entry::Answered(answered) = entry {
        tracing::info!({ fields::TURN } = %answered.turn, by = answered.answer.by, "answered in its turn");
    }
    if let Entry::Revised(revised) = entry {
        tracing::info!(gate = %revised.document.gate, document = revised.document.from, "a person edited a document");
    }
    if matches!(entry, Entry::Queued(_)) {
        tracing::info!("waits in the queue to the branch");
    }
    if let Some(decision) = entry.decision() {
        tracing::info!({ fields::DISPOSITION } = %decision.disposition, { fields::REASON } = %decision.reason_code, "decided");
    }
}

/// What an entry names as its cause to its readers.
pub(super) fn context_of(trace: &WaypointTrace, entry: &Entry) -> TraceContext {
    match entry {
        Entry::Turn(turn) => trace.turn(&turn.turn_id),
        Entry::Decided(decided) => trace.decision(&decided.decision.artifact_id),
        Entry::Dead(dead) => trace.decision(&dead.decision.artifact_id),
        Entry::Submitted(_)
        | Entry::Landed(_)
        | Entry::Steered(_)
        | Entry::Answered(_)
        | Entry::Revised(_)
        | Entry::Queued(_)
        | Entry::Reserved(_)
        | Entry::Added(_)
        | Entry::Retired(_) => trace.root(),
    }
}

impl Decision<'_> {
    /// Records the decision, the turn that ended with it, and the one that it opened.
    pub(super) fn tell(&self, input: &Input, entry: &Entry) {
        let now = telemetry::now();
        let decision = entry.decision();
        let context = decision.map_or_else(|| self.trace.another(), |d| self.trace.decision(&d.artifact_id));
        let opened = if let Entry::Turn(turn) = entry { Some(turn.as_ref()) } else { None };
        if let Some(turn) = opened {
            self.tell_sending(turn, &context, now);
        }
        let parent = self.parent.cloned().unwrap_or_else(|| self.trace.root());
        let span = PastSpan::new("decide", context, self.begun).below(&parent);
        of_waypoint(span, self.flight, self.waypoint)
            .with_some(fields::DECISION, decision.map(|d| d.artifact_id.to_string()))
            .with_some(fields::DISPOSITION, decision.map(|d| d.disposition.to_string()))
            .with_some(fields::REASON, decision.map(|d| d.reason_code.as_str()))
            .with_some(fields::TURN, opened.map(|turn| turn.turn_id.to_string()))
            .ended(now);
        let stays =
            |turn: &TurnId| entry.record().state.as_ref().is_some_and(|after| waypoint::is_current(after, turn));
        for open in self.before.open_turns().filter(|open| !stays(&open.turn)) {
            self.tell_turn(open, input, now);
        }
    }

    fn tell_sending(&self, turn: &Turn, decided: &TraceContext, now: SystemTime) {
        let span = PastSpan::new("send turn", self.trace.sending(&turn.turn_id), self.sending)
            .below(&self.trace.turn(&turn.turn_id))
            .kind(SpanRole::Producer)
            .with(fields::MESSAGING_SYSTEM, "nats")
            .with(fields::MESSAGING_DESTINATION, streams::JOURNAL)
            .with(fields::MESSAGING_OPERATION, "send")
            .with(fields::MESSAGING_OPERATION_TYPE, "send")
            .with(fields::TURN, turn.turn_id.to_string())
            .with(fields::ROLE, turn.role.to_string())
            .with(fields::ATTEMPT, i64::from(turn.attempt))
            .linked(decided, "opened_by");
        let span = of_waypoint(span, self.flight, self.waypoint);
        // The turn that led to this one: the only one that was open, or the branch's own that opens again.
        let mut earlier = self.before.open_turns().filter(|open| self.before.fork.is_none() || open.gate == turn.gate);
        match earlier.next() {
            Some(open) => span.linked(&self.trace.turn(&open.turn), "earlier_turn"),
            None => span,
        }
        .ended(now);
    }

    fn tell_turn(&self, open: &OpenTurn, input: &Input, now: SystemTime) {
        let span =
            PastSpan::new(format!("turn {}", purpose(open)), self.trace.turn(&open.turn), time_of(open.opened_at))
                .below(&self.trace.root())
                .with(fields::TURN, open.turn.to_string())
                .with(fields::GATE, open.gate.to_string())
                .with(fields::PURPOSE, purpose(open))
                .with(fields::ROLE, open.role.to_string())
                .with(fields::ATTEMPT, i64::from(self.before.counters.attempt()))
                .with_some(fields::AGENT, answered_by(input).map(ToString::to_string));
        let mut span = of_waypoint(span, self.flight, self.waypoint);
        if let Some(failing) = reopened_by(open, self.before) {
            span = span.linked(&self.trace.decision(failing), "opened_by");
        }
        match failure(input) {
            Some(why) => span.failed(why),
            None => span,
        }
        .ended(now);
    }
}

/// Records a waypoint as a whole once it is over: accepted and landed, or ended without.
pub(super) fn tell_if_over(books: &Books, waypoint: &WaypointId) {
    if !telemetry::is_recording() {
        return;
    }
    let status = match flight::status(&books.flight, &books.waypoints, waypoint) {
        Status::Complete => "complete",
        Status::Blocked => "blocked",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
        Status::Pending | Status::Running | Status::Waiting => return,
    };
    let (submitted, state) = (&books.flight.submitted, books.state(waypoint));
    let trace = WaypointTrace::of(&submitted.flight, waypoint);
    let commit = books.flight.landing(waypoint).map(|landed| landed.commit.to_string());
    let reason = state.decision.as_ref().map(|decision| decision.reason_code.as_str());
    let span = PastSpan::new("waypoint", trace.root(), time_of(submitted.record.at))
        .with(fields::STATUS, status)
        .with(fields::ATTEMPTS, i64::from(state.counters.attempts))
        .with_some(fields::DISPOSITION, state.decision.as_ref().map(|decision| decision.disposition.to_string()))
        .with_some(fields::REASON, reason)
        .with_some(fields::COMMIT, commit);
    let mut span = of_waypoint(span, &submitted.flight, waypoint);
    if let Some(begun) = state.begun_at() {
        span = span.event("opened", time_of(begun));
    }
    if status != "complete" {
        span = span.failed(reason.unwrap_or("ended"));
    }
    span.ended(telemetry::now());
}

/// The making of a landing or a merge.
#[derive(Debug)]
pub(super) struct Making {
    pub(super) kind: landing::Kind,
    flight: FlightId,
    waypoint: WaypointId,
    begun: SystemTime,
    pub(super) context: TraceContext,
}

impl Making {
    pub(super) fn begin(kind: landing::Kind, flight: &FlightId, waypoint: &WaypointId) -> Self {
        let context = WaypointTrace::of(flight, waypoint).another();
        Self { kind, flight: flight.clone(), waypoint: waypoint.clone(), begun: telemetry::now(), context }
    }

    /// Records it. `decision` is why it was made.
    pub(super) fn over(&self, decision: Option<&ArtifactId>, failed: Option<&'static str>) {
        let name = match self.kind {
            landing::Kind::Land => "land",
            landing::Kind::Merge => "merge",
            landing::Kind::Stack => "stack",
        };
        let trace = WaypointTrace::around(&self.context);
        let span = PastSpan::new(name, self.context.clone(), self.begun).below(&trace.root());
        let mut span = of_waypoint(span, &self.flight, &self.waypoint);
        if let Some(decision) = decision {
            span = span.linked(&trace.decision(decision), "opened_by");
        }
        if let Some(why) = failed { span.failed(why) } else { span }.ended(telemetry::now());
    }
}

fn of_waypoint(span: PastSpan, flight: &FlightId, waypoint: &WaypointId) -> PastSpan {
    span.with(fields::FLIGHT, flight.to_string()).with(fields::WAYPOINT, waypoint.to_string())
}

/// The decision on a failing report that opened a build turn.
fn reopened_by<'a>(open: &OpenTurn, state: &'a WaypointState) -> Option<&'a ArtifactId> {
    let decision = state.decision.as_ref().filter(|_| open.purpose == Purpose::Build)?;
    matches!(decision.disposition, Disposition::Rework | Disposition::Rollback).then_some(&decision.id)
}

fn purpose(open: &OpenTurn) -> &'static str {
    match open.purpose {
        Purpose::Build => "build",
        Purpose::Verify(VerificationPurpose::Baseline) => "baseline",
        Purpose::Verify(VerificationPurpose::Handoff) => "verify",
        Purpose::Verify(VerificationPurpose::Merge) => "merge",
        Purpose::Complete => "complete",
        Purpose::Advise => "advise",
    }
}

fn answered_by(input: &Input) -> Option<&AgentName> {
    match input {
        Input::Built(handoff) => Some(&handoff.agent),
        Input::Reported(handoff) => Some(&handoff.agent),
        Input::Fulfilled(handoff) => Some(&handoff.agent),
        Input::Advised(handoff) => Some(&handoff.agent),
        Input::Asked(handoff) => Some(&handoff.agent),
        Input::Answered(act) => Some(&act.by),
        Input::Completed(act) => Some(&act.by),
        Input::Retried(act) => Some(&act.by),
        Input::Taken(act) => Some(&act.by),
        Input::Released(act) => Some(&act.by),
        Input::HandedIn(act) => Some(&act.by),
        Input::Revised(act) => Some(&act.by),
        Input::Cancelled(act) => Some(&act.by),
        Input::Reconfigured(act) => Some(&act.by),
        Input::Open
        | Input::Joined(_)
        | Input::DeadlinePassed(_)
        | Input::AnswerOverdue
        | Input::Died(_)
        | Input::Integrated(_)
        | Input::LandingFailed(_)
        | Input::Gathered
        | Input::Recalled
        | Input::TooLarge(_)
        | Input::BudgetExhausted => None,
    }
}

/// Why a turn came to nothing.
fn failure(input: &Input) -> Option<&'static str> {
    match input {
        Input::Built(handoff) => match &handoff.body {
            BuildOutcome::Failed(failure, _) => Some(failure.reason.as_str()),
            BuildOutcome::Work { .. } => None,
        },
        Input::Fulfilled(handoff) => handoff.body.failure.as_ref().map(|failure| failure.reason.as_str()),
        Input::Advised(handoff) => handoff.body.completion.failure.as_ref().map(|failure| failure.reason.as_str()),
        Input::DeadlinePassed(_) => Some("nobody answered in time"),
        Input::BudgetExhausted => Some("the budget is used up"),
        Input::TooLarge(_) => Some("what follows is too large for a message"),
        Input::Died(_) => Some("it ended its agents again and again"),
        Input::Cancelled(_) => Some("cancelled"),
        Input::Recalled => Some("its parent ended, or was planned again"),
        // Open turns of a fork that its votes decide count no more.
        Input::Joined(_) => Some("superseded"),
        Input::Taken(_) => Some("a person took it over"),
        Input::Released(_) => Some("its person gave it back"),
        Input::Reconfigured(_) => Some("its gate is gone, or another role's"),
        Input::Open
        | Input::Gathered
        | Input::Reported(_)
        | Input::Asked(_)
        | Input::Answered(_)
        | Input::Completed(_)
        | Input::Retried(_)
        | Input::HandedIn(_)
        | Input::Revised(_)
        | Input::AnswerOverdue
        | Input::LandingFailed(_)
        | Input::Integrated(_) => None,
    }
}
