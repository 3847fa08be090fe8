//! Names of streams and of durable consumers.

use crate::{
    ids::{FlightId, PoolId, RoleId},
    plan::Priority,
};

/// The stream of all journals.
pub const JOURNAL: &str = "HP_JOURNAL";
/// The stream of all blobs: one message per subject, never overwritten.
pub const BLOB: &str = "HP_BLOB";

/// The handoff stream of one role. One per role, because message ids are compared per stream.
#[must_use]
pub fn handoff(role: &RoleId) -> String {
    format!("HP_HANDOFF_{}", role.as_str().to_ascii_uppercase().replace('-', "_"))
}

/// The pool of agents that serve every flight of a fleet.
#[must_use]
pub fn fleet_pool() -> PoolId {
    PoolId::try_new("fleet").expect("a literal id")
}

/// The pool of agents that serve one local flight only.
///
/// Broker credentials carry the pool as a tag, and tags are lower case: flight ids are made lower case.
#[must_use]
pub fn flight_pool(flight: &FlightId) -> PoolId {
    PoolId::try_new(flight.as_str().to_ascii_lowercase()).expect("a flight's id is an id")
}

/// The durable consumer on the journal that agents of `role` and `pool` pull turns from, one per priority.
#[must_use]
pub fn turn_consumer(role: &RoleId, pool: &PoolId, priority: Priority) -> String {
    format!("{role}_{}_{pool}", priority.as_str())
}

/// The durable consumer on a role's handoff stream that orchestrators pull one partition from.
#[must_use]
pub fn handoff_consumer(partition: u32) -> String {
    format!("orchestrator_{partition}")
}
