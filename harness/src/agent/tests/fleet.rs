//! A broker with an orchestrator that is played by the test, and its agents.

use std::{
    future::Future,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    api::{self, ApiFailure, ApiRequest},
    auth::{KnownUsers, TrustRoots},
    broker::{LocalBroker, LocalSpec, ServerBinary},
    handoffs::{self, HandoffQueue, Received, ShowJwt},
    journal::{Append, Journal},
    signals, topology,
    turns::{Delivery, TurnQueue},
};
use holdpoint_protocol::{
    api::{Going, PROGRESS, Progress, ProgressAnswer, ProgressNotice},
    artifact::{Artifact, BuildArtifact, GivenBack, HandedHead},
    headers,
    ids::{AgentName, FlightId, PoolId, RoleId, WaypointId, role},
    journal::{EntryKind, Sequence},
    plan::Priority,
    roles::Roles,
    subjects::{self, Fence, JournalKey},
    time::Timestamp,
};
use tempfile::TempDir;
use tokio::{
    sync::{Notify, mpsc},
    task::JoinSet,
};

use super::{
    actor::{Actor, Event, Script},
    turn::turn,
};
use crate::agent::{AgentArgs, start};
use holdpoint_runtime::{clock, fresh, supervise::Tree};

/// How long something that must happen may take on a busy machine.
pub(super) const SOON: Duration = Duration::from_secs(60);
/// Long enough for heartbeats of a busy machine, short enough to be waited for.
const ACK_WAIT: Duration = Duration::from_secs(5);

pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it happens in time")
}

/// See the module.
pub(super) struct Fleet {
    local: LocalBroker,
    pub(super) orchestrator: Bus,
    pub(super) roots: Arc<TrustRoots>,
    flight: FlightId,
    pool: PoolId,
    handoffs: mpsc::UnboundedReceiver<Received>,
    /// Takes the handoffs and answers the plans among them.
    _intake: JoinSet<()>,
    watcher: TurnQueue,
    events: (mpsc::UnboundedSender<Event>, mpsc::UnboundedReceiver<Event>),
    go: Arc<Notify>,
    answer: Arc<Mutex<Result<ProgressAnswer, ApiFailure>>>,
    answered: Arc<AtomicU32>,
    troubles: Arc<Mutex<Vec<String>>>,
    api: Option<api::ApiServer>,
    _dir: TempDir,
}

pub(super) fn builder() -> RoleId {
    role::id(role::BUILDER)
}

/// What agents hear of a turn, and how often they did.
type Answers = (Arc<Mutex<Result<ProgressAnswer, ApiFailure>>>, Arc<AtomicU32>);

/// Takes handoffs as an orchestrator does. A plan that asks is answered, unless the answer is a failure.
async fn take(
    mut handoffs: HandoffQueue,
    orchestrator: Bus,
    (answer, answered): Answers,
    taken: mpsc::UnboundedSender<Received>,
) {
    while let Ok(received) = handoffs.next(SOON).await {
        let Some(received) = received else { continue };
        received.ack().await.unwrap();
        let said = answer.lock().unwrap().clone();
        if let (Some(nonce), Ok(answer)) = (received.stored.nonce.clone(), said) {
            let head = HandedHead::decode(&received.stored.payload, None).unwrap();
            let notice = ProgressNotice { turn: head.turn.unwrap(), nonce, answer };
            notify(&orchestrator, &head.agent, &notice).await;
            answered.fetch_add(1, Ordering::SeqCst);
        }
        if taken.send(received).is_err() {
            return;
        }
    }
}

async fn notify(orchestrator: &Bus, agent: &AgentName, notice: &ProgressNotice) {
    let payload = Bytes::from(serde_json::to_vec(notice).unwrap());
    signals::tell(orchestrator, subjects::progress(&builder(), agent), payload).await.unwrap();
}

impl Fleet {
    pub(super) async fn start() -> Self {
        // Starting a broker is a large future.
        Box::pin(Self::set_up()).await
    }

    async fn set_up() -> Self {
        let dir = TempDir::new().unwrap();
        let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
        let spec = LocalSpec::bound(ServerBinary::find(&[kept]).await.unwrap(), dir.path().to_owned());
        let local = LocalBroker::start(spec).await.unwrap();
        let orchestrator = local.connect(&local.orchestrator).await.unwrap();
        let (flight, pool): (FlightId, PoolId) = ("f1".parse().unwrap(), "quick".parse().unwrap());
        let settings = topology::TopologySettings { turn_ack_wait: ACK_WAIT, ..topology::TopologySettings::default() };
        topology::ensure_turn_consumers(&orchestrator, &builder(), &pool, None, &settings).await.unwrap();
        let roots = Arc::new(local.authority.trust_roots().clone());
        let handoffs = HandoffQueue::open(&orchestrator, &builder(), subjects::partition(&flight)).await.unwrap();
        let (answer, answered) =
            (Arc::new(Mutex::new(Ok(ProgressAnswer::Continue(Going::default())))), Arc::new(AtomicU32::new(0)));
        let troubles = Arc::<Mutex<Vec<String>>>::default();
        let handler = {
            let (answer, answered, troubles) = (answer.clone(), answered.clone(), troubles.clone());
            move |request: ApiRequest| {
                let asked: Progress = serde_json::from_slice(&request.payload).unwrap();
                troubles.lock().unwrap().extend(asked.trouble);
                let answer = answer.lock().unwrap().clone();
                answered.fetch_add(1, Ordering::SeqCst);
                async move { answer.map(|answer| Bytes::from(serde_json::to_vec(&answer).unwrap())) }
            }
        };
        let api =
            api::serve(&orchestrator, KnownUsers::new(roots.clone()), &[PROGRESS], api::REQUESTS_PER_MINUTE, handler)
                .await
                .unwrap();
        let (taken, received) = mpsc::unbounded_channel();
        let mut intake = JoinSet::new();
        intake.spawn(take(handoffs, orchestrator.clone(), (answer.clone(), answered.clone()), taken));
        let watcher = local.authority.mint_agent(&builder(), &"watcher".parse().unwrap(), &pool, None).unwrap();
        let watcher = local.connect(&watcher).await.unwrap();
        let watcher = TurnQueue::open(&watcher, &builder(), &pool, roots.clone()).await.unwrap();
        let (events, go) = (mpsc::unbounded_channel(), Arc::new(Notify::new()));
        Self {
            local,
            orchestrator,
            roots,
            flight,
            pool,
            handoffs: received,
            _intake: intake,
            watcher,
            events,
            go,
            answer,
            answered,
            troubles,
            api: Some(api),
            _dir: dir,
        }
    }

    /// An agent of its own connection. Dropping it is as if it was killed.
    pub(super) async fn agent(&mut self, name: &'static str, script: Script) -> Tree {
        let agent = name.parse().unwrap();
        let credentials = self.local.authority.mint_agent(&builder(), &agent, &self.pool, None).unwrap();
        let actor = Actor::new(name, script, self.events.0.clone(), self.go.clone());
        let args = AgentArgs {
            role: builder(),
            pool: self.pool.clone(),
            ack_wait: ACK_WAIT,
            bus: self.local.connect(&credentials).await.unwrap(),
            trust: self.roots.clone().into(),
            worker: Arc::new(actor),
        };
        start(args).await.unwrap()
    }

    /// An agent publishes nothing of use on a waypoint under a message id that is not its own.
    pub(super) async fn squat(&self, agent: &str, waypoint: &str, kind: &str, message_id: &str) {
        let agent = agent.parse().unwrap();
        let credentials = self.local.authority.mint_agent(&builder(), &agent, &self.pool, None).unwrap();
        let bus = self.local.connect(&credentials).await.unwrap();
        let outgoing = Outgoing {
            payload: Bytes::from_static(b"{}"),
            content_type: headers::JSON,
            schema: format!("{kind}/1.0"),
            message_id: message_id.to_owned(),
            traceparent: None,
        };
        let subject = subjects::handoff(&builder(), &self.flight, &waypoint.parse().unwrap(), kind);
        handoffs::publish(&bus, &subject, &outgoing, ShowJwt::No).await.unwrap();
    }

    /// Opens the first turn of a waypoint; its id is `turn-<waypoint>`.
    pub(super) async fn open_turn(&self, waypoint: &str) -> u64 {
        self.open_turn_at(waypoint, clock::now()).await
    }

    /// As [`Fleet::open_turn`], with an entry that says this time.
    pub(super) async fn open_turn_at(&self, waypoint: &str, at: Timestamp) -> u64 {
        self.append(waypoint, serde_json::to_vec(&turn(&self.flight, waypoint, at)).unwrap()).await
    }

    pub(super) async fn append(&self, waypoint: &str, payload: Vec<u8>) -> u64 {
        let waypoint: WaypointId = waypoint.parse().unwrap();
        let entry = Outgoing {
            payload: Bytes::from(payload),
            content_type: headers::JSON,
            schema: "turn/1.0".to_owned(),
            message_id: fresh::suffix(),
            traceparent: Some(super::TRACEPARENT.to_owned()),
        };
        let key = JournalKey::waypoint(&self.flight, &waypoint);
        let kind = EntryKind::Turn { role: builder(), priority: Priority::Medium, pool: self.pool.clone() };
        let append = Append { key: &key, kind: &kind, fence: Fence::Journal, expected: Sequence(0), entry };
        let sequence = Journal::new(&self.orchestrator).append(append).await.unwrap();
        signals::wake(&self.orchestrator, &builder(), Priority::Medium).await.unwrap();
        sequence.0
    }

    pub(super) fn say_stop(&self, reason: &str) {
        *self.answer.lock().unwrap() = Ok(ProgressAnswer::Stop { reason: reason.to_owned(), give_back: false });
    }

    pub(super) fn say_give_back(&self, reason: &str) {
        *self.answer.lock().unwrap() = Ok(ProgressAnswer::Stop { reason: reason.to_owned(), give_back: true });
    }

    pub(super) fn say_continue(&self) {
        *self.answer.lock().unwrap() = Ok(ProgressAnswer::Continue(Going::default()));
    }

    /// The orchestrator answers with a failure.
    pub(super) fn fail(&self, code: u16) {
        *self.answer.lock().unwrap() = Err(ApiFailure::new(code, "as the test says"));
    }

    /// No orchestrator answers any more.
    pub(super) async fn go_silent(&mut self) {
        self.fail(503);
        if let Some(api) = self.api.take() {
            api.stop().await;
        }
    }

    /// So much disk for the streams from now on, in bytes.
    pub(super) async fn give_disk(&self, disk_bytes: u64) {
        let settings =
            topology::TopologySettings { turn_ack_wait: ACK_WAIT, disk_bytes, ..topology::TopologySettings::default() };
        topology::ensure(&self.orchestrator, &settings, &Roles::built_in()).await.unwrap();
    }

    /// Answers a plan of an agent.
    pub(super) async fn notify(&self, agent: &str, turn: &str, nonce: &str, answer: ProgressAnswer) {
        let notice = ProgressNotice { turn: turn.parse().unwrap(), nonce: nonce.to_owned(), answer };
        notify(&self.orchestrator, &agent.parse().unwrap(), &notice).await;
    }

    /// How many questions on progress were answered.
    pub(super) fn answers(&self) -> u32 {
        self.answered.load(Ordering::SeqCst)
    }

    /// What agents said of failures of their own.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap().clone()
    }

    /// Waits until so many questions on progress were answered since the start.
    pub(super) async fn wait_for_answers(&self, count: u32) {
        soon(async {
            while self.answers() < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    pub(super) fn go(&self) {
        self.go.notify_one();
    }

    pub(super) async fn event(&mut self) -> Event {
        soon(self.events.1.recv()).await.unwrap()
    }

    /// No worker did anything that was not asked for yet.
    pub(super) fn nothing_began(&mut self) {
        assert_eq!(self.events.1.try_recv(), Err(mpsc::error::TryRecvError::Empty));
    }

    /// The next handoff of any kind.
    pub(super) async fn handoff(&mut self) -> Received {
        soon(self.handoffs.recv()).await.expect("a handoff in time")
    }

    /// The next final handoff.
    pub(super) async fn final_handoff(&mut self) -> BuildArtifact {
        self.next_of().await
    }

    /// The next that gives a turn back.
    pub(super) async fn given_back(&mut self) -> GivenBack {
        self.next_of().await
    }

    async fn next_of<A: Artifact>(&mut self) -> A {
        loop {
            let received = self.handoff().await;
            if received.stored.subject.ends_with(&format!(".{}", A::KIND)) {
                return serde_json::from_slice(&received.stored.payload).unwrap();
            }
        }
    }

    /// The next turn that nobody holds, within the acknowledgement wait and a little more.
    pub(super) async fn poll(&mut self) -> Option<Delivery> {
        let deadline = tokio::time::Instant::now() + ACK_WAIT + ACK_WAIT / 2;
        loop {
            let delivery = self.watcher.poll().await;
            if delivery.is_some() || tokio::time::Instant::now() > deadline {
                return delivery;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// No turn comes again: each was acknowledged, or is held.
    pub(super) async fn nothing_is_left(&mut self) {
        assert!(self.poll().await.is_none());
    }
}
