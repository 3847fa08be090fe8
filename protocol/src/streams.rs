//! Names of streams and of durable consumers.

use crate::{
    ids::{FlightId, PoolId, RoleId},
    plan::Priority,
};

/// The stream of all journals.
pub const JOURNAL: &str = "HP_JOURNAL";
/// What stands for the stream in the gets of agents and operators, for the blobs of every role: their account maps
/// these to the role's own stream. There is no stream of this name.
pub const BLOB_GETS: &str = "HP_BLOB";

/// How the names of the streams of blobs begin.
pub const BLOB_PREFIX: &str = "HP_BLOB_";
/// How the names of the streams of handoffs begin.
pub const HANDOFF_PREFIX: &str = "HP_HANDOFF_";

/// The stream of one role's blobs: one message per subject, never overwritten. One per role, so that a role that fills its
/// room stops no other.
#[must_use]
pub fn blob(role: &RoleId) -> String {
    format!("{BLOB_PREFIX}{}", token(role))
}

/// The handoff stream of one role. One per role, because message ids are compared per stream.
#[must_use]
pub fn handoff(role: &RoleId) -> String {
    format!("{HANDOFF_PREFIX}{}", token(role))
}

fn token(role: &RoleId) -> String {
    role.as_str().to_ascii_uppercase().replace('-', "_")
}

/// Whether two roles cannot be in one fleet: their handoffs would share a stream, or their turns the name of a consumer.
#[must_use]
pub fn roles_collide(one: &RoleId, other: &RoleId) -> bool {
    // `lead_high` and pool `p` have the consumer that `lead` has for pool `medium_p`.
    let continues = |short: &RoleId, long: &RoleId| {
        Priority::ALL.iter().any(|priority| {
            let rest = long.as_str().strip_prefix(&format!("{short}_{}", priority.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    };
    handoff(one) == handoff(other) || continues(one, other) || continues(other, one)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_whose_streams_or_consumers_have_one_name_collide() {
        let collide = |one: &str, other: &str| roles_collide(&one.parse().unwrap(), &other.parse().unwrap());
        for (one, other) in [("code-review", "code_review"), ("qa", "QA"), ("lead", "lead_high"), ("a_low_b", "a")] {
            assert!(collide(one, other) && collide(other, one), "{one} {other}");
        }
        for (one, other) in [("code-review", "review"), ("lead", "lead_highest"), ("lead", "lead-high"), ("a", "b")] {
            assert!(!collide(one, other) && !collide(other, one), "{one} {other}");
        }
        let pool = |name: &str| PoolId::try_new(name).unwrap();
        let of = |role: &str, name: &str, priority| turn_consumer(&role.parse().unwrap(), &pool(name), priority);
        assert_eq!(of("lead", "medium_p", Priority::High), of("lead_high", "p", Priority::Medium));
    }
}
