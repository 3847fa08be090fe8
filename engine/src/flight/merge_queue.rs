//! The merge queue: works in the order in which they land, each verified on the tree of the one in front of it (ADR 39). Work that
//! is integrated is an entry of it.
//!
//! A rule over the fold, like everything that is due. Nothing says who is in the queue but what each waypoint stands on: an entry
//! whose base has the tree of the entry in front of it is behind that one. When an entry leaves, those behind it stand on nothing,
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
    waypoint::{self, Behind, MergesAlone},
};

/// Entries that may wait for a verifier: one that the next free one takes, and one behind it.
const WAITING_MAX: usize = 2;
/// The longest queue: each entry names those in front of it.
pub const DEPTH_MAX: usize = 16;

/// What an orchestrator knows beyond the fold when it looks at what is due.
#[derive(Clone, Copy)]
pub struct QueueContext<'a> {
    /// How many entries there may be at most.
    pub depth: usize,
    /// Whether an agent is known to have this turn. Entries are added while verifiers take them.
    pub is_taken: &'a dyn Fn(&WaypointId, &TurnId) -> bool,
    /// What cannot be merged behind the queue as it is.
    pub aside: &'a BTreeMap<WaypointId, MergesAlone>,
    /// Whether a waypoint could not be opened a moment ago: others go before it.
    pub is_put_off: &'a dyn Fn(&WaypointId) -> bool,
}

/// How many entries the queue may have: one more with each landing, and half as many with each work that is sent back, as the window of
/// a dependent pipeline of Zuul's. Where half of all attempts fail, works stand one behind the other and no verification is void.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueWindow {
    size: usize,
    landed: usize,
    sent_back: u32,
}

impl QueueWindow {
    /// Looks at what landed and what was sent back since the last time. At first, and after a restart, it is as wide as it may be.
    #[must_use]
    pub fn after(self, flight: &FlightState, waypoints: &Waypoints, most: usize) -> Self {
        let sent_back = waypoints.values().map(|state| state.counters.sent_back()).sum();
        self.moved(flight.landed.len(), sent_back, most)
    }

    fn moved(self, landed: usize, sent_back: u32, most: usize) -> Self {
        if self.size == 0 {
            return Self { size: most, landed, sent_back };
        }
        let grown = self.size.saturating_add(landed.saturating_sub(self.landed)).min(most);
        let halvings = sent_back.saturating_sub(self.sent_back);
        Self { size: grown.checked_shr(halvings).unwrap_or_default().max(1), landed, sent_back }
    }

    /// How many entries there may be.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }
}

impl QueueContext<'static> {
    /// One merge at a time.
    pub(super) const SINGLE: Self =
        Self { depth: 1, is_taken: &|_, _| false, aside: &BTreeMap::new(), is_put_off: &|_| false };
}

/// Integrated work: its verification is open, or it is accepted.
#[derive(Debug, Clone, Copy)]
struct QueueEntry<'a> {
    id: &'a WaypointId,
    state: &'a WaypointState,
    /// Its tree: what the next entry stands on.
    tree: &'a Oid,
    /// Its verification, while that is open.
    open: Option<&'a OpenTurn>,
}

/// Work that is to land and not in the queue; the smallest goes first.
struct Candidate<'a> {
    place: Place,
    id: &'a WaypointId,
}

/// What is merged first: what was in the queue before, in the order of the queue; then by priority and acceptance.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Again(Timestamp, usize),
    New(Priority, Timestamp, usize),
}

/// Everything that is to land, the queue first.
struct Queue<'a> {
    integrated: Vec<QueueEntry<'a>>,
    rest: Vec<Candidate<'a>>,
    /// Works whose kept reports count now.
    judged: Vec<&'a WaypointId>,
}

/// The next landing, the next merge, and reports that count now.
pub(super) fn landing(flight: &FlightState, waypoints: &Waypoints, context: &QueueContext<'_>) -> Vec<Due> {
    let Queue { integrated, rest, judged } = queue(flight, waypoints);
    let mut due: Vec<Due> = judged.into_iter().map(|id| Due::Judge(id.clone())).collect();
    match integrated.first() {
        Some(front) => {
            due.extend(front.open.is_none().then(|| Due::Land(front.id.clone())));
            due.extend(next_entry(&integrated, &rest, context).map(|next| Due::Stack(next.id.clone())));
        }
        None => due.extend(rest.first().map(|next| Due::Merge(next.id.clone()))),
    }
    // What somebody else looks at behind the verdict is integrated with the head, and in nobody's way.
    let waits = |state: &WaypointState| matches!(state.phase, Phase::Queued(_));
    let alone = waypoints.iter().filter(|(id, state)| waits(state) && Landable::of(flight, id, state).is_none());
    due.extend(alone.map(|(id, _)| Due::Merge(id.clone())));
    due
}

/// Whether no other work is on its way to the branch.
#[must_use]
pub fn is_first(flight: &FlightState, waypoints: &Waypoints, waypoint: &WaypointId) -> bool {
    let others = waypoints.iter().filter(|(id, _)| *id != waypoint);
    others.filter_map(|(id, state)| Landable::of(flight, id, state)).next().is_none()
}

/// The work that is merged next behind the queue.
fn next_entry<'a>(
    integrated: &[QueueEntry<'a>],
    rest: &'a [Candidate<'a>],
    context: &QueueContext<'_>,
) -> Option<&'a Candidate<'a>> {
    let waits = |entry: &&QueueEntry<'_>| entry.open.is_some_and(|open| !(context.is_taken)(entry.id, &open.turn));
    if integrated.len() >= context.depth || integrated.iter().filter(waits).count() >= WAITING_MAX {
        return None;
    }
    let aside = |one: &Candidate<'_>| context.aside.get(one.id).copied();
    let next = rest.iter().find(|one| aside(one) != Some(MergesAlone::Passed))?;
    // What has to be first in the queue is waited for: nothing else goes before it.
    aside(next).is_none().then_some(next)
}

/// What accepted work is merged with to be the last entry of the queue: the head that the queue stands on is the flight's. The
/// commit is the caller's to make, so this is the tree, and the waypoints up to there with the one that brings the tree.
#[must_use]
pub fn tail<'a>(flight: &'a FlightState, waypoints: &'a Waypoints, next: &WaypointId) -> Option<QueueTail<'a>> {
    let integrated = queue(flight, waypoints).integrated;
    let last = integrated.last().filter(|_| integrated.iter().all(|entry| entry.id != next))?;
    let waypoints = integrated.iter().map(|entry| entry.id.clone()).collect();
    Some(QueueTail { waypoints, tree: last.tree, state: last.state })
}

/// The end of the queue.
#[derive(Debug, Clone)]
pub struct QueueTail<'a> {
    /// The waypoints in the queue.
    pub waypoints: Vec<WaypointId>,
    /// The tree of the last one.
    pub tree: &'a Oid,
    /// The state of the last one, whose bundle brings that tree.
    pub state: &'a WaypointState,
}

impl QueueTail<'_> {
    /// What is merged behind it, on this commit.
    #[must_use]
    pub fn behind(&self, commit: Oid) -> Behind {
        Behind { waypoints: self.waypoints.clone(), commit, tree: self.tree.clone() }
    }
}

/// Work that is to land, before it is known whether it is in the queue.
struct Landable<'a> {
    entry: QueueEntry<'a>,
    place: Option<Place>,
    index: usize,
}

impl<'a> Landable<'a> {
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
        Some(Self { entry: QueueEntry { id, state, tree: &work.tree, open }, place: again.or(new), index })
    }

    /// Where it may be the next entry; the smallest is.
    fn fits(
        &self,
        flight: &FlightState,
        front: Option<&QueueEntry<'_>>,
        off_head: &[&Stacked],
    ) -> Option<(u8, Option<&Place>, usize)> {
        let state = self.entry.state;
        if matches!(state.phase, Phase::Queued(_)) {
            return None;
        }
        let is_merged = || state.work.as_ref().is_some_and(|work| work.made_on.is_some());
        let rank = match front {
            Some(front) => state.stacked.as_ref().filter(|stacked| stacked.base_tree == *front.tree).map(|_| 0)?,
            None if !flight.is_on_head(state) => return None,
            // What was verified as a merge with the head keeps its place, then what is being verified. Work that was made on
            // the head lands where there is no such merge, and passes nothing that was in the queue before it.
            None if self.entry.open.is_some() => 1,
            None if is_merged() => 0,
            None if off_head.iter().any(|stacked| !stacked.behind.contains(self.entry.id)) => return None,
            None => 2,
        };
        Some((rank, self.place.as_ref(), self.index))
    }

    /// What its work was integrated with whose report is kept.
    fn kept(&self) -> Option<&'a Stacked> {
        let state = self.entry.state;
        match &state.phase {
            Phase::Queued(queued) if queued.kept.is_some() => state.stacked.as_deref(),
            _ => None,
        }
    }

    /// What it is stacked on while that has not landed; nothing while a verification goes on that no merge replaces.
    fn off_head(&self, flight: &FlightState) -> Option<&'a Stacked> {
        let QueueEntry { state, open, .. } = self.entry;
        let goes_on = flight.is_on_head(state) || open.is_some() && waypoint::replaceable(state).is_none();
        state.stacked.as_deref().filter(|_| !goes_on)
    }

    /// As work that is to be merged. A verification on an older head goes on, and what comes of it is merged again; so does
    /// one on the head that another orchestrator began as well.
    fn candidate(self, flight: &FlightState) -> Option<Candidate<'a>> {
        let is_free = self.entry.open.is_none() || self.off_head(flight).is_some();
        let Self { entry: QueueEntry { id, .. }, place, .. } = self;
        place.filter(|_| is_free).map(|place| Candidate { place, id })
    }
}

fn queue<'a>(flight: &FlightState, waypoints: &'a Waypoints) -> Queue<'a> {
    let landable = waypoints.iter().filter_map(|(id, state)| Landable::of(flight, id, state));
    let (kept, mut landable): (Vec<Landable<'a>>, Vec<Landable<'a>>) = landable.partition(|one| one.kept().is_some());
    let off_head: Vec<&Stacked> = landable.iter().filter_map(|one| one.off_head(flight)).collect();
    let mut integrated: Vec<QueueEntry<'a>> = Vec::new();
    let next = |landable: &[Landable<'a>], front: Option<&QueueEntry<'a>>| {
        let fits = landable.iter().enumerate().filter_map(|(at, one)| Some((one.fits(flight, front, &off_head)?, at)));
        fits.min().map(|(_, at)| at)
    };
    while let Some(at) = next(&landable, integrated.last()) {
        integrated.push(landable.swap_remove(at).entry);
    }
    let is_rooted = |one: &Landable<'_>| one.kept().is_some_and(|stacked| flight.rooted(stacked).is_some());
    let (judged, kept): (Vec<Landable<'a>>, Vec<Landable<'a>>) = kept.into_iter().partition(is_rooted);
    // What it was integrated with has left: the report is void.
    let is_void = |one: &Landable<'_>| {
        one.kept().is_some_and(|stacked| integrated.iter().all(|entry| *entry.tree != stacked.base_tree))
    };
    landable.extend(kept.into_iter().filter(is_void));
    let mut rest: Vec<Candidate<'a>> = landable.into_iter().filter_map(|one| one.candidate(flight)).collect();
    rest.sort_by(|one, other| one.place.cmp(&other.place));
    Queue { integrated, rest, judged: judged.into_iter().map(|one| one.entry.id).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_each_landing_and_halves_with_each_work_that_is_sent_back() {
        let mut window = QueueWindow::default();
        for (landed, sent_back, size) in [
            (3, 5, 8),
            (4, 5, 8),
            (4, 6, 4),
            (5, 6, 5),
            (5, 7, 2),
            (5, 8, 1),
            (5, 9, 1),
            (6, 10, 1),
            (8, 10, 3),
            (20, 10, 8),
            (20, 99, 1),
        ] {
            window = window.moved(landed, sent_back, 8);
            assert_eq!(window.size(), size, "{landed} landed, {sent_back} sent back");
        }
    }
}
