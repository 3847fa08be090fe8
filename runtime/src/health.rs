//! The sign of life that health checks read: a file that a process writes again and again while it is well.
//!
//! It opens no port and wants no credentials. Well means that the process turns and that its connection to the broker
//! is up; whether it has work is nobody's concern here. Without a configured file nothing is written.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::Bus;
use holdpoint_protocol::{Timestamp, ids::AgentName};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::{clock, telemetry::ErrorChain};

/// How often it is written.
const EVERY: Duration = Duration::from_secs(2);
/// How old it may be: several writes may be late on a busy machine.
pub const FRESH: Duration = Duration::from_secs(15);

/// What a process says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifeSign {
    /// The name in its credentials.
    pub name: AgentName,
    /// Its number, where it runs.
    pub pid: u32,
    /// Whether its connection to the broker was up.
    pub connected: bool,
    /// When it said so.
    pub at: Timestamp,
}

/// Why a process is not well.
#[derive(Debug, thiserror::Error)]
pub enum Unwell {
    /// It has said nothing: it is starting, or has never run here.
    #[error("no sign of life in {}", path.display())]
    Silent {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is there, but holds no sign of life.
    #[error("{} holds no sign of life", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It has stopped saying so.
    #[error("{name} was last well at {at}")]
    Stale {
        /// The process.
        name: AgentName,
        /// Its last sign.
        at: Timestamp,
    },
    /// It runs without a broker.
    #[error("{name} has lost the broker and tries to come back")]
    Disconnected {
        /// The process.
        name: AgentName,
    },
}

/// Writes signs of life until it is dropped.
#[derive(Debug)]
pub struct Beat(Option<JoinHandle<()>>);

impl Beat {
    /// Begins to write them to `file`, for the process of this connection; does nothing without a file.
    #[must_use]
    pub fn begin(file: Option<&Path>, bus: &Bus) -> Self {
        let (Some(file), bus) = (file.map(Path::to_owned), bus.clone()) else { return Self(None) };
        Self(Some(tokio::spawn(async move {
            loop {
                let (name, pid) = (bus.name().clone(), std::process::id());
                let sign = LifeSign { name, pid, connected: bus.is_connected(), at: clock::now() };
                if let Err(error) = write(&file, &sign) {
                    tracing::warn!(error = %ErrorChain(&error), file = %file.display(), "cannot say that I am well");
                }
                tokio::time::sleep(EVERY).await;
            }
        })))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Reads the sign of the process that writes to `file`.
///
/// # Errors
/// [`Unwell`].
pub fn look(file: &Path, now: Timestamp) -> Result<LifeSign, Unwell> {
    let path = || file.to_owned();
    let text = fs::read(file).map_err(|source| Unwell::Silent { path: path(), source })?;
    let sign: LifeSign = serde_json::from_slice(&text).map_err(|source| Unwell::Unreadable { path: path(), source })?;
    if now.since(sign.at) > FRESH {
        return Err(Unwell::Stale { name: sign.name, at: sign.at });
    }
    if !sign.connected {
        return Err(Unwell::Disconnected { name: sign.name });
    }
    Ok(sign)
}

/// Whole or not at all: a concurrent reader finds the one before.
fn write(file: &Path, sign: &LifeSign) -> io::Result<()> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, serde_json::to_vec(sign)?)?;
    fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(connected: bool) -> LifeSign {
        let name = AgentName::try_new("builder-1").unwrap();
        LifeSign { name, pid: 7, connected, at: Timestamp::from_millis(1_000_000) }
    }

    fn look_after(file: &Path, span: Duration) -> Result<LifeSign, Unwell> {
        look(file, Timestamp::from_millis(1_000_000).after(span))
    }

    #[test]
    fn a_process_is_well_while_its_sign_is_fresh_and_its_broker_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sign");
        assert!(matches!(look_after(&file, Duration::ZERO), Err(Unwell::Silent { .. })));
        write(&file, &sign(true)).unwrap();
        assert_eq!(look_after(&file, FRESH).unwrap(), sign(true));
        assert!(matches!(look_after(&file, FRESH + EVERY), Err(Unwell::Stale { .. })));
        write(&file, &sign(false)).unwrap();
        assert!(matches!(look_after(&file, EVERY), Err(Unwell::Disconnected { .. })));
        fs::write(&file, "{").unwrap();
        assert!(matches!(look_after(&file, EVERY), Err(Unwell::Unreadable { .. })));
    }
}
