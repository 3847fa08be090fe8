//! Work that is nothing: a builder that changes nothing, a verifier that finds everything shown.
//!
//! All that the protocol wants is there: plans, final handoffs with every field, and evidence that is stored as a blob.
//! What a check prints that does nothing is always the same, so its blob is stored once and found there afterwards.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use holdpoint_bus::blobs;
use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, CheckRun, ChecklistReceipt,
        CriterionReport, EvidenceWanted, Metered, TreeTested, VerificationPlan, VerificationPlanBody,
        VerificationReport, VerificationReportBody, VerificationRequest,
    },
    facts::{CriterionResult, DiffSummary, Verdict},
    ids::CriterionId,
    plan::Check,
    time::Millis,
    turn::{BuildRequest, TurnRequest},
};
use holdpoint_runtime::agent::{Final, Job, Plan, WorkError, Worker};

/// What a check prints that does nothing.
const OUTPUT: &[u8] = b"nothing was run: all is well\n";

/// See the module.
#[derive(Debug)]
pub(super) struct NoOp {
    think: Duration,
}

impl NoOp {
    /// Thinks so long about each turn.
    pub(super) fn new(think: Duration) -> Self {
        Self { think }
    }
}

impl Worker for NoOp {
    fn plan(&self, job: &Job) -> Plan {
        match &job.turn.request {
            TurnRequest::Build(request) => Plan::Build(build_plan(job, request)),
            TurnRequest::Verify(request) => Plan::Verify(verification_plan(job, request)),
            TurnRequest::Complete(_) => unreachable!("no agent pulls what people complete"),
        }
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        if !self.think.is_zero() {
            tokio::time::sleep(self.think).await;
        }
        match &job.turn.request {
            TurnRequest::Build(_) => Ok(Final::Build(unchanged(&job))),
            TurnRequest::Verify(request) => {
                let put = blobs::put(&job.bus, &job.role, Bytes::from_static(OUTPUT)).await;
                let evidence = put.map_err(|error| WorkError::new("store evidence", error))?;
                Ok(Final::Verify(passed(&job, request, evidence)))
            }
            TurnRequest::Complete(_) => unreachable!("no agent pulls what people complete"),
        }
    }
}

fn build_plan(job: &Job, request: &BuildRequest) -> BuildPlan {
    let criteria = request.criteria.iter().map(|criterion| criterion.id.clone()).collect();
    BuildPlan::new(
        job.origin(),
        BuildPlanBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            declared: false,
            file_targets: Vec::new(),
            validation: Vec::new(),
            coverage: criteria,
            budget: request.budget.clone(),
        },
    )
}

fn unchanged(job: &Job) -> BuildArtifact {
    BuildArtifact::new(
        job.origin(),
        BuildArtifactBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            status: BuildStatus::Ok,
            failure: None,
            commit: None,
            tree: None,
            bundle: None,
            touched: Vec::new(),
            diff: DiffSummary::default(),
            ledger: Vec::new(),
            claims: Vec::new(),
            completion_claim: None,
            metered: Metered::default(),
        },
    )
}

/// What was asked: criteria, then guards, with their commands.
fn asked(request: &VerificationRequest) -> impl Iterator<Item = (&CriterionId, Option<&Check>)> {
    let criteria = request.criteria.iter().map(|criterion| (&criterion.id, criterion.check.as_ref()));
    criteria.chain(request.guards.iter().map(|guard| (&guard.id, Some(&guard.check))))
}

fn verification_plan(job: &Job, request: &VerificationRequest) -> VerificationPlan {
    let wanted = asked(request)
        .map(|(id, check)| EvidenceWanted { criterion: id.clone(), command: check.map(|check| check.command.clone()) });
    let (turn, agent) = (job.turn.turn_id.clone(), job.agent.clone());
    VerificationPlan::new(
        job.origin(),
        VerificationPlanBody { turn, delivery: job.delivery, agent, wanted: wanted.collect() },
    )
}

fn passed(job: &Job, request: &VerificationRequest, evidence: Digest) -> VerificationReport {
    let report = |(id, check)| criterion_report(id, check, evidence);
    let mut criteria: Vec<CriterionReport> = asked(request).map(report).collect();
    let guards = criteria.split_off(request.criteria.len());
    let runs = asked(request).map(|(id, check)| CheckRun {
        criterion: Some(id.clone()),
        command: check.map(|check| check.command.clone()).unwrap_or_default(),
        tested: TreeTested::Handoff,
        tree: request.tree.clone(),
        exit_code: Some(0),
        signal: None,
        duration: Millis(0),
        output: evidence,
        output_bytes: OUTPUT.len() as u64,
        verdict: Verdict::Pass,
        reason: None,
    });
    VerificationReport::new(
        job.origin(),
        VerificationReportBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            purpose: request.purpose,
            commit: request.commit.clone(),
            tree: request.tree.clone(),
            criteria,
            guards,
            violations: Vec::new(),
            diff: DiffSummary::default(),
            doubts: Vec::new(),
            receipt: ChecklistReceipt { checks: runs.collect(), properties: Vec::new(), foreign: true },
            self_checked: false,
        },
    )
}

fn criterion_report(id: &CriterionId, check: Option<&Check>, evidence: Digest) -> CriterionReport {
    CriterionReport {
        result: CriterionResult { id: id.clone(), verdict: Verdict::Pass, reason: None, evidence: vec![evidence] },
        command: check.map(|check| check.command.clone()),
        exit_code: Some(0),
        output_tail: String::from_utf8_lossy(OUTPUT).into_owned(),
        note: None,
    }
}
