//! What interrupted deliveries left on this machine, of turns that are over since: it is handed over, so that the history of their
//! waypoint names it and people can have it. A turn that is open still may come to this machine again, and goes on from its files.

use std::path::PathBuf;

use holdpoint_bus::{Bus, blobs};
use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildArtifactBody, BuildStatus, Failure},
    facts::{BlobRef, BundleRef, DiffSummary},
    ids::RoleId,
    reason::ReasonCode,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::{
    mirror::{from_wire, to_wire},
    telemetry::ErrorChain,
};

use super::{
    capture::{Capture, Files},
    folder::LeftBehind,
    workbench::BuildError,
    worker::BuildWorker,
};
use crate::{
    agent::{Final, Job, JobArgs, WorkError, hand_over_late, stop_signal, why_over},
    backend::Backend,
};

/// Where the bundle is written, next to the clone.
const BUNDLE: &str = "left.bundle";

impl<B: Backend> BuildWorker<B> {
    /// Hands over what interrupted deliveries left, but for the turn in hand. What fails is tried again with the next turn.
    pub(super) async fn hand_over_left(&self, bus: &Bus, role: &RoleId, in_hand: Option<&Turn>) {
        for (left, clone) in self.workbench.folders.left_behind() {
            if in_hand.is_some_and(|turn| turn.turn_id == left.turn.turn_id) || left.turn.role != *role {
                continue;
            }
            let (_stopper, stop) = stop_signal();
            let job = Job::new(JobArgs {
                turn: left.turn.clone(),
                turn_ref: left.turn_ref.clone(),
                delivery: left.delivery,
                agent: bus.name().clone(),
                role: role.clone(),
                bus: bus.clone(),
                stop,
                traceparent: None,
            });
            let over = match why_over(&job).await {
                Ok(Some(over)) => over,
                Ok(None) => continue,
                Err(error) => {
                    tracing::debug!(error = %ErrorChain(&error), "no answer on a turn that was interrupted here");
                    return;
                }
            };
            if let Err(error) = Box::pin(self.hand_over(&job, &left, clone, &over)).await {
                let (turn, error) = (&job.turn.turn_id, ErrorChain(&error));
                tracing::warn!(%turn, %error, "the files of an interrupted delivery stay here");
            }
        }
    }

    async fn hand_over(&self, job: &Job, left: &LeftBehind, clone: PathBuf, over: &str) -> Result<(), WorkError> {
        let TurnRequest::Build(request) = &job.turn.request else { return Ok(()) };
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await;
        let mirror = mirror.map_err(|error| WorkError::new("fetch the repository", error))?;
        let mirror = &self.workbench.ignoring(&mirror, &from_wire(&request.start), request.ignore.clone());
        let bundle = clone.with_file_name(BUNDLE);
        let capture = Capture {
            turn: &job.turn,
            request,
            agent: &job.agent,
            mirror,
            bundle: bundle.clone(),
            files: Files::Copy(clone),
        };
        let (work, left_out) = capture.unfinished().await.map_err(|error| WorkError::new("read the files", error))?;
        if let Some((commit, file)) = work {
            let digest = blobs::put_file(&job.bus, &job.role, &file.path).await;
            let digest = digest.map_err(|error| WorkError::new("store the files", error))?;
            let blob = BlobRef { role: job.role.clone(), digest, bytes: file.bytes };
            let bundle = BundleRef { blob, tip: to_wire(&commit), index: None };
            let detail = format!("its agent was ended in the turn ({over}): these are the files that were there");
            let artifact = BuildArtifact::new(
                job.origin(),
                BuildArtifactBody {
                    turn: job.turn.turn_id.clone(),
                    delivery: job.delivery,
                    agent: job.agent.clone(),
                    status: BuildStatus::Failed,
                    failure: Some(Failure { reason: ReasonCode::AgentFailed, detail }),
                    commit: Some(bundle.tip.clone()),
                    tree: None,
                    bundle: Some(bundle),
                    touched: Vec::new(),
                    diff: DiffSummary::default(),
                    left_out,
                    document: None,
                    ledger: Vec::new(),
                    claims: Vec::new(),
                    completion_claim: None,
                    last_words: None,
                    markers_ignored: Vec::new(),
                    metered: self.workbench.folders.ledger(&job.turn.turn_id).used,
                },
            );
            let sent = hand_over_late(job, &Final::Build(artifact)).await;
            sent.map_err(|error| WorkError::new("hand the files over", error))?;
        }
        let noted = self.workbench.folders.handed_over(left).map_err(BuildError::from);
        // The next start removes it.
        let _ = std::fs::remove_file(bundle);
        noted.map_err(|error| WorkError::new("note that the files are handed over", error))
    }
}
