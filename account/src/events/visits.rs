//! Visits of gates between two states of a waypoint, and where a waypoint is.

use holdpoint_protocol::{
    Timestamp,
    ids::{GateId, RoleId},
    state::{GateVisit, OpenTurn, Phase, Resume, WaypointState},
};
use serde::{Serialize, Serializer};

/// The visits that ended between two states, oldest first: those that were open before, and those that began since.
pub fn closed<'a>(before: &WaypointState, after: &'a WaypointState) -> impl Iterator<Item = &'a GateVisit> {
    let gone = earlier(after).saturating_sub(earlier(before));
    // By its place: a gate that is left and entered again in one moment has two visits that look the same.
    let was_closed = |at: usize| {
        let earlier = before.history.get(at.saturating_add(gone));
        earlier.is_some_and(|visit| visit.exited.is_some())
    };
    let ended: Vec<&GateVisit> = after
        .history
        .iter()
        .enumerate()
        .filter(|(at, visit)| visit.exited.is_some() && !was_closed(*at))
        .map(|(_, visit)| visit)
        .collect();
    ended.into_iter()
}

/// Whether a visit was open before: then it is one that ended, and not one that was passed over.
pub(super) fn was_open(before: &WaypointState, visit: &GateVisit) -> bool {
    let same = |earlier: &&GateVisit| earlier.gate == visit.gate && earlier.entered == visit.entered;
    before.history.iter().filter(same).any(|earlier| earlier.exited.is_none())
}

/// The visit that began between two states and is open.
pub(super) fn opened<'a>(before: &WaypointState, after: &'a WaypointState) -> Option<&'a GateVisit> {
    // By its place: a gate that is left and entered again in one moment has two visits that look the same.
    let began = count(after) > count(before);
    after.history.last().filter(|visit| began && visit.exited.is_none())
}

fn earlier(state: &WaypointState) -> usize {
    state.earlier_visits.map_or(0, |earlier| usize::try_from(earlier.count).unwrap_or(usize::MAX))
}

fn count(state: &WaypointState) -> usize {
    earlier(state).saturating_add(state.history.len())
}

/// Where a waypoint is that a person has to move on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedAt {
    /// The gate; `None` where its first gate is not known to be one.
    pub gate: Option<GateId>,
    /// The role that is waited for; `None` where it is people.
    pub role: Option<RoleId>,
    /// What is waited for.
    pub kind: PlaceKind,
    /// Since when.
    pub since: Timestamp,
}

/// What a waypoint waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceKind {
    /// An agent, in an open turn.
    Agent,
    /// A person, who completes a gate.
    Person,
    /// An answer to a question.
    Answer,
    /// Its children, which do its work.
    Children,
    /// A person: it is held.
    Held,
}

impl Serialize for PlaceKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl PlaceKind {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Answer => "answer",
            Self::Children => "children",
            Self::Held => "held",
        }
    }
}

/// Where a waypoint is: in one place, or in each open branch of a fork; nowhere if it has not begun, is accepted or
/// cancelled. Since when: since it came to the gate, of held work since it is held.
pub fn places(state: &WaypointState) -> impl Iterator<Item = StoppedAt> {
    state.phases().filter_map(|phase| place(state, phase))
}

fn place(state: &WaypointState, phase: &Phase) -> Option<StoppedAt> {
    let entered = |turn: &OpenTurn| {
        let visit = state.history.iter().rev().find(|visit| visit.gate == turn.gate && visit.exited.is_none());
        visit.map_or(turn.opened_at, |visit| visit.entered)
    };
    let at = |turn: &OpenTurn, kind, since| StoppedAt {
        gate: Some(turn.gate.clone()),
        role: Some(turn.role.clone()),
        kind,
        since,
    };
    match phase {
        Phase::Pending | Phase::Forked | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => None,
        Phase::InTurn(open) if open.is_peoples() => Some(at(open, PlaceKind::Person, entered(open))),
        Phase::InTurn(open) if open.asking().is_some() => Some(at(open, PlaceKind::Answer, entered(open))),
        Phase::InTurn(open) => Some(at(open, PlaceKind::Agent, entered(open))),
        Phase::Delegated(delegated) => {
            let gate = Some(delegated.gate.clone());
            Some(StoppedAt { gate, role: None, kind: PlaceKind::Children, since: delegated.since })
        }
        Phase::Waiting(question) => Some(at(&question.turn, PlaceKind::Answer, question.since)),
        Phase::Held(held) => {
            let gate = match &held.resume {
                Resume::Turn(open) => Some(open.gate.clone()),
                Resume::Gate { gate, .. } => Some(gate.clone()),
                Resume::Fork => state.fork.as_ref().map(|fork| fork.fork.clone()),
                Resume::Beginning | Resume::Landing { .. } => None,
            };
            Some(StoppedAt { gate, role: None, kind: PlaceKind::Held, since: held.since })
        }
    }
}
