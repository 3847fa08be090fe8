//! Stopping a worker whose turn is over before it is done. Obeying is the worker's part.

use tokio::sync::watch;

/// Why a worker has to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The orchestrator says so: the turn was superseded or cancelled, or its budget is used up.
    Told {
        /// Its words.
        reason: String,
    },
    /// The orchestrator says that another agent of the role has to do it: the turn is open still.
    ForOthers {
        /// Its words.
        reason: String,
    },
    /// This process ends, and waited for the turn as long as it could. Another agent does it.
    Shutdown,
}

/// The side that stops.
#[derive(Debug)]
pub struct Stopper(watch::Sender<Option<StopReason>>);

impl Stopper {
    /// Stops. The first reason stays.
    pub fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }
}

/// The side that is stopped. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Option<StopReason>>);

impl StopSignal {
    /// Completes when the work has to stop; never, when nobody can stop it any more.
    pub async fn stopped(&self) -> StopReason {
        let mut receiver = self.0.clone();
        if let Ok(reason) = receiver.wait_for(Option::is_some).await
            && let Some(reason) = reason.clone()
        {
            return reason;
        }
        std::future::pending().await
    }

    /// Why the work has to stop; `None` while it may go on.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        self.0.borrow().clone()
    }

    /// Whether the work has to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.borrow().is_some()
    }
}

/// Both sides.
#[must_use]
pub fn stop_signal() -> (Stopper, StopSignal) {
    let (sender, receiver) = watch::channel(None);
    (Stopper(sender), StopSignal(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays() {
        let (stopper, signal) = stop_signal();
        assert!(!signal.is_stopped());
        let waiting = tokio::spawn({
            let signal = signal.clone();
            async move { signal.stopped().await }
        });
        stopper.stop(StopReason::Shutdown);
        stopper.stop(StopReason::Told { reason: "superseded".to_owned() });
        assert_eq!(waiting.await.unwrap(), StopReason::Shutdown);
        assert_eq!(signal.reason(), Some(StopReason::Shutdown));
    }
}
