//! Who holds which open turn, as agents said. It is only shown: nothing is decided by it.

use std::collections::HashMap;

use holdpoint_protocol::ids::{AgentName, TurnId, WaypointId};

/// One holder for each waypoint at most: only one turn of it is open.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<WaypointId, (TurnId, AgentName)>);

impl Holders {
    /// An agent has this turn. What comes late for another one takes nothing from a turn that `is_open`.
    pub(super) fn took(
        &mut self,
        waypoint: &WaypointId,
        turn: &TurnId,
        agent: AgentName,
        is_open: impl Fn(&TurnId) -> bool,
    ) {
        if !self.0.get(waypoint).is_some_and(|(held, _)| held != turn && is_open(held)) {
            self.0.insert(waypoint.clone(), (turn.clone(), agent));
        }
    }

    /// Who has this turn.
    pub(super) fn of(&self, waypoint: &WaypointId, turn: &TurnId) -> Option<&AgentName> {
        self.0.get(waypoint).filter(|(held, _)| held == turn).map(|(_, agent)| agent)
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
    }

    #[test]
    fn whoever_comes_late_for_another_turn_takes_nothing_from_the_open_one() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        holders.took(&waypoint, &turn("t2"), agent("b2"), |_| false);
        holders.took(&waypoint, &turn("t1"), agent("b1"), |open| *open == turn("t2"));
        assert_eq!(holders.of(&waypoint, &turn("t2")), Some(&agent("b2")));
    }
}
