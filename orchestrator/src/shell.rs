//! What every actor of the orchestrator uses: the broker, the journals, the trust roots, the mirrors.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_bus::{
    Bus,
    auth::{KnownUsers, Trust},
    journal::Journal,
    topology,
};
use holdpoint_core::lines::Lines;
use holdpoint_protocol::ids::PoolId;
use holdpoint_runtime::mirror::MirrorStore;

use crate::{hints::Hints, quota::OpenFlights, senders::Senders, snapshots::Snapshots};

/// Shared by all actors; cheap to clone.
#[derive(Clone)]
pub(crate) struct Shell {
    /// The connection, with an orchestrator's credentials.
    pub(crate) bus: Bus,
    /// All journals.
    pub(crate) journal: Journal,
    /// To agents, of turns that wait.
    pub(crate) hints: Hints,
    /// Whom to believe.
    pub(crate) trust: Trust,
    /// The same with a memory, for JWTs.
    pub(crate) users: KnownUsers,
    /// Which agent has which key.
    pub(crate) senders: Arc<Senders>,
    /// Private bare repositories, one a flight.
    pub(crate) mirrors: Arc<MirrorStore>,
    /// What is known of their snapshots.
    pub(crate) snapshots: Arc<Snapshots>,
    /// Which flights are open, and how many may be.
    pub(crate) open: Arc<OpenFlights>,
    /// The pool whose agents this orchestrator looks after.
    pub(crate) serves: PoolId,
    /// How often each role is spoken of in the log.
    pub(crate) lines: Arc<Mutex<Lines>>,
    /// Failures of one landing in a row after which it is held.
    pub(crate) landing_attempts: u32,
    /// How long a handoff waits for blobs that it refers to.
    pub(crate) blob_wait: Duration,
    /// How streams and consumers are set up.
    pub(crate) settings: topology::Settings,
}
