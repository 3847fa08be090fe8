//! The repair agent: fixes what a verifier found failing, from the last handed-off tree (FLY-4).
//!
//! It works as a builder does, and its program also gets the failing criteria with their evidence. It is a role of its
//! own, so that another program with other rights can do it.

use holdpoint_harness::{agent::process::RunError, build_turn::process};
use holdpoint_protocol::ids::role;
use holdpoint_runtime::{config::Config, process::ProcessEnd};

/// The role of this agent.
pub const ROLE: &str = role::REPAIR;

/// Runs the agent until it is asked to end. The executable has to be its own sandbox shim:
/// `holdpoint_sandbox::shim::maybe_run` comes first in its `main`.
///
/// # Errors
/// [`RunError`], with its exit code.
pub async fn run(config: Config) -> Result<ProcessEnd, RunError> {
    process::run(role::id(ROLE), &config).await
}
