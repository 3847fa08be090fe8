//! Taking a report: what it passes has to have its evidence stored, and what its gate demands of touched paths is looked up in the
//! work. The engine decides what follows.

use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_engine::waypoint::{self, Handoff, HandoffFacts, Input, InputParts};
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    Digest,
    artifact::{Artifact as _, Handed, VerificationPurpose, VerificationReport, VerificationRequest},
    checkpoint::{CheckpointRule, GateDemands},
    facts::Verdict,
    ids::{CriterionId, FlightId, RoleId, WaypointId},
    refusal::RefusalCode,
    state::Phase,
    subjects::HandoffSubject,
    turn::TurnRequest,
};
use holdpoint_runtime::mirror::{MirrorError, from_wire, path_changes};
use holdpoint_workspace::WorkspaceError;
use ractor::ActorRef;

use super::{ApplyError, Msg, State, handoff::give_back, inbox::handed, planned};
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
    /// The work is not here, and cannot be fetched now.
    #[error("cannot fetch the work that was judged")]
    Work(#[source] MirrorError),
    /// Git failed.
    #[error("cannot see which paths the work touches")]
    Git(#[source] WorkspaceError),
}

/// What a gate demands of the paths of the work that was judged.
struct Touches {
    flight: FlightId,
    demands: GateDemands,
    request: Box<VerificationRequest>,
}

/// The evidence of a report was looked for.
pub(crate) struct Weighed {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<Box<VerificationReport>>,
    outcome: Result<Vec<CriterionId>, EvidenceError>,
}

impl State {
    /// Looks for the evidence of what a report passes. One on a turn that is over, or another role's, goes to the engine at once.
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
            if let Some(input) = self.reported(&subject, handoff, Vec::new()).await? {
                self.settle(myself, &received, &subject, input).await;
            }
            return Ok(());
        }
        let touches = self.touches(&subject, &handoff).await?;
        let (shell, role, evidence) = (self.shell.clone(), subject.role.clone(), needed(&handoff.body));
        self.slow += 1;
        self.tasks.run(myself, "weigh", async move {
            let outcome = match all_stored(&shell, &role, evidence).await {
                Ok(()) => touched(&shell, touches).await,
                Err(error) => Err(error),
            };
            // An actor that is gone leaves the handoff unacknowledged: it comes again.
            Msg::Weighed(Box::new(Weighed { received, subject, handoff, outcome }))
        });
        Ok(())
    }

    pub(super) async fn on_weighed(&mut self, myself: &ActorRef<Msg>, weighed: Weighed) {
        self.slow = self.slow.saturating_sub(1);
        let Weighed { received, subject, handoff, outcome } = weighed;
        match outcome {
            Ok(touched) => match self.reported(&subject, handoff, touched).await {
                Ok(Some(input)) => {
                    self.settle(myself, &received, &subject, input).await;
                }
                Ok(None) => {}
                Err(error) => {
                    self.handoff_failed(&subject.waypoint, &error);
                    give_back(&received, &subject).await;
                }
            },
            Err(error @ EvidenceError::Missing(_)) => {
                self.lacks(&received, &subject, RefusalCode::EvidenceMissing, "cannot take the report", &error).await;
            }
            // A broker that does not answer is no fault of the sender, nor is a disk that is full.
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }

    /// A kept report counts: what its work was integrated with has landed.
    pub(super) async fn judge(&mut self, waypoint: &WaypointId) -> Result<(), ApplyError> {
        let state = self.books().await?.state(waypoint);
        let Phase::Queued(queued) = &state.phase else { return Ok(()) };
        let Some(kept) = &queued.kept else { return Ok(()) };
        let reference = || kept.report.reference();
        let found = handed(&self.shell.bus, &kept.report, VerificationReport::KIND).await;
        let found = found.map_err(|source| ApplyError::Kept { reference: reference(), source })?;
        let Some(Handed::Reported(report)) = found else {
            return Err(ApplyError::NotKept { reference: reference() });
        };
        let Some(input) = waypoint::counts_now(&state, *report) else { return Ok(()) };
        self.apply(waypoint, input, None).await.map(drop)
    }

    /// The report with what its turn keeps for the build turn behind it.
    async fn reported(
        &mut self,
        subject: &HandoffSubject,
        handoff: Handoff<Box<VerificationReport>>,
        touched: Vec<CriterionId>,
    ) -> Result<Option<Input>, BooksError> {
        let is_baseline = handoff.body.purpose == VerificationPurpose::Baseline;
        let turn = if is_baseline { self.opened(subject, &handoff.turn).await?.map(Box::new) } else { None };
        let body = Handed::Reported(handoff.body.clone());
        let (facts, parts) = (HandoffFacts::Touched(touched), InputParts { turn, ..InputParts::default() });
        Ok(Input::handed(handoff.with(()), body, facts, parts))
    }

    /// What the gate demands of the paths of the work that was judged, if anything.
    async fn touches(
        &mut self,
        subject: &HandoffSubject,
        handoff: &Handoff<Box<VerificationReport>>,
    ) -> Result<Option<Touches>, ApplyError> {
        let books = self.books().await?;
        let flight = books.id().clone();
        let planned = planned(books, &subject.waypoint)?;
        let state = books.state(&subject.waypoint);
        let open = state.open_turn(&handoff.turn);
        let workflow = books.flight.workflow_of(&planned, &state);
        let gate = workflow.zip(open).and_then(|(workflow, open)| workflow.gate(&open.gate));
        let is_of_paths = |demands: &&GateDemands| {
            demands.checkpoints.iter().any(|spec| matches!(spec.rule, Some(CheckpointRule::Touches(_))))
        };
        let Some(demands) = gate.map(|gate| &gate.context.demands).filter(is_of_paths).cloned() else {
            return Ok(None);
        };
        Ok(match self.opened(subject, &handoff.turn).await?.map(|turn| turn.request) {
            Some(TurnRequest::Verify(request)) if request.purpose != VerificationPurpose::Baseline => {
                Some(Touches { flight, demands, request })
            }
            _ => None,
        })
    }
}

/// Which of these checkpoints hold, as git says.
async fn touched(shell: &Shell, touches: Option<Touches>) -> Result<Vec<CriterionId>, EvidenceError> {
    let Some(Touches { flight, demands, request }) = touches else { return Ok(Vec::new()) };
    let mirror = shell.mirrors.ensure(&shell.bus, &flight, &request.bundles).await.map_err(EvidenceError::Work)?;
    let base = mirror.tree_of(&from_wire(&request.base)).await.map_err(EvidenceError::Git)?;
    let changes = mirror.diff(&base, &from_wire(&request.tree)).await.map_err(EvidenceError::Git)?;
    let paths: Vec<String> = path_changes(&changes).into_iter().map(|change| change.path).collect();
    Ok(checkpoints::touching(&demands, &paths))
}

/// The evidence that has to be there: of everything that the report passes.
fn needed(report: &VerificationReport) -> Vec<Digest> {
    let passed = report.verdicts().filter(|r| r.result.verdict == Verdict::Pass);
    let mut evidence: Vec<Digest> = passed.flat_map(|r| r.result.evidence.iter().copied()).collect();
    evidence.sort_unstable();
    evidence.dedup();
    evidence
}

async fn all_stored(shell: &Shell, role: &RoleId, evidence: Vec<Digest>) -> Result<(), EvidenceError> {
    let missing = blobs::missing(&shell.bus, role, evidence).await;
    missing.map_err(EvidenceError::Unknown)?.map_or(Ok(()), |digest| Err(EvidenceError::Missing(digest)))
}
