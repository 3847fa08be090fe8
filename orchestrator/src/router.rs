//! Knows the flight actors: starts them when something concerns their flight, and forgets them when nothing does.
//!
//! A flight is in memory while it moves. One that is over, or that only waits for its agents, has no actor: what is
//! kept of it is when its next deadline passes, and for a while after a start its fold if there is room. Later it is folded again from
//! its journals when something concerns it.

mod ahead;
mod asleep;
mod handle;
mod scans;
mod survey;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use ahead::Ahead;
use asleep::Asleep;
pub(crate) use handle::RouterHandle;
use holdpoint_protocol::{Timestamp, ids::FlightId, streams};
use holdpoint_runtime::{
    clock,
    supervise::{ActorTasks, ChildEnd, Exit, TaskFailed},
    telemetry::{ErrorChain, fields},
};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use scans::{Reach, Scans};
use survey::{Scan, survey};

use crate::{
    books::Books,
    catalog::OpenFlight,
    flight::{self, FlightActor},
    intake::Taken,
    shell::Shell,
};

/// How often to look for flights that another orchestrator took in, or whose actor failed.
const SCAN_PERIOD: Duration = Duration::from_secs(10);
/// How often to write down which flights are not over: what was appended since is looked at by the next start.
const CHECKPOINT_PERIOD: Duration = Duration::from_secs(600);
/// How often to look whose deadline has passed.
const WAKE_PERIOD: Duration = Duration::from_secs(1);
/// Flights that are woken at once: each is read from its journals.
const WAKES_MAX: usize = 100;
/// The pause before a handoff that cannot be placed is delivered again.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// What the router is started with.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) handle: RouterHandle,
    /// What this orchestrator keeps on its disk. Nothing in it is needed.
    pub(crate) state_dir: PathBuf,
}

/// Messages of the router.
pub(crate) enum Msg {
    /// A handoff came.
    Handoff(Box<Taken>),
    /// This flight was submitted just now.
    Begin(Box<Books>),
    /// Which actor has this flight? It may turn out not to exist.
    Find(FlightId, RpcReplyPort<ActorRef<flight::Msg>>),
    /// The same, for a question that may wait a little for a scan which reads the flight anyway.
    FindByAndBy(FlightId, RpcReplyPort<ActorRef<flight::Msg>>),
    /// A flight's actor has nothing to do before this time, if ever.
    Idle(FlightId, ActorId, Option<Timestamp>),
    /// It was to leave, but something has come.
    Back(FlightId, ActorRef<flight::Msg>),
    /// Look for flights.
    Scan,
    /// Have the next scan write a checkpoint.
    Checkpoint,
    /// Another orchestrator is gone: look at all open flights, whatever is known of them.
    TakeOver,
    /// Another orchestrator came: flights in memory may have gone on elsewhere.
    ReadOn,
    /// What was found, if anything could be read.
    Scanned(Option<Scan>),
    /// Look whose deadline has passed.
    Wake,
}

impl From<TaskFailed> for Msg {
    /// The only task is the scan; what it panics on may be one flight of many, and the others go on.
    fn from(failed: TaskFailed) -> Self {
        tracing::error!(error = %ErrorChain(&failed), "cannot look for flights; trying again");
        Self::Scanned(None)
    }
}

/// State of the router.
pub(crate) struct State {
    shell: Shell,
    handle: RouterHandle,
    state_dir: PathBuf,
    flights: HashMap<FlightId, ActorRef<flight::Msg>>,
    /// Whose actor is which, to forget it when it ends.
    names: HashMap<ActorId, FlightId>,
    asleep: Asleep,
    ahead: Ahead,
    /// Flights that were begun here since the last scan, and between the last two: a scan need not look at them.
    begun: HashSet<FlightId>,
    begun_before: HashSet<FlightId>,
    /// Flights whose actor failed, or could not be started: it is started again with the next scan.
    failed: HashSet<FlightId>,
    scans: Scans,
    tasks: ActorTasks,
}

/// The actor.
pub(crate) struct Router;

impl Actor for Router {
    type Msg = Msg;
    type State = State;
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args) -> Result<State, ActorProcessingErr> {
        let Args { shell, handle, state_dir } = args;
        myself.cast(Msg::Scan)?;
        myself.send_interval(SCAN_PERIOD, || Msg::Scan);
        myself.send_interval(WAKE_PERIOD, || Msg::Wake);
        myself.send_interval(CHECKPOINT_PERIOD, || Msg::Checkpoint);
        Ok(State {
            shell,
            handle,
            state_dir,
            flights: HashMap::new(),
            names: HashMap::new(),
            asleep: Asleep::default(),
            ahead: Ahead::default(),
            begun: HashSet::new(),
            begun_before: HashSet::new(),
            failed: HashSet::new(),
            scans: Scans::new(),
            tasks: ActorTasks::default(),
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, msg: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Handoff(taken) => state.handoff(&myself, taken).await,
            Msg::Begin(books) => {
                let flight = books.id().clone();
                state.begun.insert(flight.clone());
                if let Some(actor) = state.actor(&myself, &flight, Some(books)).await {
                    // One that was asked about the flight before there was one knows nothing of it. It may have ended.
                    let _ = actor.cast(flight::Msg::Look);
                }
            }
            Msg::Find(flight, reply) => state.find(&myself, [(flight, reply)]).await,
            Msg::FindByAndBy(flight, reply) => {
                if state.scans.reads_everything() && !state.flights.contains_key(&flight) {
                    state.ahead.wait((flight, reply), Instant::now());
                } else {
                    state.find(&myself, [(flight, reply)]).await;
                }
            }
            Msg::Idle(flight, actor, until) => state.idle(flight, actor, until),
            Msg::Back(flight, actor) => state.back(flight, actor),
            Msg::Scan => {
                let failed = std::mem::take(&mut state.failed);
                state.start_all(&myself, failed).await;
                state.scan(&myself);
                let mirrors = state.shell.mirrors.clone();
                // Those of flights that came to rest.
                tokio::spawn(async move { mirrors.prune().await });
            }
            Msg::Checkpoint => state.scans.want_checkpoint(),
            Msg::TakeOver => state.take_over(&myself),
            Msg::ReadOn => state.read_on(),
            Msg::Scanned(scan) => state.scanned(&myself, scan).await,
            Msg::Wake => {
                let due = state.asleep.due(clock::now(), WAKES_MAX);
                state.start_all(&myself, due).await;
                let impatient = state.ahead.impatient(Instant::now());
                state.find(&myself, impatient).await;
                state.ahead.drop_old(Instant::now());
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let Some(ChildEnd { actor, exit, cause }) = ChildEnd::of(&event) else { return Ok(()) };
        let flight = state.forget(actor);
        if exit == Exit::Failed {
            tracing::error!(cause, "flight actor failed; it is started again soon");
            state.failed.extend(flight);
        }
        Ok(())
    }
}

impl State {
    /// The actor of a flight, started if need be. `None` if it cannot be: one flight's trouble is not that of the others.
    async fn actor(
        &mut self,
        myself: &ActorRef<Msg>,
        flight: &FlightId,
        books: Option<Box<Books>>,
    ) -> Option<ActorRef<flight::Msg>> {
        if let Some(actor) = self.flights.get(flight) {
            return Some(actor.clone());
        }
        self.asleep.remove(flight);
        let kept = self.ahead.take(flight);
        let books = books.or(kept);
        let args =
            flight::Args { shell: self.shell.clone(), flight: flight.clone(), books, router: self.handle.clone() };
        match Actor::spawn_linked(None, FlightActor, args, myself.get_cell()).await {
            Ok((actor, _)) => {
                self.names.insert(actor.get_id(), flight.clone());
                self.flights.insert(flight.clone(), actor.clone());
                Some(actor)
            }
            Err(error) => {
                tracing::error!({ fields::FLIGHT } = %flight, error = %ErrorChain(&error), "flight actor did not start");
                self.failed.insert(flight.clone());
                None
            }
        }
    }

    async fn find(&mut self, myself: &ActorRef<Msg>, askers: impl IntoIterator<Item = ahead::Asker>) {
        for (flight, reply) in askers {
            if let Some(actor) = self.actor(myself, &flight, None).await {
                // The caller may have given up waiting.
                let _ = reply.send(actor);
            }
        }
    }

    async fn start_all(&mut self, myself: &ActorRef<Msg>, flights: impl IntoIterator<Item = FlightId>) {
        for flight in flights {
            self.actor(myself, &flight, None).await;
        }
    }

    /// Forgets an ended actor, if it is still the one of its flight.
    fn forget(&mut self, id: ActorId) -> Option<FlightId> {
        let flight = self.names.remove(&id)?;
        self.flights.get(&flight).filter(|actor| actor.get_id() == id)?;
        self.flights.remove(&flight);
        Some(flight)
    }

    async fn handoff(&mut self, myself: &ActorRef<Msg>, taken: Box<Taken>) {
        let subject = taken.subject.clone();
        let unsent = match self.actor(myself, &subject.flight, None).await {
            Some(actor) => actor.cast(flight::Msg::Handoff(taken, subject)).err(),
            None => Some(ractor::MessagingErr::SendErr(flight::Msg::Handoff(taken, subject))),
        };
        if let Some(ractor::MessagingErr::SendErr(flight::Msg::Handoff(taken, _))) = unsent {
            // Unacknowledged either way: it comes again.
            let _ = taken.nak(RETRY_DELAY).await;
        }
    }

    /// Messages for the flight from now on go to a new actor; this one ends when it has done what it has.
    fn idle(&mut self, flight: FlightId, id: ActorId, until: Option<Timestamp>) {
        let Some(actor) = self.flights.get(&flight).filter(|actor| actor.get_id() == id) else { return };
        // It may have ended by itself.
        let _ = actor.cast(flight::Msg::Leave);
        self.flights.remove(&flight);
        if let Some(until) = until {
            self.asleep.insert(flight, until);
        }
    }

    /// It stays the flight's actor, unless there is another one by now.
    fn back(&mut self, flight: FlightId, actor: ActorRef<flight::Msg>) {
        if self.flights.contains_key(&flight) {
            // It may have ended by itself.
            let _ = actor.cast(flight::Msg::End);
            return;
        }
        self.asleep.remove(&flight);
        self.names.insert(actor.get_id(), flight.clone());
        self.flights.insert(flight, actor);
    }

    /// Looks for flights that are not known here. It may take long after a start, and runs alongside everything else.
    fn scan(&mut self, myself: &ActorRef<Msg>) {
        let Some(reach) = self.scans.begin() else { return };
        let (shell, dir) = (self.shell.clone(), self.state_dir.clone());
        let mut known: HashSet<FlightId> = self.flights.keys().cloned().collect();
        match reach {
            // What an earlier one has read is older than what this one finds due.
            Reach::Everything => self.ahead.forget(),
            Reach::Checkpoint => known.extend(self.asleep.flights().cloned()),
            Reach::After(_) => known.extend(self.begun.iter().chain(&self.begun_before).cloned()),
        }
        self.tasks.run(myself, "scan", async move {
            let scan = survey(&shell, &dir, reach, &known).await;
            if let Err(error) = &scan {
                tracing::warn!(error = %ErrorChain(error), "cannot look for flights now; trying again");
            }
            Msg::Scanned(scan.ok())
        });
    }

    /// Work under way elsewhere may be due here, and nobody says so.
    fn take_over(&mut self, myself: &ActorRef<Msg>) {
        self.read_on();
        self.scans.want_everything();
        self.scan(myself);
    }

    fn read_on(&self) {
        for actor in self.flights.values() {
            // It may have ended by itself.
            let _ = actor.cast(flight::Msg::ReadOn);
        }
    }

    async fn scanned(&mut self, myself: &ActorRef<Msg>, scan: Option<Scan>) {
        match scan {
            Some(scan) => self.found(myself, scan).await,
            None => self.scans.failed(),
        }
        let waiting = self.ahead.all();
        self.find(myself, waiting).await;
    }

    async fn found(&mut self, myself: &ActorRef<Msg>, scan: Scan) {
        let Scan { open, until } = scan;
        let everything = self.scans.reads_everything();
        self.scans.succeeded(until);
        open.iter().for_each(|open| self.shell.open.opened(open.counted()));
        self.shell.open.read_until(until);
        // Those that were begun while it went on may be behind where it ended.
        self.begun_before = std::mem::take(&mut self.begun);
        let mut kept = HashMap::new();
        for open in open {
            let (flight, until) = (open.id().clone(), sleeps_until(&open, &self.shell));
            if self.flights.contains_key(&flight) {
                continue;
            }
            match (until, open.into_books()) {
                (Some(until), books) => {
                    self.asleep.insert_at_latest(flight.clone(), until);
                    kept.extend(books.map(|books| (flight, books)));
                }
                (None, Some(books)) => drop(self.actor(myself, &flight, Some(books)).await),
                // Woken soon, with as many others as can be read at once.
                (None, None) => self.asleep.insert(flight, clock::now()),
            }
        }
        if everything {
            self.ahead.keep(kept, Instant::now());
        }
        tracing::info!(
            moving = self.flights.len(),
            waiting = self.asleep.len(),
            { fields::STREAM_SEQ } = until.0,
            "looked for flights"
        );
        if self.scans.wants_everything() {
            self.scan(myself);
        }
    }
}

/// Until when nothing is to be done for a flight; `None` if something is now, or might be.
fn sleeps_until(open: &OpenFlight, shell: &Shell) -> Option<Timestamp> {
    let pool = open.pool();
    // The consumers of a local flight's agents have to be made.
    open.rests_until().filter(|_| pool == &streams::fleet_pool() && shell.members.borrow().serve(pool))
}
