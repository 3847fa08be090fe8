//! One broker process: its configuration file, its start, its end.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_protocol::codec::PAYLOAD_MAX;
use holdpoint_sandbox::{
    ProcessId,
    service::{Lifetime, RunningService, Service, ServiceSpec},
};
use tokio::{net::TcpStream, time::Instant};

use super::{binary::ServerBinary, error::BrokerError};
use crate::auth::write_secret;

/// How long a start may take. It is 10 ms on an idle machine; replaying a big journal after a crash takes seconds.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is looked whether a start is through.
const READY_POLL: Duration = Duration::from_millis(10);
/// How long an orderly end may take before the process is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of the log an error shows.
const LOG_TAIL_LEN: usize = 1200;

/// What kind of broker is wanted.
#[derive(Debug, Clone)]
pub struct BrokerSpec {
    /// The program.
    pub binary: ServerBinary,
    /// The folder for everything it writes; made if need be.
    pub dir: PathBuf,
    /// Who may log in: [`crate::auth::Authority::server_config`].
    pub authority: String,
    /// The port; 0 for any free one, which is kept over restarts of this value.
    pub port: u16,
    /// Whether an acknowledgement waits for the disk. Without, a power failure may lose the last two minutes.
    pub sync_always: bool,
    /// The most memory streams may take, in bytes.
    pub max_memory_bytes: u64,
    /// The most disk streams may take, in bytes.
    pub max_file_bytes: u64,
    /// Whether it goes on when the starting process ends.
    pub lifetime: Lifetime,
}

/// A broker process that accepts connections. Dropping it kills it, unless its lifetime is detached.
#[derive(Debug)]
pub struct Broker {
    spec: BrokerSpec,
    running: RunningService,
}

impl Broker {
    /// The address it listens on: this machine only.
    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Writes the configuration, starts the process and waits until it accepts connections.
    ///
    /// # Errors
    /// The folder cannot be used, or the process does not start or become ready.
    pub async fn start(mut spec: BrokerSpec) -> Result<Self, BrokerError> {
        end_leftovers(&spec).await?;
        let mut running = launch(&spec)?;
        spec.port = ready(&spec, &mut running).await?;
        Ok(Self { spec, running })
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}:{}", Self::HOST, self.spec.port)
    }

    /// The process.
    #[must_use]
    pub fn running(&self) -> &RunningService {
        &self.running
    }

    /// The number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Ends it the hard way and waits until it is gone.
    ///
    /// # Errors
    /// The system cannot tell whether it ended.
    pub async fn kill(&mut self) -> Result<(), BrokerError> {
        self.running.kill();
        self.running.wait().await.map(drop).map_err(BrokerError::Wait)
    }

    /// Ends it in order; the hard way if that takes too long.
    ///
    /// # Errors
    /// The system cannot tell whether it ended.
    pub async fn stop(&mut self) -> Result<(), BrokerError> {
        self.running.terminate();
        match tokio::time::timeout(STOP_TIMEOUT, self.running.wait()).await {
            Ok(ended) => ended.map(drop).map_err(BrokerError::Wait),
            Err(_) => self.kill().await,
        }
    }

    /// Starts it again on the same port and folder, killing it first if it still runs.
    ///
    /// # Errors
    /// As [`Broker::start`].
    pub async fn restart(&mut self) -> Result<(), BrokerError> {
        self.kill().await?;
        self.running = launch(&self.spec)?;
        ready(&self.spec, &mut self.running).await.map(drop)
    }
}

/// Ends servers that an earlier start left on this folder. Two servers on one store would each acknowledge what the
/// other never sees, and one half would be gone after the next start.
async fn end_leftovers(spec: &BrokerSpec) -> Result<(), BrokerError> {
    let left = ProcessId::all_with_argument(configuration_file(spec).as_os_str());
    for server in &left {
        tracing::warn!(pid = server.pid, "ending a server that was left on this folder");
        server.kill().map_err(BrokerError::Leftover)?;
    }
    let deadline = Instant::now() + STOP_TIMEOUT;
    while left.iter().any(ProcessId::alive) && Instant::now() < deadline {
        tokio::time::sleep(READY_POLL).await;
    }
    Ok(())
}

fn configuration_file(spec: &BrokerSpec) -> PathBuf {
    spec.dir.join("nats.conf")
}

fn launch(spec: &BrokerSpec) -> Result<RunningService, BrokerError> {
    let ports = ports_dir(spec);
    // A ports file of an earlier process would name the wrong port.
    match fs::remove_dir_all(&ports) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(BrokerError::Io { path: ports, source }),
        _ => {}
    }
    fs::create_dir_all(&ports).map_err(|source| BrokerError::Io { path: ports.clone(), source })?;
    let file = configuration_file(spec);
    write_secret(&file, configuration(spec).as_bytes()).map_err(BrokerError::Keys)?;
    let service = ServiceSpec {
        program: spec.binary.path().to_owned(),
        args: vec!["--config".into(), file.into_os_string()],
        env: Vec::new(),
        dir: None,
        log: log_file(spec),
        lifetime: spec.lifetime,
    };
    Service::spawn(&service).map_err(BrokerError::Start)
}

fn configuration(spec: &BrokerSpec) -> String {
    let port = if spec.port == 0 { "-1".to_owned() } else { spec.port.to_string() };
    let sync = if spec.sync_always { "  sync_interval: always\n" } else { "" };
    format!(
        "server_name: holdpoint\nlisten: \"{host}:{port}\"\nports_file_dir: {ports}\nmax_payload: {payload}\n\
         jetstream {{\n  store_dir: {store}\n  max_memory_store: {memory}\n  max_file_store: {file}\n{sync}}}\n{authority}",
        host = Broker::HOST,
        payload = PAYLOAD_MAX,
        ports = quoted(&ports_dir(spec)),
        store = quoted(&spec.dir.join("store")),
        memory = spec.max_memory_bytes,
        file = spec.max_file_bytes,
        authority = spec.authority,
    )
}

/// A path as a text of the server's configuration language, which knows JSON's escapes.
fn quoted(path: &Path) -> String {
    serde_json::Value::String(path.to_string_lossy().into_owned()).to_string()
}

fn ports_dir(spec: &BrokerSpec) -> PathBuf {
    spec.dir.join("ports")
}

fn log_file(spec: &BrokerSpec) -> PathBuf {
    spec.dir.join("nats.log")
}

/// Waits until the process accepts connections and reports the port.
async fn ready(spec: &BrokerSpec, running: &mut RunningService) -> Result<u16, BrokerError> {
    let deadline = Instant::now() + READY_TIMEOUT;
    while Instant::now() < deadline {
        if running.try_wait().map_err(BrokerError::Wait)?.is_some() {
            return Err(BrokerError::Ended { log_tail: log_tail(spec) });
        }
        if let Some(port) = announced_port(&ports_dir(spec))
            && TcpStream::connect((Broker::HOST, port)).await.is_ok()
        {
            return Ok(port);
        }
        tokio::time::sleep(READY_POLL).await;
    }
    Err(BrokerError::NotReady { after: READY_TIMEOUT, log_tail: log_tail(spec) })
}

/// The port in the file that the server writes once it listens; `None` while there is none, or half of one.
fn announced_port(dir: &Path) -> Option<u16> {
    #[derive(serde::Deserialize)]
    struct Ports {
        nats: Vec<String>,
    }
    let entry =
        fs::read_dir(dir).ok()?.flatten().find(|entry| entry.path().extension().is_some_and(|e| e == "ports"))?;
    let ports: Ports = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
    ports.nats.first()?.rsplit(':').next()?.parse().ok()
}

fn log_tail(spec: &BrokerSpec) -> String {
    let log = fs::read(log_file(spec)).unwrap_or_default();
    let tail = log.get(log.len().saturating_sub(LOG_TAIL_LEN)..).unwrap_or_default();
    String::from_utf8_lossy(tail).trim().to_owned()
}
