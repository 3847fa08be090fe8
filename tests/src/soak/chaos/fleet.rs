//! A fleet in this process, on a real broker: an orchestrator, and agents of Holdpoint's harness whose programs are chaotic.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use holdpoint_bus::{
    Bus,
    api::{self, ApiError, Call},
    auth::SYSTEM_CREDS,
    blobs,
    broker::{LocalBroker, LocalSpec, ServerBinary, add_roles},
};
use holdpoint_conditions::ConditionHelper;
use holdpoint_harness::{
    agent::{AgentArgs, Worker, start},
    build_turn::{BuildWorker, TurnFolders, Workbench},
};
use holdpoint_orchestrator::Orchestrator;
use holdpoint_planfile::plan;
use holdpoint_protocol::{
    api::{HISTORY, History, HistoryLine, HistoryQuery, STATUS, SUBMIT, StatusQuery, Submit},
    facts::{BlobRef, BundleRef, Oid},
    ids::{AgentName, FlightId, PoolId, RoleId, WaypointId, role},
    journal::Fleet as Facts,
    pages,
    state::Status,
    streams,
    time::Millis,
    view::{FlightStatus, FlightView, WaypointView},
};
use holdpoint_runtime::{config::Config, fresh, mirror::MirrorStore, supervise::Tree};
use holdpoint_sandbox::Sandbox;
use holdpoint_verifier_agent::VerifyWorker;
use holdpoint_workspace::{InputLimits, SNAPSHOT_REF};
use tempfile::TempDir;
use tokio::time::Instant;

use super::{
    agents::{Maker, Verifier, Wire},
    book::Book,
    case::{Case, Kind},
    judge,
    outage::Outage,
    person::Person,
    program::Chaos,
};
use crate::world::{binary, root};

/// The gate of people in `fly-approved`.
const APPROVE: &str = "approve";
/// Who completes gates.
const COMPLETER: &str = "default";
/// How many agents of each role there are.
const COMPLETERS: u32 = 6;
const BUILDERS: u32 = 3;
const VERIFIERS: u32 = 2;
/// Silence after which a turn goes to another agent.
const ACK_WAIT: Duration = Duration::from_secs(10);
/// How long one answer may take; the broker stands still now and then.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a fleet's cases may take together. One that is open then hangs.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Pages of a history that are read.
const PAGES_MAX: usize = 64;
/// What the project asks: envelopes, and no pauses between retries.
const HANDOFF: &str = "retry_settings: {json_retry_delay: 0, stuck_after: 5s}\ncomponents: {builder: {envelope: true}, default: {envelope: true}}\n";

/// See the module.
pub(super) struct Fleet {
    dir: TempDir,
    local: LocalBroker,
    operator: Bus,
    flight: FlightId,
    pool: PoolId,
    base: Oid,
    person: Person,
    agents: Vec<Tree>,
    /// Ends with the fleet.
    _orchestrator: Orchestrator,
}

impl Fleet {
    /// A fleet whose agents do what is in the book of these cases.
    pub(super) async fn start(book: &Arc<Book>, cases: &[Case]) -> Self {
        let dir = tempfile::Builder::new().prefix("holdpoint-chaos-").tempdir().unwrap();
        let spec = LocalSpec::bound(
            ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap(),
            dir.path().join("fleet"),
        );
        let mut local = LocalBroker::start(spec).await.unwrap();
        let completer: RoleId = COMPLETER.parse().unwrap();
        assert!(add_roles(&dir.path().join("fleet"), &mut local.authority, &[(completer, false)]).unwrap());
        local.broker.running().id().unwrap().reload().unwrap();
        let operator = local.authority.mint_operator(&"tester".parse().unwrap());
        let operator = local.connect(&operator).await.unwrap();
        let outage = Arc::new(Outage::of(local.broker.running().id().unwrap().pid));
        let wire = Wire { book: book.clone(), outage };
        let name: AgentName = "human-ann".parse().unwrap();
        let bus = local.connect(&local.authority.mint_operator(&name)).await.unwrap();
        let person = Person { name, bus, wire: wire.clone() };
        let flight = FlightId::try_new(format!("chaos-{}", fresh::suffix())).unwrap();
        let pool = streams::flight_pool(&flight);
        let base = repository(&dir.path().join("repo"));
        let config = config(dir.path(), &local, &pool);
        let orchestrator =
            Box::pin(holdpoint_orchestrator::start(config, ConditionHelper::at(&binary()))).await.unwrap();
        let mut fleet =
            Self { dir, local, operator, flight, pool, base, person, agents: Vec::new(), _orchestrator: orchestrator };
        fleet.people_it(&wire, cases).await;
        fleet
    }

    async fn people_it(&mut self, wire: &Wire, cases: &[Case]) {
        let book = &wire.book;
        for (of, count) in [(COMPLETER, COMPLETERS), (role::BUILDER, BUILDERS)] {
            for n in 1..=count {
                let state = self.dir.path().join(format!("{of}-{n}"));
                let program = Chaos { book: book.clone(), sandbox: Sandbox::new(binary()) };
                let workbench = Workbench::new(program, TurnFolders::open(&state.join("turns")).await.unwrap());
                let inner = BuildWorker::at(workbench, mirrors(&state), Duration::from_secs(5));
                self.agent(of, n, Maker { inner, wire: wire.clone() }).await;
            }
        }
        let judge = judge::command(self.dir.path(), cases);
        for n in 1..=VERIFIERS {
            let state = self.dir.path().join(format!("verifier-{n}"));
            let mut config = Config::default();
            config.agent.state_dir = state.join("judge");
            config.agents.verifier.judge = Some(judge.clone());
            config.agents.verifier.read_paths = vec![judge::reads(self.dir.path())];
            let with_judge = VerifyWorker::start(&config, Sandbox::new(binary())).await.unwrap();
            self.agent(role::VERIFIER, n, Verifier { mirrors: mirrors(&state), with_judge, wire: wire.clone() }).await;
        }
    }

    async fn agent<W: Worker>(&mut self, of: &str, n: u32, worker: W) {
        let of: RoleId = of.parse().unwrap();
        let name = format!("{of}-{n}").parse().unwrap();
        let credentials = self.local.authority.mint_agent(&of, &name, &self.pool, None).unwrap();
        let args = AgentArgs {
            role: of,
            pool: self.pool.clone(),
            ack_wait: ACK_WAIT,
            bus: self.local.connect(&credentials).await.unwrap(),
            trust: Arc::new(self.local.authority.trust_roots().clone()).into(),
            worker: Arc::new(worker),
        };
        self.agents.push(start(args).await.unwrap());
    }

    /// Flies the cases to their end, and gives how the flight stands then.
    ///
    /// # Errors
    /// Which of them hang.
    pub(super) async fn fly(&self, cases: &[Case]) -> Result<FlightView, String> {
        let _: FlightView = self.call(SUBMIT, &self.submission(cases).await).await?;
        let (deadline, mut asked) = (Instant::now() + PATIENCE, BTreeSet::new());
        loop {
            let view = self.view().await?;
            let waits = |waypoint: &&WaypointView| {
                waypoint.status == Status::Waiting
                    && waypoint.gate.as_ref().is_some_and(|gate| gate.as_str() == APPROVE)
            };
            let waiting = view.waypoints.iter().filter(waits).map(|waypoint| waypoint.id.clone());
            let due: Vec<WaypointId> = waiting.filter(|waypoint| asked.insert(waypoint.clone())).collect();
            for waypoint in &due {
                self.person.acts(&self.flight, waypoint).await;
            }
            if !due.is_empty() {
                continue;
            }
            if view.status != FlightStatus::Running {
                return Ok(view);
            }
            if Instant::now() > deadline {
                let open = view.waypoints.iter().filter(|waypoint| waypoint.turn.is_some());
                let open: Vec<_> = open.map(|waypoint| waypoint.id.as_str()).collect();
                return Err(format!("these hang: {}; {:?}", open.join(", "), view.trouble));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn submission(&self, cases: &[Case]) -> Submit {
        let mut text = "plan: chaos\npolicy: {max_reworks: 2}\nwaypoints:\n".to_owned();
        for case in cases {
            let id = case.waypoint();
            let workflow = match case.kind {
                Kind::Completes => "one-gate",
                Kind::Builds | Kind::Judged => "fly",
                Kind::Approved => "fly-approved",
            };
            // A judge learns its case from the criterion.
            let criterion = match case.kind {
                Kind::Judged => format!("id: {id}, statement: the file is right"),
                _ => "id: c, check: \"true\"".to_owned(),
            };
            text += &format!("  - {{id: {id}, goal: g, workflow: {workflow}, criteria: [{{{criterion}}}]}}\n");
        }
        let plan = plan::read(&text, "plan.yaml", plan::BUILT_IN_WORKFLOWS).unwrap();
        let (repo, bundle) = (self.dir.path().join("repo"), self.dir.path().join("snapshot.bundle"));
        git(&repo, &["update-ref", SNAPSHOT_REF, self.base.as_str()]);
        git(&repo, &["bundle", "create", "--quiet", bundle.to_str().unwrap(), SNAPSHOT_REF]);
        let bytes = Bytes::from(std::fs::read(bundle).unwrap());
        let (len, operator) = (bytes.len() as u64, role::id(role::OPERATOR));
        let digest = blobs::put(&self.operator, &operator, bytes).await.unwrap();
        let blob = BlobRef { role: operator, digest, bytes: len };
        Submit {
            flight: self.flight.clone(),
            plan,
            base: self.base.clone(),
            snapshot: BundleRef { blob, tip: self.base.clone(), index: None },
            covenant: "AGENTS.md".to_owned(),
            fleet: Facts {
                pool: self.pool.clone(),
                repair: false,
                judge: true,
                advisors: 0,
                parallel: None,
                queue_grace: Millis(3_600_000),
                build_wall: Millis(600_000),
                dead_after: 3,
            },
            workflows: Vec::new(),
        }
    }

    async fn view(&self) -> Result<FlightView, String> {
        let mut view: FlightView = self.call(STATUS, &StatusQuery::first(self.flight.clone())).await?;
        while let Some(after) = view.next.take() {
            let query = StatusQuery { flight: self.flight.clone(), after: Some(after) };
            pages::join_view(&mut view, self.call(STATUS, &query).await?);
        }
        Ok(view)
    }

    /// Everything about a waypoint, in order.
    pub(super) async fn history(&self, waypoint: &WaypointId) -> Result<Vec<HistoryLine>, String> {
        let (flight, waypoint) = (self.flight.clone(), waypoint.clone());
        let (mut all, mut query) = (Vec::new(), HistoryQuery { flight, waypoint, after: Vec::new() });
        for _ in 0..PAGES_MAX {
            let page: History = self.call(HISTORY, &query).await?;
            all.extend(page.lines);
            let Some(next) = page.next else { break };
            query.after = next;
        }
        Ok(all)
    }

    async fn call<Q: serde::Serialize, A: serde::de::DeserializeOwned>(
        &self,
        endpoint: &str,
        query: &Q,
    ) -> Result<A, String> {
        let payload = Bytes::from(serde_json::to_vec(query).unwrap());
        let deadline = Instant::now() + ANSWER;
        loop {
            let call = Call { endpoint, payload: payload.clone(), timeout: ANSWER, traceparent: None };
            match api::request(&self.operator, call).await {
                Ok(answer) => return serde_json::from_slice(&answer).map_err(|error| format!("{endpoint}: {error}")),
                Err(ApiError::Refused { failure, .. }) if !failure.is_passing() => return Err(format!("{failure:?}")),
                Err(error) if Instant::now() > deadline => return Err(format!("{endpoint}: {error}")),
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }
}

fn mirrors(state: &Path) -> MirrorStore {
    MirrorStore::new(state.join("mirrors"), InputLimits::default())
}

fn config(dir: &Path, local: &LocalBroker, pool: &PoolId) -> Config {
    let keys = dir.join("fleet/keys");
    let mut config = Config::default();
    config.nats.url = local.broker.url();
    config.nats.creds = Some(keys.join("orchestrator.creds"));
    config.nats.trust = Some(keys.join("trust.json"));
    config.orchestrator.state_dir = PathBuf::from(dir).join("orchestrator");
    config.orchestrator.serves = pool.clone();
    config.orchestrator.system_creds = Some(keys.join(SYSTEM_CREDS));
    config
}

fn repository(dir: &Path) -> Oid {
    std::fs::create_dir_all(dir.join(".holdpoint")).unwrap();
    std::fs::write(dir.join(".holdpoint/handoff.yaml"), HANDOFF).unwrap();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--message=begin"]);
    git(dir, &["rev-parse", "HEAD"]).trim().parse().unwrap()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]);
    let output = git.args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
