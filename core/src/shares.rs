//! Which orchestrator takes the handoffs of which partitions: each the same number, by what it has heard of the others.
//!
//! Members may disagree for a moment, and two may then take the same partition, or nobody: the first is harmless (an
//! append is fenced by the journal), the second passes with the next sign of life.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{Timestamp, ids::AgentName};

/// This orchestrator and those it hears of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    own: AgentName,
    heard: BTreeMap<AgentName, Timestamp>,
}

impl Members {
    /// Alone.
    #[must_use]
    pub fn new(own: AgentName) -> Self {
        Self { own, heard: BTreeMap::new() }
    }

    /// A sign of life; whether it is the first of this member.
    pub fn heard(&mut self, member: AgentName, at: Timestamp) -> bool {
        member != self.own && self.heard.insert(member, at).is_none()
    }

    /// A member said that it ends; whether it was one.
    pub fn left(&mut self, member: &AgentName) -> bool {
        self.heard.remove(member).is_some()
    }

    /// Forgets the members that were silent for longer than `patience`; whether there were any.
    pub fn forget_silent(&mut self, now: Timestamp, patience: Duration) -> bool {
        let before = self.heard.len();
        self.heard.retain(|_, last| now.since(*last) <= patience);
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
        let mut members = Members::new(name(own));
        for other in 0..count {
            members.heard(name(other), at(0));
        }
        members
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
        assert!((0..8).all(|partition| Members::new(name(1)).has(partition)));
    }

    #[test]
    fn a_member_counts_from_its_first_sign_of_life_until_it_leaves_or_is_silent_for_long() {
        let mut members = Members::new(name(1));
        assert!(!members.heard(name(1), at(0)), "itself");
        assert!(members.heard(name(2), at(0)));
        assert!(!members.heard(name(2), at(5)), "known");
        assert!(!members.forget_silent(at(15), PATIENCE));
        assert!(members.forget_silent(at(16), PATIENCE));
        assert!((0..8).all(|partition| members.has(partition)), "all is its own again");
        assert!(members.heard(name(2), at(20)), "it is back");
        assert!(members.left(&name(2)));
        assert!(!members.left(&name(2)));
    }
}
