//! A broker that was started, as its file says: where it is, whether it answers, and how it ends.

use std::time::{Duration, Instant};

use holdpoint_sandbox::ProcessId;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use crate::{
    failure::Failure,
    state::{StateDir, unusable, write_private},
};

/// How often it is looked whether the broker still runs.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(300);
/// How long a broker that runs may take to answer, and an ended one's port to be free again.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to end in order.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const POLL: Duration = Duration::from_millis(10);

/// What is kept of a broker that was started: `broker.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartedBroker {
    pub(super) url: String,
    pub(super) process: ProcessId,
}

impl StartedBroker {
    pub(super) fn load(state: &StateDir) -> Option<Self> {
        // A damaged file is as good as none: the broker is restarted.
        serde_json::from_slice(&std::fs::read(state.path("broker.json")).ok()?).ok()
    }

    pub(super) fn save(&self, state: &StateDir) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(self).expect("plain data with text keys");
        write_private(&state.path("broker.json"), &bytes)
    }

    /// Waits until it has ended in order, or ends it the hard way.
    pub(super) async fn ended(&self, state: &StateDir) -> Result<(), Failure> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.process.alive() && Instant::now() < deadline {
            tokio::time::sleep(POLL).await;
        }
        let killed = self.process.kill();
        killed.map(drop).map_err(|source| unusable("end the broker of", state.dir(), &source))
    }

    pub(super) fn address(&self) -> Option<&str> {
        self.url.strip_prefix("nats://")
    }

    pub(super) async fn answers(&self) -> bool {
        let Some(address) = self.address() else { return false };
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while self.process.alive() && Instant::now() < deadline {
            if TcpStream::connect(address).await.is_ok() {
                return true;
            }
            tokio::time::sleep(POLL).await;
        }
        false
    }
}
