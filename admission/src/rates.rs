//! How many handoffs one agent, or acts one person, may hand off in an hour: beyond that they are refused, and beyond twice as many its key is to be
//! put out, because refusing costs as well, and what is refused is stored all the same.
//!
//! The sender has been shown before: this module believes what it is given.

use std::collections::HashMap;

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, RoleId},
};

use crate::traffic::{Load, Window};

/// How many times the bound a sender reaches before its key is put out.
const FLOOD: u64 = 2;
/// Senders that are counted, far more than a fleet has. Past that all counts begin again.
const SENDERS_MAX: usize = 4_096;

/// Whether a handoff is within its sender's bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// It is looked at.
    Within,
    /// It is refused.
    Over(RateExcess),
    /// It is refused, and its sender goes on although many were.
    Flood(RateExcess),
}

/// How many handoffs a sender sent, and might.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its sender handed off {sent} times in an hour and may {most} times (orchestrator.handoffs_per_hour): hand off once for \
     each delivery, and again when an hour is over"
)]
pub struct RateExcess {
    /// In the last hour.
    pub sent: u64,
    /// In an hour.
    pub most: u64,
}

/// How many handoffs came from whom.
#[derive(Debug)]
pub struct Rates {
    most: u64,
    senders: HashMap<(RoleId, AgentName), Window>,
}

impl Rates {
    /// Each agent may hand off so often in an hour.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { most: u64::from(most), senders: HashMap::new() }
    }

    /// Another handoff of an agent.
    pub fn hands(&mut self, now: Timestamp, role: &RoleId, name: &AgentName) -> Rate {
        let sender = (role.clone(), name.clone());
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(&sender) {
            self.senders.clear();
        }
        let window = self.senders.entry(sender).or_default();
        window.add(now, Load { bytes: 0, messages: 1 });
        let excess = RateExcess { sent: window.sum(now).messages, most: self.most };
        match excess.sent {
            sent if sent <= self.most => Rate::Within,
            sent if sent <= self.most * FLOOD => Rate::Over(excess),
            _ => Rate::Flood(excess),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_refused_beyond_its_bound_and_floods_beyond_twice_as_much_until_an_hour_is_over() {
        let mut rates = Rates::new(100);
        let (role, name): (RoleId, AgentName) = ("builder".parse().unwrap(), "b1".parse().unwrap());
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let mut found = Vec::new();
        for n in 0..250 {
            found.push(rates.hands(at(n), &role, &name));
        }
        assert!(found[..100].iter().all(|rate| *rate == Rate::Within));
        assert_eq!(found[100], Rate::Over(RateExcess { sent: 101, most: 100 }));
        assert!(found[100..200].iter().all(|rate| matches!(rate, Rate::Over(_))));
        assert!(found[200..].iter().all(|rate| matches!(rate, Rate::Flood(_))));
        assert_eq!(rates.hands(at(250), &role, &"b2".parse().unwrap()), Rate::Within);
        assert_eq!(rates.hands(at(250), &"verifier".parse().unwrap(), &name), Rate::Within);
        assert_eq!(rates.hands(at(250 + 62 * 60), &role, &name), Rate::Within);
        let told = RateExcess { sent: 101, most: 100 }.to_string();
        assert!(told.contains("101") && told.contains("orchestrator.handoffs_per_hour"), "{told}");
    }
}
