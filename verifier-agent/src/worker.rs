//! The verifier's turn, with the broker around the workbench: plan, mirror, verdicts, evidence stored, report.

use std::{path::PathBuf, sync::Arc, time::Duration};

use holdpoint_bus::{
    Bus,
    blobs::{self, BlobError},
};
use holdpoint_harness::{
    agent::{Final, Job, PlanHandoff, WorkError, Worker},
    ask::{self, Ask, TurnDesk},
    backend::command::own_environment,
};
use holdpoint_protocol::{
    artifact::{
        EvidenceWanted, Origin, VerificationPlan, VerificationPlanBody, VerificationReport, VerificationReportBody,
        VerificationRequest,
    },
    ids::{CriterionId, RoleId, role},
    turn::TurnRequest,
};
use holdpoint_runtime::{
    config::Config,
    mirror::MirrorStore,
    process::exit,
    telemetry::{ErrorChain, TRACE},
};
use holdpoint_sandbox::{PropertyReport, Sandbox, room::NearlyFull};
use holdpoint_workspace::InputLimits;
use tracing::{Instrument as _, info_span};

use crate::{
    by_judge::{JudgeAsks, about},
    error::VerifyError,
    evidence::Evidence,
    findings::Findings,
    judged_before::Attempts,
    settings::VerifierSettings,
    workbench::{VerificationTerms, VerifierWorkbench},
};

/// Why a verifier does not start.
#[derive(Debug, thiserror::Error)]
pub enum VerifierStartError {
    /// A configured path cannot be made absolute.
    #[error("cannot use {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The state folder cannot be used.
    #[error("cannot use the state folder")]
    Workbench(#[source] VerifyError),
    /// The sandbox cannot be enforced here.
    #[error("the sandbox does not work here")]
    Sandbox(#[source] holdpoint_sandbox::SandboxError),
    /// Git is missing or too old.
    #[error("git does not work here")]
    Git(#[source] holdpoint_workspace::WorkspaceError),
}

impl VerifierStartError {
    /// The exit code of a process that fails with this.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Workbench(error) if error.lacks_room() => exit::ENVIRONMENT,
            Self::Path { .. } | Self::Workbench(_) => exit::USAGE,
            Self::Sandbox(_) | Self::Git(_) => exit::ENVIRONMENT,
        }
    }
}

/// A turn was stopped. Its result is not handed off.
#[derive(Debug, thiserror::Error)]
#[error("the turn was stopped")]
struct Stopped;

/// A turn of this role that wants something else than a verification.
#[derive(Debug, thiserror::Error)]
#[error("the turn asks for no verification")]
struct NoVerification;

/// Does the turns of a verifier.
#[derive(Debug)]
pub struct VerifyWorker {
    workbench: VerifierWorkbench,
    mirrors: MirrorStore,
    properties: Vec<PropertyReport>,
    /// The longest that a question may wait.
    patience: Duration,
}

impl VerifyWorker {
    /// A worker by the configuration, whose sandbox was tried.
    ///
    /// # Errors
    /// [`VerifierStartError`].
    pub async fn start(config: &Config, sandbox: Sandbox) -> Result<Self, VerifierStartError> {
        holdpoint_workspace::require_git().await.map_err(VerifierStartError::Git)?;
        let settings = VerifierSettings::from_config(config, &own_environment());
        let settings = settings.map_err(|(path, source)| VerifierStartError::Path { path, source })?;
        let mirrors = MirrorStore::new(settings.state_dir.join("mirrors"), InputLimits::default());
        let workbench = VerifierWorkbench::new(
            settings,
            sandbox.waiving(config.sandbox.waive.iter().copied()).bounded(config.sandbox.bounds()),
        );
        let workbench = workbench.map_err(VerifierStartError::Workbench)?;
        let properties = workbench.prove().await.map_err(VerifierStartError::Sandbox)?;
        Ok(Self { workbench, mirrors, properties, patience: config.agent.question_patience.duration() })
    }

    /// What the sandbox promises to checks here, and by what.
    #[must_use]
    pub fn properties(&self) -> &[PropertyReport] {
        &self.properties
    }

    /// What was found, with what the judge used up in this delivery and those before it: also where another one ends otherwise.
    async fn findings(&self, job: &Job, request: &VerificationRequest) -> Result<Findings, WorkError> {
        let findings = self.found(job, request).await?;
        Ok(Findings { metered: self.workbench.used(&job.turn.turn_id), ..findings })
    }

    async fn found(&self, job: &Job, request: &VerificationRequest) -> Result<Findings, WorkError> {
        let _standby = self.workbench.stand_by(request).await;
        job.note("fetching the tree");
        let fetched = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles);
        let mirror = match fetched.instrument(info_span!(target: TRACE, "fetch")).await {
            Ok(mirror) => mirror,
            Err(error) if error.is_refusal() => return Ok(refused(request, &error)),
            Err(error) => return Err(WorkError::new("fetch what is to be judged", error)),
        };
        let name = format!("{}-{}", job.turn.turn_id, job.delivery);
        let desk = TurnDesk::new(job, self.patience);
        let terms = VerificationTerms {
            allowance: job.turn.allowance,
            turn: Some(&job.turn.turn_id),
            attempts: Some(Attempts::of(&job.turn)),
        };
        let note = |note: &str| job.note(note);
        match Box::pin(self.workbench.verify_within(terms, (&name, request), &mirror, &note, &desk)).await {
            Ok(findings) => Ok(findings),
            Err(error) if error.is_permanent() => Ok(refused(request, &error)),
            Err(error) => Err(WorkError::new("judge the tree", error)),
        }
    }

    async fn report(&self, job: &Job) -> Result<Final, WorkError> {
        let turn = job.turn_as_it_stands();
        let TurnRequest::Verify(request) = &turn.request else {
            return Err(WorkError::new("take the turn", NoVerification));
        };
        let findings = self.findings(job, request).await?;
        job.note("storing the evidence");
        let stored = store(&job.bus, &job.role, &findings.evidence);
        let stored = stored.instrument(info_span!(target: TRACE, "store")).await;
        stored.map_err(|error| WorkError::new("store the evidence", error))?;
        self.workbench.reported(&findings);
        Ok(match findings.asks {
            Some(JudgeAsks { criterion, ask, output }) => {
                ask::handoff(job, named(&criterion, ask), None, (output, findings.metered))
            }
            None => Final::Verify(report(job, request, findings)),
        })
    }
}

impl Worker for VerifyWorker {
    fn plan(&self, job: &Job) -> PlanHandoff {
        let wanted = match &job.turn.request {
            TurnRequest::Verify(request) => wanted(request),
            TurnRequest::Build(_) | TurnRequest::Complete(_) => Vec::new(),
        };
        let (turn, agent) = (job.turn.turn_id.clone(), job.agent.clone());
        PlanHandoff::Verify(VerificationPlan::new(
            job.origin(),
            VerificationPlanBody { turn, delivery: job.delivery, agent, wanted },
        ))
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        tokio::select! {
            // Dropping the other branch ends every program it has running.
            _ = job.stop.stopped() => Err(WorkError::new("finish the turn", Stopped)),
            done = Box::pin(self.report(&job)) => {
                done.map_err(|error| error.on(NearlyFull::at(self.workbench.state_dir()).as_ref()))
            }
        }
    }
}

/// What the judge asks, with the criterion that it is about.
fn named(criterion: &CriterionId, ask: Ask) -> Ask {
    match ask {
        Ask::Question(question) => Ask::Question(about(criterion, question)),
        Ask::Help(call) => Ask::Help(call),
    }
}

/// What would show each criterion and guard (FLY-10b).
fn wanted(request: &VerificationRequest) -> Vec<EvidenceWanted> {
    let criteria = request.criteria.iter().map(|criterion| EvidenceWanted {
        criterion: criterion.id.clone(),
        command: criterion.check.as_ref().map(|check| check.command.clone()),
    });
    let guards = request
        .guards
        .iter()
        .map(|guard| EvidenceWanted { criterion: guard.id.clone(), command: Some(guard.check.command.clone()) });
    let commands = request.checkpoints.iter().map(|asked| EvidenceWanted {
        criterion: asked.id.clone(),
        command: Some(asked.command.check.command.clone()),
    });
    criteria.chain(guards).chain(commands).collect()
}

fn refused(request: &VerificationRequest, error: &dyn std::error::Error) -> Findings {
    Findings::refused(request, &ErrorChain(error).to_string())
}

/// Stores the bytes that a report refers to.
async fn store(bus: &Bus, role: &RoleId, evidence: &[Evidence]) -> Result<(), BlobError> {
    for evidence in evidence {
        blobs::put(bus, role, evidence.bytes.clone().into()).await?;
    }
    Ok(())
}

fn report(job: &Job, request: &VerificationRequest, findings: Findings) -> VerificationReport {
    VerificationReport::new(
        Origin { artifact_id: findings.report, ..job.origin() },
        VerificationReportBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            purpose: request.purpose,
            commit: request.commit.clone(),
            tree: request.tree.clone(),
            criteria: findings.criteria,
            guards: findings.guards,
            checkpoints: findings.checkpoints,
            violations: findings.violations,
            diff: findings.diff,
            doubts: findings.doubts,
            receipt: findings.receipt,
            self_checked: job.role.as_str() == role::SOLO,
            metered: findings.metered,
            markers_ignored: findings.markers_ignored,
        },
    )
}
