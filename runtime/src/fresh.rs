//! Fresh ids: the one place that makes random ones.

use holdpoint_protocol::ids::{ArtifactId, TurnId};
use uuid::Uuid;

/// An id for an artifact, unique over all flights.
#[must_use]
pub fn artifact() -> ArtifactId {
    ArtifactId::try_new(Uuid::new_v4().simple().to_string()).expect("hex digits are an id")
}

/// A fencing token for a turn: 122 random bits, so nobody guesses it.
#[must_use]
pub fn turn() -> TurnId {
    TurnId::try_new(Uuid::new_v4().simple().to_string()).expect("hex digits are an id")
}

/// What only its maker and its reader know: 122 random bits.
#[must_use]
pub fn nonce() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A number that nobody guesses: 62 random bits.
#[must_use]
pub fn number() -> u64 {
    // The two highest bits of the lower half are the same in all of them.
    Uuid::new_v4().as_u64_pair().1
}

/// Eight random lower-case hex digits, for the tail of names that people read.
#[must_use]
pub fn suffix() -> String {
    Uuid::new_v4().simple().to_string().chars().take(8).collect()
}
