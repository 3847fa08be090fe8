//! Answers how full the broker is, and says in the log when a stream fills up that agents and people write, and who wrote most: past its room nobody of
//! that role stores there any more, and only a person can take a key back or give the broker a larger disk.

use std::{sync::PoisonError, time::Duration};

use holdpoint_admission::rooms::{Levels, Used};
use holdpoint_bus::topology::{self, Room, TopologyError};
use holdpoint_protocol::{
    ids::RoleId,
    storage::{Storage, StorageQuery, StreamStorage},
    streams,
};
use holdpoint_runtime::{supervise::TaskFailed, telemetry::ErrorChain};

use crate::shell::Shell;

/// How often the streams are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How many of those that wrote most are named.
const NAMED_MAX: usize = 3;
/// What stands for all streams together among the levels; no stream has this name.
const DISK: &str = "";

/// How full the broker is, stream by stream.
pub(crate) async fn storage(shell: &Shell, query: &StorageQuery) -> Result<Storage, TopologyError> {
    let roles = shell.roles();
    let blobs = roles.storing().into_iter().map(|role| streams::blob(&role));
    let handoffs = roles.handing().into_iter().map(|role| streams::handoff(&role));
    let names = std::iter::once(streams::JOURNAL.to_owned()).chain(blobs).chain(handoffs);
    let names: Vec<String> = names.filter(|name| query.stream.as_ref().is_none_or(|only| only == name)).collect();
    let mut each = Vec::with_capacity(names.len());
    for stream in names {
        let Room { bytes, bytes_max, messages, messages_max } = topology::room(&shell.bus, &stream).await?;
        each.push(StreamStorage { stream, bytes, bytes_max, messages, messages_max });
    }
    Ok(Storage {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        bytes: each.iter().map(|stream| stream.bytes).sum(),
        bytes_max: shell.settings.disk_bytes,
        streams: each,
    })
}

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
    let (roles, mut used) = (shell.roles(), 0);
    for role in roles.storing() {
        // Whose agent stored a chunk is not known to anybody.
        used += look_at(shell, levels, &streams::blob(&role), || format!("the role {role}")).await?;
    }
    for role in roles.handing() {
        used += look_at(shell, levels, &streams::handoff(&role), || writers(shell, &role)).await?;
    }
    used += topology::room(&shell.bus, streams::JOURNAL).await?.bytes;
    look_at_disk(levels, Used { used, most: shell.settings.disk_bytes });
    Ok(())
}

/// Journals have no room of their own: what they take is seen in all together.
fn look_at_disk(levels: &mut Levels, disk: Used) {
    if let Some(percent) = levels.look(DISK, &[disk]) {
        tracing::warn!(
            percent,
            bytes = disk.used,
            disk_bytes = disk.most,
            "the broker's disk fills up, and nothing moves any more when it is full: make room with holdpoint archive, or give the \
             broker a larger disk (max_file_store and orchestrator.broker_disk)"
        );
    }
}

async fn look_at(
    shell: &Shell,
    levels: &mut Levels,
    stream: &str,
    by: impl Fn() -> String,
) -> Result<u64, TopologyError> {
    let room = topology::room(&shell.bus, stream).await?;
    let bound = |used, most: Option<u64>| most.map(|most| Used { used, most });
    let bounds = [bound(room.bytes, room.bytes_max), bound(room.messages, room.messages_max)];
    let bounds: Vec<Used> = bounds.into_iter().flatten().collect();
    if let Some(level) = levels.look(stream, &bounds) {
        say(stream, level, &room, &by());
    }
    Ok(room.bytes)
}

/// Who wrote most of a role's handoffs that came to this orchestrator since it was started.
fn writers(shell: &Shell, role: &RoleId) -> String {
    let writers = shell.writers.lock().unwrap_or_else(PoisonError::into_inner);
    let most = writers.most(role, NAMED_MAX).into_iter().map(|(name, bytes)| format!("{name} {bytes} bytes"));
    most.collect::<Vec<_>>().join(", ")
}

fn say(stream: &str, percent: u64, room: &Room, by: &str) {
    tracing::warn!(
        stream,
        percent,
        bytes = room.bytes,
        bytes_max = room.bytes_max,
        messages = room.messages,
        messages_max = room.messages_max,
        by,
        "a stream fills up, and nobody of its role stores there any more when it is full: take the key back of who fills it \
         (holdpoint keys revoke), make room with holdpoint archive, or raise orchestrator.broker_disk"
    );
}
