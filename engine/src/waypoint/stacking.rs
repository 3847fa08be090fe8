//! Work on its way to the branch (FLY-39): it waits in the queue until it is integrated with what goes before it, and is judged
//! as it lands (ADR 22).
//!
//! The base of work that is integrated behind other work is a commit that stands for the landing in front of it. Nothing is made on such
//! a base: a report by which the work is not accepted is kept until that landing is there, or is void.

use holdpoint_planfile::gates::{Duty, Gate, Workflow};
use holdpoint_protocol::{
    artifact::{VerificationPurpose, VerificationReport},
    facts::Oid,
    ids::WaypointId,
    journal::{Cause, Enqueued, Entry},
    state::{Alone, Held, KeptReport, OpenTurn, Phase, Purpose, Queued, Resume, Stacked, WaypointState, Work},
    version,
};

use super::{
    EngineStep, Handoff, Input, MergeResult, ReportInput, StepContext, checkpoints,
    report::{self, Found},
    transition::Transition,
    turns,
};

/// What work is integrated with, where that is more than the head: the queue up to an entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The waypoints of the queue up to there, in the order in which they land.
    pub waypoints: Vec<WaypointId>,
    /// A commit with the tree of the last of them, on the head.
    pub commit: Oid,
    /// That tree.
    pub tree: Oid,
}

/// Why work cannot be integrated behind other work; on the head it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// It collides with what is in front of it, or changes nothing that this does not: others go before it until the head moved.
    Passed,
    /// People or agents would have to look at the merge again, and of what may never land: it comes first when the queue is
    /// through.
    First,
}

/// What of a waypoint is integrated next: its work as it was handed off or last merged with the head, and the base of that.
#[must_use]
pub fn unmerged(state: &WaypointState) -> Option<(&Work, &Oid)> {
    match &state.stacked {
        Some(stacked) => Some((&stacked.alone.work, &stacked.alone.base)),
        None => state.work.as_ref().zip(state.base.as_ref()),
    }
}

/// Whether a merge with the queue is something to verify behind it.
///
/// # Errors
/// Why it is not.
pub fn stacks(merge: &MergeResult, workflow: &Workflow) -> Result<(), Aside> {
    match merge {
        MergeResult::Clean { same_diff: true, .. } => Ok(()),
        MergeResult::Clean { .. } => match workflow.last_judge() {
            Some(judge) if !lands_behind(judge, workflow) => Err(Aside::First),
            _ => Ok(()),
        },
        MergeResult::Contained | MergeResult::AsItIs | MergeResult::Conflict { .. } => Err(Aside::Passed),
    }
}

/// Whether what a gate's verifier accepts lands, without a look of anybody else.
fn lands_behind(gate: &Gate, workflow: &Workflow) -> bool {
    gate.duty == Duty::Judge && workflow.after(&gate.id).is_none()
}

/// Whether work lands by the verdict that it waits for.
#[must_use]
pub(crate) fn lands_by_verdict(state: &WaypointState, workflow: &Workflow) -> bool {
    let (gate, purpose) = match &state.phase {
        Phase::InTurn(open) => (&open.gate, open.purpose),
        Phase::Queued(queued) => (&queued.gate, queued.purpose),
        _ => return false,
    };
    let is_made = state.work.as_ref().is_some_and(|work| work.commit.is_some());
    let last = || workflow.gate(gate).is_some_and(|gate| lands_behind(gate, workflow));
    is_made && judges_work(purpose) && (purpose == MERGE || state.fork.is_none() && last())
}

/// What work is verified for that was accepted before.
pub(super) const MERGE: Purpose = Purpose::Verify(VerificationPurpose::Merge);

/// Whether a turn judges work, and not its base.
fn judges_work(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Verify(VerificationPurpose::Handoff | VerificationPurpose::Merge))
}

/// The open verification of integrated work, where it may be given up for another one: no person has a hand in it.
pub(crate) fn replaceable(state: &WaypointState) -> Option<&OpenTurn> {
    match &state.phase {
        Phase::InTurn(open) if judges_work(open.purpose) && open.taken_by.is_none() && open.judged.is_empty() => {
            Some(open)
        }
        _ => None,
    }
}

/// Whether work waits in the queue before it comes to a verifier: the head moved since its base, or other work goes before it.
pub(super) fn waits(state: &WaypointState, gate: &Gate, cx: &StepContext<'_>) -> bool {
    let is_made = state.work.as_ref().is_some_and(|work| work.commit.is_some());
    let is_overtaken = || state.base.as_ref() != Some(cx.flight.head());
    let is_behind = || !cx.is_first && lands_behind(gate, cx.workflow);
    gate.duty == Duty::Judge && is_made && (is_overtaken() || is_behind())
}

/// The turn whose report is kept, where it is this one.
pub(crate) fn keeps<'a>(state: &'a WaypointState, report: &Cause) -> Option<&'a OpenTurn> {
    let Phase::Queued(queued) = &state.phase else { return None };
    queued.kept.as_ref().filter(|kept| kept.report == *report).map(|kept| &kept.turn)
}

/// The input by which a kept report counts: as it was when it was kept, by whose receipt and what held on touched paths. `None`: no
/// report is kept.
#[must_use]
pub fn counts_now(state: &WaypointState, mut report: VerificationReport) -> Option<Input> {
    let Phase::Queued(queued) = &state.phase else { return None };
    let KeptReport { turn: OpenTurn { turn, role, gate, .. }, report: cause } = queued.kept.as_deref()?;
    report.receipt.foreign = state.foreign_receipt.unwrap_or(true);
    Some(Input::Reported(Handoff {
        turn: turn.clone(),
        role: role.clone(),
        agent: report.agent.clone(),
        cause: cause.clone(),
        told: None,
        metered: None,
        left_out: Vec::new(),
        body: Box::new(ReportInput { report, for_build: None, touched: checkpoints::held(state, gate) }),
    }))
}

/// The waypoint as the turn saw it whose report is kept, for that report. What it used up was charged when it came.
pub(super) fn as_kept(state: &WaypointState, input: &mut Input) -> Option<WaypointState> {
    let Input::Reported(handoff) = input else { return None };
    let turn = keeps(state, &handoff.cause)?.clone();
    handoff.metered = None;
    Some(WaypointState { phase: Phase::InTurn(turn), answered: None, ..state.clone() })
}

/// Whether work in this phase is what it was integrated to.
fn is_integrated(phase: &Phase) -> bool {
    match phase {
        Phase::InTurn(open) => judges_work(open.purpose),
        Phase::Waiting(question) => judges_work(question.turn.purpose),
        Phase::Held(Held { resume, .. }) => match resume {
            Resume::Turn(open) => judges_work(open.purpose),
            Resume::Gate { purpose, .. } => judges_work(*purpose),
            Resume::Landing { .. } => true,
            Resume::Beginning | Resume::Fork => false,
        },
        Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => true,
        Phase::Pending | Phase::Forked | Phase::Delegated(_) => false,
    }
}

/// Whether a state says of the queue what cannot be.
pub(super) fn misfit(after: &WaypointState) -> Option<&'static str> {
    let is_made = after.work.as_ref().is_some_and(|work| work.commit.is_some());
    if let Phase::Queued(queued) = &after.phase {
        if !is_made {
            return Some("nothing waits in the queue that could land");
        }
        if queued.kept.is_some() && after.stacked.is_none() {
            return Some("a report is kept on work that is behind no other work");
        }
    }
    let stacked = after.stacked.as_ref()?;
    if !is_integrated(&after.phase) {
        return Some("something else than its landing follows from work that is merged behind other work");
    }
    (!is_made || stacked.behind.is_empty()).then_some("merged behind other work, and there is none")
}

impl Transition<'_> {
    /// Work that goes anywhere but to its landing is what it was before it was integrated behind other work, and nothing of it is
    /// verified or let through any more: something else is to become of it.
    pub(super) fn settle_stack(&mut self, phase: &Phase) {
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

    /// Comes to a verifier's gate with work that has to be integrated first.
    pub(super) fn enqueue(self, gate: &Gate) -> EngineStep {
        let (gate, purpose, since) = (gate.id.clone(), turns::purpose(gate), self.cx.now);
        self.queued(Queued { gate, purpose, since, kept: None })
    }

    /// Not accepted behind work that has not landed: nobody knows whose fault that is. The report counts when that has landed.
    pub(super) fn keep(self, stacked: &Stacked, open: &OpenTurn, found: Found<'_>, cause: Cause) -> EngineStep {
        let (gate, purpose, since) = (open.gate.clone(), open.purpose, stacked.since);
        let turn = OpenTurn { questions: Vec::new(), allowance: None, ..open.clone() };
        let kept = Some(Box::new(KeptReport { turn, report: cause.clone() }));
        let mut transition = self.taken(cause);
        report::remember(&mut transition.next, found);
        transition.queued(Queued { gate, purpose, since, kept })
    }

    fn queued(mut self, queued: Queued) -> EngineStep {
        self.go_to(Phase::Queued(Box::new(queued)));
        let entry = Enqueued { schema_version: version::CURRENT, record: self.record() };
        EngineStep::Append(Box::new(Entry::Queued(Box::new(entry))))
    }
}
