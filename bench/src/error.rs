//! Why a benchmark has no figures.

use std::{path::PathBuf, time::Duration};

use holdpoint_bus::{ConnectError, broker::BrokerError};
use holdpoint_sandbox::service::ServiceError;

/// A benchmark that could not be run, or whose figures would be wrong.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The request makes no sense.
    #[error("{what}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What to ask for instead.
        hint: &'static str,
    },
    /// The broker could not be started or reached.
    #[error("cannot use the broker")]
    Broker(#[source] BrokerError),
    /// A connection could not be made.
    #[error("cannot connect to the broker")]
    Connect(#[source] ConnectError),
    /// A process could not be started.
    #[error("cannot start {name}")]
    Start {
        /// Which one.
        name: String,
        /// What went wrong.
        #[source]
        source: ServiceError,
    },
    /// A process ended in the middle of the measurement.
    #[error("{name} ended in the middle of the measurement:\n{log_tail}")]
    Ended {
        /// Which one.
        name: String,
        /// The end of its log.
        log_tail: String,
    },
    /// Something did not come in time.
    #[error("waited {seconds} s in vain for {what}{logs}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What the fleet's processes logged last.
        logs: String,
    },
    /// A waypoint did not end as it has to when agents do nothing wrong.
    #[error("flight {flight} was not accepted: {found}")]
    NotAccepted {
        /// The flight.
        flight: String,
        /// How it ended.
        found: String,
    },
    /// A verdict is not the right one, so its time means nothing.
    #[error("{wrong}: {found}")]
    Verdict {
        /// What is wrong with it.
        wrong: &'static str,
        /// What the verifier found.
        found: String,
    },
    /// A file or folder cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Anything else that failed on the way.
    #[error("cannot {action}")]
    Failed {
        /// What was to be done.
        action: &'static str,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The user does not want to wait any longer.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// What did not come for so long.
    pub(crate) fn timed_out(what: String, patience: Duration) -> Self {
        Self::TimedOut { what, seconds: patience.as_secs(), logs: String::new() }
    }

    /// An error that asking for something else avoids.
    pub(crate) fn usage(what: impl Into<String>, hint: &'static str) -> Self {
        Self::Usage { what: what.into(), hint }
    }
}

/// Saying what failed.
pub(crate) trait Doing<T> {
    /// What could not be done (a fragment that follows "cannot"), with what went wrong.
    fn doing(self, action: &'static str) -> Result<T, BenchError>;
}

impl BenchError {
    /// What could not be done, and why.
    pub(crate) fn failed(action: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed { action, source: source.into() }
    }
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Doing<T> for Result<T, E> {
    fn doing(self, action: &'static str) -> Result<T, BenchError> {
        self.map_err(|source| BenchError::failed(action, source))
    }
}
