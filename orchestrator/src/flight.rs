//! The actor of one flight: everything that happens to it goes through here, one after another.
//!
//! Intake → engine → append → what is due. Slow work (git, blobs) runs in a task and its outcome is cast back. Nothing is done
//! before it is journalled, and nothing that is kept here is needed after a restart.

mod acts;
mod apply;
mod asked;
mod called;
mod calls;
mod children;
mod copies;
mod deaths;
mod due;
mod handoff;
mod heard;
mod holders;
mod idle;
mod in_time;
mod inbox;
mod lacking;
mod landing;
mod migrate;
mod progress;
mod report;
mod setbacks;
mod slow;
mod taking;
mod trace;
mod trouble;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use apply::{Applied, ApplyError};
pub(crate) use calls::{Followed, Follows, Held};
use heard::Heard;
use holders::{Holder, Holders, Planned};
use holdpoint_bus::{api::ApiFailure, auth::VerifiedUser};
use holdpoint_engine::{flight, waypoint};
use holdpoint_protocol::{
    api::{ActQuery, ActStanding, InboxItem, InboxPlace, Progress, ProgressAnswer},
    ids::{AgentName, FlightId, TurnId, WaypointId},
    plan::Waypoint,
    state::Status,
    subjects::HandedSubject,
    turn::Turn,
    view::{FlightView, Trouble},
};
use holdpoint_runtime::{
    clock,
    path_rules::RuleTexts,
    supervise::{ActorTasks, TaskFailed},
    telemetry::{ErrorChain, fields},
};
use idle::Idleness;
use inbox::Doubts;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::task::AbortHandle;
pub(crate) use trace::Processing;
use trouble::{Place, Troubles};

use crate::{
    books::{Books, BooksError},
    intake::Taken,
    router::RouterHandle,
    shell::Shell,
};

/// The pause before something that failed for a passing reason is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// What the actor is started with.
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) flight: FlightId,
    /// Its fold, where the sender has it at hand.
    pub(crate) books: Option<Box<Books>>,
    pub(crate) router: RouterHandle,
}

/// Messages of a flight actor.
pub(crate) enum Msg {
    /// A handoff of one of its waypoints came, or a person acts.
    Handoff(Box<Taken>, HandedSubject),
    /// The work in progress of a question was looked at.
    Asked(Box<asked::Looked>),
    /// Slow work on a handoff is done.
    Examined(Box<slow::Examined>),
    /// Work that a person hands in was examined.
    HandedIn(Box<taking::HandedIn>),
    /// The evidence of a report was looked for.
    Weighed(Box<report::Weighed>),
    /// A landing or merge is made, or failed.
    Landed(Box<landing::Landed>),
    /// Slow work panicked: what it was for stays claimed by this actor until that ends.
    TaskFailed(TaskFailed),
    /// Look at what is due. Older generations of the timer are ignored.
    Tick(u64),
    /// Others may have appended something that makes more due here.
    Look,
    /// Another orchestrator came or went: look at what is due by what was appended.
    ReadOn,
    /// The router has forgotten this actor, as it asked for.
    Leave,
    /// Another actor has the flight now: end when what is under way is done.
    End,
    /// How does it stand? A page, from behind a waypoint on.
    View(Option<WaypointId>, RpcReplyPort<Result<FlightView, ApiFailure>>),
    /// What became of an act?
    Standing(ActQuery, RpcReplyPort<Result<ActStanding, ApiFailure>>),
    /// What waits for people, from behind a place on? With whether there is more.
    Inbox(Option<InboxPlace>, RpcReplyPort<Result<(Vec<InboxItem>, bool), ApiFailure>>),
    /// Did this handoff lead to an entry, or may it?
    Followed(Followed, RpcReplyPort<Result<Follows, ApiFailure>>),
    /// The turn that this agent holds.
    HeldTurn(Held, Box<VerifiedUser>, RpcReplyPort<Result<Turn, ApiFailure>>),
    /// Is this turn still wanted?
    Progress(Progress, AgentName, RpcReplyPort<Result<ProgressAnswer, ApiFailure>>),
}

impl From<TaskFailed> for Msg {
    fn from(failed: TaskFailed) -> Self {
        Self::TaskFailed(failed)
    }
}

/// The mutable part.
pub(crate) struct State {
    shell: Shell,
    router: RouterHandle,
    id: FlightId,
    /// The fold; `None` until it was read, or after it failed.
    books: Option<Box<Books>>,
    /// Whether its agents have their consumers.
    equipped: bool,
    holders: Holders,
    heard: Heard,
    /// What verifications doubt of what waits for people.
    doubts: Doubts,
    /// When deaths of each waypoint's turns were last counted.
    deaths_counted: HashMap<WaypointId, Instant>,
    planned: Planned,
    track: landing::Track,
    /// What became of the acts that came lately.
    acts: acts::Standings,
    copies: copies::FirstCopies,
    /// Things that are due and failed when they were tried.
    setbacks: setbacks::Setbacks,
    /// Deadlines that wait for answers that came in time.
    waits: in_time::Waits,
    /// Examinations and weighings that are under way.
    slow: usize,
    /// All of it.
    tasks: ActorTasks,
    troubles: Troubles,
    idleness: Idleness,
    /// What was last counted of the flight: whether it is open.
    counted: Option<bool>,
    timer: u64,
    /// The timer that is set, if one is, and for when.
    alarm: Option<(AbortHandle, Instant)>,
}

/// The actor.
pub(crate) struct FlightActor;

impl Actor for FlightActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args) -> Result<State, ActorProcessingErr> {
        myself.cast(Msg::Tick(0))?;
        Ok(State {
            shell: args.shell,
            router: args.router,
            id: args.flight,
            books: args.books,
            equipped: false,
            holders: Holders::default(),
            heard: Heard::default(),
            doubts: Doubts::default(),
            deaths_counted: HashMap::new(),
            planned: Planned::default(),
            track: landing::Track::default(),
            acts: acts::Standings::default(),
            copies: copies::FirstCopies::default(),
            setbacks: setbacks::Setbacks::default(),
            waits: in_time::Waits::default(),
            slow: 0,
            tasks: ActorTasks::default(),
            troubles: Troubles::default(),
            idleness: Idleness::new(),
            counted: None,
            timer: 0,
            alarm: None,
        })
    }

    async fn post_stop(&self, _: ActorRef<Msg>, state: &mut State) -> Result<(), ActorProcessingErr> {
        // It holds on to the actor.
        if let Some((alarm, _)) = state.alarm.take() {
            alarm.abort();
        }
        Ok(())
    }

    async fn handle(&self, myself: ActorRef<Msg>, msg: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        if !matches!(msg, Msg::Tick(_) | Msg::Look | Msg::Leave) {
            state.idleness.disturbed();
        }
        match msg {
            Msg::Handoff(received, subject) => state.on_handed(&myself, received, subject).await,
            Msg::Asked(looked) => Box::pin(state.on_looked(&myself, *looked)).await,
            Msg::Examined(examined) => Box::pin(state.on_examined(&myself, *examined)).await,
            Msg::HandedIn(handed) => state.on_handed_in(&myself, *handed).await,
            Msg::Weighed(weighed) => Box::pin(state.on_weighed(&myself, *weighed)).await,
            Msg::Landed(landed) => Box::pin(state.on_landed(&myself, *landed)).await,
            Msg::TaskFailed(failed) => return Err(failed.into()),
            Msg::Tick(generation) if generation == state.timer => state.tick(&myself).await,
            Msg::Tick(_) => {}
            Msg::Look => state.pump(&myself).await,
            Msg::ReadOn => {
                if let Err(error) = state.fresh_books().await {
                    tracing::debug!({ fields::FLIGHT } = %state.id, error = %ErrorChain(&error), "read again");
                }
                state.pump(&myself).await;
            }
            Msg::Leave => state.leave(&myself),
            Msg::End => state.idleness.end(),
            Msg::View(after, reply) => {
                // Here and below: the caller may have given up waiting.
                let _ = reply.send(state.view(&myself, after.as_ref()).await);
            }
            Msg::Standing(query, reply) => {
                let _ = reply.send(state.standing(&query).await);
            }
            Msg::Inbox(after, reply) => {
                let _ = reply.send(state.inbox(after.as_ref()).await);
            }
            Msg::Followed(asked, reply) => {
                let _ = reply.send(state.followed(&asked).await);
            }
            Msg::HeldTurn(held, caller, reply) => {
                let _ = reply.send(state.held_turn(&held, &caller).await);
            }
            Msg::Progress(progress, agent, reply) => {
                let _ = reply.send(state.on_progress(&progress, agent).await);
            }
        }
        state.end_if_done(&myself);
        Ok(())
    }
}

impl State {
    /// The fold, read if need be.
    async fn books(&mut self) -> Result<&mut Books, BooksError> {
        if self.books.is_none() {
            self.books = Some(Box::new(Books::load(&self.shell, &self.id).await?));
            self.equipped = false;
        }
        if let Some(books) = self.books.as_ref().filter(|_| !self.equipped) {
            books.ensure_consumers(&self.shell).await?;
            self.equipped = true;
        }
        self.books.as_deref_mut().ok_or_else(|| BooksError::Unknown { flight: self.id.clone() })
    }

    /// The fold with everything that anybody has appended by now. One that cannot be read on is read from the start
    /// next time: going on behind an entry that was not understood would fence nothing.
    async fn fresh_books(&mut self) -> Result<&mut Books, BooksError> {
        let shell = self.shell.clone();
        if let Err(error) = self.books().await?.refresh(&shell).await {
            self.books = None;
            return Err(error);
        }
        self.books().await
    }

    /// Whether this orchestrator or another one looks after the flight's agents. Where nobody does, as when one was started for a
    /// question alone, no deadline of theirs passes.
    fn serves(&self) -> bool {
        self.books.as_ref().is_some_and(|books| self.shell.members.borrow().serve(&books.flight.submitted.fleet.pool))
    }

    /// A page of the public view; reads what others appended first.
    async fn view(&mut self, myself: &ActorRef<Msg>, after: Option<&WaypointId>) -> Result<FlightView, ApiFailure> {
        self.fresh_books().await.map_err(|e| failure(&e))?;
        let trouble = self.current_troubles();
        let Some(books) = &self.books else { return Err(ApiFailure::new(503, "the flight is being read: try again")) };
        let holder = |waypoint: &WaypointId, turn: &TurnId| self.holders.of(waypoint, turn).cloned();
        let view = flight::view(&books.flight, &books.waypoints, after, trouble, holder);
        myself.cast(Msg::Look).ok();
        view.ok_or_else(|| ApiFailure::new(404, format!("the plan of flight {} has no such waypoint", self.id)))
    }

    /// What fails at the moment and still matters.
    fn current_troubles(&mut self) -> Vec<Trouble> {
        let Some(books) = &self.books else { return Vec::new() };
        self.troubles.shown(clock::now(), |place| match place {
            Place::Due(None) => true,
            Place::Due(Some(waypoint)) => self.setbacks.concerns(waypoint),
            Place::Turn(waypoint, turn) | Place::Others(waypoint, turn) => {
                waypoint::is_current(&books.state(waypoint), turn)
            }
            Place::Landing(waypoint) | Place::Handoff(waypoint) => {
                flight::status(&books.flight, &books.waypoints, waypoint) == Status::Running
            }
        })
    }

    /// An agent says that it has a turn.
    fn took(&mut self, waypoint: &WaypointId, turn: &TurnId, holder: Holder) {
        let books = self.books.as_ref();
        let is_open = |turn: &TurnId| books.is_some_and(|books| waypoint::is_current(&books.state(waypoint), turn));
        self.holders.took(waypoint, turn, holder, is_open);
    }

    /// Whether a turn is open. One that we do not know may have been opened by another orchestrator a moment ago.
    async fn is_current(&mut self, waypoint: &WaypointId, turn: &TurnId) -> Result<bool, BooksError> {
        if waypoint::is_current(&self.books().await?.state(waypoint), turn) {
            return Ok(true);
        }
        Ok(waypoint::is_current(&self.fresh_books().await?.state(waypoint), turn))
    }
}

/// What a caller hears of a flight that cannot be read.
pub(crate) fn failure(error: &BooksError) -> ApiFailure {
    let code = match error {
        BooksError::Unknown { .. } => 404,
        BooksError::Retired { .. } => 410,
        BooksError::Read { .. } | BooksError::Consumers { .. } => 503,
        BooksError::Entry { .. } | BooksError::Alarm { .. } | BooksError::ChainBroken { .. } => 500,
    };
    ApiFailure::new(code, ErrorChain(error).to_string())
}

/// The waypoint as planned.
fn planned(books: &Books, waypoint: &WaypointId) -> Result<Waypoint, ApplyError> {
    let planned = books.flight.planned(waypoint).cloned();
    planned.ok_or_else(|| ApplyError::UnknownWaypoint { flight: books.id().clone(), waypoint: waypoint.clone() })
}

/// The path rules of a waypoint.
fn rules(books: &Books, waypoint: &Waypoint) -> RuleTexts {
    let plan = &books.flight.submitted.plan;
    let checks = waypoint.criteria.iter().filter_map(|c| c.check.as_ref()).chain(plan.guards.iter().map(|g| &g.check));
    let commands = books.flight.checkpoint_checks(waypoint);
    let checks = checks.chain(&commands);
    RuleTexts {
        scope: waypoint.scope.clone(),
        new_tests: waypoint.new_tests.clone(),
        changed_tests: waypoint.changed_tests.clone(),
        protected: plan.protected.iter().chain(&waypoint.protected).cloned().collect(),
        covenant: books.flight.submitted.covenant.clone(),
        commands: RuleTexts::commands(checks, plan.environment.as_ref()),
    }
}
