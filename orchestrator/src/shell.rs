//! What every actor of the orchestrator uses: the broker, the journals, the trust roots, the mirrors.

use std::sync::Arc;

use holdpoint_bus::{Bus, auth::TrustRoots, journal::Journal, topology};
use holdpoint_protocol::ids::PoolId;
use holdpoint_runtime::mirror::MirrorStore;

/// Shared by all actors; cheap to clone.
#[derive(Clone)]
pub(crate) struct Shell {
    /// The connection, with an orchestrator's credentials.
    pub(crate) bus: Bus,
    /// All journals.
    pub(crate) journal: Journal,
    /// Whom to believe.
    pub(crate) roots: Arc<TrustRoots>,
    /// Private bare repositories, one a flight.
    pub(crate) mirrors: Arc<MirrorStore>,
    /// The pool whose agents this orchestrator looks after.
    pub(crate) serves: PoolId,
    /// How streams and consumers are set up.
    pub(crate) settings: topology::Settings,
}
