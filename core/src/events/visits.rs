//! Visits of gates between two states of a waypoint, and where a waypoint is.

use holdpoint_protocol::{
    Timestamp,
    ids::{GateId, RoleId},
    state::{GateVisit, OpenTurn, Outcome, Phase, Resume, WaypointState},
};

/// The visits that ended between two states, oldest first: one that was open before, and those that began since.
pub fn closed<'a>(before: &WaypointState, after: &'a WaypointState) -> impl Iterator<Item = &'a GateVisit> {
    since(before, after).iter().filter(|visit| visit.exited.is_some())
}

/// The visit that began between two states and is open.
pub(super) fn opened<'a>(before: &WaypointState, after: &'a WaypointState) -> Option<&'a GateVisit> {
    // By its place: a gate that is left and entered again in one moment has two visits that look the same.
    let began = count(after) > count(before);
    after.history.last().filter(|visit| began && visit.exited.is_none())
}

/// The visit that is open.
pub(super) fn open(state: &WaypointState) -> Option<&GateVisit> {
    state.history.last().filter(|visit| visit.exited.is_none())
}

/// The visits that were open before, or began since.
fn since<'a>(before: &WaypointState, after: &'a WaypointState) -> &'a [GateVisit] {
    let unchanged = count(before) - usize::from(open(before).is_some());
    let gone = earlier(after);
    after.history.get(unchanged.saturating_sub(gone)..).unwrap_or_default()
}

fn earlier(state: &WaypointState) -> usize {
    state.earlier_visits.map_or(0, |earlier| usize::try_from(earlier.count).unwrap_or(usize::MAX))
}

fn count(state: &WaypointState) -> usize {
    earlier(state).saturating_add(state.history.len())
}

/// Where a waypoint is that somebody has to move on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
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
    /// A person: it is held.
    Held,
}

impl PlaceKind {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Answer => "answer",
            Self::Held => "held",
        }
    }
}

/// Where a waypoint is; `None` if it has not begun, is accepted or cancelled. Since when: since it came to the gate, of held
/// work since it is held.
#[must_use]
pub fn place(state: &WaypointState) -> Option<Place> {
    let entered = |turn: &OpenTurn| {
        let visit = state.history.iter().rev().find(|visit| visit.outcome != Some(Outcome::Skip));
        visit
            .filter(|visit| visit.gate == turn.gate && visit.exited.is_none())
            .map_or(turn.opened_at, |visit| visit.entered)
    };
    let at = |turn: &OpenTurn, kind, since| Place {
        gate: Some(turn.gate.clone()),
        role: Some(turn.role.clone()),
        kind,
        since,
    };
    match &state.phase {
        Phase::Pending | Phase::Accepted { .. } | Phase::Cancelled => None,
        Phase::InTurn(open) if open.people => Some(at(open, PlaceKind::Person, entered(open))),
        Phase::InTurn(open) if open.asking().is_some() => Some(at(open, PlaceKind::Answer, entered(open))),
        Phase::InTurn(open) => Some(at(open, PlaceKind::Agent, entered(open))),
        Phase::Waiting(question) => Some(at(&question.turn, PlaceKind::Answer, question.since)),
        Phase::Held(held) => {
            let gate = match &held.resume {
                Resume::Turn(open) => Some(open.gate.clone()),
                Resume::Gate { gate, .. } => Some(gate.clone()),
                Resume::Beginning | Resume::Landing { .. } => None,
            };
            Some(Place { gate, role: None, kind: PlaceKind::Held, since: held.since })
        }
    }
}
