//! What runs in the other processes of a benchmark: agents that do nothing, or the far side of the yardstick.

mod agents;
mod noop;
mod work;

use std::path::{Path, PathBuf};

use holdpoint_protocol::ids::{PoolId, RoleId};
use serde::{Deserialize, Serialize};

pub(crate) use noop::{Hand, passed};

use crate::{
    BenchError,
    error::Doing as _,
    yardstick::{self, YardstickSpec},
};

/// What a process has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeerSpec {
    /// Be agents of one role.
    Agents(AgentsSpec),
    /// Be the far side of the yardstick.
    Yardstick(YardstickSpec),
}

/// Agents of one role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AgentsSpec {
    /// The broker.
    pub(crate) url: String,
    /// The file that says whose signatures count.
    pub(crate) trust: PathBuf,
    /// What they are.
    pub(crate) role: RoleId,
    /// Which turns they take.
    pub(crate) pool: PoolId,
    /// A credentials file each.
    pub(crate) creds: Vec<PathBuf>,
    /// How long each thinks about a turn, in milliseconds.
    pub(crate) think_ms: u64,
    /// Whether builders make a commit.
    pub(crate) commits: bool,
}

/// Runs until the process that started this one closes its standard input.
///
/// # Errors
/// [`BenchError`].
pub async fn run(spec: &Path) -> Result<(), BenchError> {
    let text = std::fs::read(spec).map_err(|source| BenchError::Io { path: spec.to_owned(), source })?;
    match serde_json::from_slice(&text).doing("read what to do")? {
        PeerSpec::Agents(spec) => Box::pin(agents::run(spec)).await,
        PeerSpec::Yardstick(spec) => Box::pin(yardstick::serve(spec)).await,
    }
}
