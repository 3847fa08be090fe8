//! Whose live lines are shown: of all that come on a flight's `log` subjects.

use std::collections::{BTreeMap, VecDeque};

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, RoleId, TurnId, WaypointId},
    live::{LINE_BYTES_MAX, LiveLine},
    subjects::LogSubject,
    view::{FlightView, TurnView},
};

use super::line;
use crate::lines::{LineCounts, LineFate};

/// Turns of a waypoint that are remembered: those of a fork are open together, and a line may come after the end of its turn.
const TURNS_MAX: usize = 16;
/// Lines of turns that nobody has heard of yet, which wait for the next look at the flight.
const WAITING_MAX: usize = 64;
/// How often they may wait.
const LOOKS_MAX: u32 = 2;

/// A line that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Whose, and on what.
    pub from: LogSubject,
    /// What was said, cleaned.
    pub line: LiveLine,
}

/// What a message on a `log` subject is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveMessage {
    /// It is shown.
    Line(Spoken),
    /// Its turn is not known: the next look at the flight may show it.
    Waits,
    /// It is not shown, and counted.
    LeftOut,
}

/// Knows which turns are open, and counts what is not shown.
#[derive(Debug, Default)]
pub struct Ears {
    turns: BTreeMap<WaypointId, VecDeque<Known>>,
    waiting: VecDeque<(Spoken, u32)>,
    lines: LineCounts,
    foreign: u64,
    too_many: u64,
}

#[derive(Debug)]
struct Known {
    turn: TurnId,
    role: RoleId,
    agent: Option<AgentName>,
}

impl Ears {
    /// Takes in how the flight stands. Lines that waited for this come back.
    pub fn learn(&mut self, view: &FlightView, now: Timestamp) -> Vec<Spoken> {
        for waypoint in &view.waypoints {
            for turn in waypoint.open_turns() {
                self.know(&waypoint.id, turn);
            }
        }
        let mut shown = Vec::new();
        for (spoken, looks) in std::mem::take(&mut self.waiting) {
            match self.is_of_its_turn(&spoken) {
                Some(true) => shown.extend(self.within_bounds(spoken, now)),
                None if looks + 1 < LOOKS_MAX => self.waiting.push_back((spoken, looks + 1)),
                Some(false) | None => self.foreign += 1,
            }
        }
        shown
    }

    /// A message came on this subject.
    pub fn hear(&mut self, from: LogSubject, payload: &[u8], now: Timestamp) -> LiveMessage {
        let read =
            (payload.len() <= LINE_BYTES_MAX).then(|| serde_json::from_slice::<LiveLine>(payload).ok()).flatten();
        let cleaned = read.and_then(|read| Some(LiveLine { text: line(&read.text)?, ..read }));
        let Some(line) = cleaned else {
            self.foreign += 1;
            return LiveMessage::LeftOut;
        };
        let spoken = Spoken { from, line };
        match self.is_of_its_turn(&spoken) {
            Some(true) => self.within_bounds(spoken, now).map_or(LiveMessage::LeftOut, LiveMessage::Line),
            Some(false) => {
                self.foreign += 1;
                LiveMessage::LeftOut
            }
            None => {
                if self.waiting.len() == WAITING_MAX {
                    self.waiting.pop_front();
                    self.foreign += 1;
                }
                self.waiting.push_back((spoken, 0));
                LiveMessage::Waits
            }
        }
    }

    /// How many lines came so far that are no line, or not of the agent that has the turn.
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// How many lines came so far beyond what one agent is shown in a minute.
    #[must_use]
    pub fn too_many(&self) -> u64 {
        self.too_many
    }

    /// Whether it is a line of a known turn by the agent that has it; `None`: its turn is not known.
    fn is_of_its_turn(&self, Spoken { from, line }: &Spoken) -> Option<bool> {
        let known = self.turns.get(&from.waypoint)?.iter().find(|known| known.turn == line.turn)?;
        let agent = known.agent.as_ref().is_none_or(|agent| *agent == from.agent);
        Some(known.role == from.role && agent)
    }

    /// The line, unless its agent has said too much in this minute. Only senders of known turns are counted so.
    fn within_bounds(&mut self, spoken: Spoken, now: Timestamp) -> Option<Spoken> {
        match self.lines.next(spoken.from.agent.as_str(), now) {
            LineFate::Written { .. } => Some(spoken),
            LineFate::LeftOut => {
                self.too_many += 1;
                None
            }
        }
    }

    fn know(&mut self, waypoint: &WaypointId, turn: &TurnView) {
        let turns = self.turns.entry(waypoint.clone()).or_default();
        let TurnView { turn, role, agent, .. } = turn;
        match turns.iter_mut().find(|known| known.turn == *turn) {
            // Who has it now: it may have been given to another. An orchestrator that was started again does not know.
            Some(known) => known.agent = agent.clone().or_else(|| known.agent.take()),
            None => {
                if turns.len() == TURNS_MAX {
                    turns.pop_front();
                }
                turns.push_back(Known { turn: turn.clone(), role: role.clone(), agent: agent.clone() });
            }
        }
    }
}

#[cfg(test)]
mod tests;
