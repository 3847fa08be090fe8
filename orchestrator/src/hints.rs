//! Hints to agents that turns may be waiting: never more often than every few milliseconds for each role and priority,
//! and always one after the last turn.
//!
//! A hint goes to every agent of its role. Of many turns that are opened at once, one hint says as much as all of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_bus::{Bus, signals};
use holdpoint_protocol::{ids::RoleId, plan::Priority};

/// How long after a hint the next one of its kind waits: less than any agent needs for a turn, so that none is kept waiting.
const PAUSE: Duration = Duration::from_millis(2);

type Kind = (RoleId, Priority);

/// Sends hints. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hints {
    bus: Bus,
    pauses: Arc<Mutex<Pauses>>,
}

impl Hints {
    /// Over this connection.
    pub(crate) fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone(), pauses: Arc::default() }
    }

    /// Hints to the agents of a role at a turn that is in the journal. One that gets lost costs seconds: agents also
    /// poll.
    pub(crate) async fn send(&self, role: &RoleId, priority: Priority) {
        let kind = (role.clone(), priority);
        if self.pauses().ask(&kind) {
            // First, because the caller may be cancelled while it sends.
            tokio::spawn(self.clone().send_while_asked(kind.clone()));
            self.send_now(&kind).await;
        }
    }

    async fn send_now(&self, (role, priority): &Kind) {
        if let Err(error) = signals::wake(&self.bus, role, *priority).await {
            tracing::debug!(%error, "no hint: agents look by themselves");
        }
    }

    async fn send_while_asked(self, kind: Kind) {
        tokio::time::sleep(PAUSE).await;
        while self.pauses().next(&kind) {
            self.send_now(&kind).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn pauses(&self) -> MutexGuard<'_, Pauses> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kinds of hints that a task sends or pauses after, and whether another one was asked for since the last.
#[derive(Debug, Default)]
struct Pauses(HashMap<Kind, bool>);

impl Pauses {
    /// A hint is wanted. Whether to send it now, and see to what is asked for meanwhile: otherwise a task does already.
    fn ask(&mut self, kind: &Kind) -> bool {
        match self.0.get_mut(kind) {
            Some(again) => {
                *again = true;
                false
            }
            None => {
                self.0.insert(kind.clone(), false);
                true
            }
        }
    }

    /// Whether another hint is to be sent; if not, the next one that is asked for has nobody to see to it.
    fn next(&mut self, kind: &Kind) -> bool {
        let asked = self.0.get_mut(kind).is_some_and(std::mem::take);
        if !asked {
            self.0.remove(kind);
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::ids::role;

    use super::*;

    fn kind(priority: Priority) -> Kind {
        (role::id(role::BUILDER), priority)
    }

    #[test]
    fn hints_that_are_asked_for_in_a_pause_become_one_after_it() {
        let (mut pauses, medium) = (Pauses::default(), kind(Priority::Medium));
        assert!(pauses.ask(&medium), "the first is sent at once");
        assert!(!pauses.ask(&medium) && !pauses.ask(&medium), "whoever pauses sees to it");
        assert!(pauses.next(&medium), "one follows the pause");
        assert!(!pauses.next(&medium), "and no other");
        assert!(pauses.ask(&medium), "after a pause without any, it begins anew");
    }

    #[test]
    fn each_kind_has_its_own_pause() {
        let mut pauses = Pauses::default();
        assert!(pauses.ask(&kind(Priority::Medium)) && pauses.ask(&kind(Priority::Critical)));
        assert!(!pauses.ask(&kind(Priority::Medium)));
        assert!(pauses.next(&kind(Priority::Medium)) && !pauses.next(&kind(Priority::Critical)));
    }
}
