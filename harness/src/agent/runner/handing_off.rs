//! The final handoff of a turn, also of one that is over: the files that it left can still be had.

use ractor::ActorRef;

use super::{Msg, Phase, State};
use crate::agent::{
    handoff::{Handoff, HandoffError},
    reply::Reply,
    stop::StopReason,
    worker::{Final, Worker},
};
use holdpoint_runtime::telemetry::{ErrorChain, fields};

impl<W: Worker> State<W> {
    pub(super) fn hand_off(&mut self, myself: &ActorRef<Msg>, artifact: &Final) {
        let handoff = Handoff::of_final(&self.job, artifact);
        let bus = self.job.bus.clone();
        self.spawn(myself, "hand off", async move {
            let stored = async {
                let mut handoff = handoff?;
                handoff.publish(&bus).await?;
                tracing::info!({ fields::KIND } = handoff.kind, "handed off");
                Ok(())
            };
            Msg::HandedOff(stored.await)
        });
    }

    pub(super) fn on_handed_off(&mut self, myself: &ActorRef<Msg>, result: Result<(), HandoffError>) {
        match (&self.phase, result) {
            (Phase::HandingOff, Ok(())) => self.answer(myself, Reply::Done),
            (Phase::HandingOff, Err(error)) => self.fail(myself, "cannot hand off its result", &error),
            (Phase::Stopping, result) => {
                if let Err(error) = result {
                    tracing::warn!(error = %ErrorChain(&error), "the files of a turn that is over are lost");
                }
                self.answer_stopped(myself);
            }
            _ => {}
        }
    }

    /// Whether an orchestrator said that the turn is.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.job.stop.reason(), Some(StopReason::Told { .. }))
    }
}

/// Whether it brings files.
pub(super) fn has_files(artifact: &Final) -> bool {
    matches!(artifact, Final::Build(built) if built.bundle.is_some())
}
