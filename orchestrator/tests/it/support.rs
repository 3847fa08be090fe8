//! A broker, an orchestrator, a repository, and agents whose every word the test chooses.

mod agent;
mod audited;
mod forged;
pub(crate) mod log;
mod person;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

pub(crate) use agent::{Agent, complete_call};
use bytes::Bytes;
use holdpoint_bus::{
    Bus,
    api::{self, Call},
    auth::SYSTEM_CREDS,
    blobs,
    broker::{LocalBroker, LocalSpec, ServerBinary, add_roles},
};
use holdpoint_conditions::ConditionHelper;
use holdpoint_orchestrator::{Orchestrator, OrchestratorError};
use holdpoint_planfile::plan;
use holdpoint_protocol::{
    api::{STATUS, SUBMIT, StatusQuery, Submit},
    codec::{self, Encoding},
    facts::{BlobRef, BundleRef, Oid},
    ids::{FlightId, PoolId, RoleId, role},
    journal::Fleet,
    pages, streams,
    time::Millis,
    view::{FlightView, WaypointView},
};
use holdpoint_runtime::{config::Config, fresh};
use holdpoint_workspace::{HANDOFF_REF, SNAPSHOT_REF};
pub(crate) use person::Person;
use tempfile::TempDir;

/// How long something that must happen may take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// How long an answer of the API may take before it is asked for once more, as commands do.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// One test's world.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) local: LocalBroker,
    orchestrator: Option<Orchestrator>,
    pub(crate) operator: Bus,
    pub(crate) flight: FlightId,
    pool: PoolId,
    pub(crate) base: Oid,
}

/// Starts an orchestrator. These tests run in no executable of ours, which would be its own helper.
async fn start(config: Config) -> Result<Orchestrator, holdpoint_orchestrator::OrchestratorError> {
    let helper = ConditionHelper::at(Path::new(env!("CARGO_BIN_EXE_holdpoint-orchestrator")));
    // Boxed: it holds several configurations.
    Box::pin(holdpoint_orchestrator::start(config, helper)).await
}

impl World {
    /// A running orchestrator, and a repository with one commit. Its flight has agents of its own.
    pub(crate) async fn start() -> Self {
        let flight = FlightId::try_new(format!("test-{}", fresh::suffix())).unwrap();
        let pool = streams::flight_pool(&flight);
        Self::start_with(flight, pool).await
    }

    /// The same with a fleet that flies all flights.
    pub(crate) async fn of_a_fleet() -> Self {
        let flight = FlightId::try_new(format!("test-{}", fresh::suffix())).unwrap();
        Self::start_with(flight, streams::fleet_pool()).await
    }

    /// The same with a role that neither builds nor verifies, which the fleet's keys get while its orchestrator runs.
    pub(crate) async fn with_role(role: &RoleId) -> Self {
        let mut world = Self::start().await;
        let dir = world.path("fleet");
        assert!(add_roles(&dir, &mut world.local.authority, &[(role.clone(), false)]).unwrap());
        world.local.broker.running().id().unwrap().reload().unwrap();
        world
    }

    async fn start_with(flight: FlightId, pool: PoolId) -> Self {
        let dir = TempDir::new().unwrap();
        let hint = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
        let spec = LocalSpec::bound(ServerBinary::find(&[hint]).await.unwrap(), dir.path().join("fleet"));
        let local = LocalBroker::start(spec).await.unwrap();
        let operator = local.authority.mint_operator(&"tester".parse().unwrap());
        let operator = local.connect(&operator).await.unwrap();
        let base = repository(&dir.path().join("repo"));
        let mut world = Self { dir, local, orchestrator: None, operator, flight, pool, base };
        Box::pin(world.start_orchestrator()).await;
        world
    }

    /// Ends the orchestrator at once, and starts no other.
    pub(crate) fn stop_orchestrator(&mut self) {
        self.orchestrator = None;
    }

    /// The one that runs.
    pub(crate) fn orchestrator(&self) -> &Orchestrator {
        self.orchestrator.as_ref().expect("it runs")
    }

    /// Starts an orchestrator; one that runs already is ended at once.
    pub(crate) async fn start_orchestrator(&mut self) {
        self.orchestrator = None;
        self.orchestrator = Some(start(self.config("orchestrator")).await.unwrap());
    }

    /// The same for a fleet whose verifiers have no network.
    pub(crate) async fn start_orchestrator_without_network(&mut self) {
        self.orchestrator = None;
        let mut config = self.config("orchestrator");
        config.orchestrator.verifier_network = false;
        self.orchestrator = Some(start(config).await.unwrap());
    }

    /// The orchestrator of a fleet that comes up on the same broker, with a state folder of its own.
    pub(crate) async fn fleet_orchestrator(&self) -> Orchestrator {
        let mut config = self.config("fleet-orchestrator");
        config.orchestrator.serves = streams::fleet_pool();
        start(config).await.unwrap()
    }

    /// Another orchestrator along with the first, with a state folder of its own.
    pub(crate) async fn second_orchestrator(&self) -> Orchestrator {
        self.second_orchestrator_with(|_| {}).await
    }

    /// The same with settings of its own.
    pub(crate) async fn second_orchestrator_with(&self, set: impl FnOnce(&mut Config)) -> Orchestrator {
        let mut config = self.config("orchestrator-2");
        set(&mut config);
        start(config).await.unwrap()
    }

    /// One that looks after no agents, as a command starts for itself, with a state folder of its own.
    pub(crate) async fn orchestrator_for_nobody(&self, n: usize) -> Orchestrator {
        let mut config = self.config(&format!("answering-{n}"));
        config.orchestrator.serves = "nobody".parse().unwrap();
        start(config).await.unwrap()
    }

    fn config(&self, state: &str) -> Config {
        let keys = self.dir.path().join("fleet/keys");
        let mut config = Config::default();
        config.nats.url = self.local.broker.url();
        config.nats.creds = Some(keys.join("orchestrator.creds"));
        config.nats.trust = Some(keys.join("trust.json"));
        config.orchestrator.state_dir = self.dir.path().join(state);
        config.orchestrator.serves = self.pool.clone();
        config.orchestrator.system_creds = Some(keys.join(SYSTEM_CREDS));
        config
    }

    /// Takes an agent's credentials back, as far as trust roots go: the broker still lets it in.
    pub(crate) fn revoke(&mut self, agent: &Agent) {
        self.local.authority.revoke(agent.bus.public_key());
        let roots = serde_json::to_vec(self.local.authority.trust_roots()).unwrap();
        std::fs::write(self.path("fleet/keys/trust.json"), roots).unwrap();
    }

    /// Ends the orchestrator at once, as a crash does.
    pub(crate) fn crash_orchestrator(&mut self) {
        self.orchestrator = None;
    }

    /// The broker loses what was acknowledged of people's acts, as it may when it is killed, only more of it: the
    /// orchestrator that starts then is delivered all of them once more.
    pub(crate) async fn acts_come_again(&mut self) {
        self.orchestrator = None;
        self.local.broker.kill().await.unwrap();
        let acts = streams::handoff(&role::id(role::OPERATOR));
        let consumers = folders(&self.path("fleet")).into_iter().filter(|dir| dir.ends_with(format!("{acts}/obs")));
        let removed = consumers.map(|dir| std::fs::remove_dir_all(dir).unwrap()).count();
        assert_eq!(removed, 1, "the consumers of acts are on the disk");
        self.local.broker.restart().await.unwrap();
        Box::pin(self.start_orchestrator()).await;
    }

    /// The broker comes up without the journals, as when its disk was replaced. What an orchestrator that starts then says.
    pub(crate) async fn journals_are_lost(&mut self) -> Option<OrchestratorError> {
        self.orchestrator = None;
        self.local.broker.kill().await.unwrap();
        let journals = format!("streams/{}", streams::JOURNAL);
        let found = folders(&self.path("fleet")).into_iter().filter(|dir| dir.ends_with(&journals));
        assert_eq!(found.map(|dir| std::fs::remove_dir_all(dir).unwrap()).count(), 1, "the journals are on the disk");
        self.local.broker.restart().await.unwrap();
        start(self.config("orchestrator")).await.err()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts an orchestrator that has a silent agent's turn go to another one after a second.
    pub(crate) async fn start_quick_orchestrator(&mut self) {
        Box::pin(self.start_orchestrator_with(|config| config.agent.ack_wait = "1s".parse().unwrap())).await;
    }

    /// Starts an orchestrator with settings of its own.
    pub(crate) async fn start_orchestrator_with(&mut self, set: impl FnOnce(&mut Config)) {
        self.orchestrator = None;
        let mut config = self.config("orchestrator");
        set(&mut config);
        self.orchestrator = Some(start(config).await.unwrap());
    }

    /// Starts an orchestrator whose helper for conditions is not there.
    pub(crate) async fn start_orchestrator_without_helper(&mut self) {
        self.orchestrator = None;
        let helper = ConditionHelper::at(&self.path("no-helper"));
        let started = Box::pin(holdpoint_orchestrator::start(self.config("orchestrator"), helper)).await;
        self.orchestrator = Some(started.unwrap());
    }

    /// Starts an orchestrator that holds work after so many failed landings.
    pub(crate) async fn start_orchestrator_with_landing_attempts(&mut self, landing_attempts: u32) {
        self.orchestrator = None;
        let mut config = self.config("orchestrator");
        config.orchestrator.landing_attempts = landing_attempts;
        self.orchestrator = Some(start(config).await.unwrap());
    }

    /// Submits a plan on the repository; one waypoint is open at a time.
    pub(crate) async fn submit(&self, text: &str) -> FlightView {
        self.submit_for(text, Some(1)).await
    }

    /// Submits a plan for a fleet that may have so many waypoints open at once.
    pub(crate) async fn submit_for(&self, text: &str, parallel: Option<u32>) -> FlightView {
        let submit = self.submission(text, parallel).await;
        self.call(SUBMIT, &submit).await.unwrap()
    }

    /// A plan on the repository, to be submitted.
    pub(crate) async fn submission(&self, text: &str, parallel: Option<u32>) -> Submit {
        let plan = plan::read(text, "plan.yaml", plan::BUILT_IN_WORKFLOWS).unwrap();
        let bundle = self.path("snapshot.bundle");
        git(&self.path("repo"), &["update-ref", SNAPSHOT_REF, self.base.as_str()]);
        git(&self.path("repo"), &["bundle", "create", "--quiet", bundle.to_str().unwrap(), SNAPSHOT_REF]);
        let bytes = Bytes::from(std::fs::read(bundle).unwrap());
        let (len, role) = (bytes.len() as u64, role::id(role::OPERATOR));
        let digest = blobs::put(&self.operator, &role, bytes).await.unwrap();
        Submit {
            flight: self.flight.clone(),
            plan,
            base: self.base.clone(),
            snapshot: BundleRef { blob: BlobRef { role, digest, bytes: len }, tip: self.base.clone(), index: None },
            covenant: "AGENTS.md".to_owned(),
            fleet: Fleet {
                pool: self.pool.clone(),
                repair: false,
                judge: false,
                advisors: 0,
                parallel,
                queue_grace: Millis(3_600_000),
                build_wall: Millis(1_800_000),
                dead_after: 3,
            },
            workflows: Vec::new(),
        }
    }

    pub(crate) async fn call<Q: serde::Serialize, A: serde::de::DeserializeOwned>(
        &self,
        endpoint: &str,
        query: &Q,
    ) -> Result<A, api::ApiError> {
        self.call_as(&self.operator, endpoint, query).await
    }

    /// The same with another operator's credentials.
    pub(crate) async fn call_as<Q: serde::Serialize, A: serde::de::DeserializeOwned>(
        &self,
        operator: &Bus,
        endpoint: &str,
        query: &Q,
    ) -> Result<A, api::ApiError> {
        let payload = Bytes::from(codec::encode(query, Encoding::Json).unwrap());
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            let call = Call { endpoint, payload: payload.clone(), timeout: SOON, traceparent: None };
            // An answer that is on its way while the broker rereads its accounts is lost, and everything asked here may be asked twice.
            match api::request_hedged(operator, call, ASKED_AGAIN_AFTER).await {
                Ok(answer) => return Ok(codec::decode(&answer, Encoding::Json).unwrap()),
                // The broker has not heard of an orchestrator that has just started: a user's command asks again, too.
                Err(api::ApiError::NobodyThere { .. }) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) async fn view(&self) -> FlightView {
        let mut pages = self.view_pages().await.into_iter();
        let mut whole = pages.next().unwrap();
        pages.for_each(|page| pages::join_view(&mut whole, page));
        whole
    }

    /// The view as it comes.
    pub(crate) async fn view_pages(&self) -> Vec<FlightView> {
        let (mut pages, mut query) = (Vec::new(), StatusQuery::first(self.flight.clone()));
        loop {
            let page: FlightView = self.call(STATUS, &query).await.unwrap();
            query.after.clone_from(&page.next);
            pages.push(page);
            if query.after.is_none() {
                return pages;
            }
        }
    }

    /// A stored blob, as a user's command reads it.
    pub(crate) async fn bytes(&self, blob: &BlobRef) -> Bytes {
        blobs::get(&self.operator, blob.digest, std::slice::from_ref(&blob.role), blob.bytes).await.unwrap()
    }

    /// The only waypoint, once this holds of it.
    pub(crate) async fn waypoint_when(&self, what: &str, holds: impl Fn(&WaypointView) -> bool) -> WaypointView {
        let first = |view: &FlightView| view.waypoints.first().cloned().unwrap();
        first(&self.view_when(what, |view| holds(&first(view))).await)
    }

    /// The flight, once this holds of it.
    pub(crate) async fn view_when(&self, what: &str, holds: impl Fn(&FlightView) -> bool) -> FlightView {
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            let view = self.view().await;
            if holds(&view) {
                return view;
            }
            assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}: {view:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// An agent of this flight's pool.
    pub(crate) async fn agent(&self, role: &'static str, name: &str) -> Agent {
        Agent::join(&self.local, &self.pool, role::id(role), name.parse().unwrap()).await
    }

    /// An agent under a key that says that its harness is Holdpoint's own.
    pub(crate) async fn own_agent(&self, role: &'static str, name: &str) -> Agent {
        let (role, name) = (role::id(role), name.parse().unwrap());
        let creds = self.local.authority.mint_own_agent(&role, &name, &self.pool).unwrap();
        Agent::join_as(&self.local, &self.pool, role, name, &creds).await
    }

    /// An agent of the fleet's pool, no matter which is this flight's.
    pub(crate) async fn fleet_agent(&self, role: &'static str, name: &str) -> Agent {
        Agent::join(&self.local, &streams::fleet_pool(), role::id(role), name.parse().unwrap()).await
    }

    /// A commit on the base that changes these files, in a bundle in the blob stream. One without a text is removed.
    pub(crate) async fn commit(&self, agent: &Agent, parent: &str, files: &[(&str, &str)]) -> (Oid, Oid, BundleRef) {
        self.commit_by((&agent.bus, &agent.role), parent, files).await
    }

    /// The same, by anybody.
    pub(crate) async fn commit_by(
        &self,
        (bus, role): (&Bus, &RoleId),
        parent: &str,
        files: &[(&str, &str)],
    ) -> (Oid, Oid, BundleRef) {
        let dir = self.path(&format!("work-{}", fresh::suffix()));
        let repo = self.path("repo");
        git(&repo, &["worktree", "add", "--quiet", "--detach", dir.to_str().unwrap(), parent]);
        for (name, text) in files {
            if text.is_empty() {
                std::fs::remove_file(dir.join(name)).unwrap();
            } else {
                std::fs::write(dir.join(name), text).unwrap();
            }
        }
        git(&dir, &["add", "--all"]);
        git(&dir, &["commit", "--quiet", "--allow-empty", "--message=work"]);
        let commit: Oid = git(&dir, &["rev-parse", "HEAD"]).trim().parse().unwrap();
        let tree: Oid = git(&dir, &["rev-parse", "HEAD^{tree}"]).trim().parse().unwrap();
        git(&repo, &["update-ref", HANDOFF_REF, commit.as_str()]);
        let bundle = dir.with_extension("bundle");
        let range = format!("{}..{HANDOFF_REF}", self.base);
        git(&repo, &["bundle", "create", "--quiet", bundle.to_str().unwrap(), &range]);
        let bytes = Bytes::from(std::fs::read(bundle).unwrap());
        let len = bytes.len() as u64;
        let digest = blobs::put(bus, role, bytes).await.unwrap();
        let blob = BlobRef { role: role.clone(), digest, bytes: len };
        (commit.clone(), tree, BundleRef { blob, tip: commit, index: None })
    }
}

/// A file in which two works can each change their own end.
pub(crate) const LINES: &str = "lines";

/// The text of that file, with words on its first and its last line.
pub(crate) fn lines(first: &str, last: &str) -> String {
    format!("{first}\n{}{last}\n", "as it was\n".repeat(20))
}

/// All folders below one.
fn folders(dir: &Path) -> Vec<PathBuf> {
    let below = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    below.flat_map(|path| folders(&path).into_iter().chain([path])).collect()
}

fn repository(dir: &Path) -> Oid {
    std::fs::create_dir(dir).unwrap();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(dir.join("a"), "1\n").unwrap();
    std::fs::write(dir.join("Makefile"), "all:\n").unwrap();
    std::fs::write(dir.join(LINES), lines("", "")).unwrap();
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--message=begin"]);
    git(dir, &["rev-parse", "HEAD"]).trim().parse().unwrap()
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]);
    let output = git.args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
