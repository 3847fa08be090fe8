//! An agent whose turns a program does, as a process: of any role but the verifier.

use holdpoint_protocol::ids::RoleId;
use holdpoint_sandbox::Sandbox;

use super::worker::BuildWorker;
use crate::agent::process::{self, RunError};
use holdpoint_runtime::{config::Config, process::ProcessEnd};

/// Runs an agent of a role that a program works for until it is asked to end. The executable has to be its own sandbox shim:
/// [`holdpoint_sandbox::shim::maybe_run`] comes first in its `main`.
///
/// # Errors
/// [`RunError::Start`] before it connects, [`RunError::Agent`] afterwards.
pub async fn run(role: RoleId, config: &Config) -> Result<ProcessEnd, RunError> {
    let worker = BuildWorker::start(config, role.clone(), Sandbox::of_this_executable()).await;
    let worker = worker.map_err(|error| RunError::Start { exit_code: error.exit_code(), source: error.into() })?;
    let properties = worker.properties().to_vec();
    process::run(role, worker, &properties, config).await
}
