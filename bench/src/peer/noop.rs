//! Work that is nothing: a builder that changes nothing, a verifier that finds everything shown, a reviewer that agrees.
//!
//! All that the protocol wants is there: plans, final handoffs with every field, and evidence that is stored as a blob.
//! A check that does nothing always prints the same, so its blob is stored once and found there afterwards.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use holdpoint_bus::blobs;
use holdpoint_harness::{
    agent::{Final, Job, PlanHandoff, WorkError, Worker},
    complete_turn,
};
use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, CheckRun, ChecklistReceipt,
        Completion, CompletionBody, CriterionReport, EvidenceWanted, Metered, Origin, TreeTested, VerificationPlan,
        VerificationPlanBody, VerificationReport, VerificationReportBody, VerificationRequest,
    },
    facts::{CriterionResult, DiffSummary, Verdict},
    ids::{AgentName, CriterionId, TurnId},
    plan::Check,
    state::Outcome,
    time::Millis,
    turn::{BuildRequest, TurnRequest},
};

use super::work::Commits;

/// What a check prints that does nothing.
const OUTPUT: &[u8] = b"nothing was run: all is well\n";

/// See the module.
#[derive(Debug)]
pub(super) struct NoOp {
    think: Duration,
    /// Makes the commits of builders that make some.
    commits: Option<Commits>,
}

impl NoOp {
    /// Thinks so long about each turn.
    pub(super) fn new(think: Duration, commits: bool) -> std::io::Result<Self> {
        Ok(Self { think, commits: commits.then(Commits::new).transpose()? })
    }
}

impl Worker for NoOp {
    fn plan(&self, job: &Job) -> PlanHandoff {
        match &job.turn.request {
            TurnRequest::Build(request) => PlanHandoff::Build(build_plan(job, request)),
            TurnRequest::Verify(request) => PlanHandoff::Verify(verification_plan(job, request)),
            TurnRequest::Complete(_) => PlanHandoff::Complete(complete_turn::handoff::plan(job)),
        }
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        if !self.think.is_zero() {
            tokio::time::sleep(self.think).await;
        }
        match &job.turn.request {
            TurnRequest::Build(request) => Ok(Final::Build(match &self.commits {
                Some(commits) => commits.commit(&job, request, unchanged(&job)).await?,
                None => unchanged(&job),
            })),
            TurnRequest::Verify(request) => {
                let put = blobs::put(&job.bus, &job.role, Bytes::from_static(OUTPUT)).await;
                let evidence = put.map_err(|error| WorkError::new("store evidence", error))?;
                let (turn, agent) = (job.turn.turn_id.clone(), job.agent.clone());
                let hand = Hand { origin: job.origin(), turn, delivery: job.delivery, agent };
                Ok(Final::Verify(passed(hand, request, evidence)))
            }
            TurnRequest::Complete(_) => Ok(Final::Complete(Box::new(completed(&job)))),
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
            left_out: Vec::new(),
            document: None,
            ledger: Vec::new(),
            claims: Vec::new(),
            completion_claim: None,
            markers_ignored: Vec::new(),
            last_words: None,
            metered: Metered::default(),
        },
    )
}

fn completed(job: &Job) -> Completion {
    let body = CompletionBody::of_agent(job.agent.clone(), job.turn.turn_id.clone(), job.delivery);
    let summary = "Looked at, and nothing is wrong.".to_owned();
    Completion::new(job.origin(), CompletionBody { outcome: Some(Outcome::Complete), summary, ..body })
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

/// Who hands off, and about which turn.
#[derive(Debug, Clone)]
pub(crate) struct Hand {
    pub(crate) origin: Origin,
    pub(crate) turn: TurnId,
    pub(crate) delivery: u32,
    pub(crate) agent: AgentName,
}

/// A report that finds everything shown.
pub(crate) fn passed(hand: Hand, request: &VerificationRequest, evidence: Digest) -> VerificationReport {
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
        after: None,
        output: evidence,
        output_bytes: OUTPUT.len() as u64,
        verdict: Verdict::Pass,
        reason: None,
        known_from: None,
    });
    let Hand { origin, turn, delivery, agent } = hand;
    VerificationReport::new(
        origin,
        VerificationReportBody {
            turn,
            delivery,
            agent,
            purpose: request.purpose,
            commit: request.commit.clone(),
            tree: request.tree.clone(),
            criteria,
            guards,
            checkpoints: Vec::new(),
            violations: Vec::new(),
            diff: DiffSummary::default(),
            doubts: Vec::new(),
            receipt: ChecklistReceipt { checks: runs.collect(), properties: Vec::new(), foreign: true },
            self_checked: false,
            metered: None,
            markers_ignored: Vec::new(),
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
