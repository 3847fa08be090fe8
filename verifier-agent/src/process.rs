//! The verifier as a process: what its library and its binary share.

use std::{io::Write as _, path::Path, process::ExitCode};

use holdpoint_protocol::ids::role;
use holdpoint_runtime::{
    agent::{self, AgentError},
    config::{Config, ConfigError},
    fresh,
    process::{Ended, exit},
    telemetry::{self, ErrorChain, TelemetryError},
};
use holdpoint_sandbox::{PropertyReport, Sandbox};

use crate::worker::{StartError, VerifyWorker};

/// The role of this agent.
pub const ROLE: &str = role::VERIFIER;

/// Why a verifier's process did not start, or failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be read.
    #[error("read the configuration")]
    Config(#[source] Box<ConfigError>),
    /// Logs and traces cannot be set up.
    #[error("set up logs and traces")]
    Telemetry(#[source] TelemetryError),
    /// The runtime of the process cannot be made.
    #[error("start the process")]
    Process(#[source] std::io::Error),
    /// The verifier cannot work here or as configured.
    #[error("start the verifier")]
    Start(#[source] StartError),
    /// The turn loop.
    #[error("run the verifier")]
    Agent(#[source] AgentError),
}

impl RunError {
    /// The exit code of a process that fails with this.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Telemetry(_) => exit::USAGE,
            Self::Process(_) => exit::ENVIRONMENT,
            Self::Start(error) => error.exit_code(),
            Self::Agent(error) => error.exit_code(),
        }
    }
}

/// Runs the agent until it is asked to end. The executable has to be its own sandbox shim:
/// [`holdpoint_sandbox::shim::maybe_run`] comes first in its `main`.
///
/// # Errors
/// [`RunError::Start`] before it connects, [`RunError::Agent`] afterwards.
pub async fn run(config: Config) -> Result<Ended, RunError> {
    let worker = VerifyWorker::start(&config, Sandbox::of_this_executable()).await.map_err(RunError::Start)?;
    log_properties(worker.properties());
    agent::run(role::id(ROLE), worker, &config).await.map_err(RunError::Agent)
}

/// The rest of the binary's `main`: reads the configuration, sets up logs, runs, and says on standard error what went
/// wrong.
#[must_use]
pub fn main(config_file: Option<&Path>) -> ExitCode {
    match try_main(config_file) {
        Ok(ended) => ExitCode::from(ended.exit_code()),
        Err(error) => {
            // Nowhere to say that standard error is gone.
            let _ = writeln!(std::io::stderr(), "error: {}", ErrorChain(&error));
            ExitCode::from(error.exit_code())
        }
    }
}

fn try_main(config_file: Option<&Path>) -> Result<Ended, RunError> {
    let config = Config::load(config_file, Vec::new()).map_err(|error| RunError::Config(Box::new(error)))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(RunError::Process)?;
    runtime.block_on(async {
        let named = config.agent.name.as_ref().map(ToString::to_string);
        let instance = named.unwrap_or_else(|| format!("{ROLE}-{}", fresh::suffix()));
        let service = format!("holdpoint-{ROLE}");
        let _guard = telemetry::init(&config.telemetry, &service, &instance).map_err(RunError::Telemetry)?;
        tracing::debug!(configuration = %config, "starting");
        run(config).await
    })
}

fn log_properties(properties: &[PropertyReport]) {
    for report in properties {
        let mechanism = report.mechanism.as_deref().unwrap_or("nothing");
        tracing::debug!(property = %report.property, mechanism, "sandbox");
        if !report.enforced() {
            tracing::warn!(property = %report.property, reason = %report.detail, "not enforced by the sandbox");
        }
    }
}
