//! Who holds which open turn, as agents said: it is shown, and says who may look into the turn. No decision rests on it.

use std::collections::{HashMap, VecDeque};

use holdpoint_planfile::gates::GATES_MAX;
use holdpoint_protocol::ids::{AgentName, TurnId, WaypointId};

/// Deliveries of a turn whose takers are remembered.
const TAKEN_MAX: usize = 64;

/// The holders of each open turn of a waypoint, by delivery, the newest last.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<WaypointId, HashMap<TurnId, VecDeque<Holder>>>);

/// Which delivery of a turn, and who says that it has it.
pub(super) type Holder = (u32, AgentName);

impl Holders {
    /// An agent planned for a delivery of this turn: it has it now, unless it had that delivery before, and declares a plan in
    /// mid-turn. A late plan for another turn takes nothing from one that `is_open`.
    pub(super) fn took(
        &mut self,
        waypoint: &WaypointId,
        turn: &TurnId,
        holder: Holder,
        is_open: impl Fn(&TurnId) -> bool,
    ) {
        let held = self.0.entry(waypoint.clone()).or_default();
        held.retain(|held, _| held == turn || is_open(held));
        if held.is_empty() || held.contains_key(turn) || is_open(turn) {
            let holders = held.entry(turn.clone()).or_default();
            if !holders.contains(&holder) {
                holders.push_back(holder);
            }
            if holders.len() > TAKEN_MAX {
                holders.pop_front();
            }
        }
    }

    /// Who has this turn.
    pub(super) fn of(&self, waypoint: &WaypointId, turn: &TurnId) -> Option<&AgentName> {
        Some(&self.0.get(waypoint)?.get(turn)?.back()?.1)
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

    fn holder(delivery: u32, name: &str) -> Holder {
        (delivery, agent(name))
    }

    #[test]
    fn a_plan_that_is_declared_in_mid_turn_takes_nothing_from_who_has_the_turn_now() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        for holder in [holder(1, "b1"), holder(2, "b2"), holder(1, "b1"), holder(2, "b2")] {
            holders.took(&waypoint, &turn("t1"), holder, |_| true);
        }
        assert_eq!(holders.of(&waypoint, &turn("t1")), Some(&agent("b2")));
        for delivery in 3..1_000 {
            holders.took(&waypoint, &turn("t1"), holder(delivery, "b3"), |_| true);
        }
        assert_eq!(holders.0[&waypoint][&turn("t1")].len(), TAKEN_MAX);
    }

    #[test]
    fn the_holder_of_a_turn_is_forgotten_with_the_next_turn_of_its_waypoint() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        for n in 0..100 {
            let turn = turn(&format!("t{n}"));
            holders.took(&waypoint, &turn, holder(1, "b1"), |_| false);
            holders.took(&waypoint, &turn, holder(2, "b2"), |open| *open == turn);
            assert_eq!(holders.of(&waypoint, &turn), Some(&agent("b2")), "it was delivered again");
        }
        assert_eq!((holders.of(&waypoint, &turn("t0")), holders.0.len()), (None, 1));
        assert_eq!(holders.0.get(&waypoint).map(HashMap::len), Some(1));
    }

    #[test]
    fn branches_of_a_fork_have_holders_of_their_own() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        holders.took(&waypoint, &turn("t1"), holder(1, "r1"), |_| true);
        holders.took(&waypoint, &turn("t2"), holder(1, "r2"), |_| true);
        assert_eq!(holders.of(&waypoint, &turn("t1")), Some(&agent("r1")));
        assert_eq!(holders.of(&waypoint, &turn("t2")), Some(&agent("r2")));
    }

    #[test]
    fn whoever_comes_late_for_another_turn_takes_nothing_from_the_open_one() {
        let (mut holders, waypoint) = (Holders::default(), "w".parse().unwrap());
        holders.took(&waypoint, &turn("t2"), holder(1, "b2"), |_| false);
        holders.took(&waypoint, &turn("t1"), holder(1, "b1"), |open| *open == turn("t2"));
        assert_eq!(holders.of(&waypoint, &turn("t2")), Some(&agent("b2")));
    }
}
