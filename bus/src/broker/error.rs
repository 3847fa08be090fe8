//! Why there is no broker.

use std::{io, path::PathBuf, time::Duration};

use holdpoint_sandbox::service::ServiceError;

use super::version::{FLOOR, ServerVersion};
use crate::{auth, connection::ConnectError, topology::TopologyError};

/// Why a broker could not be found, started or reached.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// No `nats-server` anywhere.
    #[error("no nats-server found: looked in HOLDPOINT_NATS_SERVER, {}", places.join(", "))]
    NotFound {
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// The server is older than what works.
    #[error("nats-server {found} at {} is too old: {FLOOR} or newer is needed", path.display())]
    TooOld {
        /// Its version.
        found: ServerVersion,
        /// Where it is.
        path: PathBuf,
    },
    /// The program does not say which version it is.
    #[error("{} does not tell its version", path.display())]
    NoVersion {
        /// Where it is.
        path: PathBuf,
        /// What it said, or why it could not be asked.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file or folder of the broker could not be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A server that was left on the folder could not be ended.
    #[error("cannot end a server that was left on this folder")]
    Leftover(#[source] io::Error),
    /// The process did not start.
    #[error("cannot start the broker")]
    Start(#[source] ServiceError),
    /// It ended before it was ready.
    #[error("the broker ended while starting: {log_tail}")]
    Ended {
        /// The end of its log.
        log_tail: String,
    },
    /// It did not become ready in time.
    #[error("the broker is not ready after {after:?}: {log_tail}")]
    NotReady {
        /// How long it was waited for.
        after: Duration,
        /// The end of its log.
        log_tail: String,
    },
    /// The system could not tell how it ended.
    #[error("cannot wait for the broker's end")]
    Wait(#[source] io::Error),
    /// The keys could not be kept or read.
    #[error("cannot keep the broker's keys")]
    Keys(#[source] auth::StoreError),
    /// It runs, but a client of ours does not get in.
    #[error("cannot connect to the broker")]
    Connect(#[source] ConnectError),
    /// It runs, but its streams could not be set up.
    #[error("cannot set up the broker's streams")]
    Topology(#[source] TopologyError),
}
