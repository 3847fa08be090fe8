//! An agent as a process: what the binaries of all roles share.

use std::{error::Error, io::Write as _, path::Path, process::ExitCode};

use holdpoint_protocol::ids::RoleId;
use holdpoint_runtime::{
    config::{Config, ConfigError},
    fresh,
    own::{self, OwnError},
    process::{self, ProcessEnd, exit},
    telemetry::{self, ErrorChain, TelemetryError},
};
use holdpoint_sandbox::PropertyReport;
use holdpoint_text::shown;

use super::{AgentError, Worker, tree};

/// Why an agent's process did not start, or failed.
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
    /// There are no credentials or no state folder for it.
    #[error("start the agent")]
    Own(#[source] OwnError),
    /// The agent cannot work here or as configured.
    #[error("start the agent")]
    Start {
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
        /// Whether the environment is at fault, or the configuration.
        exit_code: u8,
    },
    /// The turn loop.
    #[error("run the agent")]
    Agent(#[source] AgentError),
}

impl RunError {
    /// The exit code of a process that fails with this.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Telemetry(_) => exit::USAGE,
            Self::Process(_) => exit::ENVIRONMENT,
            Self::Own(error) => error.exit_code(),
            Self::Start { exit_code, .. } => *exit_code,
            Self::Agent(error) => error.exit_code(),
        }
    }
}

/// Takes turns of a role with this worker until the process is asked to end. `properties` is what its sandbox enforces.
///
/// # Errors
/// [`RunError::Agent`].
pub async fn run<W: Worker>(
    role: RoleId,
    worker: W,
    properties: &[PropertyReport],
    config: &Config,
) -> Result<ProcessEnd, RunError> {
    for report in properties {
        let mechanism = report.mechanism.as_deref().unwrap_or("nothing");
        tracing::debug!(%role, property = %report.property, mechanism, "sandbox");
        if !report.enforced() {
            tracing::warn!(%role, property = %report.property, reason = %report.detail, "not enforced by the sandbox");
        }
    }
    tree::run(role, worker, config).await.map_err(RunError::Agent)
}

/// The rest of a binary's `main`: reads the configuration, sets up logs, runs the agent, and says on standard error what
/// went wrong.
#[must_use]
pub fn main<R>(role: &str, config_file: Option<&Path>, agent: impl FnOnce(Config) -> R) -> ExitCode
where
    R: Future<Output = Result<ProcessEnd, RunError>>,
{
    match try_main(role, config_file, agent) {
        Ok(ended) => ExitCode::from(ended.exit_code()),
        Err(error) => {
            // Nowhere to say that standard error is gone.
            let _ = writeln!(std::io::stderr(), "error: {}", shown::line(&ErrorChain(&error).to_string()));
            ExitCode::from(error.exit_code())
        }
    }
}

fn try_main<R>(role: &str, config_file: Option<&Path>, agent: impl FnOnce(Config) -> R) -> Result<ProcessEnd, RunError>
where
    R: Future<Output = Result<ProcessEnd, RunError>>,
{
    let mut config = Config::load(config_file, Vec::new()).map_err(|error| RunError::Config(Box::new(error)))?;
    let runtime = process::runtime().map_err(RunError::Process)?;
    runtime.block_on(async {
        let named = config.agent.name.as_ref().map(ToString::to_string);
        let instance = named.unwrap_or_else(|| format!("{role}-{}", fresh::suffix()));
        let service = format!("holdpoint-{role}");
        let _guard = telemetry::init(&config.telemetry, &service, &instance).map_err(RunError::Telemetry)?;
        let _own = own::take(&mut config, role).map_err(RunError::Own)?;
        tracing::debug!(configuration = %config, "starting");
        agent(config).await
    })
}
