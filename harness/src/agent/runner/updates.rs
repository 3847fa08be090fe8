//! Saying now and then how far the work on a turn is (GATE-20a). Metrics and traces have it, and no state follows from it.

use std::sync::Arc;

use tokio::time::Instant;

use crate::agent::{handoff::Handoff, job::Job};
use holdpoint_runtime::telemetry::ErrorChain;

/// Heartbeats from one word to the next; the first heartbeat of the work says the first. With the usual wait for
/// acknowledgements that is one a minute, and none from a turn that is done in ten seconds.
const HEARTBEATS_PER_UPDATE: u32 = 6;

/// The words on one turn.
#[derive(Debug)]
pub(super) struct Updates {
    since: Instant,
    beats: u32,
}

impl Updates {
    /// The work begins.
    pub(super) fn begin() -> Self {
        Self { since: Instant::now(), beats: 0 }
    }

    /// Takes a heartbeat of the work; what is to be sent, where it says something. One that is not stored is not sent again.
    pub(super) fn next(&mut self, job: &Arc<Job>) -> Option<impl Future<Output = ()> + Send + use<>> {
        let is_due = says_how_far(self.beats);
        self.beats = self.beats.wrapping_add(1);
        let (job, worked) = (job.clone(), self.since.elapsed());
        is_due.then_some(async move {
            let said = async { Handoff::of_status(&job, worked)?.publish_once(&job.bus).await };
            if let Err(error) = said.await {
                tracing::debug!(error = %ErrorChain(&error), "nobody hears how far the turn is");
            }
        })
    }
}

/// Whether this heartbeat of the work says how far it is, counted from 0.
fn says_how_far(beat: u32) -> bool {
    beat.is_multiple_of(HEARTBEATS_PER_UPDATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_heartbeat_in_six_says_how_far_the_work_is_and_the_first_is_one_of_them() {
        let said: Vec<u32> = (0..20).filter(|beat| says_how_far(*beat)).collect();
        assert_eq!(said, [0, 6, 12, 18]);
    }
}
