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
use holdpoint_verifier_agent::VerifyWorker;
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

/// Who hands off, and where to.
pub(super) struct Sender<'a> {
    pub(super) bus: &'a Bus,
    /// The subject but for the kind.
    pub(super) prefix: &'a str,
    /// What message ids begin with.
    pub(super) id: String,
    pub(super) jwt: ShowJwt,
    /// What it may say that is well formed and not true, by the field.
    pub(super) lies: [(&'static str, Value); 2],
}

impl<'a> Sender<'a> {
    fn of(job: &'a Job) -> Self {
        let id = format!("{}.{}.{}", job.turn.turn_id, job.delivery, job.agent);
        let lies = [("turn", json!("turn-of-another")), ("agent", json!("somebody-else"))];
        Self { bus: &job.bus, prefix: &job.turn.handoff_subject, id, jwt: ShowJwt::No, lies }
    }

    /// Publishes anything under the sender's own key.
    pub(super) async fn send(&self, kind: &str, payload: String) {
        let outgoing = Outgoing {
            payload: payload.into(),
            content_type: headers::JSON,
            schema: format!("{kind}/1.0"),
            message_id: format!("{}.{kind}.{}", self.id, fresh::number()),
            traceparent: None,
        };
        // The broker may stand still at the moment: what is wrong may as well get lost.
        let _ = handoffs::publish(self.bus, &format!("{}.{kind}", self.prefix), &outgoing, self.jwt).await;
    }
}

impl Wire {
    /// Does what is wrong before something is handed off that is right. A sender that is to die is its caller's to end.
    pub(super) async fn goes_wrong(&self, fault: (Fault, u64), from: &Sender<'_>, (kind, artifact): (&str, Value)) {
        let (fault, number) = fault;
        let text = artifact.to_string();
        match fault {
            Fault::Corrupt => from.send(kind, corrupted(&text, number)).await,
            Fault::Truncate => from.send(kind, truncated(&text, number)).await,
            Fault::Stall => tokio::time::sleep(STALL).await,
            Fault::Crash => {}
            Fault::Lie => {
                for (key, value) in &from.lies {
                    let mut lie = artifact.clone();
                    lie[*key] = value.clone();
                    from.send(kind, lie.to_string()).await;
                }
            }
            Fault::Flood => {
                for _ in 0..FLOOD {
                    from.send(kind, "{}".to_owned()).await;
                }
            }
            Fault::Network => self.outage.strike().await,
            Fault::Mcp => {
                let call = json!({"subject": from.prefix, "artifact": "{\"outcome\":", "signature": ""});
                for payload in [call.to_string(), "{\"jsonrpc\": \"2.0\"".to_owned()] {
                    let payload = Bytes::from(payload);
                    let call = Call { endpoint: COMPLETE, payload, timeout: CALL, traceparent: None };
                    assert!(api::request(from.bus, call).await.is_err(), "a malformed call is refused");
                }
            }
        }
    }
}

/// Does what the case says of an agent that is about to hand off.
async fn before(wire: &Wire, fault: Option<(Fault, u64)>, job: &Job, written: (&str, Value)) {
    match fault {
        // As a panic, which the harness has to catch, without a word on standard error.
        Some((Fault::Crash, _)) => std::panic::resume_unwind(Box::new("the agent dies, as its case says")),
        Some(fault) => wire.goes_wrong(fault, &Sender::of(job), written).await,
        None => {}
    }
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
        before(&self.wire, fault, &job, written).await;
        Ok(artifact)
    }
}

/// A verifier: work passes if its file is right in the very tree. What has no check is for Holdpoint's own verifier and its judge.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) mirrors: MirrorStore,
    pub(super) with_judge: VerifyWorker,
    pub(super) wire: Wire,
}

impl Verifier {
    async fn verdict(&self, job: &Job, request: &VerificationRequest) -> Result<Verdict, WorkError> {
        let failed = |error| WorkError::new("look at the tree", error);
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await;
        let mirror = mirror.map_err(|error| WorkError::new("fetch the tree", error))?;
        let entries = mirror.list_tree(&from_wire(&request.tree)).await.map_err(failed)?;
        let path = work_of(job.turn.waypoint.as_str());
        let Some(entry) = entries.iter().find(|entry| entry.path.to_string() == path) else {
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
        if request.criteria.iter().any(|criterion| criterion.check.is_none()) {
            return self.with_judge.work(job.clone()).await;
        }
        let verdict = self.verdict(&job, request).await?;
        let evidence = store(&job.bus, &job).await?;
        let report = report(&job, request, verdict, evidence);
        let fault = self.wire.book.reports(&job.turn.waypoint);
        before(&self.wire, fault, &job, (VerificationReport::KIND, json!(report))).await;
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
        checkpoints: Vec::new(),
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
