//! What becomes of an accepted commit when the flight's head moved before it could land (FLY-39).
//!
//! It is merged with the head and the merge is verified. Where both do not fit together, the builder is told with what it
//! collided and builds again on the head. Landing conflicts have a bound of their own and are not attempts (FLY-29).

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::{CriterionReport, Disposition, VerificationPurpose, VerificationReport},
    facts::Oid,
    ids::WaypointId,
    journal::Cause,
    reason::ReasonCode,
    state::{Outcome, Phase, Purpose, WaypointState, Work},
    turn::{Collision, CollisionKind, Feedback, LandedMeanwhile},
};

use super::{
    Context, Fresh, Merge, Merged, Step,
    draft::{answered, escalation, halt},
    handoff::reopen,
    report,
    turns::{self, Opening},
};
use crate::{gates::Move, policy::Ruling};

/// Landing conflicts a waypoint may have (spec README: "landing conflicts 10").
pub(super) const CONFLICTS_MAX: u32 = 10;
/// Waypoints that a builder is told of: more would say less.
const LANDED_TOLD_MAX: usize = 20;

/// An accepted commit was merged with the head that moved meanwhile.
pub(super) fn head_moved(state: &WaypointState, merged: Merged, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let (Phase::Accepted { .. }, Some(work)) = (&state.phase, &state.work) else { return Step::Nothing };
    if work.commit.as_ref() != Some(&merged.work) || cx.flight.landing(&cx.waypoint.id).is_some() {
        return Step::Nothing;
    }
    // What was merged with an older head is not what would land: it is merged anew.
    let head = cx.flight.head();
    if state.base.as_ref() == Some(head) || &merged.head != head {
        return Step::Nothing;
    }
    let made_on = work.made_on.clone().or_else(|| state.base.clone());
    let mut next = WaypointState { base: Some(head.clone()), ..state.clone() };
    match merged.merge {
        Merge::Clean { commit, violations } => {
            let (tree, bundle) = (commit.tree, Some(commit.bundle));
            let merged = Work { commit: Some(commit.commit), tree, bundle, violations, made_on, ..work.clone() };
            verify(state, next, merged, cx, fresh)
        }
        Merge::Contained => {
            let tree = cx.flight.head_tree().clone();
            let nothing = Work { commit: None, tree, bundle: None, violations: Vec::new(), made_on, ..work.clone() };
            verify(state, next, nothing, cx, fresh)
        }
        Merge::Conflict { paths, paths_more, changed_by } => {
            let since = made_on.as_ref().unwrap_or(head);
            let mut collision = collision(CollisionKind::Conflict, since, head, &changed_by, cx);
            let note = format!(
                "your accepted change could not be merged with what landed meanwhile: both changed {}. You start from \
                 what landed, without your change: make it again on top",
                list(&paths, paths_more)
            );
            (collision.paths, collision.paths_more) = (paths, paths_more);
            next.work = None;
            let feedback = feedback(Vec::new(), vec![note], collision);
            conflict(state, next, feedback, None, cx, fresh)
        }
    }
}

/// A merge is verified at the gate that accepted its part. A tip that moved while an earlier merge was being verified is
/// a landing conflict like any other: nothing here goes round without a bound.
fn verify(state: &WaypointState, mut next: WaypointState, merged: Work, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let again = state.work.as_ref().is_some_and(|work| work.made_on.is_some());
    if again && next.counters.conflicts >= CONFLICTS_MAX {
        return halt(state, next, &too_many(&[]), None, cx, fresh);
    }
    next.counters.conflicts += u32::from(again);
    next.work = Some(merged);
    let gate = match cx.workflow.evaluate(&cx.workflow.first().id, Outcome::Complete) {
        Ok(Move::Advance(gate)) => Some(gate.clone()),
        _ => None,
    };
    let opening = Opening { gate, ..Opening::first(Purpose::Verify(VerificationPurpose::Merge)) };
    turns::open(next, opening, cx, fresh)
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
    let head = state.base.as_ref().unwrap_or_else(|| cx.flight.head());
    let since = state.work.as_ref().and_then(|work| work.made_on.as_ref()).unwrap_or(head);
    let collision = collision(CollisionKind::RedMerge, since, head, &BTreeMap::new(), cx);
    let Feedback { failing, mut notes, .. } = report::feedback(&ruling, judged, state);
    notes.push(
        "green alone, but not together with what landed meanwhile: the tree you start from is the merge of both"
            .to_owned(),
    );
    conflict(state, next, feedback(failing, notes, collision), Some(cause), cx, fresh)
}

/// What landed after the commit `since`, up to the head that the work was merged with.
fn collision(
    kind: CollisionKind,
    since: &Oid,
    head: &Oid,
    changed_by: &BTreeMap<WaypointId, Vec<String>>,
    cx: &Context<'_>,
) -> Collision {
    let landed = cx.flight.landed_between(since, head);
    let title = |id: &WaypointId| cx.flight.submitted.plan.waypoint(id).map(|w| w.title.clone()).unwrap_or_default();
    let newest_first = landed.iter().rev().map(|l| LandedMeanwhile {
        waypoint: l.waypoint.clone(),
        title: title(&l.waypoint),
        commit: l.commit.clone(),
        paths: changed_by.get(&l.waypoint).cloned().unwrap_or_default(),
    });
    let mut told: Vec<LandedMeanwhile> = newest_first.collect();
    // A stable sort: the newest stay in front within each half.
    told.sort_by_key(|l| l.paths.is_empty());
    let landed_more = u32::try_from(told.len().saturating_sub(LANDED_TOLD_MAX)).unwrap_or(u32::MAX);
    told.truncate(LANDED_TOLD_MAX);
    Collision { kind, paths: Vec::new(), paths_more: 0, landed: told, landed_more }
}

fn feedback(failing: Vec<CriterionReport>, notes: Vec<String>, collision: Collision) -> Feedback {
    let (disposition, reason_code) = (Disposition::Rework, ReasonCode::MergeConflict);
    Feedback { disposition, reason_code, failing, notes, collision: Some(collision) }
}

fn conflict(
    state: &WaypointState,
    mut next: WaypointState,
    feedback: Feedback,
    cause: Option<Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    if next.counters.conflicts >= CONFLICTS_MAX {
        let with = feedback.collision.map(|c| c.landed).unwrap_or_default();
        return halt(state, next, &too_many(&with), cause, cx, fresh);
    }
    next.counters.conflicts += 1;
    let (disposition, reason) = (feedback.disposition, feedback.reason_code);
    let ruling = Ruling { disposition, reason, exhausted: false, remediation: None };
    reopen(next, &ruling, feedback, cause, cx, fresh)
}

fn too_many(with: &[LandedMeanwhile]) -> Ruling {
    let mut text =
        "the work collides with what lands beside it, again and again: make it depend on the other waypoint".to_owned();
    if let Some(last) = with.first() {
        text.push_str(&format!(" (the last time {} had landed)", last.waypoint));
    }
    escalation(ReasonCode::MergeConflict, false, &text)
}

fn list(paths: &[String], more: u32) -> String {
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", paths.join(", "))
}
