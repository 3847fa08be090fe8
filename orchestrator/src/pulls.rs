//! Ends pulls that a client left in the broker: an agent's key can leave hundreds of them, each of which takes a turn,
//! also after the key was taken back. [`LastingPulls`] says when; here consumers are looked at and made again.
//!
//! Only the consumers of the fleet's agents: a local flight's keys do not leave its machine.

use std::time::Duration;

use holdpoint_admission::pulls::{LastingPulls, Look};
use holdpoint_bus::topology;
use holdpoint_protocol::{ids::RoleId, plan::Priority, streams};
use holdpoint_runtime::{clock, supervise::TaskFailed, telemetry::ErrorChain};

use crate::{peers::Shares, shell::Shell};

/// How often consumers are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Whose partition this is looks: one of several orchestrators is enough.
const PARTITION: u32 = 0;

/// Arguments.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) shares: Shares,
}

impl Args {
    /// Until it is aborted.
    pub(crate) async fn look_for_ever(self) -> TaskFailed {
        let mut lasting = LastingPulls::default();
        let mut times = tokio::time::interval(LOOK_EVERY);
        times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            times.tick().await;
            if !self.shares.borrow().has(PARTITION) {
                continue;
            }
            for role in self.shell.roles().agents() {
                for priority in Priority::ALL {
                    self.look(&role, priority, &mut lasting).await;
                }
            }
        }
    }

    async fn look(&self, role: &RoleId, priority: Priority, lasting: &mut LastingPulls) {
        let (bus, pool) = (&self.shell.bus, streams::fleet_pool());
        let stands = match topology::standing(bus, role, &pool, priority).await {
            Ok(Some(stands)) => stands,
            // An orchestrator that was recreating it did not finish.
            Ok(None) => return self.recreate(role, "it is not there").await,
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "cannot look for pulls that stay");
                return;
            }
        };
        let consumer = streams::turn_consumer(role, &pool, priority);
        let look = Look { waiting: stands.waiting, in_hand: stands.in_hand };
        if !lasting.look(&consumer, look, clock::now()) {
            return;
        }
        tracing::error!(
            consumer,
            waiting = stands.waiting,
            in_hand = stands.in_hand,
            "ALARM: somebody with the key of an agent leaves pulls in the broker, which take turns; they are ended"
        );
        match topology::renew_turn_consumer(bus, role, &pool, priority, stands, &self.shell.settings).await {
            // Agents that asked meanwhile got no answer.
            Ok(()) => self.shell.hints.to_all(role, priority).await,
            Err(error) => {
                let why = ErrorChain(&error).to_string();
                self.recreate(role, &why).await;
            }
        }
    }

    /// Without the consumer nobody gets turns. It begins with the journal then: turns that are over come once more.
    async fn recreate(&self, role: &RoleId, why: &str) {
        tracing::warn!(%role, why, "making a consumer of turns from the beginning of the journal");
        let (bus, pool) = (&self.shell.bus, streams::fleet_pool());
        if let Err(error) = topology::ensure_turn_consumers(bus, role, &pool, None, &self.shell.settings).await {
            tracing::error!(%role, error = %ErrorChain(&error), "agents of this role get no turns until it is there");
        }
    }
}
