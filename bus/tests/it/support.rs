//! A broker per test, in a folder of its own, and what is sent to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_nats::{Client, HeaderMap, Request, jetstream};
use holdpoint_bus::{
    Bus, Outgoing, Stored,
    auth::{Authority, Credentials, TrustRoots},
    blobs,
    broker::{Broker, BrokerSpec, LocalBroker, LocalSpec, ServerBinary},
    journal::{Append, AppendError, Journal, ReadError, Replay},
    topology::{self, TopologySettings},
};
use holdpoint_protocol::{
    Digest, headers,
    ids::{AgentName, FlightId, PoolId, RoleId, WaypointId, role},
    journal::{EntryKind, Sequence},
    plan::Priority,
    streams,
    subjects::{Fence, JournalKey},
};
use holdpoint_sandbox::service::Lifetime;
use tempfile::TempDir;

/// How long something that must not happen is waited for: the broker answers in well under a tenth of that.
pub(crate) const NOTHING_AFTER: Duration = Duration::from_millis(700);
/// How long something that must happen may take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Returns when the broker has taken up all that this connection sent before, its subscriptions among it: it takes them up
/// in order, and answers this last.
pub(crate) async fn settled(bus: &Bus) {
    let (none, operator) = (Digest::of(b"no such blob"), role::id(role::OPERATOR));
    blobs::get(bus, none, &[operator], 1).await.unwrap_err();
}

/// Everything that a replay gives, in memory at once: journals in tests are short.
pub(crate) async fn all(mut replay: Replay) -> Result<Vec<Stored>, ReadError> {
    let mut read = Vec::new();
    while let Some(stored) = replay.next().await? {
        read.push(stored);
    }
    Ok(read)
}

/// A whole journal.
pub(crate) async fn read(journal: &Journal, key: &JournalKey) -> Result<Vec<Stored>, ReadError> {
    all(journal.replay(&key.filter()).await?).await
}

/// A broker that goes away with its test.
pub(crate) struct TestBroker {
    pub(crate) local: LocalBroker,
    pub(crate) orchestrator: Bus,
    dir: TempDir,
}

impl TestBroker {
    pub(crate) async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let local = LocalBroker::start(spec(dir.path()).await).await.unwrap();
        let orchestrator = local.connect(&local.orchestrator).await.unwrap();
        Self { local, orchestrator, dir }
    }

    /// One whose streams may take so much disk together. It has none yet.
    pub(crate) async fn with_disk(max_file_bytes: u64) -> Self {
        let dir = TempDir::new().unwrap();
        let mut authority = Authority::create();
        let credentials = authority.mint_orchestrator(&"orchestrator".parse().unwrap());
        let spec = BrokerSpec {
            binary: server().await,
            dir: dir.path().join("broker"),
            authority: authority.server_config(),
            port: 0,
            sync_always: false,
            max_memory_bytes: 1 << 20,
            max_file_bytes,
            lifetime: Lifetime::Bound,
        };
        let broker = Broker::start(spec).await.unwrap();
        let local = LocalBroker { authority, broker, orchestrator: credentials };
        let orchestrator = local.connect(&local.orchestrator).await.unwrap();
        Self { local, orchestrator, dir }
    }

    /// Restarts the broker, as a fleet does after a change of its keys.
    pub(crate) async fn restart_with_new_authority(&mut self) {
        self.local.authority.save(&self.dir.path().join("keys")).unwrap();
        self.local.broker.kill().await.unwrap();
        self.local = LocalBroker::start(spec(self.dir.path()).await).await.unwrap();
    }

    pub(crate) fn roots(&self) -> Arc<TrustRoots> {
        Arc::new(self.local.authority.trust_roots().clone())
    }

    /// The folder of the authority.
    pub(crate) fn keys(&self) -> PathBuf {
        self.dir.path().join("keys")
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::new(&self.orchestrator)
    }

    /// Credentials of an agent, an operator or an archivist.
    pub(crate) fn mint(&self, role: &str, name: &str, pool: &PoolId) -> Credentials {
        let name: AgentName = name.parse().unwrap();
        match role {
            role::OPERATOR => self.local.authority.mint_operator(&name),
            role::ARCHIVIST => self.local.authority.mint_archivist(&name, None).unwrap(),
            role => self.local.authority.mint_agent(&role.parse().unwrap(), &name, pool, None).unwrap(),
        }
    }

    /// A connection of an agent of the fleet, of an operator or of an archivist.
    pub(crate) async fn bus(&self, role: &str, name: &str) -> Bus {
        self.local.connect(&self.mint(role, name, &streams::fleet_pool())).await.unwrap()
    }

    /// A bare client, to try what the library does not offer.
    pub(crate) async fn raw(&self, credentials: &Credentials) -> Raw {
        Raw::connect(&self.local.broker.url(), credentials).await
    }

    pub(crate) async fn raw_agent(&self, role: &str, name: &str) -> Raw {
        self.raw(&self.mint(role, name, &streams::fleet_pool())).await
    }

    /// How many messages a stream holds.
    pub(crate) async fn count(&self, stream: &str) -> u64 {
        let client = self.raw(&self.local.orchestrator).await;
        let stream = jetstream::new(client.0).get_stream(stream).await.unwrap();
        stream.cached_info().state.messages
    }

    /// Opens a turn of a flight of the fleet, in a waypoint's empty journal.
    pub(crate) async fn open_turn(&self, flight: &FlightId, waypoint: &str, role: &str, priority: Priority) {
        let key = JournalKey::waypoint(flight, &waypoint.parse().unwrap());
        self.open_turn_of(&streams::fleet_pool(), &key, role, priority).await;
    }

    /// Opens a turn of a local flight, in a waypoint's empty journal.
    pub(crate) async fn open_local_turn(&self, flight: &FlightId, waypoint: &str, role: &str, priority: Priority) {
        let key = JournalKey::waypoint(flight, &waypoint.parse().unwrap());
        self.open_turn_of(&streams::flight_pool(flight), &key, role, priority).await;
    }

    async fn open_turn_of(&self, pool: &PoolId, key: &JournalKey, role: &str, priority: Priority) {
        let kind = EntryKind::Turn { role: role.parse().unwrap(), priority, pool: pool.clone() };
        append(&self.journal(), key, &kind, Sequence(0), &key.filter()).await.unwrap();
    }

    pub(crate) async fn ensure_pool(&self, role: &str, pool: &PoolId, flight: Option<&FlightId>, ack_wait: Duration) {
        let settings = TopologySettings { turn_ack_wait: ack_wait, ..TopologySettings::default() };
        let role: RoleId = role.parse().unwrap();
        topology::ensure_turn_consumers(&self.orchestrator, &role, pool, flight, &settings).await.unwrap();
    }
}

/// A client of the ecosystem, without our library.
pub(crate) struct Raw(pub(crate) Client);

impl Raw {
    pub(crate) async fn connect(url: &str, credentials: &Credentials) -> Self {
        let inbox = format!("_INBOX.{}", credentials.name());
        let options = async_nats::ConnectOptions::with_credentials(&credentials.to_text()).unwrap();
        let servers: Vec<&str> = url.split(',').collect();
        Self(options.custom_inbox_prefix(inbox).connect(servers).await.unwrap())
    }

    /// Publishes and returns the broker's answer.
    pub(crate) async fn ask(&self, subject: &str, payload: &str) -> String {
        self.ask_with(subject, payload, HeaderMap::new()).await
    }

    pub(crate) async fn ask_with(&self, subject: &str, payload: &str, headers: HeaderMap) -> String {
        self.answer(subject, payload, headers, SOON).await.expect("an answer")
    }

    /// Publishes; whether there is no answer, which is what a refusal looks like.
    pub(crate) async fn refused(&self, subject: &str, payload: &str) -> bool {
        self.answer(subject, payload, HeaderMap::new(), NOTHING_AFTER).await.is_none()
    }

    async fn answer(&self, subject: &str, payload: &str, headers: HeaderMap, wait: Duration) -> Option<String> {
        // An inbox of its own: pulled messages come under their own subject.
        let request = Request::new()
            .payload(payload.to_owned().into())
            .headers(headers)
            .inbox(self.0.new_inbox())
            .timeout(Some(wait));
        let answer = self.0.send_request(subject.to_owned(), request).await.ok()?;
        let status = answer.status.map(|status| status.to_string()).unwrap_or_default();
        Some(format!("{status}{}", String::from_utf8_lossy(&answer.payload)))
    }

    /// Publishes with a reply subject and waits until the broker has seen it.
    pub(crate) async fn publish_with_reply(&self, subject: &str, reply: &str, payload: &str) {
        self.0.publish_with_reply(subject.to_owned(), reply.to_owned(), payload.to_owned().into()).await.unwrap();
        self.0.flush().await.unwrap();
    }
}

pub(crate) async fn spec(dir: &Path) -> LocalSpec {
    LocalSpec::bound(server().await, dir.to_owned())
}

pub(crate) async fn server() -> ServerBinary {
    let hint = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
    ServerBinary::find(&[hint]).await.expect("a nats-server: see HOLDPOINT_NATS_SERVER")
}

pub(crate) fn flight(id: &str) -> FlightId {
    id.parse().unwrap()
}

pub(crate) fn waypoint(id: &str) -> WaypointId {
    id.parse().unwrap()
}

pub(crate) fn outgoing(payload: &str, message_id: &str) -> Outgoing {
    Outgoing {
        payload: payload.to_owned().into(),
        content_type: headers::JSON,
        schema: "decided/1.0".to_owned(),
        message_id: message_id.to_owned(),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    }
}

pub(crate) async fn append(
    journal: &Journal,
    key: &JournalKey,
    kind: &EntryKind,
    expected: Sequence,
    id: &str,
) -> Result<Sequence, AppendError> {
    journal
        .append(Append {
            key,
            kind,
            fence: Fence::Journal,
            expected,
            entry: outgoing(&format!("{{\"id\":\"{id}\"}}"), id),
        })
        .await
}
