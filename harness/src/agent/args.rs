//! What an agent is made of: its role, its broker, and the worker that does its turns.

use std::{sync::Arc, time::Duration};

use holdpoint_bus::{Bus, auth::Trust};
use holdpoint_protocol::ids::{PoolId, RoleId};

/// What an agent is made of.
#[derive(Debug)]
pub struct AgentArgs<W> {
    /// Its role, which has to be that of its credentials.
    pub role: RoleId,
    /// Which turns it takes.
    pub pool: PoolId,
    /// How long it may be silent before its turn is given to another.
    pub ack_wait: Duration,
    /// The broker. The agent's name is that of the connection.
    pub bus: Bus,
    /// Whose signatures count.
    pub trust: Trust,
    /// What it does with a turn.
    pub worker: Arc<W>,
}

impl<W> Clone for AgentArgs<W> {
    fn clone(&self) -> Self {
        Self {
            role: self.role.clone(),
            pool: self.pool.clone(),
            ack_wait: self.ack_wait,
            bus: self.bus.clone(),
            trust: self.trust.clone(),
            worker: self.worker.clone(),
        }
    }
}
