//! Why an agent process does not run.

use holdpoint_runtime::{
    broker::BrokerConnectionError,
    metrics::MetricsError,
    process::{ProcessError, exit},
};

/// Why an agent process did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is no connection, or it ended for good.
    #[error(transparent)]
    Broker(#[from] BrokerConnectionError),
    /// Metrics cannot be served.
    #[error("metrics.listen cannot be used")]
    Metrics(#[source] MetricsError),
    /// The actors could not be started.
    #[error("cannot start the agent")]
    Start(#[source] ractor::SpawnErr),
    /// It ended with an error.
    #[error("the agent failed")]
    Process(#[source] ProcessError),
}

impl AgentError {
    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Broker(error) => error.exit_code(),
            Self::Metrics(_) => exit::ENVIRONMENT,
            Self::Start(_) | Self::Process(_) => exit::INCOMPLETE,
        }
    }
}
