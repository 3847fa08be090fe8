//! A fleet for one measurement: a broker with its real accounts and keys, an orchestrator, agents; a process each kind.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::{
    Bus,
    auth::{Authority, Credentials},
    broker::{LocalBroker, LocalSpec},
};
use holdpoint_protocol::{
    ids::{AgentName, PoolId, RoleId},
    streams,
};
use holdpoint_runtime::{
    config::{ByteSize, Config, TimeSpan},
    process::CONTROL_PIPE,
};
use holdpoint_sandbox::service::{Lifetime, RunningService, Service, ServiceSpec};

use crate::{
    BenchError, Host,
    error::Doing as _,
    peer::{AgentsSpec, PeerSpec},
    streams::Streams,
    usage::Process,
};

/// How often it is looked whether a process has ended that must not.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The disk of a fleet's broker for streams, as far as it is used. Handoffs of a declared role get 0.5 % of it: what 18 reviews of
/// each of 5,000 waypoints take, twice.
const DISK_BYTES: u64 = 64 << 30;
/// How much of a log an error shows.
const LOG_TAIL_LEN: usize = 2 << 10;
/// Flights and waypoints that may be open: a benchmark's one operator opens as many as are measured.
const OPEN_MAX: usize = 1 << 30;
/// Longer than any benchmark takes: turns that nobody takes stay open.
const QUEUE_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Agents of one role.
#[derive(Debug, Clone)]
pub(crate) struct Agents {
    pub(crate) role: RoleId,
    pub(crate) count: u32,
    pub(crate) pool: PoolId,
    /// How long each thinks about a turn.
    pub(crate) think: Duration,
    /// Whether builders make a commit.
    pub(crate) commits: bool,
}

/// A running fleet. Dropping it kills its processes.
pub(crate) struct Fleet {
    pub(crate) local: LocalBroker,
    /// A connection with an operator's credentials.
    pub(crate) operator: Bus,
    pub(crate) streams: Streams,
    dir: PathBuf,
    members: Vec<Member>,
}

/// A process of ours.
pub(crate) struct Member {
    name: String,
    running: RunningService,
    log: PathBuf,
}

impl Fleet {
    /// Starts broker and orchestrator below `dir`. The fleet has these roles besides the built-in ones.
    pub(crate) async fn start(
        host: &Host,
        dir: &Path,
        sync_always: bool,
        roles: &[RoleId],
    ) -> Result<Self, BenchError> {
        make_keys(dir, roles)?;
        let spec =
            LocalSpec { sync_always, disk_bytes: DISK_BYTES, ..LocalSpec::bound(host.server()?, dir.to_owned()) };
        let local = Box::pin(LocalBroker::start(spec)).await.map_err(BenchError::Broker)?;
        let name = AgentName::try_new("driver").doing("name the driver")?;
        let operator = local.authority.mint_operator(&name);
        let operator = local.connect(&operator).await.map_err(BenchError::Broker)?;
        let streams = Streams::connect(&local.broker.url(), &local.orchestrator).await?;
        let mut fleet = Self { local, operator, streams, dir: dir.to_owned(), members: Vec::new() };
        fleet.start_orchestrator()?;
        Ok(fleet)
    }

    /// Starts an orchestrator.
    pub(crate) fn start_orchestrator(&mut self) -> Result<(), BenchError> {
        let keys = self.dir.join("keys");
        let mut config = Config::default();
        config.nats.url = self.local.broker.url();
        config.nats.creds = Some(keys.join("orchestrator.creds"));
        config.nats.trust = Some(keys.join("trust.json"));
        config.orchestrator.state_dir = self.dir.join("orchestrator");
        (config.orchestrator.open_flights, config.orchestrator.open_waypoints) = (OPEN_MAX, OPEN_MAX);
        config.orchestrator.requests_per_minute = u32::MAX;
        config.orchestrator.broker_disk = ByteSize::from_mib(DISK_BYTES >> 20);
        config.orchestrator.queue_grace = TimeSpan::from_secs(QUEUE_GRACE.as_secs());
        let file = self.dir.join("orchestrator.toml");
        write(&file, config.to_toml().as_bytes())?;
        let args = vec!["orchestrator".into(), "--config".into(), file.into()];
        self.members.push(Member::start("orchestrator", &self.dir, args)?);
        Ok(())
    }

    /// Starts an agent of a role as the process that it is, which waits for turns of the whole fleet.
    pub(crate) fn start_agent(&mut self, role: &RoleId, n: u32) -> Result<(), BenchError> {
        const ACTION: &str = "make the credentials of an agent";
        let name = AgentName::try_new(format!("{role}-{n}")).doing(ACTION)?;
        let creds = self.dir.join(format!("{name}.creds"));
        let minted = self.local.authority.mint_own_agent(role, &name, &streams::fleet_pool()).doing(ACTION)?;
        minted.save(&creds).doing(ACTION)?;
        let mut config = Config::default();
        config.nats.url = self.local.broker.url();
        config.nats.creds = Some(creds);
        config.nats.trust = Some(self.dir.join("keys/trust.json"));
        config.agent.state_dir = self.dir.join(name.as_str());
        for (_, program) in config.agents.programs_mut() {
            program.command = Some("true".to_owned());
        }
        let file = self.dir.join(format!("{name}.toml"));
        write(&file, config.to_toml().as_bytes())?;
        let args = vec!["agent".into(), role.as_str().into(), "--config".into(), file.into()];
        self.members.push(Member::start(name.as_str(), &self.dir, args)?);
        Ok(())
    }

    /// Starts agents of one role, all in one process, each with a key and a connection of its own.
    pub(crate) fn start_agents(&mut self, agents: &Agents) -> Result<(), BenchError> {
        let Agents { role, count, pool, think, commits } = agents;
        const ACTION: &str = "make the credentials of an agent";
        let mut creds = Vec::new();
        for n in 0..*count {
            let name = AgentName::try_new(format!("{role}-{n}")).doing(ACTION)?;
            let minted: Credentials = self.local.authority.mint_agent(role, &name, pool, None).doing(ACTION)?;
            let path = self.dir.join(format!("{name}.creds"));
            minted.save(&path).doing(ACTION)?;
            creds.push(path);
        }
        let spec = PeerSpec::Agents(AgentsSpec {
            url: self.local.broker.url(),
            trust: self.dir.join("keys/trust.json"),
            role: role.clone(),
            pool: pool.clone(),
            creds,
            think_ms: u64::try_from(think.as_millis()).unwrap_or(u64::MAX),
            commits: *commits,
        });
        self.members.push(Member::start_peer(&format!("{role}s"), &self.dir, &spec)?);
        Ok(())
    }

    /// Every process that takes part, the broker and this one included.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let broker = Process { name: "broker".to_owned(), pid: self.local.broker.pid() };
        let members = self.members.iter().map(Member::process);
        [Process::own("driver"), broker].into_iter().chain(members).collect()
    }

    /// The process of this name.
    pub(crate) fn process(&self, name: &str) -> Option<Process> {
        self.processes().into_iter().find(|process| process.name == name)
    }

    /// Does `work`, unless a process dies meanwhile.
    pub(crate) async fn during<T>(
        &mut self,
        work: impl Future<Output = Result<T, BenchError>>,
    ) -> Result<T, BenchError> {
        during(&mut self.members, work).await
    }

    /// Ends a process the hard way.
    pub(crate) async fn kill(&mut self, name: &str) -> Result<(), BenchError> {
        let Some(index) = self.members.iter().position(|member| member.name == name) else { return Ok(()) };
        self.members.remove(index).kill().await
    }

    /// Ends everything.
    pub(crate) async fn stop(mut self) -> Result<(), BenchError> {
        for member in self.members.drain(..) {
            member.kill().await?;
        }
        self.local.broker.kill().await.map_err(BenchError::Broker)
    }
}

impl Member {
    /// This executable as another process of a benchmark.
    pub(crate) fn start_peer(name: &str, dir: &Path, spec: &PeerSpec) -> Result<Self, BenchError> {
        let file = dir.join(format!("{name}.json"));
        let text = serde_json::to_vec(spec).doing("write what a process has to do")?;
        write(&file, &text)?;
        Self::start(name, dir, vec!["bench".into(), "peer".into(), file.into()])
    }

    fn start(name: &str, dir: &Path, args: Vec<std::ffi::OsString>) -> Result<Self, BenchError> {
        let log = dir.join(format!("{name}.log"));
        let spec = ServiceSpec {
            program: std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()),
            args,
            env: vec![(CONTROL_PIPE.into(), "1".into())],
            dir: None,
            log: log.clone(),
            lifetime: Lifetime::BoundByPipe,
        };
        let started = Service::spawn(&spec);
        let running = started.map_err(|source| BenchError::Start { name: name.to_owned(), source })?;
        Ok(Self { name: name.to_owned(), running, log })
    }

    pub(crate) fn process(&self) -> Process {
        Process { name: self.name.clone(), pid: self.running.pid() }
    }

    pub(crate) async fn kill(mut self) -> Result<(), BenchError> {
        self.running.kill();
        self.running.wait().await.map(drop).doing("end a process")
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.running.try_wait(), Ok(None))
    }

    fn ended(&self) -> BenchError {
        BenchError::Ended { name: self.name.clone(), log_tail: self.log_tail() }
    }

    fn log_tail(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let tail = bytes.get(bytes.len().saturating_sub(LOG_TAIL_LEN)..).unwrap_or_default();
        String::from_utf8_lossy(tail).trim().to_owned()
    }
}

/// Does `work`, unless one of these dies meanwhile.
pub(crate) async fn during<T>(
    members: &mut [Member],
    work: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let died = async {
        loop {
            if let Some(member) = members.iter_mut().find_map(|member| member.has_ended().then_some(member)) {
                return member.ended();
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let result = tokio::select! {
        result = Box::pin(work) => result,
        error = died => Err(error),
    };
    result.map_err(|error| match error {
        BenchError::TimedOut { what, seconds, .. } => BenchError::TimedOut { what, seconds, logs: logs(members) },
        error => error,
    })
}

/// The end of each process's log, below its name.
fn logs(members: &[Member]) -> String {
    let logged = members.iter().map(|member| (&member.name, member.log_tail())).filter(|(_, tail)| !tail.is_empty());
    logged.map(|(name, tail)| format!("\n{name} logged:\n{tail}")).collect()
}

/// Makes the keys of a fleet with these roles, for a broker that starts with them.
fn make_keys(dir: &Path, roles: &[RoleId]) -> Result<(), BenchError> {
    const ACTION: &str = "make the keys of a fleet";
    let (keys, mut authority) = (dir.join("keys"), Authority::create());
    for role in roles {
        authority.add_role(role, false).doing(ACTION)?;
    }
    let name = AgentName::try_new("orchestrator").doing(ACTION)?;
    authority.mint_orchestrator(&name).save(&keys.join("orchestrator.creds")).doing(ACTION)?;
    authority.save(&keys).doing(ACTION)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), BenchError> {
    std::fs::write(path, bytes).map_err(|source| BenchError::Io { path: path.to_owned(), source })
}
