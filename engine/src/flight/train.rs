//! The queue to the branch: works in the order in which they land, each verified on the tree of the one in front (ADR 39). Works that are
//! integrated are its train.
//!
//! A rule over the fold, like everything that is due. Nothing says who is in the train but what each waypoint stands on: a car
//! whose base has the tree of the car in front of it is behind that one. When a car leaves, those behind it stand on nothing,
//! and are merged again.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    facts::Oid,
    ids::{TurnId, WaypointId},
    plan::Priority,
    state::{OpenTurn, Phase, Stacked, WaypointState},
};

use super::Due;
use crate::{
    state::{FlightState, Waypoints},
    waypoint::{self, Aside, Behind},
};

/// Cars that may wait for a verifier: one that the next free one takes, and one behind it.
const WAITING_MAX: usize = 2;
/// The longest train: each car names those in front of it.
pub const DEPTH_MAX: usize = 16;

/// What an orchestrator knows besides the fold when it looks at what is due.
#[derive(Clone, Copy)]
pub struct Yard<'a> {
    /// How many cars there may be at most.
    pub depth: usize,
    /// Whether an agent is known to have this turn. Cars are added while verifiers take them.
    pub is_taken: &'a dyn Fn(&WaypointId, &TurnId) -> bool,
    /// What cannot be merged behind the train as it is.
    pub aside: &'a BTreeMap<WaypointId, Aside>,
    /// Whether a waypoint could not be opened a moment ago: others go before it.
    pub is_put_off: &'a dyn Fn(&WaypointId) -> bool,
}

impl Yard<'static> {
    /// One merge at a time.
    pub(super) const SINGLE: Self =
        Self { depth: 1, is_taken: &|_, _| false, aside: &BTreeMap::new(), is_put_off: &|_| false };
}

/// Integrated work: its verification is open, or it is accepted.
#[derive(Debug, Clone, Copy)]
struct Car<'a> {
    id: &'a WaypointId,
    state: &'a WaypointState,
    /// Its tree: what the next car stands on.
    tree: &'a Oid,
    /// Its verification, while that is open.
    open: Option<&'a OpenTurn>,
}

/// Work that is to land and not in the train; the smallest goes first.
struct Candidate<'a> {
    place: Place,
    id: &'a WaypointId,
}

/// What is merged first: what was in the train before, in the order of the train; then by priority and acceptance.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Again(Timestamp, usize),
    New(Priority, Timestamp, usize),
}

/// Everything that is to land, the train first.
struct Queue<'a> {
    train: Vec<Car<'a>>,
    rest: Vec<Candidate<'a>>,
    /// Works whose kept reports count now.
    judged: Vec<&'a WaypointId>,
}

/// The next landing, the next merge, and reports that count now.
pub(super) fn landing(flight: &FlightState, waypoints: &Waypoints, yard: &Yard<'_>) -> Vec<Due> {
    let Queue { train, rest, judged } = queue(flight, waypoints);
    let mut due: Vec<Due> = judged.into_iter().map(|id| Due::Judge(id.clone())).collect();
    match train.first() {
        Some(front) => {
            due.extend(front.open.is_none().then(|| Due::Land(front.id.clone())));
            due.extend(next_car(&train, &rest, yard).map(|next| Due::Stack(next.id.clone())));
        }
        None => due.extend(rest.first().map(|next| Due::Merge(next.id.clone()))),
    }
    // What somebody else looks at behind the verdict is integrated with the head, and in nobody's way.
    let waits = |state: &WaypointState| matches!(state.phase, Phase::Queued(_));
    let alone = waypoints.iter().filter(|(id, state)| waits(state) && Lot::of(flight, id, state).is_none());
    due.extend(alone.map(|(id, _)| Due::Merge(id.clone())));
    due
}

/// Whether no other work is on its way to the branch.
#[must_use]
pub fn is_first(flight: &FlightState, waypoints: &Waypoints, waypoint: &WaypointId) -> bool {
    let others = waypoints.iter().filter(|(id, _)| *id != waypoint);
    others.filter_map(|(id, state)| Lot::of(flight, id, state)).next().is_none()
}

/// The work that is merged next behind the train.
fn next_car<'a>(train: &[Car<'a>], rest: &'a [Candidate<'a>], yard: &Yard<'_>) -> Option<&'a Candidate<'a>> {
    let waits = |car: &&Car<'_>| car.open.is_some_and(|open| !(yard.is_taken)(car.id, &open.turn));
    if train.len() >= yard.depth || train.iter().filter(waits).count() >= WAITING_MAX {
        return None;
    }
    let aside = |one: &Candidate<'_>| yard.aside.get(one.id).copied();
    let next = rest.iter().find(|one| aside(one) != Some(Aside::Passed))?;
    // What has to be first in the train is waited for: nothing else goes before it.
    aside(next).is_none().then_some(next)
}

/// What accepted work is merged with to be the last car of the train: the head that the train stands on is the flight's. The
/// commit is the caller's to make, so this is the tree, and the waypoints up to there with the one that brings the tree.
#[must_use]
pub fn tail<'a>(flight: &'a FlightState, waypoints: &'a Waypoints, next: &WaypointId) -> Option<Tail<'a>> {
    let train = queue(flight, waypoints).train;
    let last = train.last().filter(|_| train.iter().all(|car| car.id != next))?;
    let waypoints = train.iter().map(|car| car.id.clone()).collect();
    Some(Tail { waypoints, tree: last.tree, state: last.state })
}

/// The end of the train.
#[derive(Debug, Clone)]
pub struct Tail<'a> {
    /// The waypoints in the train.
    pub waypoints: Vec<WaypointId>,
    /// The tree of the last one.
    pub tree: &'a Oid,
    /// The state of the last one, whose bundle brings that tree.
    pub state: &'a WaypointState,
}

impl Tail<'_> {
    /// What is merged behind it, on this commit.
    #[must_use]
    pub fn behind(&self, commit: Oid) -> Behind {
        Behind { waypoints: self.waypoints.clone(), commit, tree: self.tree.clone() }
    }
}

/// Work that is to land, before it is known whether it is in the train.
struct Lot<'a> {
    car: Car<'a>,
    place: Option<Place>,
    index: usize,
}

impl<'a> Lot<'a> {
    fn of(flight: &FlightState, id: &'a WaypointId, state: &'a WaypointState) -> Option<Self> {
        let work = state.work.as_ref().filter(|work| work.commit.is_some())?;
        let lands = || {
            let workflow = flight.planned(id).and_then(|planned| flight.workflow_of(planned, state));
            workflow.is_some_and(|workflow| waypoint::lands_by_verdict(state, workflow))
        };
        let (at, open) = match &state.phase {
            Phase::InTurn(open) if lands() => (None, Some(open)),
            Phase::Queued(queued) if lands() => (Some(queued.since), None),
            Phase::Accepted { at, .. } => (Some(*at), None),
            _ => return None,
        };
        let index = flight.place(id).filter(|_| flight.landing(id).is_none())?;
        let again = state.stacked.as_ref().map(|stacked| Place::Again(stacked.since, index));
        let priority = flight.planned_at(index)?.priority;
        let new = at.map(|at| Place::New(priority, at, index));
        Some(Self { car: Car { id, state, tree: &work.tree, open }, place: again.or(new), index })
    }

    /// Where it may be the next car; the smallest is.
    fn fits(
        &self,
        flight: &FlightState,
        front: Option<&Car<'_>>,
        off_head: &[&Stacked],
    ) -> Option<(u8, Option<&Place>, usize)> {
        let state = self.car.state;
        if matches!(state.phase, Phase::Queued(_)) {
            return None;
        }
        let is_merged = || state.work.as_ref().is_some_and(|work| work.made_on.is_some());
        let rank = match front {
            Some(front) => state.stacked.as_ref().filter(|stacked| stacked.base_tree == *front.tree).map(|_| 0)?,
            None if !flight.is_on_head(state) => return None,
            // What was verified as a merge with the head keeps its place, then what is being verified. Work that was made on
            // the head lands where there is no such merge, and passes nothing that was in the train before it.
            None if self.car.open.is_some() => 1,
            None if is_merged() => 0,
            None if off_head.iter().any(|stacked| !stacked.behind.contains(self.car.id)) => return None,
            None => 2,
        };
        Some((rank, self.place.as_ref(), self.index))
    }

    /// What its work was integrated with whose report is kept.
    fn kept(&self) -> Option<&'a Stacked> {
        let state = self.car.state;
        match &state.phase {
            Phase::Queued(queued) if queued.kept.is_some() => state.stacked.as_deref(),
            _ => None,
        }
    }

    /// What it is stacked on while that has not landed; nothing while a verification goes on that no merge replaces.
    fn off_head(&self, flight: &FlightState) -> Option<&'a Stacked> {
        let Car { state, open, .. } = self.car;
        let goes_on = flight.is_on_head(state) || open.is_some() && waypoint::replaceable(state).is_none();
        state.stacked.as_deref().filter(|_| !goes_on)
    }

    /// As work that is to be merged. A verification on an older head goes on, and what comes of it is merged again; so does
    /// one on the head that another orchestrator began as well.
    fn candidate(self, flight: &FlightState) -> Option<Candidate<'a>> {
        let is_free = self.car.open.is_none() || self.off_head(flight).is_some();
        let Self { car: Car { id, .. }, place, .. } = self;
        place.filter(|_| is_free).map(|place| Candidate { place, id })
    }
}

fn queue<'a>(flight: &FlightState, waypoints: &'a Waypoints) -> Queue<'a> {
    let lots = waypoints.iter().filter_map(|(id, state)| Lot::of(flight, id, state));
    let (kept, mut lots): (Vec<Lot<'a>>, Vec<Lot<'a>>) = lots.partition(|lot| lot.kept().is_some());
    let off_head: Vec<&Stacked> = lots.iter().filter_map(|lot| lot.off_head(flight)).collect();
    let mut train: Vec<Car<'a>> = Vec::new();
    let next = |lots: &[Lot<'a>], front: Option<&Car<'a>>| {
        let fits = lots.iter().enumerate().filter_map(|(at, lot)| Some((lot.fits(flight, front, &off_head)?, at)));
        fits.min().map(|(_, at)| at)
    };
    while let Some(at) = next(&lots, train.last()) {
        train.push(lots.swap_remove(at).car);
    }
    let is_rooted = |lot: &Lot<'_>| lot.kept().is_some_and(|stacked| flight.rooted(stacked).is_some());
    let (judged, kept): (Vec<Lot<'a>>, Vec<Lot<'a>>) = kept.into_iter().partition(is_rooted);
    // What it was integrated with has left: the report is void.
    let is_void =
        |lot: &Lot<'_>| lot.kept().is_some_and(|stacked| train.iter().all(|car| *car.tree != stacked.base_tree));
    lots.extend(kept.into_iter().filter(is_void));
    let mut rest: Vec<Candidate<'a>> = lots.into_iter().filter_map(|lot| lot.candidate(flight)).collect();
    rest.sort_by(|one, other| one.place.cmp(&other.place));
    Queue { train, rest, judged: judged.into_iter().map(|lot| lot.car.id).collect() }
}
