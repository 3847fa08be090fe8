//! A transition of one waypoint as a value: the state before, the state after, and what caused it.
//!
//! The one place where a decision, the state after it and the entry that carries both are put together. Where work goes
//! after a turn is said by [`Transition::leave`] alone, which asks the workflow.

use holdpoint_planfile::{
    checkpoints,
    gates::{Duty, Gate, Move, Stop},
};
use holdpoint_protocol::{
    artifact::{Disposition, Metered, OrchestratorDecision, OrchestratorDecisionBody, Origin, StatusMutation, Verb},
    checkpoint::{DocumentRef, GateDocument},
    ids::{AgentName, ArtifactId, GateId, RoleId, role},
    journal::{Cause, ConditionResult, Decided, Entry, Record},
    reason::{BlockReason, ReasonCode},
    state::{
        Acted, GateVisit, Held, LastDecision, OpenTurn, Outcome, Phase, Purpose, Resume, Status, WaypointState,
        WinningHandoff,
    },
    turn::{Feedback, ReviewContext},
    version,
};

use super::{
    EngineStep, Fresh, StepContext,
    arrival::{self, Arrival},
    delegating, forking, funding, opening, stacking, taking,
    turns::{self, Opening},
    visits,
};
use crate::{
    feedback, flight,
    policy::{Ruling, escalate},
};

/// Earlier handoffs that a state in a fork knows to be taken.
const ANSWERED_BEFORE_MAX: usize = 32;

/// A transition on its way to an entry.
#[derive(Debug, Clone)]
pub(super) struct Transition<'a> {
    pub(super) before: &'a WaypointState,
    /// The state after it, as far as it is known.
    pub(super) next: WaypointState,
    /// The handoff that causes it.
    pub(super) cause: Option<Cause>,
    /// Who causes it.
    pub(super) by: Option<AgentName>,
    /// What came of the conditions it went by.
    pub(super) conditions: Vec<ConditionResult>,
    /// What the answered turn used up, as its agent reports it.
    pub(super) metered: Option<Box<Metered>>,
    /// What kind of obstacle holds the work, where an agent or a person says so.
    pub(super) block_reason: Option<BlockReason>,
    pub(super) cx: &'a StepContext<'a>,
    pub(super) fresh: &'a Fresh,
}

/// A ruling, with the feedback of the next build turn if the work goes back.
#[derive(Debug, Clone)]
pub(super) struct Ruled {
    pub(super) ruling: Ruling,
    pub(super) feedback: Option<Feedback>,
}

impl From<Ruling> for Ruled {
    fn from(ruling: Ruling) -> Self {
        Self { ruling, feedback: None }
    }
}

impl<'a> Transition<'a> {
    /// One that no handoff causes.
    pub(super) fn new(before: &'a WaypointState, cx: &'a StepContext<'a>, fresh: &'a Fresh) -> Self {
        let mut next = before.clone();
        next.configured.by = cx.flight.configured.newest();
        next.configured.began = flight::began(before).unwrap_or(next.configured.by);
        Self {
            before,
            next,
            cause: None,
            by: None,
            conditions: Vec::new(),
            metered: None,
            block_reason: None,
            cx,
            fresh,
        }
    }

    /// Who causes it, by the key that signed the handoff.
    pub(super) fn by(mut self, agent: AgentName) -> Self {
        self.by = Some(agent);
        self
    }

    /// What the answered turn used up.
    pub(super) fn metered(mut self, metered: Option<Box<Metered>>) -> Self {
        self.metered = metered;
        self
    }

    /// The open turn is answered: its gate is left with an outcome.
    pub(super) fn answered(self, cause: Cause, outcome: Outcome) -> Self {
        self.taken(cause).exited(outcome)
    }

    /// The open turn is answered; its gate stays open.
    pub(super) fn taken(mut self, cause: Cause) -> Self {
        if let Phase::InTurn(open) = &self.before.phase {
            let earlier = self.next.answered.replace(WinningHandoff { turn: open.turn.clone(), digest: cause.digest });
            if self.next.fork.is_none() {
                self.next.answered_before.clear();
            } else {
                // As many as votes and questions; what is older was acknowledged long ago.
                let over = (self.next.answered_before.len() + 1).saturating_sub(ANSWERED_BEFORE_MAX);
                self.next.answered_before.drain(..over);
                self.next.answered_before.extend(earlier);
            }
        }
        self.next.counters.redeliveries = 0;
        self.cause = Some(cause);
        self
    }

    /// A person does it.
    pub(super) fn acted(mut self, by: AgentName, verb: Verb, cause: Cause) -> Self {
        self.by = Some(by.clone());
        self.next.acted = Some(Acted { by, verb, at: self.cx.now, digest: cause.digest });
        self.next.counters.interventions = self.next.counters.interventions.saturating_add(1);
        self.cause = Some(cause);
        self
    }

    /// The document of a gate is from now on the one that its cause brings.
    pub(super) fn documented(&mut self, gate: &GateId, document: &GateDocument) -> DocumentRef {
        let from = self.cause.as_ref().map(Cause::reference).unwrap_or_default();
        let newest = DocumentRef { gate: gate.clone(), blob: checkpoints::blob(document), from };
        checkpoints::put_newest(&mut self.next.documents, newest.clone());
        newest
    }

    /// Closes the open visit of the gate whose turn it was.
    pub(super) fn exited(mut self, outcome: Outcome) -> Self {
        let queued = || if let Phase::Queued(queued) = &self.before.phase { Some(&queued.gate) } else { None };
        let gate = self.before.phase.turn().map(|open| &open.gate);
        let gate = gate.or_else(|| delegating::gate(self.before)).or_else(queued);
        let mut open = self.next.history.iter_mut().rev().filter(|visit| visit.exited.is_none());
        if let Some(visit) = open.find(|visit| gate == Some(&visit.gate)) {
            visit.exited = Some(self.cx.now);
            visit.agent = self.by.clone();
            visit.outcome = Some(outcome);
            visit.artifact = self.cause.as_ref().map(|cause| cause.artifact.clone());
        }
        self
    }

    /// A decided build or repair turn is an attempt (contract, `attempts`).
    pub(super) fn count_attempt(&mut self) {
        self.next.counters.attempts += 1;
    }

    /// Work is sent back: a rework, or a rollback.
    pub(super) fn count_rework(&mut self, ruling: &Ruling) {
        self.next.counters.reworks += 1;
        if ruling.disposition == Disposition::Rollback {
            self.next.counters.rollbacks += 1;
        }
    }

    /// The reworks that are left.
    pub(super) fn reworks_left(&self) -> bool {
        reworks_left(&self.next, self.cx)
    }

    /// Leaves a gate: the one exit of every turn. Where it leads is the workflow's to say.
    pub(super) fn leave(self, gate: &GateId, outcome: Outcome, ruled: impl Into<Ruled>) -> EngineStep {
        let (cx, mut ruled) = (self.cx, ruled.into());
        let moved = cx.workflow.evaluate(gate, outcome, |earlier| arrival::was_entered(self.before, earlier));
        if self.is_in_fork(gate) {
            match moved {
                Ok(Move::Advance(_) | Move::Finish) => return self.vote(gate, Outcome::Complete, ruled),
                Ok(Move::Reject(_)) => return self.vote(gate, Outcome::NeedsReview, ruled),
                Ok(Move::Again(_) | Move::Hold) | Err(_) => {}
            }
        }
        match moved {
            Ok(Move::Advance(next)) => self.enter(next),
            Ok(Move::Reject(target)) => {
                if let Some(feedback) = &mut ruled.feedback {
                    feedback.review = self.review(gate);
                }
                self.reject_to(target, ruled)
            }
            // The role that has the turn tries again, at any link of the chain.
            Ok(Move::Again(target)) => {
                let link = self.before.phase.turn().filter(|open| open.gate == target.id).map_or(0, |open| open.link);
                self.again_by(target, link, ruled)
            }
            Ok(Move::Finish) => self.finish(&ruled.ruling),
            // A rejection that the gate may not give: a person has to look.
            Ok(Move::Hold) | Err(_) => {
                let resume = self.same_gate(gate);
                self.hold(resume, ruled)
            }
        }
    }

    /// Work goes back to a gate.
    pub(super) fn reject_to(mut self, target: &'a Gate, ruled: Ruled) -> EngineStep {
        self.unstack();
        // What was verified stays so where nothing is made of it again.
        if self.cx.workflow.makes_from(&target.id) {
            self.next.verified = None;
        }
        self.next.cleared = false;
        self.send_back(target, ruled)
    }

    /// Where a rejection comes from.
    fn review(&self, gate: &GateId) -> Option<ReviewContext> {
        let Phase::InTurn(open) = &self.before.phase else { return None };
        let (from_gate, from_role) = (gate.clone(), open.role.clone());
        Some(ReviewContext { from_gate, from_role, from_agent: self.by.clone(), at: self.cx.now })
    }

    /// Where work goes on that is held in a gate.
    fn same_gate(&self, gate: &GateId) -> Resume {
        let purpose = match &self.before.phase {
            Phase::InTurn(open) => Some(open.purpose),
            _ => self.cx.workflow.gate(gate).map(turns::purpose),
        };
        purpose.map_or(Resume::Beginning, |purpose| Resume::Gate { gate: gate.clone(), purpose })
    }

    /// Comes to a gate or fork with work that was let through so far.
    pub(super) fn enter(self, stop: Stop<'a>) -> EngineStep {
        match self.arrive(stop) {
            Arrival::At(transition, Stop::Fork(_)) => transition.open_branch(None, None),
            Arrival::At(transition, Stop::Gate(gate))
                if opening::is_base_tried(gate, &transition.next, transition.cx) =>
            {
                turns::open(*transition, Opening { purpose: opening::BASELINE, ..Opening::of(gate) }, None)
            }
            Arrival::At(transition, Stop::Gate(gate)) if stacking::waits(&transition.next, gate, transition.cx) => {
                transition.enqueue(gate)
            }
            Arrival::At(transition, Stop::Gate(gate)) => {
                let waits = transition.wanted(gate).map(|text| escalate(ReasonCode::ApprovalOpen, &text));
                turns::open(*transition, Opening::of(gate), waits.as_ref())
            }
            Arrival::End(transition) => transition.finish(&met()),
            Arrival::Stopped(step) => step,
        }
    }

    /// What a person can do at a gate for people.
    pub(super) fn wanted(&self, gate: &Gate) -> Option<String> {
        let (flight, waypoint) = (&self.cx.flight.submitted.flight, &self.cx.waypoint.id);
        let reject = if gate.can_reject { ", or `holdpoint reject`," } else { "" };
        let text = || format!("`holdpoint approve {waypoint} --flight {flight}`{reject} at gate {}", gate.id);
        gate.require_human.then(text)
    }

    /// Comes back to a gate, with what was wrong.
    pub(super) fn send_back(self, gate: &'a Gate, ruled: Ruled) -> EngineStep {
        match self.arrive(Stop::Gate(gate)) {
            Arrival::At(transition, Stop::Gate(gate)) => transition.again(gate, ruled),
            // Nobody is left before the fork who could change the work: its branches look at it again.
            Arrival::At(transition, Stop::Fork(_)) => transition.open_branch(ruled.feedback, Some(&ruled.ruling)),
            // Work that was sent back is not finished because no condition lets it in any more.
            Arrival::End(transition) => transition.hold_at(gate, arrival::nothing_entered()),
            Arrival::Stopped(step) => step,
        }
    }

    /// Another turn at `gate`, with what was wrong.
    pub(super) fn again(self, gate: &Gate, ruled: Ruled) -> EngineStep {
        self.again_by(gate, 0, ruled)
    }

    /// Another turn at `gate`, of this link of its chain.
    pub(super) fn again_by(self, gate: &Gate, link: u32, Ruled { mut ruling, feedback }: Ruled) -> EngineStep {
        ruling.remediation = self.wanted(gate).or(ruling.remediation);
        let repair = turns::is_repaired(gate, self.cx);
        turns::open(self, Opening { feedback, repair, link, ..Opening::of(gate) }, Some(&ruling))
    }

    /// The last gate is passed (GATE-10); landing is the flight's. What no gate verified does not land.
    pub(super) fn finish(mut self, ruling: &Ruling) -> EngineStep {
        if !arrival::entered_any(&self.next) {
            return self.hold(Resume::Beginning, arrival::nothing_entered().into());
        }
        let is_made = self.next.work.as_ref().is_some_and(|work| work.commit.is_some());
        if let Some(gate) = self.cx.workflow.last_judge().filter(|_| is_made && self.next.verified.is_none()) {
            let resume = Resume::Gate { gate: gate.id.clone(), purpose: turns::purpose(gate) };
            return self.hold(resume, arrival::not_verified(gate).into());
        }
        let verified = self.next.verified.as_ref();
        let report = verified.map(|verified| verified.report);
        if verified.is_none() {
            self.next.work = None;
        }
        self.next.cleared = true;
        let at = self.cx.now;
        self.decided(Phase::Accepted { at, report }, ruling, None)
    }

    /// It stays where it is until a person has it tried again.
    pub(super) fn hold(self, resume: Resume, Ruled { ruling, feedback }: Ruled) -> EngineStep {
        let held = self.held(resume, &ruling);
        self.exited(Outcome::Blocked).decided(Phase::Held(held), &ruling, feedback)
    }

    /// The phase of work that is held.
    pub(super) fn held(&self, resume: Resume, ruling: &Ruling) -> Held {
        // Nobody waits for an answer in a turn that is held, and nobody has taken it over.
        let resume = match resume {
            // The caller for help goes on, and asks again if it has to.
            Resume::Turn(open) if open.purpose == Purpose::Advise => match &self.before.advice {
                Some(advice) => Resume::Turn(advice.question.turn.clone()),
                None => Resume::Beginning,
            },
            Resume::Turn(open) => Resume::Turn(OpenTurn { questions: Vec::new(), ..taking::given_back(open, self.cx) }),
            other => other,
        };
        let status = if ruling.exhausted { Status::Failed } else { Status::Blocked };
        Held { status, since: self.cx.now, resume, block_reason: self.block_reason }
    }

    /// A decision that opens no turn.
    pub(super) fn decided(mut self, phase: Phase, ruling: &Ruling, feedback: Option<Feedback>) -> EngineStep {
        self.go_to(phase);
        self.remember(ruling);
        let status = StatusMutation { from: phase_status(self.before), to: phase_status(&self.next) };
        let decision = self.decision(ruling, Some(status));
        let whole = self.cause.as_ref().map(Cause::reference);
        let feedback = feedback.map(|told| Box::new(feedback::bounded(told, whole.as_deref())));
        let record = self.record();
        EngineStep::Append(Box::new(Entry::Decided(Box::new(Decided {
            schema_version: version::CURRENT,
            decision,
            feedback,
            record,
        }))))
    }

    /// The journal's part of the entry.
    pub(super) fn record(mut self) -> Record {
        funding::settle(&mut self);
        let (cause, state) = (self.cause, Some(self.next));
        Record { cause, state, conditions: self.conditions, ..Record::at(self.cx.now) }
    }

    /// A decision and what it rests on (FLY-I8: never without references).
    pub(super) fn decision(&self, ruling: &Ruling, status: Option<StatusMutation>) -> OrchestratorDecision {
        // What no handoff caused rests on the submission.
        let submitted = || format!("submitted:{}", self.cx.flight.submitted.flight);
        let source = self.cause.as_ref().map_or_else(submitted, Cause::reference);
        let origin = Origin {
            artifact_id: self.fresh.decision.clone(),
            waypoint_id: self.cx.waypoint.id.clone(),
            produced_by_role: role::id(role::ORCHESTRATOR),
            produced_at: self.cx.now,
            source_refs: vec![source],
        };
        OrchestratorDecision::new(
            origin,
            OrchestratorDecisionBody {
                disposition: ruling.disposition,
                reason_code: ruling.reason,
                status,
                remediation: ruling.remediation.clone(),
                artifacts: self.rests_on(),
            },
        )
    }

    /// The artifacts that a decision rests on, newest first: what it answers, and what left the gates before it, back to where the
    /// work was made; to the first gate, where none is.
    fn rests_on(&self) -> Vec<ArtifactId> {
        let workflow = self.cx.workflow;
        let makes = |visit: &GateVisit| workflow.gate(&visit.gate).is_some_and(|gate| gate.duty == Duty::Make);
        let begins = |visit: &GateVisit| makes(visit) || visit.gate == workflow.first().id;
        let mut found: Vec<ArtifactId> = self.cause.iter().map(|cause| cause.artifact.clone()).collect();
        for visit in self.next.history.iter().rev() {
            if let Some(artifact) = visit.artifact.as_ref().filter(|artifact| !found.contains(artifact)) {
                found.push(artifact.clone());
            }
            if begins(visit) && visit.exited.is_some() {
                break;
            }
        }
        found
    }

    /// Remembers a decision in the state.
    pub(super) fn remember(&mut self, ruling: &Ruling) {
        self.next.decision = Some(LastDecision {
            id: self.fresh.decision.clone(),
            disposition: ruling.disposition,
            reason_code: ruling.reason,
            remediation: ruling.remediation.clone(),
        });
    }

    /// What a decision said to people may quote an agent, and the state rides in every turn, the verifier's too (FLY-18).
    pub(super) fn forget_prose(&mut self) {
        if let Some(decision) = &mut self.next.decision {
            decision.remediation = None;
        }
    }

    /// Opens a gate visit, unless the gate is open already.
    pub(super) fn visit(&mut self, gate: &GateId, role: &RoleId) {
        if self.next.history.iter().any(|visit| visit.exited.is_none() && visit.gate == *gate) {
            return;
        }
        let (gate, role) = (gate.clone(), role.clone());
        let visit =
            GateVisit { gate, role, agent: None, entered: self.cx.now, exited: None, outcome: None, artifact: None };
        visits::push(&mut self.next, visit);
    }

    /// The work on a base is gone: nothing of it was verified or let through.
    pub(super) fn forget_work(&mut self) {
        self.next.work = None;
        self.next.stacked = None;
        self.next.verified = None;
        self.next.cleared = false;
    }
}

/// Everything is met: what an acceptance says.
pub(super) fn met() -> Ruling {
    Ruling { disposition: Disposition::Accept, reason: ReasonCode::CriteriaMet, exhausted: false, remediation: None }
}

/// Whether a rework is left: the plan's, and what people granted.
pub(super) fn reworks_left(state: &WaypointState, cx: &StepContext<'_>) -> bool {
    state.counters.reworks < reworks_granted(state, cx)
}

/// How many reworks there are: the waypoint's own or the plan's, and what people granted.
pub(super) fn reworks_granted(state: &WaypointState, cx: &StepContext<'_>) -> u32 {
    let planned = cx.waypoint.max_reworks.unwrap_or(cx.flight.submitted.plan.policy.max_reworks);
    planned.saturating_add(state.counters.granted)
}

/// The status of a waypoint as far as its own journal shows: landing is the flight's.
#[must_use]
pub fn phase_status(state: &WaypointState) -> Status {
    // Also as one branch sees it.
    if let (Phase::Forked | Phase::InTurn(_) | Phase::Waiting(_), Some(fork)) = (&state.phase, &state.fork) {
        return forking::status(fork);
    }
    match &state.phase {
        Phase::Pending => Status::Pending,
        Phase::InTurn(open) if open.people => Status::Waiting,
        Phase::InTurn(_) | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } => Status::Running,
        Phase::Waiting(_) | Phase::Delegated(_) => Status::Waiting,
        Phase::Held(held) => held.status,
        Phase::Cancelled => Status::Cancelled,
    }
}
