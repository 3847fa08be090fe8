//! What flights in memory are made of, and how a turn fails.

pub use holdpoint_protocol::testing::*;
use holdpoint_protocol::{artifact::Failure, reason::ReasonCode};

use crate::waypoint::{BuildOutcome, BundledCommit};

pub fn failure(reason: ReasonCode) -> BuildOutcome {
    failure_with(reason, None)
}

/// A failure of a turn that left this.
pub fn failure_with(reason: ReasonCode, left: Option<BundledCommit>) -> BuildOutcome {
    BuildOutcome::Failed(Failure { reason, detail: NARRATIVE.to_owned() }, left)
}
