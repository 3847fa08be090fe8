//! A flight in memory: journals that are written and read as bytes, and agents that answer as a test wants.

mod fed;
mod landing;

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Metered, VerificationReport},
    codec::{self, Encoding},
    facts::{LeftOut, Violation},
    ids::{ArtifactId, CriterionId, RoleId, TurnId, WaypointId},
    journal::{Cause, ConditionResult, Entry, Fleet, Record, Sequence, Submitted},
    plan::Plan,
    state::{OpenTurn, Phase, Status, WaypointState},
    streams,
    turn::Turn,
    workflow::WorkflowSpec,
};

pub use fed::Fed;

use holdpoint_planfile::workflows;

use super::parts::{bundle, fleet, id, oid, plan, sound_report, submitted, waypoint};
use crate::{
    budget::Need,
    flight::{self, Due, FlightState, Waypoints},
    waypoint::{
        self, BuildOutcome, BundledCommit, EngineStep, Evaluate, Folded, Fresh, Handoff, Input, ReportInput,
        StepContext,
    },
};

/// One transition as it happened.
#[derive(Debug, Clone)]
pub struct Transition {
    pub waypoint: WaypointId,
    pub input: Input,
    pub before: WaypointState,
    pub after: WaypointState,
    pub entry: Entry,
}

/// A flight with its journals.
pub struct Fixture {
    pub flight: FlightState,
    pub waypoints: Waypoints,
    pub now: Timestamp,
    pub trace: Vec<Transition>,
    pub conditions: GateConditions,
    /// What agents report with their handoffs.
    pub metered: Option<Box<Metered>>,
    /// What their harnesses say of what was left out.
    pub left_out: Vec<LeftOut>,
    /// The branch of a fork whose turn is meant; without it, the first that is open.
    pub at: Option<&'static str>,
    /// The agent that completes gates.
    pub agent: &'static str,
    /// The agent that answers other turns.
    pub maker: &'static str,
    folds: BTreeMap<WaypointId, Folded>,
    journals: BTreeMap<WaypointId, Vec<StoredEntry>>,
    /// All journals together, in the order of their stream.
    pub log: Vec<FixtureEntry>,
    /// The checkpoints on touched paths that hold, as git says of reports.
    pub touched: Vec<CriterionId>,
    /// Work waits for what is on its way to the branch. Otherwise each waypoint comes to its verifier as if it were alone.
    pub queues: bool,
    counter: u64,
}

/// What comes of conditions: they hold but for these gates.
#[derive(Debug, Default)]
pub struct GateConditions {
    pub left_out: Vec<&'static str>,
    pub failing: Vec<&'static str>,
    /// What was asked.
    pub asked: Vec<Evaluate>,
}

impl GateConditions {
    fn evaluate(&self, wanted: &Evaluate) -> ConditionResult {
        let is_one_of = |gates: &[&str]| gates.contains(&wanted.gate.as_str());
        let failure = is_one_of(&self.failing).then(|| "it threw".to_owned());
        let holds = failure.is_none() && !is_one_of(&self.left_out);
        ConditionResult { gate: wanted.gate.clone(), holds, failure }
    }
}

/// An entry in the stream of all journals.
#[derive(Debug, Clone)]
pub struct FixtureEntry {
    pub waypoint: Option<WaypointId>,
    pub entry: Entry,
    pub digest: Digest,
    /// What it was made of; `None` in the flight's own journal.
    pub input: Option<Input>,
}

/// An entry as it is stored: its kind, and its bytes.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    kind: &'static str,
    encoding: Encoding,
    pub bytes: Vec<u8>,
}

impl StoredEntry {
    fn new(entry: &Entry) -> Self {
        let (encoding, bytes) = match entry {
            Entry::Turn(turn) => (Encoding::Json, codec::encode(turn.as_ref(), Encoding::Json)),
            Entry::Decided(decided) => (Encoding::MsgPack, codec::encode(decided.as_ref(), Encoding::MsgPack)),
            Entry::Dead(dead) => (Encoding::MsgPack, codec::encode(dead.as_ref(), Encoding::MsgPack)),
            Entry::Answered(answered) => (Encoding::MsgPack, codec::encode(answered.as_ref(), Encoding::MsgPack)),
            Entry::Revised(revised) => (Encoding::MsgPack, codec::encode(revised.as_ref(), Encoding::MsgPack)),
            Entry::Queued(queued) => (Encoding::MsgPack, codec::encode(queued.as_ref(), Encoding::MsgPack)),
            other => panic!("not an entry of a waypoint's journal: {other:?}"),
        };
        Self { kind: entry.schema_name(), encoding, bytes: bytes.unwrap() }
    }

    pub fn read(&self) -> Entry {
        let subject = format!("hp.v1.journal.f.w.{}", self.kind);
        Entry::decode(&subject, &self.bytes, Some(self.encoding.content_type())).unwrap()
    }
}

impl Fixture {
    pub fn new(plan: Plan, fleet: Fleet) -> Self {
        Self::flown_by(plan, fleet, &[])
    }

    /// A flight by workflows of its own and the built-in ones.
    pub fn flown_by(plan: Plan, fleet: Fleet, own: &[WorkflowSpec]) -> Self {
        let now = Timestamp::from_millis(1_790_000_000_000);
        let find = |name: &str| {
            let own = own.iter().find(|workflow| workflow.name == name).cloned();
            own.or_else(|| workflows::built_in(name)).ok_or("a workflow that nobody knows")
        };
        let used = workflows::used(&plan).into_iter().map(str::to_owned);
        let specs = workflows::with_children(used, find, |_| "children of children").unwrap();
        let workflows = specs.into_iter().map(Into::into).collect();
        let submitted = Submitted { fleet, workflows, record: Record::at(now), ..submitted(plan) };
        let mut fixture = Self {
            flight: FlightState::new(submitted.clone()),
            waypoints: Waypoints::new(),
            now,
            trace: Vec::new(),
            conditions: GateConditions::default(),
            metered: None,
            left_out: Vec::new(),
            at: None,
            agent: "reviewer-1",
            maker: "agent-1",
            folds: BTreeMap::new(),
            journals: BTreeMap::new(),
            log: Vec::new(),
            touched: Vec::new(),
            queues: false,
            counter: 0x1000,
        };
        fixture.log_own(Entry::Submitted(Box::new(submitted)));
        fixture
    }

    /// Appends to the flight's own journal.
    pub fn log_own(&mut self, entry: Entry) {
        let bytes = match &entry {
            Entry::Submitted(submitted) => codec::encode(submitted.as_ref(), Encoding::MsgPack),
            Entry::Landed(landed) => codec::encode(landed.as_ref(), Encoding::MsgPack),
            Entry::Steered(steered) => codec::encode(steered.as_ref(), Encoding::MsgPack),
            Entry::Reserved(reserved) => codec::encode(reserved.as_ref(), Encoding::MsgPack),
            Entry::Added(added) => codec::encode(added.as_ref(), Encoding::MsgPack),
            Entry::Retired(retired) => codec::encode(retired.as_ref(), Encoding::MsgPack),
            other => panic!("not an entry of a flight's journal: {other:?}"),
        };
        self.log.push(FixtureEntry { waypoint: None, entry, digest: Digest::of(&bytes.unwrap()), input: None });
    }

    /// A flight of one waypoint, `w`, that has been opened.
    pub fn opened(change: impl FnOnce(&mut Plan, &mut Fleet)) -> Self {
        let (mut plan, mut fleet) = (plan(vec![waypoint("w", &[])]), fleet());
        change(&mut plan, &mut fleet);
        let mut fixture = Self::new(plan, fleet);
        fixture.feed("w", Input::Open);
        fixture
    }

    pub fn next_id(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn fresh(&mut self) -> Fresh {
        let n = self.next_id();
        let artifact = |kind: &str| -> ArtifactId { format!("{kind}-{n}").parse().unwrap() };
        Fresh {
            turn: format!("turn-{n}").parse().unwrap(),
            decision: artifact("decision"),
            guidance: artifact("guidance"),
            request: artifact("request"),
        }
    }

    pub fn state(&self, name: &str) -> WaypointState {
        self.waypoints.get(&id(name)).cloned().unwrap_or_default()
    }

    pub fn status(&self, name: &str) -> Status {
        flight::status(&self.flight, &self.waypoints, &id(name))
    }

    pub fn journal(&self, name: &str) -> &[StoredEntry] {
        self.journals.get(&id(name)).map_or(&[], Vec::as_slice)
    }

    pub fn folded(&self, name: &str) -> Folded {
        self.folds.get(&id(name)).cloned().unwrap_or_default()
    }

    fn step(
        &self,
        id: &WaypointId,
        (before, input): (&WaypointState, &Input),
        conditions: &[ConditionResult],
        fresh: &Fresh,
    ) -> EngineStep {
        let (flight, now) = (&self.flight, self.now);
        let waypoint = flight.planned(id).unwrap();
        let workflow = flight.workflow_of(waypoint, before).unwrap();
        let is_first = !self.queues || flight::is_first(flight, &self.waypoints, id);
        waypoint::step(
            before,
            input.clone(),
            &StepContext { flight, waypoint, workflow, now, conditions, is_first },
            fresh,
        )
    }

    /// Gives an input to the machine; what it appends is stored as bytes, read back and folded.
    pub fn feed(&mut self, name: &str, input: Input) -> Fed {
        let waypoint_id = id(name);
        let fresh = self.fresh();
        let before = self.state(name);
        let mut conditions = Vec::new();
        let step = loop {
            match self.step(&waypoint_id, (&before, &input), &conditions, &fresh) {
                EngineStep::Evaluate(wanted) => {
                    conditions.push(self.conditions.evaluate(&wanted));
                    self.conditions.asked.push(*wanted);
                }
                EngineStep::Reserve(need) => self.reserve(&waypoint_id, &need),
                step => break step,
            }
        };
        let again = self.step(&waypoint_id, (&before, &input), &conditions, &fresh);
        let mut entry = match (step, again) {
            (EngineStep::Append(entry), EngineStep::Append(again)) => {
                assert_eq!(entry, again, "the same input gives the same entry");
                *entry
            }
            (EngineStep::Refuse(refusal), EngineStep::Refuse(again)) => {
                assert_eq!(refusal, again);
                return Fed::Refused(refusal);
            }
            (EngineStep::Nothing, EngineStep::Nothing) => return Fed::Nothing,
            different => panic!("the same input gives different steps: {different:?}"),
        };
        let fold = self.folds.entry(waypoint_id.clone()).or_default();
        entry.record_mut().previous = fold.last;
        let stored = StoredEntry::new(&entry);
        let journal = self.journals.entry(waypoint_id.clone()).or_default();
        journal.push(stored.clone());
        let read = stored.read();
        assert_eq!(read, entry, "an entry means the same after it was stored");
        let sequence = Sequence(journal.len() as u64);
        fold.take(sequence, Digest::of(&stored.bytes), &read).expect("what the machine appends keeps its invariants");
        let after = fold.state.clone();
        self.waypoints.insert(waypoint_id.clone(), after.clone());
        let digest = Digest::of(&stored.bytes);
        let logged = FixtureEntry {
            waypoint: Some(waypoint_id.clone()),
            entry: read.clone(),
            digest,
            input: Some(input.clone()),
        };
        self.log.push(logged);
        self.trace.push(Transition { waypoint: waypoint_id, input, before, after, entry: read.clone() });
        Fed::Appended(Box::new(read))
    }

    /// Reserves what a turn needs of the flight's budget, in its own journal.
    fn reserve(&mut self, waypoint: &WaypointId, need: &Need) {
        let mut reserved = flight::reserve(&self.flight, &self.waypoints, waypoint, need, self.now);
        let own = self.log.iter().rev().find(|logged| logged.waypoint.is_none());
        reserved.record.previous = own.map(|logged| logged.digest);
        let entry = Entry::Reserved(Box::new(reserved));
        self.log_own(entry.clone());
        self.flight.take(&entry);
    }

    /// All memory is lost, and read again from the journals.
    pub fn crash(&mut self) {
        let mut waypoints = Waypoints::new();
        for (name, journal) in &self.journals {
            let mut fold = Folded::default();
            for (n, stored) in journal.iter().enumerate() {
                fold.take(Sequence(n as u64 + 1), Digest::of(&stored.bytes), &stored.read()).unwrap();
            }
            waypoints.insert(name.clone(), fold.state.clone());
            self.folds.insert(name.clone(), fold);
        }
        assert_eq!(waypoints, self.waypoints, "the fold of the journals is the state");
        self.waypoints = waypoints;
    }

    /// What the waypoint is in, or the branch that is meant.
    pub fn phase(&self, name: &str) -> Phase {
        let state = self.state(name);
        let meant = |phase: &&Phase| self.at.is_none_or(|at| phase.turn().is_some_and(|open| open.gate.as_str() == at));
        let found = state.phases().find(meant).cloned();
        found.unwrap_or(state.phase)
    }

    pub fn open_turn(&self, name: &str) -> Option<OpenTurn> {
        match self.phase(name) {
            Phase::InTurn(open) => Some(open),
            _ => None,
        }
    }

    /// Does what is due in forks, as the orchestrator does it.
    pub fn fork(&mut self, name: &str) {
        for _ in 0..100 {
            let due = flight::due(&self.flight, &self.waypoints, self.now);
            let of_it = |due: &Due| matches!(due, Due::Open(id) | Due::Join(id) if id.as_str() == name);
            let taken = match due.into_iter().find(of_it) {
                Some(Due::Join(_)) => {
                    let voted =
                        self.journal(name).iter().filter_map(|stored| waypoint::voted(&stored.read())).collect();
                    self.feed(name, Input::Joined(voted))
                }
                Some(_) => self.feed(name, Input::Open),
                None => return,
            };
            assert!(matches!(taken, Fed::Appended(_)), "what is due gets further: {taken:?}");
        }
        panic!("something is due for ever");
    }

    /// The turn that is open, as it stands.
    pub fn turn(&self, name: &str) -> Turn {
        let open = self.open_turn(name).expect("a turn is open");
        let turn = self.turn_of(name, &open.turn).expect("an open turn has an entry");
        let is_last = self.last_turn(name).is_some_and(|last| last.turn_id == open.turn);
        assert!(is_last || self.state(name).fork.is_some(), "the open turn is the last that was opened");
        *turn
    }

    /// A handoff on the open turn, by its role.
    pub fn handoff<T>(&mut self, name: &str, body: T) -> Handoff<T> {
        let open = self.open_turn(name).expect("a turn is open");
        let cause = self.cause(&open.role);
        let told = self.turn(name).told().cloned().map(Box::new);
        Handoff {
            turn: open.turn,
            role: open.role,
            agent: self.maker.parse().unwrap(),
            cause,
            told,
            metered: self.metered.clone(),
            left_out: self.left_out.clone(),
            body,
        }
    }

    /// Why another agent has to take this open turn.
    pub fn for_others(&self, name: &str, turn: &TurnId, agent: &str) -> Option<&'static str> {
        let (state, planned) = (self.state(name), self.flight.planned(&id(name)).unwrap());
        let workflow = self.flight.workflow_of(planned, &state).unwrap();
        waypoint::is_for_others(&state, turn, &agent.parse().unwrap(), workflow)
    }

    pub fn cause(&mut self, role: &RoleId) -> Cause {
        let n = self.next_id();
        Cause {
            stream: streams::handoff(role),
            sequence: Sequence(n),
            digest: Digest::of(&n.to_be_bytes()),
            artifact: format!("artifact-{n}").parse().unwrap(),
        }
    }

    /// A new commit with a tree of its own.
    pub fn commit(&mut self) -> BundledCommit {
        let (commit, tree) = (oid(self.next_id()), oid(self.next_id()));
        BundledCommit { bundle: bundle(commit.clone()), commit, tree }
    }

    pub fn work(&mut self, violations: Vec<Violation>) -> BuildOutcome {
        BuildOutcome::Work { commit: Some(self.commit()), violations }
    }

    /// The open build turn ends with `outcome`.
    pub fn build(&mut self, name: &str, outcome: BuildOutcome) -> Fed {
        let handoff = self.handoff(name, outcome);
        self.feed(name, Input::Built(handoff))
    }

    /// The open build turn ends with a commit.
    pub fn build_ok(&mut self, name: &str) -> Fed {
        let work = self.work(Vec::new());
        self.build(name, work)
    }

    /// The open verifier's turn ends with the report that lets work go on, changed by `change`.
    pub fn report(&mut self, name: &str, change: impl FnOnce(&mut VerificationReport)) -> Fed {
        let mut report = sound_report(&self.turn(name));
        change(&mut report);
        let input = self.reported(name, report);
        self.feed(name, input)
    }

    /// A report on the open turn, as the orchestrator gives it to the machine.
    pub fn reported(&mut self, name: &str, report: VerificationReport) -> Input {
        let for_build = self.turn(name).for_build;
        Input::Reported(self.handoff(name, Box::new(ReportInput { report, for_build, touched: self.touched.clone() })))
    }

    /// Opens, builds and verifies a waypoint; it is accepted and not landed.
    pub fn accept(&mut self, name: &str) {
        self.feed(name, Input::Open);
        self.build_ok(name).turn();
        self.report(name, |_| {}).decided();
    }
}

impl Fixture {
    /// Nobody answers the open turn until its deadline.
    pub fn pass_deadline(&mut self, name: &str) -> Fed {
        self.now = self.open_turn(name).expect("a turn is open").deadline;
        let turn = Box::new(self.turn(name));
        let due = flight::due(&self.flight, &self.waypoints, self.now);
        assert!(due.contains(&Due::Deadline(id(name), turn.turn_id.clone())), "{due:?}");
        self.feed(name, Input::DeadlinePassed(turn))
    }

    /// Adds the children that a delegated waypoint waits for, as the orchestrator does.
    pub fn add_children(&mut self, name: &str) {
        let Phase::Delegated(delegated) = self.state(name).phase else { panic!("{name} is not delegated") };
        let proposal = self.trace.iter().find_map(|transition| match &transition.input {
            Input::Fulfilled(handoff) if handoff.cause == delegated.proposal => handoff.body.document.clone()?.proposal,
            _ => None,
        });
        let proposal = proposal.expect("the handoff proposes something");
        let mut added = flight::add(&self.flight, &self.waypoints, &id(name), &proposal, self.now).unwrap();
        let own = self.log.iter().rev().find(|logged| logged.waypoint.is_none());
        added.record.previous = own.map(|logged| logged.digest);
        let entry = Entry::Added(Box::new(added));
        self.log_own(entry.clone());
        self.flight.take(&entry);
    }
}
