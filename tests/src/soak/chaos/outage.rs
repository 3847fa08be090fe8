//! The network times out: the broker's process stands still for a moment, for everybody.

use std::time::Duration;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::Mutex;

/// How long it stands still.
const OUTAGE: Duration = Duration::from_millis(700);

/// Has one broker stand still, one time after another.
#[derive(Debug)]
pub(super) struct Outage {
    broker: i32,
    one: Mutex<()>,
}

impl Outage {
    /// Of the broker with this process id.
    pub(super) fn of(broker: i32) -> Self {
        Self { broker, one: Mutex::default() }
    }

    /// Stops the broker and lets it go on.
    pub(super) async fn strike(&self) {
        let _one = self.one.lock().await;
        let _goes_on = GoesOn(self.broker);
        if kill(Pid::from_raw(self.broker), Signal::SIGSTOP).is_ok() {
            tokio::time::sleep(OUTAGE).await;
        }
    }
}

/// Also when the task that struck is dropped meanwhile.
struct GoesOn(i32);

impl Drop for GoesOn {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0), Signal::SIGCONT);
    }
}
