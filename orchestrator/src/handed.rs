//! How many handoffs each agent sent to this orchestrator ([`holdpoint_admission::rates`] judges), and who is to be put out for that.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use holdpoint_admission::rates::{Rate, RateExcess, Rates};
use holdpoint_protocol::ids::{AgentName, RoleId};
use holdpoint_runtime::clock;

/// See the module.
pub(crate) struct Handed(Mutex<Known>);

struct Known {
    rates: Rates,
    flooders: BTreeSet<(RoleId, AgentName)>,
}

impl Handed {
    pub(crate) fn new(most: u32) -> Self {
        Self(Mutex::new(Known { rates: Rates::new(most), flooders: BTreeSet::new() }))
    }

    /// Another handoff of an agent, or why it is refused.
    pub(crate) fn hands(&self, role: &RoleId, name: &AgentName) -> Result<(), RateExcess> {
        let mut known = self.known();
        match known.rates.hands(clock::now(), role, name) {
            Rate::Within => Ok(()),
            Rate::Over(excess) => Err(excess),
            Rate::Flood(excess) => {
                known.flooders.insert((role.clone(), name.clone()));
                Err(excess)
            }
        }
    }

    /// Whether anybody is to be put out.
    pub(crate) fn has_flooders(&self) -> bool {
        !self.known().flooders.is_empty()
    }

    /// Who is to be put out; each is named once, and again if it goes on.
    pub(crate) fn take_flooders(&self) -> BTreeSet<(RoleId, AgentName)> {
        std::mem::take(&mut self.known().flooders)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
