//! Whole turns against a real broker: bundles fetched, evidence stored, the report made.

use std::{path::Path, sync::Arc};

use holdpoint_bus::{
    Bus, blobs,
    broker::{LocalBroker, LocalSpec, ServerBinary},
};
use holdpoint_harness::agent::{Final, Job, JobArgs, PlanHandoff, StopReason, Stopper, Worker as _, stop_signal};
use holdpoint_protocol::{
    Digest,
    artifact::{GuidancePacket, GuidancePacketBody, VerificationReport, VerificationRequest},
    facts::{BlobRef, BundleRef, Verdict},
    ids::role,
    journal::Record,
    streams, subjects,
    turn::{Turn, TurnRequest},
    version,
};
use holdpoint_runtime::{clock, config::Config};
use holdpoint_sandbox::{Sandbox, Tool};
use holdpoint_verifier_agent::VerifyWorker;
use holdpoint_workspace::{HANDOFF_REF, ObjectId};

use crate::support::{Rig, check, criterion, judged, wait_until_empty};

/// Evidence is smaller than this.
const CAP: u64 = 16 << 20;

/// A verifier with its broker.
struct Fleet {
    rig: Rig,
    broker: LocalBroker,
    verifier: Bus,
    worker: VerifyWorker,
}

impl Fleet {
    async fn start() -> Self {
        let rig = Rig::new(&[("a.txt", "a\n")]).await;
        let hint = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
        let binary = ServerBinary::find(&[hint]).await.expect("a nats-server: see HOLDPOINT_NATS_SERVER");
        let dir = rig.temp.path().join("broker");
        let spec = LocalSpec::bound(binary, dir);
        let broker = Box::pin(LocalBroker::start(spec)).await.unwrap();
        let name = "v1".parse().unwrap();
        let credentials = broker.authority.mint_agent(&role::id(role::VERIFIER), &name, &streams::fleet_pool(), None);
        let verifier = broker.connect(&credentials.unwrap()).await.unwrap();
        let mut config = Config::default();
        config.agent.state_dir = rig.temp.path().join("agent");
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_holdpoint-verifier"));
        let worker = VerifyWorker::start(&config, sandbox).await.unwrap();
        Self { rig, broker, verifier, worker }
    }

    /// Stores the snapshot and the commit as an operator and a builder do.
    async fn bundles(&self, commit: &ObjectId) -> Vec<BundleRef> {
        let handoff = self.rig.temp.path().join("handoff.bundle");
        self.rig.mirror.thin_bundle(&self.rig.base, commit, HANDOFF_REF, &handoff).await.unwrap();
        let operator = self.broker.authority.mint_operator(&"ann".parse().unwrap());
        let builder = "b1".parse().unwrap();
        let builder =
            self.broker.authority.mint_agent(&role::id(role::BUILDER), &builder, &streams::fleet_pool(), None);
        vec![
            self.put(&operator, role::OPERATOR, &self.rig.temp.path().join("snapshot.bundle"), &self.rig.base).await,
            self.put(&builder.unwrap(), role::BUILDER, &handoff, commit).await,
        ]
    }

    async fn put(
        &self,
        credentials: &holdpoint_bus::auth::Credentials,
        name: &'static str,
        file: &Path,
        tip: &ObjectId,
    ) -> BundleRef {
        let bus = self.broker.connect(credentials).await.unwrap();
        let digest = blobs::put_file(&bus, &role::id(name), file).await.unwrap();
        let bytes = std::fs::metadata(file).unwrap().len();
        let blob = BlobRef { role: role::id(name), digest, bytes };
        BundleRef { blob, tip: tip.as_str().parse().unwrap(), index: None }
    }

    fn job(&self, request: VerificationRequest) -> (Arc<Job>, Stopper) {
        let verifier = role::id(role::VERIFIER);
        let waypoint = request.waypoint_id.clone();
        let flight = "flight".parse().unwrap();
        let origin = holdpoint_protocol::artifact::Origin {
            artifact_id: "guidance".parse().unwrap(),
            waypoint_id: waypoint.clone(),
            produced_by_role: role::id(role::ORCHESTRATOR),
            produced_at: clock::now(),
            source_refs: Vec::new(),
        };
        let nothing = Digest::of(b"");
        let turn = Turn {
            schema_version: version::CURRENT,
            turn_id: "turn".parse().unwrap(),
            handoff_subject: subjects::handoff_prefix(&verifier, &flight, &waypoint),
            flight,
            waypoint,
            gate: "verify".parse().unwrap(),
            role: verifier.clone(),
            attempt: 1,
            deadline: clock::now(),
            guidance: GuidancePacket::new(
                origin,
                GuidancePacketBody {
                    covenant_version: nothing,
                    policy_hash: nothing,
                    constraints: Vec::new(),
                    stop_conditions: Vec::new(),
                },
            ),
            request: TurnRequest::Verify(Box::new(request)),
            decision: None,
            for_build: None,
            allowance: None,
            record: Record::at(clock::now()),
        };
        let (stopper, stop) = stop_signal();
        let job = Job::new(JobArgs {
            turn,
            turn_ref: "HP_JOURNAL/1".to_owned(),
            delivery: 2,
            agent: "v1".parse().unwrap(),
            role: verifier,
            bus: self.verifier.clone(),
            stop,
            traceparent: None,
        });
        (Arc::new(job), stopper)
    }

    async fn report(&self, request: VerificationRequest) -> VerificationReport {
        let (job, _stopper) = self.job(request);
        let done = self.worker.work(job).await.unwrap();
        if let Final::Verify(report) = done { Some(report) } else { None }.expect("a report")
    }
}

#[tokio::test]
async fn turn_ends_with_a_report_whose_evidence_is_stored() {
    let fleet = Fleet::start().await;
    let commit = fleet.rig.change(&[("a.txt", Some("b\n"))]).await;
    let criteria = vec![criterion("content", check("cat a.txt && grep -q b a.txt")), judged("words")];
    let mut request = fleet.rig.request(&commit, criteria).await;
    request.bundles = fleet.bundles(&commit).await;

    let (job, _stopper) = fleet.job(request.clone());
    let PlanHandoff::Verify(plan) = fleet.worker.plan(&job) else { panic!("no verification plan") };
    let wanted: Vec<_> = plan.wanted.iter().map(|w| (w.criterion.as_str(), w.command.is_some())).collect();
    assert_eq!(wanted, [("content", true), ("words", false)]);

    let report = fleet.report(request).await;
    assert_eq!((report.turn.as_str(), report.delivery, report.agent.as_str()), ("turn", 2, "v1"));
    assert_eq!(report.source_refs, ["HP_JOURNAL/1"]);
    let verdicts: Vec<_> = report.criteria.iter().map(|c| c.result.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Inconclusive]);
    assert_eq!((report.diff.files, report.receipt.checks.len(), report.receipt.foreign), (1, 1, false));
    let evidence = report.criteria[0].result.evidence[0];
    let reader = fleet.broker.connect(&fleet.broker.orchestrator).await.unwrap();
    let stored = blobs::get(&reader, evidence, &[role::id(role::VERIFIER)], CAP).await.unwrap();
    assert!(String::from_utf8_lossy(&stored).contains("--- standard output: 2 bytes\nb\n"));
}

#[tokio::test]
async fn bundle_that_is_refused_is_reported_and_nothing_is_run() {
    let fleet = Fleet::start().await;
    let commit = fleet.rig.change(&[("a.txt", Some("b\n"))]).await;
    let mut request = fleet.rig.request(&commit, vec![criterion("any", check("true"))]).await;
    request.bundles = fleet.bundles(&commit).await;
    let other = fleet.rig.change(&[("a.txt", Some("c\n"))]).await;
    request.bundles[1].tip = other.as_str().parse().unwrap();
    let report = fleet.report(request).await;
    assert!(report.doubts[0].blocking, "{:?}", report.doubts);
    assert_eq!(report.criteria[0].result.verdict, Verdict::Inconclusive);
    assert!(report.receipt.checks.is_empty() && !report.criteria[0].result.evidence.is_empty());
}

#[tokio::test]
async fn missing_bundle_is_a_failure_of_ours() {
    let fleet = Fleet::start().await;
    let commit = fleet.rig.change(&[("a.txt", Some("b\n"))]).await;
    let mut request = fleet.rig.request(&commit, vec![criterion("any", check("true"))]).await;
    request.bundles = fleet.bundles(&commit).await;
    request.bundles[1].blob.digest = Digest::of(b"never stored");
    let (job, _stopper) = fleet.job(request);
    assert!(fleet.worker.work(job).await.is_err());
}

#[tokio::test]
async fn stopped_turn_ends_its_programs_and_gives_no_report() {
    let fleet = Fleet::start().await;
    let commit = fleet.rig.change(&[("a.txt", Some("b\n"))]).await;
    let mut request = fleet.rig.request(&commit, vec![criterion("long", check("sleep 600"))]).await;
    request.bundles = fleet.bundles(&commit).await;
    let (job, stopper) = fleet.job(request);
    let turns = fleet.rig.temp.path().join("agent/turns");
    let stop = async {
        while !turns.join("turn-2/runs/0/tmp").exists() {
            tokio::task::yield_now().await;
        }
        stopper.stop(StopReason::Shutdown);
    };
    let (done, ()) = tokio::join!(fleet.worker.work(job), stop);
    assert!(done.is_err());
    wait_until_empty(&turns);
}

#[tokio::test]
async fn process_that_is_configured_wrongly_says_so_and_ends_with_exit_2() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("verifier.toml");
    let state = format!("[agent]\nstate_dir = \"{}\"\n", temp.path().join("state").display());
    for (text, says) in [("[agents.verifier]\njugde = \"x\"\n", "jugde"), (state.as_str(), "nats.creds")] {
        std::fs::write(&file, text).unwrap();
        let verifier = Tool::new(env!("CARGO_BIN_EXE_holdpoint-verifier")).arg("--config").arg(&file);
        let output = verifier.run().await.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.code == Some(2) && stderr.contains(says), "{:?}: {stderr}", output.code);
    }
}
