//! What every actor of the orchestrator uses: the broker, the journals, the trust roots, the mirrors.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use holdpoint_admission::{rooms::Writers, shares::Members};
use holdpoint_bus::{
    Bus,
    auth::{KnownUsers, Trust},
    journal::Journal,
    topology,
};
use holdpoint_conditions::ConditionHelper;
use holdpoint_protocol::{ids::PoolId, roles::Roles};
use holdpoint_runtime::{clock, mirror::MirrorStore};
use holdpoint_text::lines::{LINES_A_MINUTE, LINES_OF_ONE, LineCounts, LineFate};
use tokio::sync::watch;

use crate::{
    ended::Ended, handed::Handed, hints::Hints, metrics::GateMetrics, quota::OpenFlights, senders::Senders,
    snapshots::Snapshots,
};

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
    /// Which flights were over when they were last looked at here.
    pub(crate) ended: Arc<Ended>,
    /// The pool whose agents this orchestrator looks after.
    pub(crate) serves: PoolId,
    /// The orchestrators that are there.
    pub(crate) members: Arc<watch::Sender<Members>>,
    /// How many lines of the log messages of others caused.
    pub(crate) lines: Arc<Mutex<LineCounts>>,
    /// How much each sender of handoffs wrote.
    pub(crate) writers: Arc<Mutex<Writers>>,
    /// How many handoffs each sender sent.
    pub(crate) handed: Arc<Handed>,
    /// Failures of one landing in a row after which it is held.
    pub(crate) landing_attempts: u32,
    /// How many accepted works are verified for the branch at the same time, at most.
    pub(crate) landing_depth: usize,
    /// How long a handoff waits for blobs that it refers to.
    pub(crate) blob_wait: Duration,
    /// What evaluates conditions of gates.
    pub(crate) conditions: ConditionHelper,
    /// What Prometheus gets of gates.
    pub(crate) metrics: GateMetrics,
    /// How streams and consumers are set up.
    pub(crate) settings: topology::TopologySettings,
    /// The roles whose streams are there.
    pub(crate) roles: Arc<watch::Sender<Roles>>,
}

impl Shell {
    /// The roles of the fleet whose streams are there.
    pub(crate) fn roles(&self) -> Roles {
        self.roles.borrow().clone()
    }

    /// Whether another log line may be written that a message of others causes. `of` is the role, or what is spoken of: of each
    /// so many lines a minute are written, and then how many were left out.
    pub(crate) fn may_log(&self, of: &str) -> bool {
        Self::is_written(of, self.lines.lock().unwrap_or_else(PoisonError::into_inner).next(of, clock::now()))
    }

    /// The same where it is known who causes it: a third of the lines of a kind may be one sender's.
    pub(crate) fn may_log_of(&self, of: &str, sender: &str) -> bool {
        let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).next_of(of, sender, clock::now());
        Self::is_written(of, line)
    }

    fn is_written(of: &str, line: LineFate) -> bool {
        let LineFate::Written { left_out } = line else { return false };
        if left_out > 0 {
            tracing::warn!(
                of,
                left_out,
                "lines were left out of this log: more than {LINES_A_MINUTE} of a kind, or {LINES_OF_ONE} of a sender, in a minute"
            );
        }
        true
    }
}
