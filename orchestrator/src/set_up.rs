//! Setting up the streams at a start, unless the broker lost those that were there.

use std::{path::Path, time::Duration};

use holdpoint_admission::store::{self, Store};
use holdpoint_bus::{
    Bus, handoffs,
    topology::{self, TopologyError},
};
use holdpoint_protocol::{journal::Sequence, roles::Roles, streams};
use holdpoint_runtime::telemetry::ErrorChain;
use tokio::time::Instant;

use crate::{checkpoint, error::OrchestratorError};

/// How long a cluster may take until it has all streams: its servers start all at once and choose a leader.
const STREAMS_PATIENCE: Duration = Duration::from_secs(180);
/// The pause between two attempts.
const STREAMS_PAUSE: Duration = Duration::from_millis(500);

/// Sets up the streams, unless the broker lost those that were `seen`; waits a while for a cluster that is still choosing its leader.
pub(crate) async fn streams(
    bus: &Bus,
    settings: &topology::TopologySettings,
    roles: &Roles,
    state_dir: &Path,
    seen: Option<(Sequence, String)>,
) -> Result<(), OrchestratorError> {
    let seen = seen.as_ref();
    let deadline = Instant::now() + STREAMS_PATIENCE;
    loop {
        let store = store(bus, seen).await;
        if let (Ok(Store::Gone), Some((seen, _))) = (&store, seen) {
            return Err(OrchestratorError::StoreGone { seen: *seen, file: checkpoint::file(state_dir) });
        }
        let made = match store {
            Ok(store) => topology::ensure(bus, settings, roles).await.map(|()| store),
            Err(error) => Err(error),
        };
        match made {
            Ok(store) => {
                say(store, seen);
                return Ok(());
            }
            // Waiting brings no leader that would help.
            Err(error @ TopologyError::SharedBlobs { .. }) => return Err(OrchestratorError::Topology(error)),
            Err(error) if settings.replicas > 1 && Instant::now() < deadline => {
                tracing::warn!(error = %ErrorChain(&error), "waiting for the broker's cluster");
                tokio::time::sleep(STREAMS_PAUSE).await;
            }
            Err(error) => return Err(OrchestratorError::Topology(error)),
        }
    }
}

/// How the broker's journals stand to what was seen of them.
async fn store(bus: &Bus, seen: Option<&(Sequence, String)>) -> Result<Store, TopologyError> {
    let Some((until, signature)) = seen else { return Ok(Store::Same) };
    let last = topology::last(bus, streams::JOURNAL).await?;
    // One that cannot be read now is compared when the flights are.
    let there = match last {
        Some(last) if last >= *until => handoffs::get(bus, streams::JOURNAL, *until).await.ok().flatten(),
        _ => None,
    };
    let there = there.and_then(|stored| stored.signature);
    Ok(store::compare((*until, signature), last, there.as_deref()))
}

/// Says that a store is not the one that was seen.
fn say(store: Store, seen: Option<&(Sequence, String)>) {
    let seen = seen.map_or(0, |(until, _)| until.0);
    match store {
        Store::Older { last } => tracing::warn!(
            seen,
            last = last.0,
            "the broker's journals end before what this orchestrator saw: they were restored from an older copy, or the machine lost \
             what was not on disk yet. What was decided since did not happen; branches and agents that know more are left alone"
        ),
        Store::Other => tracing::warn!(
            seen,
            "the broker's journals are not those that this orchestrator saw: they were restored from an older copy and went on, or \
             another store took their place"
        ),
        Store::Same | Store::Gone => {}
    }
}
