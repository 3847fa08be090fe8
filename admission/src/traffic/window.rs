//! A sum over the last hour, in slots of a minute.

use std::{collections::VecDeque, time::Duration};

use holdpoint_protocol::Timestamp;

use super::Load;

/// What a sum is over.
const WINDOW: Duration = Duration::from_secs(60 * 60);
/// How exactly: what is older than the window counts for a slot longer at most.
const SLOT: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Window(VecDeque<(Timestamp, Load)>);

impl Window {
    pub(crate) fn add(&mut self, now: Timestamp, load: Load) {
        match self.0.back_mut() {
            Some((since, sum)) if now.since(*since) < SLOT => *sum = sum.plus(load),
            _ => self.0.push_back((now, load)),
        }
    }

    /// Of the last hour; what is older is forgotten.
    pub(crate) fn sum(&mut self, now: Timestamp) -> Load {
        while self.0.front().is_some_and(|(since, _)| now.since(*since) >= WINDOW + SLOT) {
            self.0.pop_front();
        }
        self.0.iter().fold(Load::default(), |sum, (_, load)| sum.plus(*load))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
