//! Turns that were called out to one agent, and when all agents of their role are to hear of them.
//!
//! It sends nothing, and knows of no agent: that an agent planned for a turn is all it learns.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    ids::{RoleId, TurnId},
    plan::Priority,
};

/// How long one agent has to plan for a turn that was called out to it: longer than that takes on a busy machine, and no time for
/// anybody who waits for a turn.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long after one look the next one is due at the earliest: turns that come one by one share a hint.
const PAUSE: Duration = Duration::from_millis(20);

/// Whose turn it is, and how urgent.
pub type HintKind = (RoleId, Priority);

/// What to do about untaken turns now.
#[derive(Debug, PartialEq, Eq)]
pub enum HintDue {
    /// To look once more then.
    Until(Instant),
    /// To hint to the agents of these roles.
    Hint(BTreeSet<HintKind>),
    /// Nothing: nothing is untaken, and the next turn has another one to watch it.
    Over,
}

/// The turns that no agent has planned for, each for a moment.
#[derive(Debug, Default)]
pub struct Untaken {
    turns: HashSet<TurnId>,
    /// The same turns and some that were taken, as they were opened; with the end of their time.
    queue: VecDeque<(Instant, TurnId, HintKind)>,
    is_watched: bool,
}

impl Untaken {
    /// A turn was opened and called out. Whether the caller has to see to it that it is watched.
    pub fn opened(&mut self, turn: &TurnId, kind: HintKind, now: Instant) -> bool {
        self.turns.insert(turn.clone());
        self.queue.push_back((now + PATIENCE, turn.clone(), kind));
        !std::mem::replace(&mut self.is_watched, true)
    }

    /// An agent planned for it.
    pub fn taken(&mut self, turn: &TurnId) {
        self.turns.remove(turn);
    }

    /// Forgets whose time is over.
    pub fn watch(&mut self, now: Instant) -> HintDue {
        let mut kinds = BTreeSet::new();
        while let Some((_, turn, kind)) = self.queue.pop_front_if(|(until, ..)| *until <= now) {
            if self.turns.remove(&turn) {
                kinds.insert(kind);
            }
        }
        if !kinds.is_empty() {
            return HintDue::Hint(kinds);
        }
        let Some((until, ..)) = self.queue.front() else {
            self.is_watched = false;
            return HintDue::Over;
        };
        HintDue::Until((*until).max(now + PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::ids::role;

    use super::*;

    fn kind(priority: Priority) -> HintKind {
        (role::id(role::BUILDER), priority)
    }

    fn turn(name: &str) -> TurnId {
        TurnId::try_new(name).unwrap()
    }

    #[test]
    fn a_turn_that_an_agent_planned_for_is_hinted_to_nobody() {
        let (mut untaken, now) = (Untaken::default(), Instant::now());
        assert!(untaken.opened(&turn("t1"), kind(Priority::Medium), now), "the first has to be watched");
        assert!(!untaken.opened(&turn("t2"), kind(Priority::Medium), now), "the second is watched with it");
        untaken.taken(&turn("t1"));
        untaken.taken(&turn("t2"));
        assert_eq!(untaken.watch(now), HintDue::Until(now + PATIENCE));
        assert_eq!(untaken.watch(now + PATIENCE), HintDue::Over);
        assert!(untaken.opened(&turn("t3"), kind(Priority::Medium), now + PATIENCE), "nobody watches any more");
    }

    #[test]
    fn turns_that_nobody_planned_for_in_time_share_one_hint_per_role_and_priority() {
        let (mut untaken, now) = (Untaken::default(), Instant::now());
        for (name, priority) in [("t1", Priority::Medium), ("t2", Priority::Critical), ("t3", Priority::Medium)] {
            untaken.opened(&turn(name), kind(priority), now);
        }
        let kinds = BTreeSet::from([kind(Priority::Medium), kind(Priority::Critical)]);
        assert_eq!(untaken.watch(now + PATIENCE), HintDue::Hint(kinds));
        assert_eq!(untaken.watch(now + PATIENCE), HintDue::Over, "each turn is hinted at once");
    }

    #[test]
    fn turns_that_come_one_by_one_are_looked_at_together() {
        let (mut untaken, now) = (Untaken::default(), Instant::now());
        let later = now + Duration::from_millis(1);
        untaken.opened(&turn("t1"), kind(Priority::Medium), now);
        untaken.opened(&turn("t2"), kind(Priority::Medium), later);
        untaken.taken(&turn("t1"));
        assert_eq!(untaken.watch(now + PATIENCE), HintDue::Until(now + PATIENCE + PAUSE));
    }
}
