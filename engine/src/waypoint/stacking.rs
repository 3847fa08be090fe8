//! Work on its way to the branch (FLY-39): it waits in the queue until it is integrated with what goes before it, and is judged
//! as it lands (ADR 22).
//!
//! The base of work that is integrated behind other work is a commit that stands for the landing in front of it. Nothing is made on such
//! a base: a report by which the work is not accepted is kept until that landing is there, or is void.

use holdpoint_planfile::gates::{Duty, Gate, Stop, Workflow};
use holdpoint_protocol::{
    artifact::VerificationReport,
    facts::Oid,
    journal::Cause,
    state::{Held, KeptReport, OpenTurn, Phase, Resume, WaypointState, Work},
};

use super::{
    Handoff, Input, MergeResult, ReportInput, StepContext, checkpoints,
    purposes::{MERGE, judges_work},
};

/// Why work cannot be integrated behind other work; on the head it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergesAlone {
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
pub fn stacks(merge: &MergeResult, workflow: &Workflow) -> Result<(), MergesAlone> {
    match merge {
        MergeResult::Clean { same_diff: true, .. } => Ok(()),
        MergeResult::Clean { .. } => match workflow.last_judge() {
            Some(judge) if !lands_behind(judge, workflow) => Err(MergesAlone::First),
            _ => Ok(()),
        },
        MergeResult::Contained | MergeResult::AsItIs | MergeResult::Conflict { .. } => Err(MergesAlone::Passed),
    }
}

/// Whether what a gate's verifier accepts lands, without a look of anybody else but for a sign-off that hardly any work needs.
fn lands_behind(gate: &Gate, workflow: &Workflow) -> bool {
    let is_last = match workflow.after(&gate.id) {
        None => true,
        Some(Stop::Gate(next)) => next.sign_off && workflow.after(&next.id).is_none(),
        Some(Stop::Fork(_)) => false,
    };
    gate.duty == Duty::Judge && is_last
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

/// The open verification of integrated work, where it may be given up for another one: no person has a hand in it.
pub(crate) fn replaceable(state: &WaypointState) -> Option<&OpenTurn> {
    match &state.phase {
        Phase::InTurn(open) if judges_work(open.purpose) && open.taken_by().is_none() && open.judged.is_empty() => {
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

/// The waypoint as the turn saw it whose report is kept, for that report, once it counts: before that the report was taken, and comes
/// again for nothing. What it used up was charged when it came.
pub(super) fn as_kept(state: &WaypointState, input: &mut Input, cx: &StepContext<'_>) -> Option<WaypointState> {
    let Input::Reported(handoff) = input else { return None };
    let turn = keeps(state, &handoff.cause)?.clone();
    cx.flight.rooted(state.stacked.as_ref()?)?;
    handoff.metered = None;
    Some(WaypointState { phase: Phase::InTurn(turn), answered: Vec::new(), ..state.clone() })
}

/// Whether work in this phase is what it was integrated to.
pub(super) fn is_integrated(phase: &Phase) -> bool {
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
