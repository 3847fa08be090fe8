//! Making a consumer of turns again, which is the only thing that drops pulls which wait in it: neither a change of its
//! settings nor a pause or a reset does (nats-server 2.15), and pulls outlive the connection and the key they came with.
//!
//! The new consumer begins behind what is acknowledged, so that only turns in hand are delivered once more.

use async_nats::jetstream::{
    consumer::{DeliverPolicy, pull},
    context::ConsumerInfoErrorKind,
    stream::Stream,
};
use holdpoint_protocol::{
    ids::{PoolId, RoleId},
    plan::Priority,
    streams,
};

use super::{TopologyError, TopologySettings, ensure_consumer, turn_consumer};
use crate::Bus;

/// The state of a consumer of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerState {
    /// Pulls that wait in the broker.
    pub waiting: usize,
    /// Turns that were delivered and are not acknowledged.
    pub in_hand: usize,
    /// The last place in the journal up to which all turns are acknowledged.
    acknowledged: u64,
}

/// The state of a consumer of turns; `None` where there is none.
///
/// # Errors
/// [`TopologyError`]: the broker does not say.
pub async fn standing(
    bus: &Bus,
    role: &RoleId,
    pool: &PoolId,
    priority: Priority,
) -> Result<Option<ConsumerState>, TopologyError> {
    let name = streams::turn_consumer(role, pool, priority);
    match journal(bus).await?.consumer_info(&name).await {
        Ok(info) => Ok(Some(ConsumerState {
            waiting: info.num_waiting,
            in_hand: info.num_ack_pending,
            acknowledged: info.ack_floor.stream_sequence,
        })),
        Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => Ok(None),
        Err(source) => Err(TopologyError::Standing { name, source }),
    }
}

/// Recreates a consumer of the fleet's turns as it stood. An agent that pulls at that moment asks again.
///
/// # Errors
/// [`TopologyError`]. It may be gone then: [`super::ensure_turn_consumers`] makes it from the journal's beginning.
pub async fn renew_turn_consumer(
    bus: &Bus,
    role: &RoleId,
    pool: &PoolId,
    priority: Priority,
    stood: ConsumerState,
    settings: &TopologySettings,
) -> Result<(), TopologyError> {
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence: stood.acknowledged + 1 };
    let config = pull::Config { deliver_policy, ..turn_consumer(role, pool, priority, None, settings) };
    let name = config.durable_name.clone().unwrap_or_default();
    let failed = |source| TopologyError::Consumer { stream: streams::JOURNAL.to_owned(), name: name.clone(), source };
    journal(bus).await?.delete_consumer(&name).await.map_err(failed)?;
    ensure_consumer(bus, streams::JOURNAL, config).await
}

/// The configuration of a consumer that is there and does not begin where the journal does.
pub(super) async fn begun_later(bus: &Bus, wanted: &pull::Config) -> Option<pull::Config> {
    let there = journal(bus).await.ok()?.consumer_info(wanted.durable_name.as_ref()?).await.ok()?;
    let deliver_policy = there.config.deliver_policy;
    let later = matches!(deliver_policy, DeliverPolicy::ByStartSequence { .. });
    later.then(|| pull::Config { deliver_policy, ..wanted.clone() })
}

async fn journal(bus: &Bus) -> Result<Stream<()>, TopologyError> {
    let journal = bus.jetstream().get_stream_no_info(streams::JOURNAL).await;
    journal.map_err(|source| TopologyError::NoStream { name: streams::JOURNAL.to_owned(), source })
}
