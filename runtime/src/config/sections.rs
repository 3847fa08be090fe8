//! The sections of the configuration, field by field, with their defaults.

use std::{fmt, net::SocketAddr, ops::RangeInclusive, path::PathBuf, time::Duration};

use holdpoint_bus::{
    tls::{ClientCertificate, TlsFiles},
    topology::DISK_BYTES,
};
use holdpoint_protocol::{
    ids::{AgentName, PoolId},
    journal::DEAD_AFTER,
    streams,
};
use holdpoint_sandbox::{Bounds, Property};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::units::{ByteSize, TimeSpan};

/// Handoffs of one agent in an hour unless it is configured: five a second, where a turn takes two to a dozen.
const HANDOFFS_PER_HOUR: u32 = 20_000;
/// Flights that one operator may have open unless it is configured.
const OPEN_FLIGHTS: usize = 2_000;
/// Waypoints of these together: twice as many as a restart is measured with (docs/performance.md).
const OPEN_WAYPOINTS: usize = 200_000;

/// `[nats]`: the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatsConfig {
    /// Where it is: `nats://host:port` or `tls://host:port`, several with commas. No user or password: see `creds`.
    pub url: String,
    /// The `.creds` file of this process. Every process needs one, or `creds_dir`.
    pub creds: Option<PathBuf>,
    /// A folder of `.creds` files that several processes of one role share: each takes the first that no other holds, or
    /// that of `agent.name`.
    pub creds_dir: Option<PathBuf>,
    /// The file that says whose signatures count (`trust.json`). Every process needs it.
    pub trust: Option<PathBuf>,
    /// `[nats.tls]`
    pub tls: TlsConfig,
}

impl Default for NatsConfig {
    fn default() -> Self {
        let url = "nats://127.0.0.1:4222".to_owned();
        Self { url, creds: None, creds_dir: None, trust: None, tls: TlsConfig::default() }
    }
}

impl NatsConfig {
    /// What no program of others may read.
    pub fn secrets(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.creds, &self.creds_dir, &self.trust, &self.tls.key].into_iter().flatten()
    }
}

/// `[nats.tls]`: PEM files for TLS to the broker. None are needed where `url` begins with `tls://` and the system believes the
/// broker's certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificates of the authority that issued the broker's; the system's do not count then.
    pub ca: Option<PathBuf>,
    /// The certificate of this process, where the broker asks for one; with `key`.
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

impl TlsConfig {
    /// As a connection wants it.
    #[must_use]
    pub fn files(&self) -> TlsFiles {
        let client = self.cert.clone().zip(self.key.clone());
        TlsFiles { ca: self.ca.clone(), client: client.map(|(cert, key)| ClientCertificate { cert, key }) }
    }
}

/// `[agent]`: an agent process, whatever its role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Its name. It is in the credentials already; where it is given here, it has to be the same.
    pub name: Option<AgentName>,
    /// Which turns it takes: `fleet`, or those of one local flight. The credentials have to be of that pool.
    pub pool: PoolId,
    /// The folder of its mirrors, clones, agent homes and scratch. Agents with `nats.creds_dir` may share it: each works in the folder
    /// of its name in it. Else no other agent uses it.
    pub state_dir: PathBuf,
    /// The folder of what projects depend on, set up once for each state of their lock files. All agents of a machine may share it.
    /// Unset: `environments` in `state_dir`.
    pub environments_dir: Option<PathBuf>,
    /// How long it may be silent before its turn is given to another. A heartbeat is sent at a third of it. The
    /// consumers of the broker are made with the same value.
    pub ack_wait: TimeSpan,
    /// How long a program may have a question wait in its turn, at most.
    pub question_patience: TimeSpan,
    /// How long its turn may go on once it is asked to end; then it gives the turn back. Unset: 20 s, and 4 s in a local
    /// fleet, where a person waits for it.
    pub drain: Option<TimeSpan>,
}

impl AgentConfig {
    /// The folder of environments.
    #[must_use]
    pub fn environments_dir(&self) -> PathBuf {
        self.environments_dir.clone().unwrap_or_else(|| self.state_dir.join("environments"))
    }
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            name: None,
            pool: streams::fleet_pool(),
            state_dir: default_state_dir().join("agent"),
            environments_dir: None,
            ack_wait: TimeSpan::from_secs(30),
            question_patience: TimeSpan::from_secs(10 * 60),
            drain: None,
        }
    }
}

/// `[sandbox]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// Properties that may be missing on this machine. Every report says which were.
    #[serde(deserialize_with = "list")]
    pub waive: Vec<Property>,
    /// Memory that a program and all it starts may have together. Unset: three quarters of the machine's.
    pub memory: Option<ByteSize>,
    /// Disk space that files which a program changes may take up together.
    pub disk: ByteSize,
    /// Processes and threads that a program may have at once.
    pub processes: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        let Bounds { processes, memory_bytes: _, disk_bytes } = Bounds::default();
        Self { waive: Vec::new(), memory: None, disk: ByteSize::from_mib(disk_bytes >> 20), processes }
    }
}

impl SandboxConfig {
    /// What every program may use up.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds {
            processes: self.processes,
            memory_bytes: self.memory.map(ByteSize::bytes),
            disk_bytes: self.disk.bytes(),
        }
    }
}

/// `[telemetry]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// Where traces go, by OTLP over gRPC: `http://host:4317`, unless `OTEL_EXPORTER_OTLP_…` variables say. Unset: nowhere;
    /// trace context is passed on all the same.
    pub otlp_endpoint: Option<String>,
    /// What is logged, as `tracing` filters are written: `info`, `warn,holdpoint_bus=debug`.
    pub log: String,
    /// How it is written to standard error.
    pub log_format: LogFormat,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp_endpoint: None, log: "info".to_owned(), log_format: LogFormat::Text }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// `[health]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthConfig {
    /// Where this process says every few seconds that it is well, for `holdpoint health`. Unset: nowhere.
    pub file: Option<PathBuf>,
}

/// `[metrics]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsConfig {
    /// Where this process serves its metrics to Prometheus, as `address:port`: `http://…/metrics`, without a password and
    /// without TLS, so an address of this machine or of an internal network. Each process has its own port. Unset: nowhere.
    /// Nothing is counted unless metrics are served here or sent by OTLP.
    pub listen: Option<SocketAddr>,
    /// Whether this process also sends them by OTLP over gRPC, to where its traces go.
    pub otlp: bool,
    /// How often it sends them.
    pub otlp_interval: TimeSpan,
}

impl MetricsConfig {
    /// How often metrics may be sent.
    pub const OTLP_INTERVAL: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { listen: None, otlp: false, otlp_interval: TimeSpan::from_secs(15) }
    }
}

/// `[notify]`: how people hear that something waits for them, or that a flight is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifyConfig {
    /// A program and its arguments, started by `run` and `up` with one JSON object on its standard input. Empty: none.
    #[serde(deserialize_with = "list")]
    pub command: Vec<String>,
    /// A URL to which `run` and `up` send the same JSON object by POST. Unset: none.
    pub webhook: Option<String>,
    /// A file with the bearer token that the webhook wants, read for each request.
    pub webhook_token_file: Option<PathBuf>,
    /// How long the command, or a request to the webhook, may take.
    pub timeout: TimeSpan,
}

impl NotifyConfig {
    /// Whether anybody is notified.
    #[must_use]
    pub fn notifies(&self) -> bool {
        !self.command.is_empty() || self.webhook.is_some()
    }
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { command: Vec::new(), webhook: None, webhook_token_file: None, timeout: TimeSpan::from_secs(30) }
    }
}

/// `[orchestrator]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrchestratorConfig {
    /// How long a turn may wait for an agent, besides the time its work may take.
    pub queue_grace: TimeSpan,
    /// How long the program of a build turn may run in the fleet's flights, where the plan does not say.
    pub build_wall: TimeSpan,
    /// How many agents may die of one turn, and how often it may be reopened because no agent answered, before a person
    /// has to act (`holdpoint dead`). 0: there is no bound.
    pub dead_after: u32,
    /// The folder of its mirrors. Orchestrators with `nats.creds_dir` may share it: each works in the folder of its name in it.
    /// Else no other process uses it.
    pub state_dir: PathBuf,
    /// How long it may be silent on a handoff before another orchestrator gets it. The consumers of the broker are made
    /// with the same value.
    pub handoff_ack_wait: TimeSpan,
    /// How long a handoff waits for a blob that it refers to and that is not stored, before it is refused (`never_stored`).
    pub blob_wait: TimeSpan,
    /// The pool whose agents it looks after: it reopens their turns after a deadline. `nobody` for an orchestrator that
    /// only answers questions.
    pub serves: PoolId,
    /// Whether the fleet has repair agents: re-opened build turns of its flights go to them.
    pub repair: bool,
    /// Whether the fleet's verifiers have a judge: criteria without a check can be judged.
    pub judge: bool,
    /// How many agents of the role `advisor` are asked in a round of advice, at most 3; 0: the fleet has none, and calls for
    /// help go to people.
    pub advisors: u32,
    /// Whether checks can reach a network on the fleet's verifiers. Without, a plan that wants one is refused.
    pub verifier_network: bool,
    /// How often in a row making a landing may fail, some seconds apart, before the work is held for a person and what
    /// stands behind it in the queue lands.
    pub landing_attempts: u32,
    /// How many accepted works are verified for the branch at the same time, each merged with those in front of it, at most;
    /// at most 16. There are fewer where verifiers are busy. 1: one after the other.
    pub landing_depth: usize,
    /// How many servers of the broker keep each message: 1, or 3 or 5 in a cluster of at least so many.
    pub replicas: usize,
    /// The disk that the broker has for streams: its `max_file_store`. The blobs of each role may take 8 to 18 % of it and its
    /// handoffs 3 %, those of a declared role 1 % and 0.5 %; what is left is kept for the journals.
    pub broker_disk: ByteSize,
    /// Connections that one key of an agent or operator may have at once. An agent has one, a command of a person one: this is
    /// room for scripts that share a key. The newest beyond it are ended.
    pub connections_per_key: u32,
    /// Credentials of the broker's own account, with which connections are looked at and ended. Without them only the limit
    /// of all agents and operators together holds.
    pub system_creds: Option<PathBuf>,
    /// Hundredths of what its role's room has left that one key may store in an hour; 100: no bound. Its connections are
    /// ended beyond it.
    pub room_per_key: u32,
    /// Handoffs that one agent may hand off in an hour. Further ones are refused, and beyond twice as many its connections
    /// are ended.
    pub handoffs_per_hour: u32,
    /// Requests to the API that one key may send in a minute, to each orchestrator. Further ones are refused with code 429.
    pub requests_per_minute: u32,
    /// Flights that one operator may have open at once. Further submissions are refused.
    pub open_flights: usize,
    /// Waypoints that all open flights of one operator may have together; a flight counts with all of its plan.
    pub open_waypoints: usize,
}

impl Default for OrchestratorConfig {
    fn default() -> Self {
        Self {
            queue_grace: TimeSpan::from_secs(60 * 60),
            build_wall: TimeSpan::from_secs(30 * 60),
            dead_after: DEAD_AFTER,
            state_dir: default_state_dir().join("orchestrator"),
            handoff_ack_wait: TimeSpan::from_secs(10),
            blob_wait: TimeSpan::from_secs(5 * 60),
            serves: streams::fleet_pool(),
            repair: false,
            judge: false,
            advisors: 0,
            verifier_network: true,
            landing_attempts: 150,
            landing_depth: 8,
            replicas: 1,
            broker_disk: ByteSize::from_mib(DISK_BYTES >> 20),
            connections_per_key: 32,
            room_per_key: 50,
            handoffs_per_hour: HANDOFFS_PER_HOUR,
            requests_per_minute: holdpoint_bus::api::REQUESTS_PER_MINUTE,
            system_creds: None,
            open_flights: OPEN_FLIGHTS,
            open_waypoints: OPEN_WAYPOINTS,
        }
    }
}

/// Where state goes unless it is configured: `HOLDPOINT_STATE_DIR`, else below the user's state folder.
fn default_state_dir() -> PathBuf {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("HOLDPOINT_STATE_DIR")
        .or_else(|| Some(var("XDG_STATE_HOME")?.join("holdpoint")))
        .or_else(|| Some(var("HOME")?.join(".local/state/holdpoint")))
        .unwrap_or_else(|| PathBuf::from("/var/lib/holdpoint"))
}

/// Reads a list, or one text with commas: what an environment variable can say.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Visitor<T>(std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list, or a text with commas")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(|item| T::deserialize(de::value::StrDeserializer::new(item))).collect()
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                list.push(item);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_any(Visitor(std::marker::PhantomData))
}
