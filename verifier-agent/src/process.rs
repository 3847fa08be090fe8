//! The verifier as a process: what its library and its binary share.

use holdpoint_harness::agent::process::{self, RunError};
use holdpoint_protocol::ids::role;
use holdpoint_runtime::{config::Config, process::ProcessEnd};
use holdpoint_sandbox::Sandbox;

use crate::worker::VerifyWorker;

/// The role of this agent.
pub const ROLE: &str = role::VERIFIER;

/// Runs the agent until it is asked to end. The executable has to be its own sandbox shim:
/// [`holdpoint_sandbox::shim::maybe_run`] comes first in its `main`.
///
/// # Errors
/// [`RunError::Start`] before it connects, [`RunError::Agent`] afterwards.
pub async fn run(config: Config) -> Result<ProcessEnd, RunError> {
    let worker = VerifyWorker::start(&config, Sandbox::of_this_executable()).await;
    let worker = worker.map_err(|error| RunError::Start { exit_code: error.exit_code(), source: error.into() })?;
    let properties = worker.properties().to_vec();
    process::run(role::id(ROLE), worker, &properties, &config).await
}
