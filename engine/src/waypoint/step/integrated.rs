//! Work was merged with what goes before it to the branch, and its verifier judges what would land (`Input::Integrated`, FLY-39).
//!
//! Where both do not fit together, the builder learns with what it collided and builds again on the head. Landing conflicts have a
//! bound of their own and are not attempts (FLY-29).

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    artifact::Disposition,
    facts::Oid,
    reason::ReasonCode,
    state::{Alone, Outcome, Phase, Purpose, Resume, Stacked, WaypointState, Work},
    turn::{Collision, CollisionKind, Feedback, LandedMeanwhile},
};

use super::super::{
    Behind, EngineStep, Fresh, MergeResult, Merged, StepContext,
    collisions::collision,
    purposes::{self, MERGE},
    stacking::{replaceable, stacks, unmerged},
    transition::{Ruled, Transition},
    turns::{self, Opening},
};
use crate::policy::{Ruling, escalate};

/// Landing conflicts a waypoint may have (spec README: "landing conflicts 10").
const CONFLICTS_MAX: u32 = 10;
/// Work was merged with the head, or with the queue on it.
pub(super) fn take(state: &WaypointState, merged: Merged, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(judge) = judge(state, cx) else { return EngineStep::Nothing };
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
    transition.next.stacked = stacked;
    let head = cx.flight.head();
    match merge {
        MergeResult::Clean { commit, violations, same_diff } => {
            let (tree, bundle) = (commit.tree, Some(commit.bundle));
            let merged = Work { commit: Some(commit.commit), tree, bundle, violations, made_on, ..work.clone() };
            // The approval of the diff covers this one: it is the same.
            transition.next.cleared &= same_diff;
            verify(transition, judge, merged)
        }
        MergeResult::AsItIs => verify(transition, judge, work.clone()),
        MergeResult::Contained => {
            let tree = cx.flight.head_tree().clone();
            let nothing = Work { commit: None, tree, bundle: None, violations: Vec::new(), made_on, ..work.clone() };
            verify(transition, judge, nothing)
        }
        MergeResult::Conflict { paths, paths_more, changed_by } => {
            let since = made_on.as_ref().unwrap_or(head);
            let mut collision = collision(CollisionKind::Conflict, since, head, &changed_by, cx);
            let note = format!(
                "your change could not be merged with what landed meanwhile: both changed {}. You start from what landed, \
                 without your change: make it again on top",
                list(&paths, paths_more)
            );
            (collision.paths, collision.paths_more) = (paths, paths_more);
            let mut transition = transition.exited(Outcome::NeedsReview);
            transition.forget_work();
            conflict(transition, feedback(vec![note], collision))
        }
    }
}

/// The gate whose verifier gets work once it is integrated, and what for: the one that it waits for, or the last one where it
/// was accepted.
fn judge<'a>(state: &WaypointState, cx: &StepContext<'a>) -> Option<(&'a Gate, Purpose)> {
    let last = || cx.workflow.last_judge().unwrap_or_else(|| cx.workflow.first());
    let (gate, purpose) = match &state.phase {
        Phase::Queued(queued) => (&queued.gate, queued.purpose),
        Phase::Accepted { .. } => return Some((last(), MERGE)),
        _ => state.stacked.as_ref().and_then(|_| replaceable(state)).map(|open| (&open.gate, open.purpose))?,
    };
    Some((cx.workflow.gate(gate).unwrap_or_else(last), purpose))
}

/// Where in the queue a merge stands: `Some(None)` is the head. `None`: it is outdated, or not due.
fn place(
    state: &WaypointState,
    head: &Oid,
    behind: Option<&Behind>,
    merge: &MergeResult,
    cx: &StepContext<'_>,
) -> Option<Option<Box<Stacked>>> {
    let Some(behind) = behind else {
        // What was merged with an older head is not what would land: it is merged again.
        let waits = matches!(state.phase, Phase::Queued(_));
        let is_due = head == cx.flight.head() && (waits || !cx.flight.is_on_head(state));
        return is_due.then_some(None);
    };
    // The queue may have gone on meanwhile: that its head is on the branch is enough.
    let is_known = cx.flight.tree_of(head).is_some() && !behind.waypoints.is_empty();
    let is_there = state.stacked.as_ref().is_some_and(|stacked| stacked.base_tree == behind.tree);
    if !is_known || is_there || stacks(merge, cx.workflow).is_err() {
        return None;
    }
    let (waypoints, tree) = (behind.waypoints.clone(), behind.tree.clone());
    let since = match &state.phase {
        Phase::Queued(queued) => queued.since,
        _ => state.stacked.as_ref().map_or(cx.now, |stacked| stacked.since),
    };
    let (work, base) = unmerged(state)?;
    let alone = Alone { base: base.clone(), work: work.clone() };
    Some(Some(Box::new(Stacked { on: head.clone(), behind: waypoints, base_tree: tree, since, alone })))
}

/// Integrated work comes to its verifier. A tip that moved while an earlier merge was being verified is a landing conflict like
/// any other: nothing here goes round without a bound.
fn verify(mut transition: Transition<'_>, (gate, purpose): (&Gate, Purpose), merged: Work) -> EngineStep {
    let state = transition.before;
    // What is merged again because other work left the queue has not collided with anything.
    let again = state.stacked.is_none() && state.work.as_ref().is_some_and(|work| work.made_on.is_some());
    transition.next.work = Some(merged);
    if again && transition.next.counters.conflicts >= CONFLICTS_MAX {
        return transition.hold(Resume::Gate { gate: gate.id.clone(), purpose }, too_many(&[]).into());
    }
    transition.next.counters.conflicts += u32::from(again);
    turns::open(transition, Opening { purpose, ..Opening::of(gate) }, None)
}

fn feedback(notes: Vec<String>, collision: Collision) -> Feedback {
    let (disposition, reason_code) = (Disposition::Rework, ReasonCode::MergeConflict);
    Feedback {
        disposition,
        reason_code,
        failing: Vec::new(),
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
    let purpose =
        if purposes::is_tried_red(first, transition.cx) { purposes::BASELINE } else { purposes::purpose(first) };
    if transition.next.counters.conflicts >= CONFLICTS_MAX {
        let with = feedback.collision.as_ref().map(|c| c.landed.as_slice()).unwrap_or_default();
        let ruling = too_many(with);
        let resume = Resume::Gate { gate: first.id.clone(), purpose };
        return transition.hold(resume, Ruled { ruling, feedback: Some(feedback) });
    }
    transition.next.counters.conflicts += 1;
    let (disposition, reason) = (feedback.disposition, feedback.reason_code);
    let ruling = Ruling { disposition, reason, exhausted: false, remediation: None };
    if purpose == purposes::BASELINE {
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
