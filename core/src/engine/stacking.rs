//! Accepted work that is merged behind other accepted work before that has landed: a car of the merge train (ADR 22).
//!
//! Its base is a commit that stands for the landing in front of it. Nothing is made on such a base: work that leaves the train
//! for anything but its landing is again what it was when it was accepted.

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose},
    facts::Oid,
    ids::WaypointId,
    journal::Cause,
    reason::ReasonCode,
    state::{Alone, Held, OpenTurn, Outcome, Phase, Purpose, Resume, Stacked, Verified, WaypointState, Work},
};

use super::{EngineStep, MergeResult, transition::Transition};
use crate::{gates::Workflow, policy::Ruling};

/// What a merge is verified for.
const MERGE: Purpose = Purpose::Verify(VerificationPurpose::Merge);

/// What work is merged with, where that is more than the head: the train up to a car of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The waypoints of the train up to there, in the order in which they land.
    pub waypoints: Vec<WaypointId>,
    /// A commit with the tree of the last of them, on the head.
    pub commit: Oid,
    /// That tree.
    pub tree: Oid,
}

/// Why work cannot be merged behind other work; on the head it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// It collides with what is in front of it, or changes nothing that this does not: others go before it until the head moved.
    Passed,
    /// People or agents would have to look at the merge again, and of what may never land: it comes first when the train is
    /// through.
    First,
}

/// What of a waypoint is merged next: its work as it was accepted, and the base of that.
#[must_use]
pub fn unmerged(state: &WaypointState) -> Option<(&Work, &Oid)> {
    match &state.stacked {
        Some(stacked) => Some((&stacked.alone.work, &stacked.alone.base)),
        None => state.work.as_ref().zip(state.base.as_ref()),
    }
}

/// Whether work that was behind a train is on the head as it was accepted: the train is gone, and the head has not moved.
#[must_use]
pub fn is_alone_on(state: &WaypointState, head: &Oid) -> bool {
    state.stacked.as_ref().is_some_and(|stacked| stacked.alone.base == *head)
}

/// Whether a merge with the train is something to verify behind it.
///
/// # Errors
/// Why it is not.
pub fn stacks(merge: &MergeResult, workflow: &Workflow) -> Result<(), Aside> {
    match merge {
        MergeResult::Clean { same_diff: true, .. } => Ok(()),
        MergeResult::Clean { .. } => {
            let behind = workflow.last_judge().and_then(|judge| workflow.after(&judge.id));
            if behind.is_some() { Err(Aside::First) } else { Ok(()) }
        }
        MergeResult::Contained | MergeResult::Accepted | MergeResult::Conflict { .. } => Err(Aside::Passed),
    }
}

/// The open verification of a merge, where it may be given up for another one: no person has a hand in it.
pub(crate) fn replaceable(state: &WaypointState) -> Option<&OpenTurn> {
    match &state.phase {
        Phase::InTurn(open) if open.purpose == MERGE && open.taken_by.is_none() && open.judged.is_empty() => Some(open),
        _ => None,
    }
}

/// The work of an accepted state, as it is before it is merged behind other work.
pub(super) fn alone(state: &WaypointState) -> Option<Alone> {
    if let Some(stacked) = &state.stacked {
        return Some(stacked.alone.clone());
    }
    let Phase::Accepted { at, report: Some(report) } = state.phase else { return None };
    Some(Alone { at, base: state.base.clone()?, work: state.work.clone()?, report })
}

/// Whether work in this phase is what it was merged to.
fn is_merged(phase: &Phase) -> bool {
    match phase {
        Phase::InTurn(open) => open.purpose == MERGE,
        Phase::Waiting(question) => question.turn.purpose == MERGE,
        Phase::Held(Held { resume, .. }) => match resume {
            Resume::Turn(open) => open.purpose == MERGE,
            Resume::Gate { purpose, .. } => *purpose == MERGE,
            Resume::Landing { .. } => true,
            Resume::Beginning | Resume::Fork => false,
        },
        Phase::Accepted { .. } | Phase::Cancelled => true,
        Phase::Pending | Phase::Forked | Phase::Delegated(_) => false,
    }
}

/// Whether a state says of the train what cannot be.
pub(super) fn misfit(after: &WaypointState) -> Option<&'static str> {
    let stacked = after.stacked.as_ref()?;
    if !is_merged(&after.phase) {
        return Some("something else than its landing follows from work that is merged behind other work");
    }
    let is_made = after.work.as_ref().is_some_and(|work| work.commit.is_some());
    (!is_made || stacked.behind.is_empty()).then_some("merged behind other work, and there is none")
}

impl Transition<'_> {
    /// Work that goes anywhere but to its landing is what it was before it was merged behind other work, and nothing of it is
    /// verified or let through any more: something else is to become of it.
    pub(super) fn settle_stack(&mut self, phase: &Phase) {
        if self.next.stacked.is_some() && !is_merged(phase) {
            self.unstack();
            self.next.verified = None;
            self.next.cleared = false;
        }
    }

    /// Takes the work out of the train: it is as it was accepted.
    pub(super) fn unstack(&mut self) {
        let Some(stacked) = self.next.stacked.take() else { return };
        let Stacked { alone: Alone { base, work, report, .. }, .. } = *stacked;
        self.next.verified = Some(Verified { report, tree: work.tree.clone(), base: base.clone() });
        self.next.cleared = true;
        (self.next.base, self.next.work) = (Some(base), Some(work));
    }

    /// The train that it was behind is gone, and it stands on the head as it was accepted: that verdict is of the tree that lands.
    pub(super) fn accepted_again(self) -> EngineStep {
        let stacked = self.before.stacked.as_deref().filter(|_| is_alone_on(self.before, self.cx.flight.head()));
        let Some(Stacked { alone: Alone { at, report, .. }, .. }) = stacked else { return EngineStep::Nothing };
        let (at, report) = (*at, *report);
        let mut transition = self.exited(Outcome::Complete);
        transition.unstack();
        let (disposition, reason) = (Disposition::Accept, ReasonCode::CriteriaMet);
        let ruling = Ruling { disposition, reason, exhausted: false, remediation: None };
        transition.decided(Phase::Accepted { at, report: Some(report) }, &ruling, None)
    }

    /// Not green behind work that has not landed: nobody knows whose fault that is. It stays accepted, and is judged next on the
    /// head itself.
    pub(super) fn set_apart(self, stacked: &Stacked, cause: Cause) -> EngineStep {
        let mut transition = self.answered(cause, Outcome::NeedsReview);
        transition.unstack();
        transition.next.apart = true;
        let front = stacked.behind.last().map_or("other work", |front| front.as_str());
        let remediation =
            Some(format!("not green behind {front}, which has not landed: it is verified again on what landed"));
        let (disposition, reason) = (Disposition::Accept, ReasonCode::MergeConflict);
        let ruling = Ruling { disposition, reason, exhausted: false, remediation };
        let (at, report) = (stacked.alone.at, Some(stacked.alone.report));
        transition.decided(Phase::Accepted { at, report }, &ruling, None)
    }
}
