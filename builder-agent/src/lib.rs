//! The builder: does waypoints in clones of its own and hands off trees (FLY-2).
//!
//! The program that does the work is configured; everything around it is `holdpoint_harness::build_turn`, which the
//! repair agent shares. A builder judges nothing and decides nothing; one agent alone ([`solo`]) runs the verifier's checks as well.

pub mod solo;

use holdpoint_harness::{agent::process::RunError, build_turn::process};
use holdpoint_protocol::ids::role;
use holdpoint_runtime::{config::Config, process::ProcessEnd};

/// The role of this agent.
pub const ROLE: &str = role::BUILDER;

/// Runs the agent until it is asked to end. The executable has to be its own sandbox shim:
/// `holdpoint_sandbox::shim::maybe_run` comes first in its `main`.
///
/// # Errors
/// [`RunError`], with its exit code.
pub async fn run(config: Config) -> Result<ProcessEnd, RunError> {
    process::run(role::id(ROLE), &config).await
}
