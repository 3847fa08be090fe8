//! Hints to agents that turns may be waiting.
//!
//! A turn that was opened is called out to one agent of its pool, as the broker chooses. That one may be busy, or hang, or keep the
//! call for itself: where no agent plans for the turn within a moment, a hint goes to every agent of the role. Of many such turns one
//! hint says as much as all of them. Plans go to the orchestrator that has the flight's partition: a turn that another one opened, as it
//! does when it takes a submission, is hinted at although an agent has it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use holdpoint_admission::untaken::{HintDue, Untaken};
use holdpoint_bus::{Bus, signals};
use holdpoint_protocol::{
    ids::{PoolId, RoleId, TurnId},
    plan::Priority,
};

/// Sends hints. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hints {
    bus: Bus,
    untaken: Arc<Mutex<Untaken>>,
}

impl Hints {
    /// Over this connection.
    pub(crate) fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone(), untaken: Arc::default() }
    }

    /// Calls a turn that is in the journal out to one agent. A call that gets lost costs a moment: see the module.
    pub(crate) async fn opened(&self, turn: &TurnId, role: &RoleId, pool: &PoolId, priority: Priority) {
        // First, because the caller may be cancelled while it sends.
        if self.untaken().opened(turn, (role.clone(), priority), Instant::now()) {
            tokio::spawn(self.clone().watch());
        }
        if let Err(error) = signals::wake_one(&self.bus, role, pool, priority).await {
            tracing::debug!(%error, "no call: all agents are hinted at a moment later");
        }
    }

    /// An agent planned for a turn.
    pub(crate) fn taken(&self, turn: &TurnId) {
        self.untaken().taken(turn);
    }

    /// Hints to all agents of a role. A hint that gets lost costs seconds: agents also poll.
    pub(crate) async fn to_all(&self, role: &RoleId, priority: Priority) {
        if let Err(error) = signals::wake(&self.bus, role, priority).await {
            tracing::debug!(%error, "no hint: agents look by themselves");
        }
    }

    /// Until nothing is untaken.
    async fn watch(self) {
        loop {
            let watch = self.untaken().watch(Instant::now());
            match watch {
                HintDue::Until(moment) => tokio::time::sleep_until(moment.into()).await,
                HintDue::Hint(kinds) => {
                    for (role, priority) in kinds {
                        self.to_all(&role, priority).await;
                    }
                }
                HintDue::Over => return,
            }
        }
    }

    fn untaken(&self) -> MutexGuard<'_, Untaken> {
        self.untaken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
