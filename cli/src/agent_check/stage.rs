//! A private broker with fresh keys, and an orchestrator's part played on it.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    api::{self, ApiFailure, ApiServer},
    auth::KnownUsers,
    broker::{LocalBroker, LocalSpec},
    journal::{Append, Journal},
    signals,
    topology::{self, TopologySettings},
};
use holdpoint_protocol::{
    api::{Going, PROGRESS, Progress, ProgressAnswer, RefusedHandoff},
    codec::{self, Encoding},
    headers,
    ids::{AgentName, RoleId, TurnId},
    journal::{EntryKind, Sequence},
    plan::Priority,
    refusal::RefusalCode,
    roles::Roles,
    streams,
    subjects::{self, Fence, JournalKey},
    turn::Turn,
};
use holdpoint_runtime::{fresh, mirror::MirrorStore};
use holdpoint_sandbox::TemporaryFolder;
use holdpoint_workspace::InputLimits;

use super::{
    fixture::Fixture,
    handed::{Handed, Looker},
    witness::Witness,
};
use crate::{
    failure::{Failure, chain},
    fleet::find_server,
    temporary,
};

/// How long an agent may be silent: short, so that redelivery is soon seen.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(6);
/// The name of the agent under test.
pub(super) const AGENT: &str = "candidate";

/// What the agent asked about each turn, and the answers.
#[derive(Debug, Default)]
struct Told {
    asked: HashMap<TurnId, u32>,
    stop: HashMap<TurnId, String>,
}

/// The stage.
pub(super) struct Stage {
    pub(super) looker: Looker,
    pub(super) witness: Witness,
    pub(super) url: String,
    pub(super) creds: PathBuf,
    pub(super) role: RoleId,
    told: Arc<Mutex<Told>>,
    journal: Journal,
    _api: ApiServer,
    _local: LocalBroker,
    dir: TemporaryFolder,
}

impl Stage {
    /// Sets it.
    pub(super) async fn set(role: RoleId, port: u16) -> Result<Self, Failure> {
        let failed = |what: &str, error: &dyn std::error::Error| {
            let message = format!("{what}: {}", chain(error));
            Failure::environment("stage", message, "`holdpoint doctor` shows what is missing here")
        };
        // The broker would say so in its log, which goes with the stage.
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            let message = format!("port {port} cannot be used: {error}");
            Failure::environment("port", message, "choose another --port, or leave it out")
        })?;
        let dir = temporary::folder()?;
        let local =
            LocalBroker::start(LocalSpec { port, ..LocalSpec::bound(find_server().await?, dir.path().join("fleet")) })
                .await?;
        let bus = local.connect(&local.orchestrator).await?;
        let settings = TopologySettings { turn_ack_wait: ACK_WAIT, ..TopologySettings::default() };
        topology::ensure(&bus, &settings, &Roles::built_in())
            .await
            .map_err(|error| failed("cannot set up the streams", &error))?;
        let agent = AgentName::try_new(AGENT).expect("a literal id");
        let minted = local.authority.mint_agent(&role, &agent, &streams::fleet_pool(), None);
        let minted = minted.map_err(|error| failed("cannot make credentials", &error))?;
        let creds = dir.path().join(format!("{agent}.creds"));
        minted.save(&creds)?;
        let users = KnownUsers::new(Arc::new(local.authority.trust_roots().clone()));
        let told = Arc::new(Mutex::new(Told::default()));
        let witness = Witness::begin(&bus).await.map_err(|error| failed("cannot watch the broker", &error))?;
        let served = serve(&bus, users.clone(), &told).await;
        let looker = Looker {
            fixture: Fixture::store(&bus).await?,
            mirrors: MirrorStore::new(dir.path().join("mirrors"), InputLimits::default()),
            users,
            role: role.clone(),
            agent,
            public_key: minted.public_key().to_owned(),
            bus: bus.clone(),
        };
        Ok(Self {
            looker,
            witness,
            url: local.broker.url(),
            creds,
            role,
            told,
            journal: Journal::new(&bus),
            _api: served.map_err(|error| failed("cannot serve the API", &error))?,
            _local: local,
            dir,
        })
    }

    /// A file of this stage.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Opens a turn, calls it out and hints at it. Gives its place in the journal.
    pub(super) async fn open(&self, turn: &Turn, priority: Priority) -> Result<u64, Failure> {
        let key = JournalKey::waypoint(&turn.flight, &turn.waypoint);
        let kind = EntryKind::Turn { role: turn.role.clone(), priority, pool: streams::fleet_pool() };
        let mut value = serde_json::to_value(turn).expect("plain data with text keys");
        // What a later minor version adds is passed over.
        value["zz_of_a_later_version"] = true.into();
        let entry = Outgoing {
            payload: serde_json::to_vec(&value).expect("plain data with text keys").into(),
            content_type: headers::JSON,
            schema: "turn/1.0".to_owned(),
            message_id: fresh::suffix(),
            traceparent: None,
        };
        let append = Append { key: &key, kind: &kind, fence: Fence::Journal, expected: Sequence(0), entry };
        let appended = self.journal.append(append).await.map_err(|error| self.gone(&error))?;
        let (bus, pool) = (&self.looker.bus, streams::fleet_pool());
        signals::wake_one(bus, &turn.role, &pool, priority).await.map_err(|error| self.gone(&error))?;
        signals::wake(bus, &turn.role, priority).await.map_err(|error| self.gone(&error))?;
        Ok(appended.0)
    }

    /// From now on this turn is not wanted any more.
    pub(super) fn stop(&self, turn: &Turn) {
        let reason = "the turn was superseded".to_owned();
        self.told().stop.insert(turn.turn_id.clone(), reason);
    }

    /// How often the agent asked about a turn and was answered.
    pub(super) fn asked(&self, turn: &Turn) -> u32 {
        self.told().asked.get(&turn.turn_id).copied().unwrap_or(0)
    }

    /// Refuses a handoff.
    pub(super) async fn refuse(&self, handed: &Handed, code: RefusalCode, error: &str) -> Result<(), Failure> {
        let stored = &handed.stored;
        let reference = format!("{}/{}", streams::handoff(&self.role), stored.sequence.0);
        let notice = RefusedHandoff::new(stored.message_id.clone(), reference, code, error.to_owned());
        let payload = codec::encode(&notice, Encoding::Json).expect("plain data with text keys");
        let to = subjects::refused(&self.role, &self.looker.agent);
        signals::send(&self.looker.bus, to, payload.into(), None).await.map_err(|error| self.gone(&error))
    }

    /// What the broker would not let the agent do, in its words.
    pub(super) fn violations(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.path("fleet/broker/nats.log")).unwrap_or_default();
        let violation = |line: &str| {
            let (before, after) = line.split_once("Violation - ")?;
            let kind = before.rsplit(" - ").next()?;
            Some(format!("{kind}Violation: {after}"))
        };
        log.lines().filter_map(violation).collect()
    }

    /// The broker is ours; without it there is nothing to see.
    pub(super) fn gone(&self, error: &dyn std::error::Error) -> Failure {
        let message = format!("the private broker at {} does not answer: {}", self.url, chain(error));
        Failure::environment("broker", message, "call it again")
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(bus: &Bus, users: KnownUsers, told: &Arc<Mutex<Told>>) -> Result<ApiServer, api::ServeError> {
    let told = told.clone();
    api::serve(bus, users, &[PROGRESS], api::REQUESTS_PER_MINUTE, move |request| {
        let told = told.clone();
        async move {
            let asked: Progress = codec::decode(&request.payload, Encoding::Json)
                .map_err(|error| ApiFailure::new(400, format!("cannot read the request: {}", chain(&error))))?;
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            *told.asked.entry(asked.turn.clone()).or_default() += 1;
            let answer = match told.stop.get(&asked.turn) {
                Some(reason) => ProgressAnswer::Stop { reason: reason.clone(), give_back: false },
                None => ProgressAnswer::Continue(Going::default()),
            };
            Ok(Bytes::from(codec::encode(&answer, Encoding::Json).expect("plain data with text keys")))
        }
    })
    .await
}
