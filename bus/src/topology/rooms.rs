//! How full the streams are that agents and people write.

use async_nats::jetstream::consumer::{AckPolicy, pull};
use holdpoint_protocol::{
    ids::{RoleId, role},
    streams, subjects,
};

use super::TopologyError;
use crate::Bus;

/// How full a stream is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What is stored in it.
    pub used: u64,
    /// What may be; `None`: there is no bound.
    pub most: Option<u64>,
}

/// How full a stream is.
///
/// # Errors
/// [`TopologyError::NoStream`]: it is not there, or the broker does not say.
pub async fn room(bus: &Bus, stream: &str) -> Result<Room, TopologyError> {
    let failed = |source| TopologyError::NoStream { name: stream.to_owned(), source };
    let found = bus.jetstream().get_stream(stream).await.map_err(failed)?;
    let info = found.cached_info();
    Ok(Room { used: info.state.bytes, most: u64::try_from(info.config.max_bytes).ok() })
}

/// How many chunks of blobs each role has stored: whose agent stored one is not known to anybody.
///
/// # Errors
/// [`TopologyError`]: the broker does not say.
pub async fn chunks_by_role(bus: &Bus) -> Result<Vec<(RoleId, u64)>, TopologyError> {
    let failed = |source| TopologyError::NoStream { name: streams::BLOB.to_owned(), source };
    let stream = bus.jetstream().get_stream_no_info(streams::BLOB).await.map_err(failed)?;
    let mut chunks = Vec::new();
    for name in role::HANDING.into_iter().chain([role::ORCHESTRATOR]) {
        let role = role::id(name);
        let config = pull::Config {
            filter_subject: subjects::blobs_of(&role),
            ack_policy: AckPolicy::None,
            headers_only: true,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        // It is made to be told how much would come, and given back at once.
        let failed =
            |source| TopologyError::Consumer { stream: streams::BLOB.to_owned(), name: format!("of {name}"), source };
        let consumer = stream.create_consumer(config).await.map_err(failed)?;
        let info = consumer.cached_info();
        chunks.push((role, info.num_pending));
        if let Err(error) = stream.delete_consumer(&info.name).await {
            tracing::debug!(%error, "a consumer that counts ends by itself later");
        }
    }
    Ok(chunks)
}
