//! A builder or repair agent as a process.

use holdpoint_protocol::ids::role;
use holdpoint_sandbox::Sandbox;

use super::worker::BuildWorker;
use crate::{
    agent::process::{self, RunError},
    config::Config,
    process::Ended,
};

/// Runs an agent of a role that builds until it is asked to end. The executable has to be its own sandbox shim:
/// [`holdpoint_sandbox::shim::maybe_run`] comes first in its `main`.
///
/// # Errors
/// [`RunError::Start`] before it connects, [`RunError::Agent`] afterwards.
pub async fn run(role: &'static str, config: &Config) -> Result<Ended, RunError> {
    let worker = BuildWorker::start(config, role::id(role), Sandbox::of_this_executable()).await;
    let worker = worker.map_err(|error| RunError::Start { exit_code: error.exit_code(), source: error.into() })?;
    let properties = worker.properties().to_vec();
    process::run(role, worker, &properties, config).await
}
