//! The landings with which work collided: those since it was made.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    facts::Oid,
    ids::WaypointId,
    turn::{Collision, CollisionKind, LandedMeanwhile},
};

use super::{StepContext, transition::Transition};

/// Waypoints that a builder hears of: more would say less.
const LANDED_TOLD_MAX: usize = 20;

/// What a builder learns of work that was judged together with what landed since it was made; `None`: nothing landed.
pub(super) fn integrated_with(transition: &Transition<'_>) -> Option<Collision> {
    let since = transition.next.work.as_ref()?.made_on.as_ref()?;
    let base = transition.next.base.as_ref().filter(|base| *base != since)?;
    Some(collision(CollisionKind::RedMerge, since, base, &BTreeMap::new(), transition.cx))
}

/// What landed after the commit `since`, up to the head that the work was merged with.
pub(super) fn collision(
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
