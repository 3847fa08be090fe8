//! Which agents were heard of on which open turn: an agent that asks whether it may go on is alive.
//!
//! Kept in memory only. After a restart nobody was heard of, until agents ask again a few seconds later.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use holdpoint_planfile::gates::GATES_MAX;
use holdpoint_protocol::ids::{AgentName, TurnId, WaypointId};

/// The turns of each waypoint that were heard of last, as many as may be open at the same time, and when their agents were
/// last heard of. As many agents as a fleet has keys.
#[derive(Debug, Default)]
pub(super) struct Heard(HashMap<WaypointId, VecDeque<HeardOn>>);

/// When the agents of a turn were last heard of.
type HeardOn = (TurnId, HashMap<AgentName, Instant>);

impl Heard {
    /// An agent asked about a turn that is open.
    pub(super) fn heard(&mut self, waypoint: &WaypointId, turn: &TurnId, agent: AgentName, now: Instant) {
        let turns = self.0.entry(waypoint.clone()).or_default();
        match turns.iter_mut().find(|(of, _)| of == turn) {
            Some((_, agents)) => drop(agents.insert(agent, now)),
            None => turns.push_back((turn.clone(), HashMap::from([(agent, now)]))),
        }
        if turns.len() > GATES_MAX {
            turns.pop_front();
        }
    }

    /// Whether another agent than this one was heard of on a turn in the time `within`.
    pub(super) fn of_another(
        &self,
        waypoint: &WaypointId,
        turn: &TurnId,
        agent: &AgentName,
        now: Instant,
        within: Duration,
    ) -> bool {
        let turns = self.0.get(waypoint).into_iter().flatten();
        let Some((_, agents)) = turns.into_iter().find(|(of, _)| of == turn) else { return false };
        agents.iter().any(|(other, at)| other != agent && now.saturating_duration_since(*at) < within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_agent_counts_while_it_was_heard_of_lately_and_on_this_turn() {
        let (mut heard, start) = (Heard::default(), Instant::now());
        let (waypoint, turn, next): (WaypointId, TurnId, TurnId) =
            ("w".parse().unwrap(), "t1".parse().unwrap(), "t2".parse().unwrap());
        let [b1, b2]: [AgentName; 2] = ["b1".parse().unwrap(), "b2".parse().unwrap()];
        let within = Duration::from_secs(15);
        let of_another = |heard: &Heard, turn: &TurnId, agent: &AgentName, seconds: u64| {
            heard.of_another(&waypoint, turn, agent, start + Duration::from_secs(seconds), within)
        };
        heard.heard(&waypoint, &turn, b1.clone(), start);
        assert!(of_another(&heard, &turn, &b2, 14));
        assert!(!of_another(&heard, &turn, &b2, 15), "it may be dead by now");
        assert!(!of_another(&heard, &turn, &b1, 1), "it is that agent itself");
        assert!(!of_another(&heard, &next, &b2, 1), "it was another turn");
        heard.heard(&waypoint, &next, b2, start);
        assert!(of_another(&heard, &next, &b1, 1), "branches of a fork are open at the same time");
        assert!(!of_another(&heard, &turn, &b1, 1));
    }
}
