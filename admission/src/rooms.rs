//! When to say that a stream fills up which agents and people write, and who wrote most.
//!
//! The broker takes what valid keys of a role send until the room of their stream is used up, in bytes or in messages, and
//! then nobody of that role stores there any more. It does not say whose a stored message is; of handoffs the signature does.

use std::collections::{BTreeMap, HashMap};

use holdpoint_protocol::ids::{AgentName, RoleId};

/// Hundredths of its room at which a stream is spoken of.
pub const LEVELS: [u64; 4] = [50, 80, 90, 99];
/// Writers whose bytes are remembered, far more than a fleet has. Past that all are forgotten.
const WRITERS_MAX: usize = 4_096;

/// Which level each stream had reached when it was last looked at, by the stream's name.
#[derive(Debug, Default)]
pub struct Levels(BTreeMap<String, u64>);

/// How much of a bound is used: of a stream's bytes, or of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// What is there.
    pub used: u64,
    /// What may be.
    pub most: u64,
}

impl Levels {
    /// Takes in a look at a stream with these bounds: the level that any of them has reached since the last look, in
    /// hundredths.
    pub fn look(&mut self, stream: &str, bounds: &[Used]) -> Option<u64> {
        let over =
            |level: &u64, bound: &Used| u128::from(bound.used) * 100 >= u128::from(bound.most) * u128::from(*level);
        let reached = |level: &u64| bounds.iter().any(|bound| over(level, bound));
        let level = LEVELS.into_iter().rev().find(reached).unwrap_or_default();
        // Falls again when the room is made larger.
        let before = self.0.insert(stream.to_owned(), level).unwrap_or_default();
        (level > before).then_some(level)
    }
}

/// How many bytes of handoffs came from whom since this process was started.
#[derive(Debug, Default)]
pub struct Writers(HashMap<(RoleId, AgentName), u64>);

impl Writers {
    /// Another handoff, by the role that is shown to have signed it.
    pub fn wrote(&mut self, role: &RoleId, name: &AgentName, bytes: usize) {
        let writer = (role.clone(), name.clone());
        if self.0.len() >= WRITERS_MAX && !self.0.contains_key(&writer) {
            self.0.clear();
        }
        let written = self.0.entry(writer).or_default();
        *written = written.saturating_add(bytes as u64);
    }

    /// Those of a role that wrote most, with their bytes.
    #[must_use]
    pub fn most(&self, role: &RoleId, count: usize) -> Vec<(&AgentName, u64)> {
        let of_role = self.0.iter().filter(|((of, _), _)| of == role);
        let mut writers: Vec<_> = of_role.map(|((_, name), bytes)| (name, *bytes)).collect();
        writers.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        writers.truncate(count);
        writers
    }
}

#[cfg(test)]
mod tests;
