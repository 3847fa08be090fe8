//! How a delivery is answered, and when a turn comes again that was given back.

use std::time::Duration;

use super::{handoff::Handoff, job::Job};
use holdpoint_runtime::telemetry::ErrorChain;

/// How long saying that a turn is given back may take: a process that stops has little time.
const GIVE_BACK_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a turn comes again after a failure of ours; doubled with every delivery.
const RETRY_PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) enum Reply {
    /// It is handed off.
    Done,
    /// Nobody wants it any more.
    Dropped,
    /// Another agent has to do it.
    GiveBack,
    /// Another agent has to do it, and this one stays: the turn comes again after a pause.
    PassOn,
    /// Given back after a failure of ours, which the operator hears of.
    Failed(String),
}

impl Reply {
    /// The word for it in the conventions of messaging.
    pub(super) fn operation(&self) -> &'static str {
        match self {
            Self::Done | Self::Dropped => "ack",
            Self::GiveBack | Self::PassOn | Self::Failed(_) => "nak",
        }
    }

    /// The word for it in a trace.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dropped => "dropped",
            Self::GiveBack | Self::PassOn => "given_back",
            Self::Failed(_) => "failed",
        }
    }
}

/// Says so where a turn is given back that a plan was published for: the agent that gives it back did not die of it.
pub(super) async fn give_back(job: &Job, reply: &Reply) {
    let reason = match reply {
        Reply::GiveBack => "this agent stops",
        Reply::PassOn => "another agent has to do it",
        Reply::Failed(trouble) => trouble.as_str(),
        Reply::Done | Reply::Dropped => return,
    };
    if job.plan_ref().is_none() {
        return;
    }
    let said = async { Handoff::of_giving_back(job, reason)?.publish_once(&job.bus).await };
    match tokio::time::timeout(GIVE_BACK_TIMEOUT, said).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(error = %ErrorChain(&error), "cannot say that the turn is given back"),
        Err(_) => tracing::warn!("cannot say that the turn is given back: the broker does not answer"),
    }
}

/// How long a turn waits that comes again after a failure of ours, by its delivery.
pub(super) fn retry_pause(delivery: u32) -> Duration {
    RETRY_PAUSE_MIN.saturating_mul(2_u32.saturating_pow(delivery.saturating_sub(1))).min(RETRY_PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_with_every_delivery_up_to_the_longest() {
        assert_eq!([1, 2, 4, 7, 40].map(|delivery| retry_pause(delivery).as_secs()), [1, 2, 8, 60, 60]);
    }
}
