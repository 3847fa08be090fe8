//! Turns as the broker's agents do them: mirrors filled from blobs, results stored as blobs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdpoint_bus::{
    Bus, blobs,
    broker::{LocalBroker, LocalSpec, ServerBinary},
};
use holdpoint_harness::{
    agent::{Final, Job, JobArgs, PlanHandoff, StopReason, Worker, stop_signal},
    build_turn::BuildWorker,
};
use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildStatus, Confidence, LedgerSource},
    facts::{BlobRef, BundleRef},
    ids::{FlightId, role},
    plan::{Check, Criterion, EvidenceLevel},
    streams,
    time::Millis,
    turn::BuildRequest,
};
use holdpoint_runtime::{
    config::{Config, ProgramConfig},
    mirror::{MirrorError, MirrorStore, from_wire, to_wire},
};
use holdpoint_sandbox::Sandbox;
use holdpoint_workspace::InputLimits;

use crate::support::{SHIM, Shop, agent, wait_until};

/// More than any file here has.
const READ_MAX: u64 = 1 << 20;

/// A broker with a repository's snapshot in it, and a builder's connection.
pub(crate) struct Fleet {
    pub(crate) shop: Shop,
    pub(crate) local: LocalBroker,
    bus: Bus,
    snapshot: BundleRef,
}

impl Fleet {
    pub(crate) async fn new() -> Self {
        let shop = Shop::new().await;
        let hint = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
        let binary = ServerBinary::find(&[hint]).await.unwrap();
        let spec = LocalSpec::bound(binary, shop.path("broker"));
        let local = LocalBroker::start(spec).await.unwrap();
        let operator = local.connect(&local.authority.mint_operator(&"op".parse().unwrap())).await.unwrap();
        let snapshot = store(&operator, role::OPERATOR, &shop.path("snapshot.bundle"), &to_wire(&shop.base)).await;
        let builder = role::id(role::BUILDER);
        let minted = local.authority.mint_agent(&builder, &agent(), &streams::fleet_pool(), None).unwrap();
        let bus = local.connect(&minted).await.unwrap();
        Self { shop, local, bus, snapshot }
    }

    async fn worker(&self, command: &str) -> BuildWorker {
        self.worker_at("agent", |program| program.command = Some(command.to_owned())).await
    }

    /// A builder of a machine with this state folder.
    pub(crate) async fn worker_at(&self, state: &str, adjust: impl FnOnce(&mut ProgramConfig)) -> BuildWorker {
        let mut config = Config::default();
        config.agent.state_dir = self.shop.path(state);
        adjust(&mut config.agents.builder);
        BuildWorker::start(&config, role::id(role::BUILDER), Sandbox::new(SHIM)).await.unwrap()
    }

    fn request(&self, request: &mut BuildRequest) {
        request.bundles = vec![self.snapshot.clone()];
        let statement = "It is done".to_owned();
        request.criteria = vec![Criterion { id: "done".parse().unwrap(), statement, check: None }];
    }

    pub(crate) fn job(&self, adjust: impl FnOnce(&mut BuildRequest)) -> (Arc<Job>, holdpoint_harness::agent::Stopper) {
        let (stopper, stop) = stop_signal();
        let turn = self.shop.turn_with(|request| {
            self.request(request);
            adjust(request);
        });
        let job = Job::new(JobArgs {
            turn,
            turn_ref: "HP_JOURNAL/7".to_owned(),
            delivery: 1,
            agent: agent(),
            role: role::id(role::BUILDER),
            bus: self.bus.clone(),
            stop,
            traceparent: None,
        });
        (Arc::new(job), stopper)
    }

    fn mirrors(&self) -> MirrorStore {
        MirrorStore::new(self.shop.path("mirrors"), InputLimits::default())
    }
}

async fn store(bus: &Bus, role: &'static str, file: &Path, tip: &holdpoint_protocol::facts::Oid) -> BundleRef {
    let role = role::id(role);
    let digest = blobs::put_file(bus, &role, file).await.unwrap();
    let bytes = std::fs::metadata(file).unwrap().len();
    BundleRef { blob: BlobRef { role, digest, bytes }, tip: tip.clone(), index: None }
}

fn artifact(handoff: Final) -> BuildArtifact {
    match handoff {
        Final::Build(artifact) => artifact,
        other => panic!("{other:?}"),
    }
}

fn check(command: &str) -> Check {
    Check {
        command: command.to_owned(),
        expect: None,
        red_first: false,
        timeout: Millis::from(Duration::from_secs(60)),
        network: false,
        writes_tree: false,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    }
}

fn flight(id: &str) -> FlightId {
    id.parse().unwrap()
}

#[tokio::test]
async fn a_turn_ends_with_a_handoff_whose_blobs_are_stored() {
    let fleet = Fleet::new().await;
    let worker = fleet.worker("echo two >> a.txt; echo hello").await;
    let (job, _stopper) = fleet.job(|_| {});
    let PlanHandoff::Build(plan) = worker.plan(&job) else { panic!("not a builder's plan") };
    assert!(!plan.declared && plan.coverage.len() == 1 && plan.turn == job.turn.turn_id);

    let artifact = artifact(worker.work(job).await.unwrap());
    assert_eq!((artifact.status, artifact.failure), (BuildStatus::Ok, None));
    assert_eq!(artifact.source_refs, ["HP_JOURNAL/7"]);
    assert_eq!((artifact.touched.len(), artifact.diff.insertions), (1, 1));
    let run = &artifact.ledger[0];
    assert_eq!((run.source, run.exit_code), (LedgerSource::Harness, Some(0)));

    let orchestrator = fleet.local.connect(&fleet.local.orchestrator).await.unwrap();
    let roles = [role::id(role::BUILDER)];
    let output = blobs::get(&orchestrator, run.evidence.unwrap(), &roles, READ_MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&output).contains("\nhello\n"));
    let bundle = artifact.bundle.unwrap();
    assert_eq!(artifact.commit.as_ref(), Some(&bundle.tip));
    let flight = flight("elsewhere");
    let mirror =
        fleet.mirrors().ensure(&orchestrator, &flight, &[fleet.snapshot.clone(), bundle.clone()]).await.unwrap();
    assert_eq!(Some(to_wire(&mirror.tree_of(&from_wire(&bundle.tip)).await.unwrap())), artifact.tree);
}

#[tokio::test]
async fn the_plan_of_a_turn_names_its_targets_validation_coverage_and_budget() {
    let fleet = Fleet::new().await;
    let worker = fleet.worker("true").await;
    let (job, _stopper) = fleet.job(|request| {
        request.scope = vec!["src/**".to_owned()];
        request.criteria[0].check = Some(check("cargo test --quiet"));
        request.budget.output = Some(7_000);
    });
    let PlanHandoff::Build(plan) = worker.plan(&job) else { panic!("not a builder's plan") };
    assert_eq!(plan.file_targets, ["src/**"]);
    assert_eq!(plan.validation, ["cargo test --quiet"]);
    assert_eq!(plan.coverage.iter().map(ToString::to_string).collect::<Vec<_>>(), ["done"]);
    assert_eq!((plan.budget.output, plan.delivery, &plan.agent), (Some(7_000), 1, &agent()));
}

#[tokio::test]
async fn claims_and_an_agents_own_ledger_are_in_the_handoff_apart_from_facts() {
    let fleet = Fleet::new().await;
    let says = "echo two >> a.txt; echo '<validation command=\"make lint\" exit=\"0\">no warnings</validation>'; echo \
        '<acceptance-criterion id=\"done\">I looked</acceptance-criterion>'; echo '<waypoint-complete>w1</waypoint-complete>'";
    let (job, _stopper) = fleet.job(|_| {});
    let artifact = artifact(fleet.worker(says).await.work(job).await.unwrap());
    let [run, told] = artifact.ledger.as_slice() else { panic!("{:?}", artifact.ledger) };
    assert_eq!((run.source, run.evidence.is_some()), (LedgerSource::Harness, true));
    assert_eq!((told.source, told.command.as_str(), told.exit_code), (LedgerSource::Agent, "make lint", Some(0)));
    assert_eq!(told.evidence, None, "nobody but the agent saw it");
    let [claim] = artifact.claims.as_slice() else { panic!("{:?}", artifact.claims) };
    assert_eq!((claim.criterion.to_string(), claim.claim.as_str()), ("done".to_owned(), "I looked"));
    assert_eq!(artifact.completion_claim.as_deref(), Some("w1"));
}

#[tokio::test]
async fn a_question_goes_with_the_work_so_far_as_a_stored_bundle() {
    let fleet = Fleet::new().await;
    let worker = fleet.worker("echo two >> a.txt; holdpoint-ask question 'Which?' --option a --patience 0s").await;
    let (job, _stopper) = fleet.job(|_| {});
    let Final::Clarify(asked) = worker.work(job).await.unwrap() else { panic!("no question") };
    assert_eq!((asked.question.as_str(), asked.options.as_slice()), ("Which?", &["a".to_owned()][..]));
    let work = asked.work.as_ref().expect("the work so far");
    assert_eq!(work.commit, work.bundle.tip);
    let orchestrator = fleet.local.connect(&fleet.local.orchestrator).await.unwrap();
    let bundles = [fleet.snapshot.clone(), work.bundle.clone()];
    let mirror = fleet.mirrors().ensure(&orchestrator, &flight("elsewhere"), &bundles).await.unwrap();
    let tree = mirror.tree_of(&from_wire(&work.commit)).await.unwrap();
    assert_eq!(mirror.list_tree(&tree).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_answer_below_the_confidence_that_the_plan_wants_becomes_a_question() {
    let fleet = Fleet::new().await;
    let command = "echo two >> a.txt; echo '<waypoint-complete confidence=\"low\">w1 guessed</waypoint-complete>'";
    let worker = fleet.worker(command).await;
    let (job, _stopper) = fleet.job(|request| request.ask_below = Some(Confidence::Medium));
    let Final::Clarify(asked) = worker.work(job).await.unwrap() else { panic!("no question") };
    assert!(asked.work.is_some() && asked.decision_context.contains("guessed"), "{asked:?}");
    drop(worker);
    let worker = fleet.worker(command).await;
    let (job, _stopper) = fleet.job(|request| request.ask_below = Some(Confidence::Low));
    assert_eq!(artifact(worker.work(job).await.unwrap()).status, BuildStatus::Ok);
}

#[tokio::test]
async fn a_failure_is_handed_off_with_the_files_that_were_there_and_no_change_without_a_bundle() {
    let fleet = Fleet::new().await;
    let (job, _stopper) = fleet.job(|_| {});
    let nothing = artifact(fleet.worker("true").await.work(job).await.unwrap());
    assert_eq!((nothing.status, nothing.commit, nothing.bundle), (BuildStatus::Ok, None, None));
    assert!(nothing.tree.is_some());
    let (job, _stopper) = fleet.job(|_| {});
    let failed = artifact(fleet.worker("echo x >> a.txt; exit 1").await.work(job).await.unwrap());
    assert_eq!((failed.status, failed.tree), (BuildStatus::Failed, None));
    let (commit, bundle) = (failed.commit.unwrap(), failed.bundle.unwrap());
    assert_eq!(commit, bundle.tip);
    let mirror = fleet.mirrors().ensure(&fleet.bus, &fleet.shop.turn().flight, &[fleet.snapshot.clone(), bundle]).await;
    let files = mirror.unwrap().list_tree(&from_wire(&commit)).await.unwrap();
    assert!(files.iter().any(|entry| entry.path.to_string() == "a.txt"), "{files:?}");
    assert!(failed.failure.is_some() && failed.ledger.len() == 1);
}

#[tokio::test]
async fn what_cannot_be_fetched_is_our_failure_and_not_the_programs() {
    let fleet = Fleet::new().await;
    let worker = fleet.worker("touch \"$HOME/ran\"").await;
    let (job, _stopper) = fleet.job(|request| request.bundles[0].blob.digest = holdpoint_protocol::Digest::of(b"lost"));
    assert!(worker.work(job).await.is_err());
    assert!(!fleet.shop.path("agent/homes/builder/ran").exists());
}

#[tokio::test]
async fn a_stopped_turn_ends_its_program_and_keeps_the_files_for_people_or_for_its_next_delivery() {
    let fleet = Fleet::new().await;
    let worker = Arc::new(fleet.worker("echo two >> a.txt; touch \"$HOME/started\"; sleep 600").await);
    let started = fleet.shop.path("agent/homes/builder/started");
    let over = StopReason::Told { reason: "cancelled".to_owned() };
    for reason in [over, StopReason::Shutdown, StopReason::ForOthers { reason: "a vote".to_owned() }] {
        let (job, stopper) = fleet.job(|_| {});
        let working = tokio::spawn({
            let worker = Arc::clone(&worker);
            async move { worker.work(job).await }
        });
        wait_until(|| started.exists()).await;
        std::fs::remove_file(&started).unwrap();
        stopper.stop(reason.clone());
        let ended = tokio::time::timeout(Duration::from_secs(30), working).await.unwrap().unwrap();
        match ended {
            Ok(left) => {
                let left = artifact(left);
                assert!(matches!(reason, StopReason::Told { .. }) && left.bundle.is_some(), "{reason:?}: {left:?}");
                assert!(left.failure.unwrap().detail.contains("its turn was over: cancelled"));
            }
            Err(_) => assert!(!matches!(reason, StopReason::Told { .. }), "{reason:?}"),
        }
        let left = fleet.shop.path("agent/turns/flight1~w1/left/a.txt");
        assert_eq!(left.exists(), !matches!(reason, StopReason::Told { .. }), "{reason:?}");
    }
    // The turn is given back and comes again: it goes on from what was there.
    drop(worker);
    let worker = fleet.worker("cat > \"$HOME/prompt\"").await;
    let (job, _stopper) = fleet.job(|_| {});
    let done = artifact(worker.work(job).await.unwrap());
    assert_eq!((done.status, done.touched.len()), (BuildStatus::Ok, 1), "{done:?}");
    let prompt = std::fs::read_to_string(fleet.shop.path("agent/homes/builder/prompt")).unwrap();
    assert!(prompt.contains("## What was done so far") && prompt.contains("\n+two\n"), "{prompt}");
    assert!(!fleet.shop.path("agent/turns/flight1~w1").exists(), "nothing stays of a turn that is over");
}

#[tokio::test]
async fn a_mirror_is_filled_once_and_a_broken_one_is_made_anew() {
    let fleet = Fleet::new().await;
    let (id, bundles) = (flight("flight1"), [fleet.snapshot.clone()]);
    let mirrors = fleet.mirrors();
    let (first, second) =
        tokio::join!(mirrors.ensure(&fleet.bus, &id, &bundles), mirrors.ensure(&fleet.bus, &id, &bundles));
    assert_eq!(first.unwrap().dir(), second.unwrap().dir());
    let repository = fleet.shop.path("mirrors/flight1/repository");
    std::fs::write(repository.join("config"), "[core\n").unwrap();
    let mirror = fleet.mirrors().ensure(&fleet.bus, &id, &bundles).await.unwrap();
    assert!(mirror.has(&fleet.shop.base).await.unwrap());
}

#[tokio::test]
async fn a_mirror_that_was_deleted_while_it_was_open_is_filled_again() {
    let fleet = Fleet::new().await;
    let (id, bundles) = (flight("flight1"), [fleet.snapshot.clone()]);
    let mirrors = fleet.mirrors();
    mirrors.ensure(&fleet.bus, &id, &bundles).await.unwrap();
    std::fs::remove_dir_all(fleet.shop.path("mirrors/flight1")).unwrap();
    let mirror = mirrors.ensure(&fleet.bus, &id, &bundles).await.unwrap();
    assert!(!mirror.list_tree(&fleet.shop.base).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_bundle_that_a_turn_names_twice_is_brought_once() {
    let fleet = Fleet::new().await;
    let bundles = [fleet.snapshot.clone(), fleet.snapshot.clone()];
    let mirror = fleet.mirrors().ensure(&fleet.bus, &flight("flight1"), &bundles).await.unwrap();
    assert!(mirror.has(&fleet.shop.base).await.unwrap());
}

#[tokio::test]
async fn a_bundle_that_is_not_what_was_said_is_refused() {
    let fleet = Fleet::new().await;
    let mut wrong = fleet.snapshot.clone();
    wrong.tip = "a".repeat(40).parse().unwrap();
    let error = fleet.mirrors().ensure(&fleet.bus, &flight("f1"), &[wrong]).await.unwrap_err();
    assert!(matches!(error, MirrorError::WrongTip { .. }) && error.is_refusal());
    let longer = BundleRef { blob: BlobRef { bytes: 10, ..fleet.snapshot.blob.clone() }, ..fleet.snapshot.clone() };
    let error = fleet.mirrors().ensure(&fleet.bus, &flight("f2"), &[longer]).await.unwrap_err();
    assert!(matches!(error, MirrorError::Blob { .. }));
}

#[tokio::test]
async fn only_the_latest_mirrors_are_kept() {
    const FLIGHTS: usize = 18;
    let fleet = Fleet::new().await;
    let mirrors = fleet.mirrors();
    for number in 0..FLIGHTS {
        let bundles = [fleet.snapshot.clone()];
        mirrors.ensure(&fleet.bus, &flight(&format!("flight{number}")), &bundles).await.unwrap();
    }
    let there = |number: usize| fleet.shop.path(&format!("mirrors/flight{number}")).exists();
    assert_eq!((0..FLIGHTS).filter(|number| there(*number)).count(), 16);
    assert!(!there(0) && !there(1) && there(FLIGHTS - 1));
    // A mirror that is gone is filled again.
    mirrors.ensure(&fleet.bus, &flight("flight0"), std::slice::from_ref(&fleet.snapshot)).await.unwrap();
}

#[tokio::test]
async fn mirrors_that_were_used_at_the_same_time_go_without_another_flight() {
    const HELD: usize = 18;
    let fleet = Fleet::new().await;
    let (mirrors, bundles) = (fleet.mirrors(), [fleet.snapshot.clone()]);
    let mut held = Vec::new();
    for number in 0..HELD {
        held.push(mirrors.ensure(&fleet.bus, &flight(&format!("held{number}")), &bundles).await.unwrap());
    }
    let in_folder = || std::fs::read_dir(fleet.shop.path("mirrors")).unwrap().count();
    mirrors.prune().await;
    assert_eq!(in_folder(), HELD, "none goes that is used");
    drop(held);
    mirrors.prune().await;
    wait_until(|| in_folder() == 16).await;
}

#[tokio::test]
async fn a_mirror_is_kept_while_it_is_used_however_many_flights_come() {
    const HELD: usize = 18;
    let fleet = Fleet::new().await;
    let (mirrors, bundles) = (fleet.mirrors(), [fleet.snapshot.clone()]);
    let there = |name: &str| fleet.shop.path("mirrors").join(name).exists();
    std::fs::create_dir_all(fleet.shop.path("mirrors/.gone-before")).unwrap();
    let mut held = Vec::new();
    for number in 0..HELD {
        held.push(mirrors.ensure(&fleet.bus, &flight(&format!("held{number}")), &bundles).await.unwrap());
    }
    // A failed fetch takes no mirror from the one that has it.
    let mut missing = fleet.snapshot.clone();
    (missing.blob.digest, missing.tip) = (holdpoint_protocol::Digest::of(b"none"), "1".repeat(40).parse().unwrap());
    mirrors.ensure(&fleet.bus, &flight("held0"), &[missing]).await.unwrap_err();
    for number in 0..2 {
        mirrors.ensure(&fleet.bus, &flight(&format!("passing{number}")), &bundles).await.unwrap();
    }
    for mirror in &held {
        assert!(mirror.has(&fleet.shop.base).await.unwrap(), "{} is gone", mirror.dir().display());
    }
    assert!(!there("passing0"), "the oldest that nobody uses goes");
    drop(held);
    mirrors.ensure(&fleet.bus, &flight("last"), &bundles).await.unwrap();
    let kept = (0..HELD).filter(|number| there(&format!("held{number}"))).count();
    assert!(!there("held1") && there("last"), "what is used no more goes in its turn");
    assert_eq!(kept + usize::from(there("passing1")) + 1, 16);
    let in_folder = || std::fs::read_dir(fleet.shop.path("mirrors")).unwrap().count();
    wait_until(|| in_folder() == 16).await;
}

#[tokio::test]
async fn work_on_an_older_commit_does_not_stand_for_what_else_its_turn_names() {
    let fleet = Fleet::new().await;
    let mut bundles = Vec::new();
    for change in ["echo one >> a.txt", "echo two >> b.txt"] {
        let worker = fleet.worker(change).await;
        let (job, _stopper) = fleet.job(|_| {});
        bundles.push(artifact(worker.work(job).await.unwrap()).bundle.unwrap());
    }
    let [landed, work] = bundles.try_into().unwrap();
    let (mirrors, flight) = (fleet.mirrors(), flight("raced"));
    // The work is examined while nothing has landed; then something lands, and the work is merged with it.
    let orchestrator = fleet.local.connect(&fleet.local.orchestrator).await.unwrap();
    mirrors.ensure(&orchestrator, &flight, &[fleet.snapshot.clone(), work.clone()]).await.unwrap();
    let all = [fleet.snapshot.clone(), landed.clone(), work.clone()];
    let mirror = mirrors.ensure(&orchestrator, &flight, &all).await.unwrap();
    for bundle in all {
        assert!(mirror.has(&from_wire(&bundle.tip)).await.unwrap(), "{} is missing", bundle.tip);
    }
}
