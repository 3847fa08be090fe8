//! Which orchestrator takes the handoffs of which partitions, each the same number, and whose agents any of them looks after: by what
//! it has heard of the others.
//!
//! Members may disagree for a moment, and two may then take the same partition, or nobody: the first is harmless (an
//! append is fenced by the journal), the second passes with the next sign of life.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, PoolId},
};

/// This orchestrator and those it hears of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    own: AgentName,
    serves: PoolId,
    heard: BTreeMap<AgentName, Heard>,
}

/// Another orchestrator.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heard {
    last: Timestamp,
    /// `None`: it did not say.
    serves: Option<PoolId>,
}

/// What a sign of life says that was not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Its sender is known.
    Nothing,
    /// Its sender is there.
    Joined,
    /// Its sender is there, and nobody looked after its agents before: deadlines that passed meanwhile are due.
    JoinedToServe,
}

impl Members {
    /// Alone, with the pool whose agents this orchestrator looks after.
    #[must_use]
    pub fn new(own: AgentName, serves: PoolId) -> Self {
        Self { own, serves, heard: BTreeMap::new() }
    }

    /// The name of this orchestrator.
    #[must_use]
    pub fn own(&self) -> &AgentName {
        &self.own
    }

    /// Whether anybody looks after the agents of a pool. The orchestrator that takes a flight's handoffs opens its turns, and knows their deadlines.
    #[must_use]
    pub fn serve(&self, pool: &PoolId) -> bool {
        self.serves == *pool || self.heard.values().any(|member| member.serves.as_ref() == Some(pool))
    }

    /// A sign of life, with the pool that the member says it looks after.
    pub fn heard(&mut self, member: AgentName, serves: Option<PoolId>, at: Timestamp) -> News {
        if member == self.own {
            return News::Nothing;
        }
        let already = serves.as_ref().is_none_or(|pool| self.serve(pool));
        match self.heard.insert(member, Heard { last: at, serves }) {
            Some(_) => News::Nothing,
            None if already => News::Joined,
            None => News::JoinedToServe,
        }
    }

    /// A member said that it ends; whether it was one.
    pub fn left(&mut self, member: &AgentName) -> bool {
        self.heard.remove(member).is_some()
    }

    /// Forgets the members that were silent for longer than `patience`; whether there were any.
    pub fn forget_silent(&mut self, now: Timestamp, patience: Duration) -> bool {
        let before = self.heard.len();
        self.heard.retain(|_, member| now.since(member.last) <= patience);
        self.heard.len() < before
    }

    /// Whether this partition is this orchestrator's.
    #[must_use]
    pub fn has(&self, partition: u32) -> bool {
        let place = self.heard.keys().filter(|other| **other < self.own).count();
        partition as usize % (self.heard.len() + 1) == place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn name(n: usize) -> AgentName {
        format!("o-{n}").parse().unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn who_knows_all(own: usize, count: usize) -> Members {
        let mut members = alone(own);
        for other in 0..count {
            members.heard(name(other), None, at(0));
        }
        members
    }

    fn pool(name: &str) -> PoolId {
        name.parse().unwrap()
    }

    fn alone(own: usize) -> Members {
        Members::new(name(own), pool("own"))
    }

    #[test]
    fn agents_are_looked_after_as_long_as_one_is_there_that_says_so() {
        let mut members = alone(1);
        assert!(members.serve(&pool("own")) && !members.serve(&pool("fleet")));
        members.heard(name(2), Some(pool("fleet")), at(0));
        members.heard(name(3), None, at(0));
        assert!(members.serve(&pool("own")) && members.serve(&pool("fleet")));
        members.left(&name(2));
        assert!(!members.serve(&pool("fleet")));
    }

    #[test]
    fn the_first_that_looks_after_agents_brings_other_news_than_those_after_it() {
        let mut members = alone(1);
        let fleet = || Some(pool("fleet"));
        assert_eq!(members.heard(name(2), Some(pool("own")), at(0)), News::Joined, "they are looked after here");
        assert_eq!(members.heard(name(3), fleet(), at(0)), News::JoinedToServe);
        assert_eq!(members.heard(name(4), fleet(), at(0)), News::Joined);
        members.left(&name(3));
        assert_eq!(members.heard(name(3), fleet(), at(1)), News::Joined, "another one looked after them");
        members.forget_silent(at(60), PATIENCE);
        assert_eq!(members.heard(name(3), fleet(), at(60)), News::JoinedToServe, "it was silent, and nobody was there");
    }

    #[test]
    fn each_partition_has_one_taker_and_shares_differ_by_one_at_most() {
        for count in 1..=9 {
            let all: Vec<Members> = (0..count).map(|own| who_knows_all(own, count)).collect();
            for partition in 0..8 {
                assert_eq!(all.iter().filter(|member| member.has(partition)).count(), 1, "{partition} of {count}");
            }
            let shares = all.iter().map(|member| (0..8).filter(|p| member.has(*p)).count());
            let (least, most) = (shares.clone().min().unwrap(), shares.max().unwrap());
            assert!(most - least <= 1, "{count}: {least} to {most}");
        }
    }

    #[test]
    fn who_is_alone_takes_all() {
        assert!((0..8).all(|partition| alone(1).has(partition)));
    }

    #[test]
    fn a_member_counts_from_its_first_sign_of_life_until_it_leaves_or_is_silent_for_long() {
        let mut members = alone(1);
        assert_eq!(members.heard(name(1), None, at(0)), News::Nothing, "itself");
        assert_eq!(members.heard(name(2), None, at(0)), News::Joined);
        assert_eq!(members.heard(name(2), None, at(5)), News::Nothing, "known");
        assert!(!members.forget_silent(at(15), PATIENCE));
        assert!(members.forget_silent(at(16), PATIENCE));
        assert!((0..8).all(|partition| members.has(partition)), "all is its own again");
        assert_eq!(members.heard(name(2), None, at(20)), News::Joined, "it is back");
        assert!(members.left(&name(2)));
        assert!(!members.left(&name(2)));
    }
}
