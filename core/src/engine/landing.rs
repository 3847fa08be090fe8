//! What becomes of an accepted commit when the flight's head moved before it could land (FLY-39).
//!
//! It is merged with the head and the merge is verified. Where both do not fit together, the builder learns with what
//! it collided and builds again on the head. Landing conflicts have a bound of their own and are not attempts (FLY-29).

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::{CriterionReport, Disposition, VerificationPurpose},
    facts::Oid,
    ids::WaypointId,
    journal::Cause,
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, Resume, Stacked, WaypointState, Work},
    turn::{Collision, CollisionKind, Feedback, LandedMeanwhile},
};

use super::{
    Behind, EngineStep, Fresh, MergeResult, Merged, StepContext, opening, replaceable,
    report::{self, Found},
    stacking::{alone, stacks, unmerged},
    transition::{Ruled, Transition},
    turns::{self, Opening},
};
use crate::policy::{Ruling, escalate};

/// Landing conflicts a waypoint may have (spec README: "landing conflicts 10").
const CONFLICTS_MAX: u32 = 10;
/// Waypoints that a builder hears of: more would say less.
const LANDED_TOLD_MAX: usize = 20;

/// An accepted commit was merged with the head that moved meanwhile, or with the train on it.
pub(super) fn head_moved(state: &WaypointState, merged: Merged, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let replaced = state.stacked.as_ref().and_then(|_| replaceable(state));
    if !matches!(state.phase, Phase::Accepted { .. }) && replaced.is_none() {
        return EngineStep::Nothing;
    }
    let Some((work, base)) = unmerged(state) else { return EngineStep::Nothing };
    if work.commit.as_ref() != Some(&merged.work) || cx.flight.landing(&cx.waypoint.id).is_some() {
        return EngineStep::Nothing;
    }
    let Merged { head, behind, merge, .. } = merged;
    let Some(stacked) = place(state, &head, behind.as_ref(), &merge, cx) else { return EngineStep::Nothing };
    let made_on = work.made_on.clone().or_else(|| Some(base.clone()));
    let mut transition = Transition::new(state, cx, fresh);
    transition.next.base = Some(behind.map_or(head, |behind| behind.commit));
    transition.next.verified = None;
    // What was accepted was let through.
    transition.next.cleared |= state.stacked.is_some();
    transition.next.stacked = stacked;
    transition.next.apart = false;
    transition.next.counters.redeliveries = 0;
    let head = cx.flight.head();
    match merge {
        MergeResult::Clean { commit, violations, same_diff } => {
            let (tree, bundle) = (commit.tree, Some(commit.bundle));
            let merged = Work { commit: Some(commit.commit), tree, bundle, violations, made_on, ..work.clone() };
            // The approval of the diff covers this one: it is the same.
            transition.next.cleared &= same_diff;
            verify(transition, merged)
        }
        MergeResult::Accepted => Transition::new(state, cx, fresh).accepted_again(),
        MergeResult::Contained => {
            let tree = cx.flight.head_tree().clone();
            let nothing = Work { commit: None, tree, bundle: None, violations: Vec::new(), made_on, ..work.clone() };
            verify(transition, nothing)
        }
        MergeResult::Conflict { paths, paths_more, changed_by } => {
            let since = made_on.as_ref().unwrap_or(head);
            let mut collision = collision(CollisionKind::Conflict, since, head, &changed_by, cx);
            let note = format!(
                "your accepted change could not be merged with what landed meanwhile: both changed {}. You start from \
                 what landed, without your change: make it again on top",
                list(&paths, paths_more)
            );
            (collision.paths, collision.paths_more) = (paths, paths_more);
            let mut transition = transition.exited(Outcome::NeedsReview);
            transition.forget_work();
            conflict(transition, feedback(Vec::new(), vec![note], collision))
        }
    }
}

/// Where in the train a merge stands: `Some(None)` is the head. `None`: it is outdated, or not due.
fn place(
    state: &WaypointState,
    head: &Oid,
    behind: Option<&Behind>,
    merge: &MergeResult,
    cx: &StepContext<'_>,
) -> Option<Option<Box<Stacked>>> {
    let Some(behind) = behind else {
        // What was merged with an older head is not what would land: it is merged again.
        let is_due = head == cx.flight.head() && !cx.flight.is_on_head(state);
        return is_due.then_some(None);
    };
    // The train may have gone on meanwhile: that its head is on the branch is enough.
    let is_known = cx.flight.tree_of(head).is_some() && !behind.waypoints.is_empty();
    let is_there = state.stacked.as_ref().is_some_and(|stacked| stacked.base_tree == behind.tree);
    if !is_known || is_there || stacks(merge, cx.workflow).is_err() {
        return None;
    }
    let (waypoints, tree) = (behind.waypoints.clone(), behind.tree.clone());
    let since = state.stacked.as_ref().map_or(cx.now, |stacked| stacked.since);
    let stacked = Stacked { on: head.clone(), behind: waypoints, base_tree: tree, since, alone: alone(state)? };
    Some(Some(Box::new(stacked)))
}

/// A merge is verified at the last verifier's gate. A tip that moved while an earlier merge was being verified is a landing
/// conflict like any other: nothing here goes round without a bound.
fn verify(mut transition: Transition<'_>, merged: Work) -> EngineStep {
    let (state, cx) = (transition.before, transition.cx);
    // What is merged again because another car left the train has not collided with anything.
    let again = state.stacked.is_none() && state.work.as_ref().is_some_and(|work| work.made_on.is_some());
    transition.next.work = Some(merged);
    let gate = cx.workflow.last_judge().unwrap_or_else(|| cx.workflow.first());
    let purpose = Purpose::Verify(VerificationPurpose::Merge);
    if again && transition.next.counters.conflicts >= CONFLICTS_MAX {
        return transition.hold(Resume::Gate { gate: gate.id.clone(), purpose }, too_many(&[]).into());
    }
    transition.next.counters.conflicts += u32::from(again);
    turns::open(transition, Opening { purpose, ..Opening::of(gate) }, None)
}

/// A verifier judged the merge.
pub(super) fn merge_judged(transition: Transition<'_>, open: &OpenTurn, found: Found<'_>, cause: Cause) -> EngineStep {
    let (state, cx) = (transition.before, transition.cx);
    let ruling = report::rule(state, found, cx);
    let accepted = ruling.disposition == Disposition::Accept;
    let landed = state.stacked.as_ref().map(|stacked| (stacked, cx.flight.rooted(stacked)));
    if let Some((stacked, None)) = landed.filter(|_| !accepted) {
        return transition.set_apart(stacked, cause);
    }
    let outcome = if accepted { Outcome::Complete } else { Outcome::NeedsReview };
    let mut transition = transition.answered(cause.clone(), outcome);
    report::remember(&mut transition.next, found);
    if accepted {
        report::verified(&mut transition.next, found.report, &cause);
        return transition.leave(&open.gate, outcome, ruling);
    }
    if let Some((_, Some(landed))) = landed {
        // All in front of it landed: it stands on the head that they made.
        (transition.next.base, transition.next.stacked) = (Some(landed.clone()), None);
    }
    if ruling.disposition == Disposition::Escalate && !ruling.exhausted {
        // For a person by itself, merge or not; used-up reworks do not count here.
        return transition.hold(Resume::Gate { gate: open.gate.clone(), purpose: open.purpose }, ruling.into());
    }
    let head = transition.next.base.clone().unwrap_or_else(|| cx.flight.head().clone());
    let head = &head;
    let since = state.work.as_ref().and_then(|work| work.made_on.as_ref()).unwrap_or(head);
    let collision = collision(CollisionKind::RedMerge, since, head, &BTreeMap::new(), cx);
    let Feedback { failing, mut notes, .. } = report::feedback(&ruling, found, state, cx);
    notes.push(
        "green alone, but not together with what landed meanwhile: the tree you start from is the merge of both"
            .to_owned(),
    );
    transition.next.cleared = false;
    conflict(transition, feedback(failing, notes, collision))
}

/// Its landing failed again and again.
pub(super) fn landing_failed(state: &WaypointState, detail: &str, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Accepted { at, report } = &state.phase else { return EngineStep::Nothing };
    if cx.flight.landing(&cx.waypoint.id).is_some() {
        return EngineStep::Nothing;
    }
    let text = format!("accepted work cannot be landed ({detail}): fix the cause, then `holdpoint retry`");
    let resume = Resume::Landing { at: *at, report: *report };
    Transition::new(state, cx, fresh).hold(resume, escalate(ReasonCode::LandingHeld, &text).into())
}

/// What landed after the commit `since`, up to the head that the work was merged with.
fn collision(
    kind: CollisionKind,
    since: &Oid,
    head: &Oid,
    changed_by: &BTreeMap<WaypointId, Vec<String>>,
    cx: &StepContext<'_>,
) -> Collision {
    let landed = cx.flight.landed_between(since, head);
    let title = |id: &WaypointId| cx.flight.planned(id).map(|w| w.title.clone()).unwrap_or_default();
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
    Feedback {
        disposition,
        reason_code,
        failing,
        notes,
        collision: Some(collision),
        clarifications: Vec::new(),
        review: None,
    }
}

/// Work that collides is made again from the first gate that makes it. The base moved: what has to be red there is tried
/// first, and the builder's feedback waits in the turn for that.
fn conflict(mut transition: Transition<'_>, feedback: Feedback) -> EngineStep {
    let first = transition.cx.workflow.first_make();
    transition.next.after_conflict = true;
    let purpose = if opening::is_tried_red(first, transition.cx) { opening::BASELINE } else { turns::purpose(first) };
    if transition.next.counters.conflicts >= CONFLICTS_MAX {
        let with = feedback.collision.as_ref().map(|c| c.landed.as_slice()).unwrap_or_default();
        let ruling = too_many(with);
        let resume = Resume::Gate { gate: first.id.clone(), purpose };
        return transition.hold(resume, Ruled { ruling, feedback: Some(feedback) });
    }
    transition.next.counters.conflicts += 1;
    let (disposition, reason) = (feedback.disposition, feedback.reason_code);
    let ruling = Ruling { disposition, reason, exhausted: false, remediation: None };
    if purpose == opening::BASELINE {
        let opening = Opening { purpose, feedback: Some(feedback), ..Opening::of(first) };
        return turns::open(transition, opening, Some(&ruling));
    }
    transition.send_back(first, Ruled { ruling, feedback: Some(feedback) })
}

fn too_many(with: &[LandedMeanwhile]) -> Ruling {
    let mut text =
        "the work collides with what lands next to it, again and again: make it depend on the other waypoint"
            .to_owned();
    if let Some(last) = with.first() {
        text.push_str(&format!(" (the last time {} had landed)", last.waypoint));
    }
    escalate(ReasonCode::MergeConflict, &text)
}

fn list(paths: &[String], more: u32) -> String {
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", paths.join(", "))
}
