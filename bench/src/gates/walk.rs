//! One waypoint in memory: the machine as an orchestrator drives it, without a journal, a broker or a clock.

use std::time::{Duration, Instant};

use holdpoint_engine::{
    flight::FlightState,
    waypoint::{self, BuildOutcome, EngineStep, Fresh, Handoff, Input, PersonAct, ReportInput, Retrying, StepContext},
};
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Completion, CompletionBody, Origin, Retry, RetryBody},
    codec::{self, Encoding},
    facts::{BlobRef, BundleRef, Oid},
    ids::{AgentName, ArtifactId, FlightId, RoleId, TurnId, role},
    journal::{Cause, ConditionResult, Entry, Fleet, Record, Sequence, Submitted},
    plan::Waypoint,
    state::{Outcome, Phase, WaypointState},
    streams,
    time::Millis,
    turn::{Turn, TurnRequest},
    version,
    workflow::WorkflowSpec,
};

use super::workflow;
use crate::{
    BenchError,
    error::Doing as _,
    peer::{Hand, passed},
};

const ACTION: &str = "take a waypoint through its gates in memory";
/// When everything happens.
pub(super) fn now() -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000)
}

/// A flight, whose first waypoint is walked: by it all others are measured as well.
pub(super) struct World {
    pub(super) flight: FlightState,
    pub(super) waypoint: Waypoint,
}

impl World {
    /// A flight of one waypoint.
    pub(super) fn new(declared: &WorkflowSpec) -> Result<Self, BenchError> {
        Self::of(declared, 1)
    }

    /// A flight of so many.
    pub(super) fn of(declared: &WorkflowSpec, waypoints: usize) -> Result<Self, BenchError> {
        let plan = workflow::plan(waypoints)?;
        let waypoint = plan.waypoints.first().cloned().ok_or("a plan without waypoints").doing(ACTION)?;
        let base: Oid = "a".repeat(40).parse().doing(ACTION)?;
        let blob = BlobRef { role: role::id(role::OPERATOR), digest: Digest::of(b"snapshot"), bytes: 1 };
        let submitted = Submitted {
            schema_version: version::CURRENT,
            flight: FlightId::try_new("in-memory-000001").doing(ACTION)?,
            by: None,
            plan,
            base_tree: "b".repeat(40).parse().doing(ACTION)?,
            snapshot: BundleRef { blob, tip: base.clone(), index: None },
            base,
            covenant: "AGENTS.md".to_owned(),
            covenant_version: Digest::of(b""),
            fleet: Fleet {
                pool: streams::fleet_pool(),
                repair: false,
                judge: false,
                advisors: 0,
                parallel: None,
                queue_grace: Millis(60_000),
                build_wall: Millis(60_000),
                dead_after: 0,
            },
            workflows: vec![declared.clone().into()],
            record: Record::at(now()),
        };
        Ok(Self { flight: FlightState::new(submitted), waypoint })
    }
}

/// One waypoint on its way.
pub(super) struct Walk<'a> {
    world: &'a World,
    pub(super) state: WaypointState,
    turn: Option<Box<Turn>>,
    steps: u64,
    /// Whether reviewers of the last gate send the work back.
    rejects: bool,
}

/// What one step came to.
pub(super) struct Stepped {
    pub(super) entry: Box<Entry>,
    /// How long the machine took, evaluations that were wanted and came back included.
    pub(super) took: Duration,
}

impl<'a> Walk<'a> {
    pub(super) fn new(world: &'a World, rejects: bool) -> Self {
        Self { world, state: WaypointState::default(), turn: None, steps: 0, rejects }
    }

    /// The next step; `None` once the waypoint is accepted.
    pub(super) fn step(&mut self) -> Result<Option<Stepped>, BenchError> {
        if matches!(self.state.phase, Phase::Accepted { .. }) {
            return Ok(None);
        }
        self.steps += 1;
        let (input, fresh) = (self.input()?, self.fresh()?);
        let World { flight, waypoint } = self.world;
        let mut conditions: Vec<ConditionResult> = Vec::new();
        let mut took = Duration::ZERO;
        let entry = loop {
            // The machine takes what it is given: copies of it are no part of its time.
            let input = input.clone();
            let begin = Instant::now();
            let workflow = flight.workflow_of(waypoint, &self.state).ok_or("no workflow").doing(ACTION)?;
            let cx = StepContext { flight, waypoint, workflow, now: now(), conditions: &conditions, is_first: true };
            let step = waypoint::step(&self.state, input, &cx, &fresh);
            took += begin.elapsed();
            match step {
                EngineStep::Append(entry) => break entry,
                EngineStep::Evaluate(wanted) => {
                    conditions.push(ConditionResult { gate: wanted.gate, holds: true, failure: None });
                }
                other => return Err(BenchError::failed(ACTION, format!("{other:?} after {:?}", self.state.phase))),
            }
        };
        let after = entry.record().state.clone();
        self.state = after.ok_or("an entry without a state").doing(ACTION)?;
        self.turn = if let Entry::Turn(turn) = entry.as_ref() { Some(turn.clone()) } else { None };
        Ok(Some(Stepped { entry, took }))
    }

    /// How many gates were visited so far.
    pub(super) fn visits(&self) -> usize {
        let earlier = self.state.earlier_visits.map_or(0, |earlier| earlier.count);
        self.state.history.len() + usize::try_from(earlier).unwrap_or(usize::MAX)
    }

    fn fresh(&self) -> Result<Fresh, BenchError> {
        let n = self.steps;
        let artifact = |kind: &str| ArtifactId::try_new(format!("{kind}-{n:08}")).doing(ACTION);
        Ok(Fresh {
            turn: TurnId::try_new(format!("turn-{n:08}")).doing(ACTION)?,
            decision: artifact("decision")?,
            guidance: artifact("guidance")?,
            request: artifact("request")?,
        })
    }

    fn cause(&self, by: &RoleId) -> Result<Cause, BenchError> {
        let artifact = ArtifactId::try_new(format!("artifact-{:08}", self.steps)).doing(ACTION)?;
        let digest = Digest::of(&self.steps.to_be_bytes());
        Ok(Cause { stream: streams::handoff(by), sequence: Sequence(self.steps), digest, artifact })
    }

    fn origin(&self, by: &RoleId) -> Result<Origin, BenchError> {
        Ok(Origin {
            artifact_id: self.cause(by)?.artifact,
            waypoint_id: self.world.waypoint.id.clone(),
            produced_by_role: by.clone(),
            produced_at: now(),
            source_refs: Vec::new(),
        })
    }

    /// What comes next: from the agent whose turn it is, or from a person where the work is held.
    fn input(&self) -> Result<Input, BenchError> {
        let Some(turn) = &self.turn else {
            return if matches!(self.state.phase, Phase::Held(_)) { self.retry() } else { Ok(Input::Open) };
        };
        let agent = AgentName::try_new(format!("{}-1", turn.role)).doing(ACTION)?;
        let hand = Hand { origin: self.origin(&turn.role)?, turn: turn.turn_id.clone(), delivery: 1, agent };
        Ok(match &turn.request {
            TurnRequest::Build(_) => {
                Input::Built(self.handoff(turn, &hand, BuildOutcome::Work { commit: None, violations: Vec::new() })?)
            }
            TurnRequest::Verify(request) => {
                let report = passed(hand.clone(), request, Digest::of(b"evidence"));
                let reported = ReportInput { report, for_build: turn.for_build.clone(), touched: Vec::new() };
                Input::Reported(self.handoff(turn, &hand, Box::new(reported))?)
            }
            TurnRequest::Complete(_) => {
                let completion = Box::new(self.completion(turn, &hand));
                Input::Fulfilled(self.handoff(turn, &hand, completion)?)
            }
        })
    }

    fn handoff<T>(&self, turn: &Turn, hand: &Hand, body: T) -> Result<Handoff<T>, BenchError> {
        let (role, agent) = (turn.role.clone(), hand.agent.clone());
        Ok(Handoff {
            turn: turn.turn_id.clone(),
            cause: self.cause(&role)?,
            role,
            agent,
            told: None,
            metered: None,
            left_out: Vec::new(),
            body,
        })
    }

    fn completion(&self, turn: &Turn, hand: &Hand) -> Completion {
        let workflow = self.world.flight.workflow_of(&self.world.waypoint, &self.state);
        let is_last = workflow.is_some_and(|workflow| workflow.after(&turn.gate).is_none());
        let rejects = self.rejects && is_last;
        let body = CompletionBody {
            outcome: Some(if rejects { Outcome::NeedsReview } else { Outcome::Complete }),
            summary: "Looked at.".to_owned(),
            blockers: if rejects { vec!["Say what happens after the last repetition.".to_owned()] } else { Vec::new() },
            ..CompletionBody::of_agent(hand.agent.clone(), hand.turn.clone(), hand.delivery)
        };
        Completion::new(hand.origin.clone(), body)
    }

    fn retry(&self) -> Result<Input, BenchError> {
        let by = AgentName::try_new("human-bench").doing(ACTION)?;
        let (cause, origin) = (self.cause(&role::id(role::OPERATOR))?, self.origin(&role::id(role::OPERATOR))?);
        let body = RetryBody { agent: by.clone(), on: None, from: None, reworks: 1, note: None };
        let retrying = Retrying { retry: Retry::new(origin, body), turn: None, feedback: None };
        Ok(Input::Retried(PersonAct { by, cause, overtaken: false, body: Box::new(retrying) }))
    }
}

/// Bytes of an entry as it is stored.
pub(super) fn stored_len(entry: &Entry) -> Result<usize, BenchError> {
    let bytes = match entry {
        Entry::Turn(turn) => codec::encode(turn.as_ref(), Encoding::Json),
        Entry::Decided(decided) => codec::encode(decided.as_ref(), Encoding::MsgPack),
        other => return Err(BenchError::failed(ACTION, format!("an entry that is not expected: {other:?}"))),
    };
    bytes.map(|bytes| bytes.len()).doing(ACTION)
}
