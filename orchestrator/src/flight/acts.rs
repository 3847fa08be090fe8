//! Taking what people do: who signed it, what it is about; then the engine decides. And answering what became of it.
//!
//! An act is a handoff like an agent's: it is journalled as a cause, or refused with a code and words. Only refusals are
//! remembered here, and only for a minute: the act itself is stored, and what was taken is in the journal.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use holdpoint_bus::{api::ApiFailure, handoffs, past};
use holdpoint_engine::{
    flight::{self, Course},
    waypoint::{BuildOutcome, HandoffFacts, Input, InputNeeds, Refusal},
};
use holdpoint_protocol::{
    Digest, Timestamp,
    api::{ActQuery, ActRefused, ActStanding},
    artifact::{Act, ActCode, Verb},
    ids::{WaypointId, role},
    journal::{Cause, Entry, Sequence},
    streams,
    subjects::{self, HandedSubject},
};
use holdpoint_runtime::{
    clock,
    telemetry::{ErrorChain, fields},
};
use ractor::ActorRef;

use super::{Applied, ApplyError, Msg, RETRY_DELAY, State, apply::RACES_MAX, failure, inbox::asked, migrate, taking};
use crate::{books::BooksError, intake::Taken, roles, senders::SenderError};

/// Refused acts that are remembered, the newest ones.
const REMEMBERED_MAX: usize = 256;

/// How long who acts may ask why it was refused, and the flight stays in memory for it.
pub(super) const NEWS_FOR: Duration = Duration::from_secs(60);
/// How old an act is before another orchestrator than the one that refused it answers without the reason.
const UNEXPLAINED_AFTER: Duration = Duration::from_secs(10);

/// What became of the acts that came lately, by their places in the stream.
#[derive(Debug, Default)]
pub(super) struct Standings {
    known: BTreeMap<Sequence, ActStanding>,
    /// When the last refusal was.
    refused: Option<Instant>,
}

impl Standings {
    fn remember(&mut self, at: Sequence, standing: ActStanding) {
        if matches!(standing, ActStanding::Refused(_)) {
            self.refused = Some(Instant::now());
        }
        self.known.insert(at, standing);
        while self.known.len() > REMEMBERED_MAX {
            self.known.pop_first();
        }
    }

    /// Whether somebody may still ask about a refusal: nobody else knows its reason.
    pub(super) fn has_news(&self) -> bool {
        self.refused.is_some_and(|at| at.elapsed() < NEWS_FOR)
    }
}

/// Why an act cannot be taken.
pub(super) enum Untaken {
    /// It never will.
    Refused(Box<ActRefused>),
    /// It comes again.
    NotNow(Box<dyn std::error::Error + Send + Sync>),
}

impl From<Refusal> for Untaken {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Act(refused) => Self::Refused(refused),
            other => Self::Refused(Box::new(ActRefused {
                code: ActCode::NothingOpen,
                message: other.to_string(),
                hint: String::new(),
                details: serde_json::Value::Null,
            })),
        }
    }
}

impl From<ApplyError> for Untaken {
    fn from(error: ApplyError) -> Self {
        Self::NotNow(error.into())
    }
}

impl From<BooksError> for Untaken {
    fn from(error: BooksError) -> Self {
        Self::NotNow(error.into())
    }
}

pub(super) fn refused(code: ActCode, message: impl Into<String>, hint: &str) -> Untaken {
    Refusal::act(code, message, hint).into()
}

impl State {
    /// Whether a person paused the flight, as far as is known here.
    pub(super) fn is_paused(&self) -> bool {
        self.books.as_ref().is_some_and(|books| books.flight.steering.is_paused())
    }

    /// Whether it is paused still. Another orchestrator may have had it resumed.
    pub(super) async fn stays_paused(&mut self) -> bool {
        if !self.is_paused() {
            return false;
        }
        if let Err(error) = self.fresh_books().await {
            tracing::debug!({ fields::FLIGHT } = %self.id, error = %ErrorChain(&error), "cannot see whether it was resumed");
        }
        self.books.is_none() || self.is_paused()
    }

    /// Takes an act, with what its work came to where it brings some.
    pub(super) async fn settle_act(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandedSubject,
        work: Option<BuildOutcome>,
    ) {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::TakeAct);
        let taken = Box::pin(self.take_act(&received, &subject, work)).await;
        self.acted(myself, received, subject, taken).await;
    }

    /// An act was taken or not: remembers what became of it, and acknowledges it.
    pub(super) async fn acted(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandedSubject,
        taken: Result<(), Untaken>,
    ) {
        let at = received.stored.sequence;
        match taken {
            Ok(()) => {
                self.acts.remember(at, ActStanding::Taken);
                // The agents of a flight that waited may have lost their consumers.
                self.equipped = false;
                self.pump(myself).await;
            }
            Err(Untaken::Refused(why)) => {
                if let Some(waypoint) = subject.waypoint.as_ref().filter(|_| why.code == ActCode::AnswerLate) {
                    self.shell.metrics.act_late(self.books.as_deref(), waypoint);
                }
                if self.shell.may_log("acts") {
                    tracing::info!({ fields::FLIGHT } = %self.id, code = why.code.as_str(), error = why.message, "act refused");
                }
                self.acts.remember(at, ActStanding::Refused(*why));
            }
            Err(Untaken::NotNow(error)) => {
                if self.shell.may_log("acts that wait") {
                    tracing::warn!({ fields::FLIGHT } = %self.id, error = %ErrorChain(error.as_ref()), "cannot take an act now");
                }
                // Unacknowledged either way: it comes again.
                let _ = received.nak(RETRY_DELAY).await;
                return;
            }
        }
        // An act that is not acknowledged comes again, and is recognised.
        let _ = received.ack().await;
    }

    async fn take_act(
        &mut self,
        received: &Taken,
        subject: &HandedSubject,
        work: Option<BuildOutcome>,
    ) -> Result<(), Untaken> {
        match self.fresh_books().await {
            Err(gone) if gone.is_gone() => {
                return Err(refused(ActCode::NothingOpen, gone.to_string(), "`holdpoint status` lists them"));
            }
            other => drop(other?),
        }
        let act = self.read_act(received, subject)?;
        let cause = Cause {
            stream: received.stream.clone(),
            sequence: received.stored.sequence,
            digest: Digest::of(&received.stored.payload),
            artifact: act.artifact_id().clone(),
        };
        let first =
            self.copies.of(&self.shell.bus, &self.id, &cause).await.map_err(|error| Untaken::NotNow(error.into()))?;
        if first != cause.sequence {
            return self.as_first_copy(first, subject).await;
        }
        let stored = received.stored.time;
        match &subject.waypoint {
            None => self.steer(&act, cause, stored).await,
            Some(waypoint) => Box::pin(self.take_on_waypoint(waypoint.clone(), (act, work), cause, stored)).await,
        }
    }

    /// What became of the copy that was stored first becomes of each other one.
    async fn as_first_copy(&mut self, sequence: Sequence, subject: &HandedSubject) -> Result<(), Untaken> {
        let query = ActQuery { flight: self.id.clone(), waypoint: subject.waypoint.clone(), sequence };
        match self.standing(&query).await {
            Ok(ActStanding::Taken) => Ok(()),
            Ok(ActStanding::Refused(why)) => Err(Untaken::Refused(Box::new(why))),
            Ok(ActStanding::Pending) => Err(Untaken::NotNow("its first copy was not looked at yet".into())),
            Err(error) => Err(Untaken::NotNow(error.into())),
        }
    }

    /// Decodes an act and checks that it is its person's.
    pub(super) fn read_act(&self, received: &Taken, subject: &HandedSubject) -> Result<Act, Untaken> {
        let stored = &received.stored;
        let act = Act::decode(&subject.kind, &stored.payload, stored.content_type.as_deref());
        let act = act.map_err(|error| {
            refused(ActCode::Invalid, ErrorChain(&error).to_string(), "`holdpoint schema` prints its shape")
        })?;
        let Some(act) = act else {
            return Err(refused(
                ActCode::Invalid,
                format!("{:?} is no kind of act", subject.kind),
                "`holdpoint schema names` lists them",
            ));
        };
        match self.shell.senders.verify_person(stored, act.agent()) {
            Ok(()) => Ok(act),
            Err(SenderError::Refused { what, .. }) => {
                Err(refused(ActCode::NotAllowed, what, "sign with the key of the person whom the act names"))
            }
            Err(error @ SenderError::Unknown(_)) => Err(Untaken::NotNow(error.into())),
        }
    }

    async fn take_on_waypoint(
        &mut self,
        waypoint: WaypointId,
        (act, work): (Act, Option<BuildOutcome>),
        cause: Cause,
        stored: Timestamp,
    ) -> Result<(), Untaken> {
        let books = self.books().await?;
        if books.flight.planned(&waypoint).is_none() {
            let what = format!("there is no waypoint {waypoint} in flight {}", books.id());
            return Err(refused(ActCode::NothingOpen, what, "`holdpoint status` lists them"));
        }
        let shell = self.shell.clone();
        let books = self.books().await?;
        let (mut is_taken, mut moved) = (false, None);
        let look = |at, entry: Entry| {
            is_taken |= is_caused_by(&entry, &cause);
            moved = Some(at);
        };
        books.each_entry(&shell, &waypoint, look).await?;
        if is_taken {
            return Ok(());
        }
        let own = books.steering(&shell).await?;
        let course = Course::of(timed(&own), moved);
        // A waypoint is not paused: its acts say so in their own words.
        if !matches!(act.verb(), Verb::Pause | Verb::Resume | Verb::Reconfigure | Verb::Budget) {
            flight::takes(&books.flight, act.verb(), stored, &course)?;
        }
        let input = self.input(&waypoint, (act, work), cause, course.overtook(stored)).await?;
        match self.apply(&waypoint, input, None).await? {
            Applied::Appended | Applied::Nothing => Ok(()),
            Applied::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// The act with what it is about.
    async fn input(
        &mut self,
        waypoint: &WaypointId,
        (act, work): (Act, Option<BuildOutcome>),
        cause: Cause,
        overtaken: bool,
    ) -> Result<Input, Untaken> {
        let shell = self.shell.clone();
        let books = self.books().await?;
        let needs = InputNeeds::of(&books.state(waypoint), &act);
        let mut parts = books.parts(&shell, waypoint, &needs).await?;
        if let Some((cause, kind)) = &needs.asked {
            parts.asked = asked(&shell.bus, cause, *kind).await.map_err(Untaken::NotNow)?;
        }
        let facts = match &act {
            Act::HandIn(handed) => HandoffFacts::Work(taking::outcome_of(handed, work)),
            _ => HandoffFacts::Nothing,
        };
        Input::acted(act, (cause, overtaken, true), facts, parts).ok_or_else(|| {
            let what = "a whole flight is paused, resumed, given other workflows and larger budgets, not a waypoint";
            refused(ActCode::Invalid, what, "name the flight only")
        })
    }

    /// Takes an act on the whole flight into its own journal.
    async fn steer(&mut self, act: &Act, cause: Cause, stored: Timestamp) -> Result<(), Untaken> {
        let (shell, verb, by) = (self.shell.clone(), act.verb(), act.agent().clone());
        if let Act::Reconfigure(act) = act {
            // An act with roles still unknown then is refused.
            let _ = roles::known(&shell, migrate::roles(act)).await;
        }
        for _ in 0..RACES_MAX {
            let books = self.fresh_books().await?;
            let own = books.steering(&shell).await?;
            if own.iter().any(|(_, entry)| is_caused_by(entry, &cause)) {
                return Ok(());
            }
            let course = Course::of(timed(&own), None);
            let steered = match act {
                Act::Reconfigure(act) => migrate::taken(books, &shell, act, &cause, (stored, &course))?,
                Act::Budget(act) => flight::raise(&books.flight, &books.waypoints, act, &cause, clock::now())?,
                _ => {
                    let steered = flight::steer(&books.flight, &books.waypoints, verb, &by, &cause, clock::now())?;
                    flight::takes(&books.flight, verb, stored, &course)?;
                    steered
                }
            };
            match books.append(&shell, None, Entry::Steered(Box::new(steered)), None).await {
                Ok(()) => {
                    tracing::info!({ fields::FLIGHT } = %self.id, verb = verb.as_str(), %by, "flight steered");
                    return Ok(());
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(Untaken::NotNow(error.into())),
            }
        }
        Err(ApplyError::Races.into())
    }

    /// What became of an act.
    pub(super) async fn standing(&mut self, query: &ActQuery) -> Result<ActStanding, ApiFailure> {
        if let Some(standing) = self.acts.known.get(&query.sequence) {
            return Ok(standing.clone());
        }
        let unread = |error: &dyn std::error::Error| ApiFailure::new(503, ErrorChain(error).to_string());
        let role = role::id(role::OPERATOR);
        let act = past::at(&self.shell.bus, &role, query.sequence).await.map_err(|error| unread(&error))?;
        let digest = act.as_ref().map(|act| Digest::of(&act.payload));
        // First: what is acknowledged has led to its entry by then.
        let partition = subjects::partition(&self.id);
        let settled = handoffs::is_settled(&self.shell.bus, &role, partition, query.sequence).await;
        let settled = settled.map_err(|error| unread(&error))?;
        if self.is_taken(query, digest).await.map_err(|error| failure(&error))? {
            return Ok(ActStanding::Taken);
        }
        let old = act.is_some_and(|act| clock::now().since(act.time) >= UNEXPLAINED_AFTER);
        Ok(if settled && old { ActStanding::Refused(unexplained()) } else { ActStanding::Pending })
    }

    async fn is_taken(&mut self, query: &ActQuery, act: Option<Digest>) -> Result<bool, BooksError> {
        let shell = self.shell.clone();
        let stream = streams::handoff(&role::id(role::OPERATOR));
        let is_it = |entry: &Entry| {
            let cause = entry.record().cause.as_ref().filter(|cause| cause.stream == stream);
            cause.is_some_and(|cause| cause.sequence == query.sequence || Some(cause.digest) == act)
        };
        let books = self.fresh_books().await?;
        let Some(waypoint) = &query.waypoint else {
            return Ok(books.steering(&shell).await?.iter().any(|(_, entry)| is_it(entry)));
        };
        let mut found = false;
        books.each_entry(&shell, waypoint, |_, entry| found |= is_it(&entry)).await?;
        Ok(found)
    }
}

/// Of an act that was acknowledged and is in no entry.
fn unexplained() -> ActRefused {
    ActRefused {
        code: ActCode::NothingOpen,
        message: "it was refused, and no orchestrator has the reason in memory any more".to_owned(),
        hint: "`holdpoint status` shows what can be done now".to_owned(),
        details: serde_json::Value::Null,
    }
}

/// Entries with when each was stored, as the engine looks at them.
fn timed(entries: &[(Timestamp, Entry)]) -> impl Iterator<Item = (Timestamp, &Entry)> {
    entries.iter().map(|(at, entry)| (*at, entry))
}

/// Whether an act led to this entry: the broker may deliver one again that was acknowledged.
fn is_caused_by(entry: &Entry, act: &Cause) -> bool {
    entry.record().cause.as_ref().is_some_and(|cause| cause.stream == act.stream && cause.digest == act.digest)
}
