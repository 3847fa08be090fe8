//! Why an orchestrator cannot run.

use std::path::PathBuf;

use holdpoint_bus::{api::ServeError, topology::TopologyError};
use holdpoint_conditions::ConditionHelperError;
use holdpoint_protocol::journal::Sequence;
use holdpoint_runtime::{
    broker::BrokerConnectionError,
    metrics::MetricsError,
    process::{self, ProcessError},
};
use ractor::SpawnErr;

/// Why an orchestrator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum OrchestratorError {
    /// The keys or the broker cannot be used.
    #[error("cannot connect to the broker")]
    Connect(#[source] BrokerConnectionError),
    /// Streams or consumers could not be set up.
    #[error("cannot set up the streams")]
    Topology(#[source] TopologyError),
    /// The broker lost the fleet's journals. No streams were made.
    #[error(
        "the broker has none of this fleet's journals, of which this orchestrator saw {} entries: its store was lost, emptied or \
         replaced. No streams were made. Give the broker its store back (docs/operations.md, \"Back up and restore\"); if those \
         flights may be forgotten, delete {} and start again",
        seen.0,
        file.display()
    )]
    StoreGone {
        /// The last entry that was seen.
        seen: Sequence,
        /// The file that says so.
        file: PathBuf,
    },
    /// The actors could not be started.
    #[error("cannot start the actors")]
    Spawn(#[source] SpawnErr),
    /// Metrics could not be served or sent.
    #[error("cannot publish metrics")]
    Metrics(#[source] MetricsError),
    /// The API could not be served.
    #[error("cannot serve the API")]
    Serve(#[source] ServeError),
    /// Conditions of gates could not be evaluated.
    #[error("cannot prepare the evaluation of conditions")]
    Conditions(#[source] ConditionHelperError),
    /// It ran, and failed.
    #[error("the orchestrator failed")]
    Process(#[source] ProcessError),
}

impl OrchestratorError {
    /// Whether the environment is at fault (exit 3) rather than the configuration (exit 2).
    #[must_use]
    pub fn is_environment(&self) -> bool {
        match self {
            Self::Connect(error) => error.exit_code() == process::exit::ENVIRONMENT,
            Self::Metrics(error) => matches!(error, MetricsError::Listen { .. }),
            _ => true,
        }
    }
}
