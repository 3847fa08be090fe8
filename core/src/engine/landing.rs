//! What becomes of an accepted commit when the flight's head moved before it could land (FLY-39).
//!
//! Landing conflicts have a bound of their own and are not attempts (FLY-29).

use holdpoint_protocol::{
    artifact::{Disposition, VerificationPurpose, VerificationReport},
    journal::Cause,
    reason::ReasonCode,
    state::{Outcome, Phase, Purpose, WaypointState, Work},
    turn::Feedback,
};

use super::{
    Context, Fresh, Merge, Step,
    draft::{answered, escalation, halt},
    handoff::reopen,
    report,
    turns::{self, Opening},
};
use crate::{gates::Move, policy::Ruling};

/// Landing conflicts a waypoint may have (spec README: "landing conflicts 10").
pub(super) const CONFLICTS_MAX: u32 = 10;

/// An accepted commit was merged with the head that moved meanwhile.
pub(super) fn head_moved(state: &WaypointState, merge: Merge, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let Phase::Accepted { .. } = state.phase else { return Step::Nothing };
    let to_land = state.work.as_ref().is_some_and(|w| w.commit.is_some());
    if !to_land || cx.flight.landing(&cx.waypoint.id).is_some() {
        return Step::Nothing;
    }
    let head = cx.flight.head();
    if state.base.as_ref() == Some(head) {
        return Step::Nothing;
    }
    let mut next = state.clone();
    next.base = Some(head.clone());
    match merge {
        Merge::Clean { commit, violations } => {
            next.work = next.work.map(|work| Work {
                commit: Some(commit.commit),
                tree: commit.tree,
                bundle: Some(commit.bundle),
                violations,
                ..work
            });
            // A merge is verified at the gate that accepted its part.
            let gate = match cx.workflow.evaluate(&cx.workflow.first().id, Outcome::Complete) {
                Ok(Move::Advance(gate)) => Some(gate.clone()),
                _ => None,
            };
            let opening = Opening { gate, ..Opening::first(Purpose::Verify(VerificationPurpose::Merge)) };
            turns::open(next, opening, cx, fresh)
        }
        Merge::Conflict { notes } => {
            next.work = None;
            conflict(state, next, Vec::new(), notes, None, cx, fresh)
        }
    }
}

/// A verifier judged the merge.
pub(super) fn merge_judged(
    state: &WaypointState,
    judged: &VerificationReport,
    cause: Cause,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    let ruling = report::rule(state, judged, cx);
    let accepted = ruling.disposition == Disposition::Accept;
    let outcome = if accepted { Outcome::Complete } else { Outcome::NeedsReview };
    let mut next = answered(state, &cause, outcome, cx);
    next.criteria = judged.criteria.iter().map(|r| r.result.clone()).collect();
    next.guards = judged.guards.iter().map(|r| r.result.clone()).collect();
    if accepted {
        return report::accept(state, next, &ruling, cause, cx, fresh);
    }
    if ruling.disposition == Disposition::Escalate && !ruling.exhausted {
        // A person's matter by itself, merge or not; used-up reworks do not count here.
        return halt(state, next, &ruling, Some(cause), cx, fresh);
    }
    let feedback = report::feedback(&ruling, judged, state);
    let mut notes = feedback.notes;
    notes.push(
        "green alone, but not together with what landed meanwhile: the tree you start from is the merge of both"
            .to_owned(),
    );
    conflict(state, next, feedback.failing, notes, Some(cause), cx, fresh)
}

fn conflict(
    state: &WaypointState,
    mut next: WaypointState,
    failing: Vec<holdpoint_protocol::artifact::CriterionReport>,
    notes: Vec<String>,
    cause: Option<Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    if next.counters.conflicts >= CONFLICTS_MAX {
        let text = "the work collides with what lands beside it, again and again: make it depend on the other waypoint";
        return halt(state, next, &escalation(ReasonCode::MergeConflict, false, text), cause, cx, fresh);
    }
    next.counters.conflicts += 1;
    let ruling = Ruling {
        disposition: Disposition::Rework,
        reason: ReasonCode::MergeConflict,
        exhausted: false,
        remediation: None,
    };
    let feedback = Feedback { disposition: ruling.disposition, reason_code: ruling.reason, failing, notes };
    reopen(next, &ruling, feedback, cause, cx, fresh)
}
