//! Takes up the roles that the fleet's keys declare, at the start and while it runs: makes their streams and consumers, and
//! takes their handoffs from then on. The built-in roles have children of their own.
//!
//! A role is never given up again: its handoffs are part of journals.

use std::time::Duration;

use holdpoint_bus::topology;
use holdpoint_protocol::{ids::RoleId, roles::Roles, subjects::PARTITIONS};
use holdpoint_runtime::{
    supervise::{Errand, TaskFailed},
    telemetry::ErrorChain,
};
use tokio::task::JoinSet;

use crate::{intake, peers::Shares, router::RouterHandle, shell::Shell};

/// How often the trust roots are looked at. They are read again every two seconds.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a role is waited for that the keys may have got just now: trust roots are read again every two seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the fleet has agents' keys for all of these roles, now or within [`PATIENCE`].
pub(crate) async fn known(shell: &Shell, wanted: Vec<RoleId>) -> bool {
    let mut known = shell.roles.subscribe();
    let all = known.wait_for(|roles| wanted.iter().all(|role| roles.is_agents(role)));
    tokio::time::timeout(PATIENCE, all).await.is_ok_and(|known| known.is_ok())
}

/// Arguments.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
    pub(crate) shares: Shares,
}

impl Args {
    /// Until it is aborted, or an intake ends.
    pub(crate) async fn take_up_for_ever(self) -> TaskFailed {
        let (mut taken, mut intakes) = (Roles::built_in(), JoinSet::new());
        let mut times = tokio::time::interval(LOOK_EVERY);
        times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = times.tick() => {}
                Some(_) = intakes.join_next() => return TaskFailed::ended("intake of a declared role"),
            }
            let fleet = self.shell.trust.roots().fleet_roles();
            let missing: Vec<RoleId> = fleet.declared().filter(|role| !taken.is_agents(role)).cloned().collect();
            for role in missing {
                if self.take_up(&role, &mut intakes).await {
                    taken = Roles::with_all(taken.declared().chain([&role]));
                    self.shell.roles.send_modify(|known| *known = Roles::with_all(known.declared().chain([&role])));
                }
            }
        }
    }

    /// Whether it worked; else it is tried again.
    async fn take_up(&self, role: &RoleId, intakes: &mut JoinSet<TaskFailed>) -> bool {
        if let Err(error) = topology::ensure_role(&self.shell.bus, role, &self.shell.settings).await {
            tracing::warn!(%role, error = %ErrorChain(&error), "cannot set up the streams of a role; trying again");
            return false;
        }
        for partition in 0..PARTITIONS {
            let Self { shell, router, shares } = self.clone();
            let intake = intake::Args { shell, router, role: role.clone(), partition, shares };
            for errand in intake.errands() {
                intakes.spawn(Errand::run(errand));
            }
        }
        tracing::info!(%role, "takes the handoffs of a role that the keys declare");
        true
    }
}
