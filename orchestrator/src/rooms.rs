//! Says in the log when a stream fills up that agents and people write, and who wrote most: past its room nobody stores
//! there any more, and only a person can take a key back or give the broker a larger disk.

use std::{sync::PoisonError, time::Duration};

use holdpoint_bus::topology::{self, Room, TopologyError};
use holdpoint_core::rooms::Levels;
use holdpoint_protocol::{
    ids::{RoleId, role},
    streams,
};
use holdpoint_runtime::{supervise::TaskFailed, telemetry::ErrorChain};

use crate::shell::Shell;

/// How often the streams are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How many of those that wrote most are named.
const NAMED_MAX: usize = 3;

/// Until it is aborted.
pub(crate) async fn look_for_ever(shell: Shell) -> TaskFailed {
    let mut levels = Levels::default();
    let mut times = tokio::time::interval(LOOK_EVERY);
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        if let Err(error) = look(&shell, &mut levels).await {
            tracing::debug!(error = %ErrorChain(&error), "cannot tell how full the streams are");
        }
    }
}

async fn look(shell: &Shell, levels: &mut Levels) -> Result<(), TopologyError> {
    let Room { used, most } = topology::room(&shell.bus, streams::BLOB).await?;
    if let Some((room, level)) = most.and_then(|room| Some((room, levels.look(streams::BLOB, used, room)?))) {
        let chunks = topology::chunks_by_role(&shell.bus).await?;
        let by: Vec<String> = chunks.into_iter().map(|(role, chunks)| format!("{role} {chunks} chunks")).collect();
        say(streams::BLOB, level, used, room, &by.join(", "));
    }
    for name in role::HANDING {
        let role = role::id(name);
        let stream = streams::handoff(&role);
        let Room { used, most } = topology::room(&shell.bus, &stream).await?;
        if let Some((room, level)) = most.and_then(|room| Some((room, levels.look(&stream, used, room)?))) {
            say(&stream, level, used, room, &writers(shell, &role));
        }
    }
    Ok(())
}

/// Who wrote most of a role's handoffs that came to this orchestrator since it was started.
fn writers(shell: &Shell, role: &RoleId) -> String {
    let writers = shell.writers.lock().unwrap_or_else(PoisonError::into_inner);
    let most = writers.most(role, NAMED_MAX).into_iter().map(|(name, bytes)| format!("{name} {bytes} bytes"));
    most.collect::<Vec<_>>().join(", ")
}

fn say(stream: &str, percent: u64, used: u64, room: u64, by: &str) {
    tracing::warn!(
        stream,
        percent,
        used,
        room,
        by,
        "a stream fills up, and nobody stores there any more when it is full: take the key back of who fills it (holdpoint \
         keys revoke), or raise orchestrator.broker_disk"
    );
}
