//! The agents: Holdpoint's own harness, around work that first does what its case says, and a verifier that reads the tree.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    api::{self, Call},
    blobs,
    handoffs::{self, ShowJwt},
};
use holdpoint_harness::{
    agent::{Final, Job, PlanHandoff, WorkError, Worker},
    build_turn::BuildWorker,
};
use holdpoint_protocol::{
    artifact::{
        Artifact, BuildArtifact, ChecklistReceipt, Completion, CriterionReport, VerificationPlan, VerificationPlanBody,
        VerificationReport, VerificationReportBody, VerificationRequest,
    },
    completing::COMPLETE,
    facts::{CriterionResult, DiffSummary, Verdict},
    headers,
    reason::CriterionReason,
    turn::TurnRequest,
};
use holdpoint_runtime::{
    fresh,
    mirror::{MirrorStore, from_wire},
};
use serde_json::{Value, json};

use super::{
    book::Book,
    case::Fault,
    outage::Outage,
    program::{Chaos, RIGHT, corrupted, truncated, work_of},
};

/// How long an agent stands still.
const STALL: Duration = Duration::from_secs(2);
/// Handoffs of a flood.
const FLOOD: usize = 60;
/// How long a call may take.
const CALL: Duration = Duration::from_secs(5);
/// The largest file that a verifier reads.
const READ_BYTES_MAX: usize = 1 << 10;

/// What goes wrong on the way from an agent to the orchestrator, and what that needs.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) book: Arc<Book>,
    pub(super) outage: Arc<Outage>,
}

impl Wire {
    /// Does what is wrong before a result is handed off that is right.
    async fn goes_wrong(&self, fault: Option<(Fault, u64)>, job: &Job, (kind, artifact): (&str, Value)) {
        let Some((fault, number)) = fault else { return };
        let text = artifact.to_string();
        match fault {
            Fault::Corrupt => send(job, kind, corrupted(&text, number)).await,
            Fault::Truncate => send(job, kind, truncated(&text, number)).await,
            Fault::Stall => tokio::time::sleep(STALL).await,
            // As a panic, which the harness has to catch, without a word on standard error.
            Fault::Crash => std::panic::resume_unwind(Box::new("the agent dies, as its case says")),
            Fault::Lie => {
                for (key, value) in [("turn", json!("turn-of-another")), ("agent", json!("somebody-else"))] {
                    let mut lie = artifact.clone();
                    lie[key] = value;
                    send(job, kind, lie.to_string()).await;
                }
            }
            Fault::Flood => {
                for _ in 0..FLOOD {
                    send(job, kind, "{}".to_owned()).await;
                }
            }
            Fault::Network => self.outage.strike().await,
            Fault::Mcp => {
                let call = json!({"subject": job.turn.handoff_subject, "artifact": "{\"outcome\":", "signature": ""});
                for payload in [call.to_string(), "{\"jsonrpc\": \"2.0\"".to_owned()] {
                    let payload = Bytes::from(payload);
                    let call = Call { endpoint: COMPLETE, payload, timeout: CALL, traceparent: None };
                    assert!(api::request(&job.bus, call).await.is_err(), "a malformed call is refused");
                }
            }
        }
    }
}

/// Publishes anything under the agent's own key.
async fn send(job: &Job, kind: &str, payload: String) {
    let outgoing = Outgoing {
        payload: payload.into(),
        content_type: headers::JSON,
        schema: format!("{kind}/1.0"),
        message_id: format!("{}.{}.{}.{kind}.{}", job.turn.turn_id, job.delivery, job.agent, fresh::number()),
        traceparent: None,
    };
    let subject = format!("{}.{kind}", job.turn.handoff_subject);
    // The broker may stand still at the moment: what is wrong may as well get lost.
    let _ = handoffs::publish(&job.bus, &subject, &outgoing, ShowJwt::No).await;
}

/// A builder, or an agent that completes gates.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) inner: BuildWorker<Chaos>,
    pub(super) wire: Wire,
}

impl Worker for Maker {
    fn plan(&self, job: &Job) -> PlanHandoff {
        self.inner.plan(job)
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        let artifact = self.inner.work(job.clone()).await?;
        let written = match &artifact {
            Final::Build(build) => (BuildArtifact::KIND, json!(build)),
            Final::Complete(completion) => (Completion::KIND, json!(completion)),
            Final::Verify(_) | Final::Clarify(_) | Final::Help(_) => return Ok(artifact),
        };
        let fault = self.wire.book.hands_off(&job.turn.waypoint);
        self.wire.goes_wrong(fault, &job, written).await;
        Ok(artifact)
    }
}

/// A verifier: work passes if its file is right in the very tree.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) mirrors: MirrorStore,
    pub(super) wire: Wire,
}

impl Verifier {
    async fn verdict(&self, job: &Job, request: &VerificationRequest) -> Result<Verdict, WorkError> {
        let failed = |error| WorkError::new("look at the tree", error);
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await;
        let mirror = mirror.map_err(|error| WorkError::new("fetch the tree", error))?;
        let entries = mirror.list_tree(&from_wire(&request.tree)).await.map_err(failed)?;
        let path = work_of(job.turn.waypoint.as_str());
        let Some(entry) = entries.into_iter().find(|entry| entry.path.to_string() == path) else {
            return Ok(Verdict::Fail);
        };
        let bytes = mirror.read_blob(&entry.oid, READ_BYTES_MAX).await.map_err(failed)?;
        Ok(if bytes == RIGHT.as_bytes() { Verdict::Pass } else { Verdict::Fail })
    }
}

impl Worker for Verifier {
    fn plan(&self, job: &Job) -> PlanHandoff {
        let (turn, agent) = (job.turn.turn_id.clone(), job.agent.clone());
        let body = VerificationPlanBody { turn, delivery: job.delivery, agent, wanted: Vec::new() };
        PlanHandoff::Verify(VerificationPlan::new(job.origin(), body))
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        let TurnRequest::Verify(request) = &job.turn.request else {
            return Err(WorkError::new("take the turn", "it asks for no verification"));
        };
        let verdict = self.verdict(&job, request).await?;
        let evidence = store(&job.bus, &job).await?;
        let report = report(&job, request, verdict, evidence);
        let fault = self.wire.book.reports(&job.turn.waypoint);
        self.wire.goes_wrong(fault, &job, (VerificationReport::KIND, json!(report))).await;
        Ok(Final::Verify(report))
    }
}

async fn store(bus: &Bus, job: &Job) -> Result<holdpoint_protocol::Digest, WorkError> {
    let stored = blobs::put(bus, &job.role, Bytes::from_static(b"looked at")).await;
    stored.map_err(|error| WorkError::new("store the evidence", error))
}

fn report(
    job: &Job,
    request: &VerificationRequest,
    verdict: Verdict,
    evidence: holdpoint_protocol::Digest,
) -> VerificationReport {
    let criteria = request.criteria.iter().map(|criterion| CriterionReport {
        result: CriterionResult {
            id: criterion.id.clone(),
            verdict,
            reason: (verdict == Verdict::Fail).then_some(CriterionReason::ExitCode),
            evidence: vec![evidence],
        },
        command: None,
        exit_code: Some(i32::from(verdict == Verdict::Fail)),
        output_tail: "looked at".to_owned(),
        note: None,
    });
    let body = VerificationReportBody {
        turn: job.turn.turn_id.clone(),
        delivery: job.delivery,
        agent: job.agent.clone(),
        purpose: request.purpose,
        commit: request.commit.clone(),
        tree: request.tree.clone(),
        criteria: criteria.collect(),
        guards: Vec::new(),
        violations: Vec::new(),
        diff: DiffSummary::default(),
        doubts: Vec::new(),
        receipt: ChecklistReceipt { checks: Vec::new(), properties: Vec::new(), foreign: true },
        self_checked: false,
        metered: None,
        markers_ignored: Vec::new(),
    };
    VerificationReport::new(job.origin(), body)
}
