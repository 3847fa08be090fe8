//! A transition of one waypoint as a value: the state before, the state after, and what caused it.
//!
//! The one place where a decision, the state after it and the entry that carries both are put together. Where work goes
//! after a turn is `leaving`.

use holdpoint_planfile::{checkpoints, gates::Duty};
use holdpoint_protocol::{
    artifact::{Disposition, Metered, OrchestratorDecision, OrchestratorDecisionBody, Origin, StatusMutation, Verb},
    checkpoint::{DocumentRef, GateDocument},
    ids::{AgentName, ArtifactId, GateId, RoleId, role},
    journal::{Cause, ConditionResult, Decided, Enqueued, Entry, Record},
    reason::BlockReason,
    state::{
        Acted, Alone, BranchStanding, GateVisit, Held, LastDecision, OpenTurn, Outcome, Phase, Queued, Resume, Status,
        TurnHolder, WaypointState, WinningHandoff,
    },
    turn::Feedback,
    version,
};

use super::{
    EngineStep, Fresh, StepContext,
    branches::place_of,
    holder, spent,
    stacking::is_integrated,
    standing::{self, phase_status, reworks_left},
    visits,
};
use crate::{feedback, policy::Ruling, state};

/// Handoffs that a state in a fork knows to be taken.
const ANSWERED_MAX: usize = 33;

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
        next.configured.began = state::began(before).unwrap_or(next.configured.by);
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
            if self.next.fork.is_none() {
                self.next.answered.clear();
            }
            // As many as votes and questions; what is older was acknowledged long ago.
            let over = (self.next.answered.len() + 1).saturating_sub(ANSWERED_MAX);
            self.next.answered.drain(..over);
            self.next.answered.push(WinningHandoff { turn: open.turn.clone(), digest: cause.digest });
        }
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
        let gate = gate.or_else(|| standing::gate(self.before)).or_else(queued);
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
            Resume::Turn(OpenTurn { holder: TurnHolder::Advisor(advice), .. }) => Resume::Turn(advice.question.turn),
            Resume::Turn(open) => {
                let open = holder::given_back(open, self.cx);
                Resume::Turn(OpenTurn { questions: Vec::new(), redeliveries: 0, ..open })
            }
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
        spent::settle(self.before, &mut self.next, self.metered.as_deref(), self.cx);
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

    /// Work that is nobody's own stands on the newest head.
    pub(super) fn move_to_head(&mut self) {
        if self.next.work.is_none() {
            self.next.base = Some(self.cx.flight.head().clone());
        }
    }

    /// Where work is from here on. The result of a branch is kept in its fork; a phase elsewhere ends the fork, and its
    /// turns that are open are superseded.
    pub(super) fn go_to(&mut self, phase: Phase) {
        self.settle_stack(&phase);
        let Some(fork) = &mut self.next.fork else {
            self.next.phase = phase;
            return;
        };
        match &phase {
            Phase::Forked => {}
            Phase::InTurn(_) | Phase::Waiting(_) => {
                let branch = phase.turn().and_then(|open| fork.branch_mut(&open.gate));
                let Some(branch) = branch else { return self.leave_fork(phase) };
                branch.standing = BranchStanding::Open(phase);
                self.next.phase = Phase::Forked;
                return;
            }
            Phase::Held(Held { resume: Resume::Fork, .. }) => self.suspend(),
            Phase::Held(Held { resume, .. }) => {
                let branch = place_of(resume).and_then(|gate| fork.branch(gate));
                if branch.is_none() {
                    return self.leave_fork(phase);
                }
                self.suspend();
            }
            Phase::Pending | Phase::Delegated(_) | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => {
                return self.leave_fork(phase);
            }
        }
        self.next.phase = phase;
    }

    fn leave_fork(&mut self, phase: Phase) {
        self.end_fork();
        self.next.phase = phase;
    }

    /// The fork is over. Its open turns count no more.
    pub(super) fn end_fork(&mut self) {
        self.close_visits();
        self.next.fork = None;
    }

    /// Held in a fork: what is open is due again afterwards.
    fn suspend(&mut self) {
        self.close_visits();
        let Some(fork) = &mut self.next.fork else { return };
        for branch in fork.branches.iter_mut().filter(|branch| branch.phase().is_some()) {
            branch.standing = BranchStanding::Due;
        }
    }

    fn close_visits(&mut self) {
        let now = self.cx.now;
        for visit in self.next.history.iter_mut().filter(|visit| visit.exited.is_none()) {
            (visit.exited, visit.outcome) = (Some(now), Some(Outcome::Skip));
        }
    }

    /// Whether a gate is a branch of the fork that the work is in.
    pub(super) fn is_in_fork(&self, gate: &GateId) -> bool {
        self.next.fork.as_ref().is_some_and(|fork| fork.branch(gate).is_some())
    }

    /// Work that goes anywhere but to its landing is what it was before it was integrated behind other work, and nothing of it is
    /// verified or let through any more: something else is to become of it.
    fn settle_stack(&mut self, phase: &Phase) {
        if self.next.stacked.is_some() && !is_integrated(phase) {
            self.unstack();
            self.next.cleared = false;
        }
    }

    /// Takes the work out of the queue: it is as it was before.
    pub(super) fn unstack(&mut self) {
        let Some(stacked) = self.next.stacked.take() else { return };
        let Alone { base, work } = stacked.alone;
        self.next.verified = None;
        (self.next.base, self.next.work) = (Some(base), Some(work));
    }

    /// Work waits in the queue from here on.
    pub(super) fn queued(mut self, queued: Queued) -> EngineStep {
        self.go_to(Phase::Queued(Box::new(queued)));
        let entry = Enqueued { schema_version: version::CURRENT, record: self.record() };
        EngineStep::Append(Box::new(Entry::Queued(Box::new(entry))))
    }
}
