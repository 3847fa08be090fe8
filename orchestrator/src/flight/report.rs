//! Taking a report: what it passes has to have its evidence stored. The core decides what the verdicts lead to.

use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_core::engine::{Handoff, Input, ReportInput};
use holdpoint_protocol::{
    Digest,
    artifact::{VerificationPurpose, VerificationReport},
    facts::Verdict,
    ids::RoleId,
    refusal::RefusalCode,
    subjects::HandoffSubject,
};
use ractor::ActorRef;

use super::{ApplyError, Msg, State, handoff::give_back};
use crate::{books::BooksError, intake::Taken, shell::Shell};

/// Why a report does not count yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvidenceError {
    /// The verifier stores it first, so this is a lost blob or a verifier that lies.
    #[error("the evidence {0} is not stored")]
    Missing(Digest),
    /// The broker did not answer.
    #[error("cannot look for the evidence")]
    Unknown(#[source] BlobError),
}

/// The evidence of a report was looked for.
pub(crate) struct Weighed {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<Box<VerificationReport>>,
    outcome: Result<(), EvidenceError>,
}

impl State {
    /// Looks for the evidence of what a report passes. One on a turn that is over, or another role's, goes to the core at once.
    pub(super) async fn begin_weigh(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        handoff: Handoff<Box<VerificationReport>>,
    ) -> Result<(), ApplyError> {
        let is_current = self.is_current(&subject.waypoint, &handoff.turn).await?;
        let state = self.books().await?.state(&subject.waypoint);
        if !is_current || state.open_turn(&handoff.turn).is_some_and(|open| open.role != subject.role) {
            let input = self.reported(&subject, handoff).await?;
            self.settle(myself, &received, &subject, input).await;
            return Ok(());
        }
        let (shell, role, evidence) = (self.shell.clone(), subject.role.clone(), needed(&handoff.body));
        self.slow += 1;
        self.tasks.run(myself, "weigh", async move {
            let outcome = all_stored(&shell, &role, evidence).await;
            // An actor that is gone leaves the handoff unacknowledged: it comes again.
            Msg::Weighed(Box::new(Weighed { received, subject, handoff, outcome }))
        });
        Ok(())
    }

    pub(super) async fn on_weighed(&mut self, myself: &ActorRef<Msg>, weighed: Weighed) {
        self.slow = self.slow.saturating_sub(1);
        let Weighed { received, subject, handoff, outcome } = weighed;
        match outcome {
            Ok(()) => match self.reported(&subject, handoff).await {
                Ok(input) => {
                    self.settle(myself, &received, &subject, input).await;
                }
                Err(error) => {
                    self.handoff_failed(&subject.waypoint, &error);
                    give_back(&received, &subject).await;
                }
            },
            Err(error @ EvidenceError::Missing(_)) => {
                self.lacks(&received, &subject, RefusalCode::EvidenceMissing, "cannot take the report", &error).await;
            }
            // A broker that does not answer is no fault of the sender.
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }

    /// The report with what its turn keeps for the build turn behind it.
    async fn reported(
        &mut self,
        subject: &HandoffSubject,
        handoff: Handoff<Box<VerificationReport>>,
    ) -> Result<Input, BooksError> {
        let mut for_build = None;
        if handoff.body.purpose == VerificationPurpose::Baseline {
            let shell = self.shell.clone();
            let opened = self.books().await?.open_turn(&shell, &subject.waypoint, &handoff.turn).await?;
            for_build = opened.and_then(|opened| opened.for_build);
        }
        let report = (*handoff.body).clone();
        Ok(Input::Reported(handoff.with(Box::new(ReportInput { report, for_build }))))
    }
}

/// The evidence that has to be there: of everything that the report passes.
fn needed(report: &VerificationReport) -> Vec<Digest> {
    let passed = report.criteria.iter().chain(&report.guards).filter(|r| r.result.verdict == Verdict::Pass);
    let mut evidence: Vec<Digest> = passed.flat_map(|r| r.result.evidence.iter().copied()).collect();
    evidence.sort_unstable();
    evidence.dedup();
    evidence
}

async fn all_stored(shell: &Shell, role: &RoleId, evidence: Vec<Digest>) -> Result<(), EvidenceError> {
    let missing = blobs::missing(&shell.bus, role, evidence).await;
    missing.map_err(EvidenceError::Unknown)?.map_or(Ok(()), |digest| Err(EvidenceError::Missing(digest)))
}
