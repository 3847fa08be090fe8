//! What the console asks of a fleet. The command line answers it by the API that every other command uses.

use std::{future::Future, sync::Arc};

use holdpoint_protocol::{
    Digest, Timestamp,
    api::{DeadTurn, FlightLine, HistoryLine, InboxItem},
    ids::{AgentName, FlightId, RoleId, TurnId, WaypointId},
    plan::Plan,
    storage::Storage,
    view::FlightView,
};
use holdpoint_text::live::Spoken;

use crate::{account::FlightAccount, problem::ConsoleProblem, wanted::WantedAct};

/// An agent that was heard of. It says so itself: nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardOf {
    /// Its role.
    pub role: RoleId,
    /// Its name.
    pub agent: AgentName,
    /// When it was heard of last.
    pub at: Timestamp,
    /// The turn that it says it holds.
    pub turn: Option<TurnId>,
    /// Which delivery of that turn.
    pub delivery: Option<u32>,
    /// The version of its harness, in its own words.
    pub version: Option<String>,
}

/// What an attempt changed, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    /// This.
    Text(String),
    /// It is longer than this many bytes.
    TooLong(usize),
    /// Nothing was changed.
    Nothing,
}

/// What a look at a plan found.
#[derive(Debug, Clone, Default)]
pub struct PlanInspection {
    /// What is wrong with it.
    pub mistakes: Vec<Mistake>,
    /// The plan, where it can be read.
    pub plan: Option<Plan>,
    /// The commit that it would be flown from.
    pub base: Option<String>,
    /// What would not keep it from being submitted, but from being flown.
    pub notes: Vec<String>,
    /// What this machine has of what is needed; empty where flights are flown elsewhere.
    pub machine: Vec<Condition>,
}

/// Something that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its line, from 1, where it has one.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// A part of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// Whether it is as it has to be.
    pub ok: bool,
    /// What it is, or what is wrong and what to do.
    pub says: String,
}

/// A fleet, as the console sees it.
pub trait ConsoleFleet: Send + Sync + 'static {
    /// Where the reading of one flight has come to.
    type Reading: Send + 'static;
    /// What hears the agents of one waypoint.
    type Listening: Send;

    /// Whose key signs acts.
    fn me(&self) -> AgentName;

    /// The time.
    fn now(&self) -> Timestamp;

    /// A command with the flags by which it reaches this fleet, as one types it.
    fn typed(command: &str) -> String;

    /// Whether nobody flies a running flight at the moment, as far as that can be known from here.
    fn rests(&self, flight: &FlightId) -> bool;

    /// All flights, newest first.
    fn flights(&self) -> impl Future<Output = Result<Vec<FlightLine>, ConsoleProblem>> + Send;

    /// How a flight stands.
    fn status(&self, flight: &FlightId) -> impl Future<Output = Result<FlightView, ConsoleProblem>> + Send;

    /// The flight, and the waypoint of it, that names mean under which there is nothing: `latest`, and beginnings of names.
    fn meant(
        &self,
        flight: &FlightId,
        waypoint: Option<&WaypointId>,
    ) -> impl Future<Output = Result<(FlightId, Option<WaypointId>), ConsoleProblem>> + Send;

    /// What waits for people, of this flight or of all, longest first.
    fn inbox(&self, flight: Option<&FlightId>) -> impl Future<Output = Result<Vec<InboxItem>, ConsoleProblem>> + Send;

    /// How full the broker is.
    fn storage(&self) -> impl Future<Output = Result<Storage, ConsoleProblem>> + Send;

    /// The turns that are given up.
    fn dead(&self) -> impl Future<Output = Result<Vec<DeadTurn>, ConsoleProblem>> + Send;

    /// All artifacts and decisions of a waypoint, in order.
    fn history(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> impl Future<Output = Result<Vec<HistoryLine>, ConsoleProblem>> + Send;

    /// Begins to read a flight.
    fn open(&self, flight: &FlightId) -> impl Future<Output = Result<Self::Reading, ConsoleProblem>> + Send;

    /// Gives `account` what was stored since the last time.
    fn read_on(
        &self,
        reading: &mut Self::Reading,
        account: &mut FlightAccount,
    ) -> impl Future<Output = Result<(), ConsoleProblem>> + Send;

    /// The bytes of evidence.
    fn evidence(&self, digest: Digest) -> impl Future<Output = Result<Vec<u8>, ConsoleProblem>> + Send;

    /// What the work of this build artifact changed.
    fn patch(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
        reference: &str,
    ) -> impl Future<Output = Result<Patch, ConsoleProblem>> + Send;

    /// Who was heard of lately.
    fn heard_of(&self) -> Vec<HeardOf>;

    /// Returns when something may have changed: an agent was heard that was not, or does something else.
    fn hint(&self) -> impl Future<Output = ()> + Send;

    /// Listens to what the agents of a waypoint say.
    fn listen(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> impl Future<Output = Result<Self::Listening, ConsoleProblem>> + Send;

    /// Takes in which turns are open. Lines that came before that was known come back.
    fn learn(&self, listening: &mut Self::Listening, view: &FlightView) -> Vec<Spoken>;

    /// The next line of an agent that has the turn. Safe to cancel.
    fn next(&self, listening: &mut Self::Listening) -> impl Future<Output = Spoken> + Send;

    /// Why no plan is submitted here, if none is.
    fn unplanned(&self) -> Option<String>;

    /// Looks at a plan; starts nothing.
    fn look(&self, text: &str) -> impl Future<Output = Result<PlanInspection, ConsoleProblem>> + Send;

    /// Begins a flight with a plan.
    fn submit(&self, text: &str) -> impl Future<Output = Result<FlightId, ConsoleProblem>> + Send;

    /// Puts this text in the place of the document's that the reference names, signed with the key of [`ConsoleFleet::me`]; a sentence
    /// that says what follows.
    fn revise(&self, reference: &str, text: &str) -> impl Future<Output = Result<String, ConsoleProblem>> + Send;

    /// Does what a person wants, signed with the key of [`ConsoleFleet::me`]; a sentence that says what follows.
    fn act(&self, wanted: WantedAct) -> impl Future<Output = Result<String, ConsoleProblem>> + Send;
}

/// A fleet that several tasks share.
pub(crate) type Shared<F> = Arc<F>;
