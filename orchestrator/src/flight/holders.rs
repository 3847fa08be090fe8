//! Who holds which open turn, as agents said. It is only shown: nothing is decided by it.

use std::collections::{HashMap, VecDeque};

use holdpoint_core::gates::GATES_MAX;
use holdpoint_protocol::ids::{AgentName, TurnId, WaypointId};

/// One holder for each open turn of a waypoint.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<WaypointId, HashMap<TurnId, AgentName>>);

impl Holders {
    /// An agent has this turn. A late plan for another one takes nothing from a turn that `is_open`.
    pub(super) fn took(
        &mut self,
        waypoint: &WaypointId,
        turn: &TurnId,
        agent: AgentName,
        is_open: impl Fn(&TurnId) -> bool,
    ) {
        let held = self.0.entry(waypoint.clone()).or_default();
        held.retain(|held, _| held == turn || is_open(held));
        if held.is_empty() || held.contains_key(turn) || is_open(turn) {
            held.insert(turn.clone(), agent);
        }
    }

    /// Who has this turn.
    pub(super) fn of(&self, waypoint: &WaypointId, turn: &TurnId) -> Option<&AgentName> {
        self.0.get(waypoint)?.get(turn)
    }
}

/// Turns that an agent planned for lately: nobody has to look for their plans.
#[derive(Debug, Default)]
pub(super) struct Planned(HashMap<WaypointId, VecDeque<TurnId>>);

impl Planned {
    /// An agent planned for this turn. Of a waypoint as many are remembered as may be open at the same time.
    pub(super) fn remember(&mut self, waypoint: &WaypointId, turn: &TurnId) {
        let turns = self.0.entry(waypoint.clone()).or_default();
        if !turns.contains(turn) {
            turns.push_back(turn.clone());
        }
        if turns.len() > GATES_MAX {
            turns.pop_front();
        }
    }

    /// Whether an agent is known to have planned for it.
    pub(super) fn contains(&self, waypoint: &WaypointId, turn: &TurnId) -> bool {
        self.0.get(waypoint).is_some_and(|turns| turns.contains(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(name: &str) -> TurnId {
        name.parse().unwrap()
    }

    fn agent(name: &str) -> AgentName {
        name.parse().unwrap()
    }

    #[test]
    fn the_holder_of_a_turn_is_forgotten_with_the_next_turn_of_its_waypoint() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        for n in 0..100 {
            let turn = turn(&format!("t{n}"));
            holders.took(&waypoint, &turn, agent("b1"), |_| false);
            holders.took(&waypoint, &turn, agent("b2"), |open| *open == turn);
            assert_eq!(holders.of(&waypoint, &turn), Some(&agent("b2")), "it was delivered again");
        }
        assert_eq!((holders.of(&waypoint, &turn("t0")), holders.0.len()), (None, 1));
        assert_eq!(holders.0.get(&waypoint).map(HashMap::len), Some(1));
    }

    #[test]
    fn branches_of_a_fork_have_holders_of_their_own() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        holders.took(&waypoint, &turn("t1"), agent("r1"), |_| true);
        holders.took(&waypoint, &turn("t2"), agent("r2"), |_| true);
        assert_eq!(holders.of(&waypoint, &turn("t1")), Some(&agent("r1")));
        assert_eq!(holders.of(&waypoint, &turn("t2")), Some(&agent("r2")));
    }

    #[test]
    fn whoever_comes_late_for_another_turn_takes_nothing_from_the_open_one() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        holders.took(&waypoint, &turn("t2"), agent("b2"), |_| false);
        holders.took(&waypoint, &turn("t1"), agent("b1"), |open| *open == turn("t2"));
        assert_eq!(holders.of(&waypoint, &turn("t2")), Some(&agent("b2")));
    }
}
