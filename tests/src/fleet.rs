//! A fleet whose processes a test starts and ends one by one, as an operator on several machines would: a broker with its
//! keys, any number of orchestrators and agents, each with credentials and a configuration file of its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use holdpoint_bus::{
    auth::Credentials,
    broker::{LocalBroker, LocalSpec, ServerBinary},
};
use holdpoint_protocol::{
    ids::{AgentName, role},
    streams,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::runtime::Runtime;

use crate::{
    account::SoakAccount,
    world::{Finished, PATIENCE, RunningProcess, World, binary, root},
};

/// How long an orchestrator or agent may be silent: short, because tests wait for it.
const ACK_WAIT: &str = "3s";

/// A running fleet. Processes that still run when it is dropped are ended.
pub struct TestFleet {
    /// The repository, the plan and all folders.
    pub world: World,
    runtime: Runtime,
    local: LocalBroker,
    processes: BTreeMap<String, RunningProcess>,
    /// How each was started.
    commands: BTreeMap<String, Vec<String>>,
    /// The program that the next ones are started by.
    program: PathBuf,
}

impl TestFleet {
    /// A broker, and nobody else yet.
    #[must_use]
    pub fn new(world: World) -> Self {
        let runtime = Runtime::new().unwrap();
        let dir = world.path("fleet");
        let local = runtime.block_on(async {
            let binary = ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap();
            let spec = LocalSpec::bound(binary, dir);
            LocalBroker::start(spec).await.unwrap()
        });
        let operator = local.authority.mint_operator(&"human-tester".parse().unwrap());
        operator.save(&world.path("operator.creds")).unwrap();
        let (processes, commands) = (BTreeMap::new(), BTreeMap::new());
        Self { world, runtime, local, processes, commands, program: binary() }
    }

    /// From now on processes are started by this program.
    pub fn by(&mut self, program: PathBuf) {
        self.program = program;
    }

    /// Starts an orchestrator called `orchestrator-<n>`.
    pub fn orchestrator(&mut self, n: u32) {
        let creds = self.world.path("fleet/keys/orchestrator.creds");
        self.start(&format!("orchestrator-{n}"), &["orchestrator"], &creds, "");
    }

    /// Starts an agent called `<role>-<n>`; builders and repair agents run this program.
    pub fn agent(&mut self, role: &'static str, n: u32, program: Option<&str>) {
        let name = format!("{role}-{n}");
        let creds = self.world.path(&format!("{name}.creds"));
        self.mint(role, &name).save(&creds).unwrap();
        let plan = self.world.path("plan");
        let agents = program.map(|program| {
            format!("[agents.{role}]\ncommand = {program:?}\nread_paths = [{:?}]\n", plan.display().to_string())
        });
        self.start(&name, &["agent", role], &creds, &agents.unwrap_or_default());
    }

    fn mint(&self, role: &'static str, name: &str) -> Credentials {
        let name: AgentName = name.parse().unwrap();
        self.local.authority.mint_own_agent(&role::id(role), &name, &streams::fleet_pool()).unwrap()
    }

    fn start(&mut self, name: &str, args: &[&str], creds: &Path, more: &str) {
        let (file, state) = (self.world.path(&format!("{name}.toml")), self.world.path(&format!("{name}.state")));
        let trust = self.world.path("fleet/keys/trust.json");
        let text = format!(
            "[nats]\nurl = {:?}\ncreds = {creds:?}\ntrust = {trust:?}\n\
             [orchestrator]\nstate_dir = {state:?}\nhandoff_ack_wait = {ACK_WAIT:?}\n\
             [agent]\nstate_dir = {state:?}\nack_wait = {ACK_WAIT:?}\n{more}",
            self.local.broker.url(),
        );
        fs::write(&file, text).unwrap();
        self.commands.insert(name.to_owned(), args.iter().map(|arg| (*arg).to_owned()).collect());
        self.again(name);
    }

    /// Starts a process that has ended, as it was started before.
    pub fn again(&mut self, name: &str) {
        let file = self.world.path(&format!("{name}.toml")).display().to_string();
        let mut args: Vec<&str> = self.commands[name].iter().map(String::as_str).collect();
        args.extend(["--config", &file]);
        let mut command = self.world.command_of(&self.program, &args);
        command.env(holdpoint_faults::PROCESS, name);
        self.processes.insert(name.to_owned(), self.world.start_with(command));
    }

    /// The names of all that were started.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.commands.keys().cloned().collect()
    }

    /// Starts `run` of the world's plan as a user of this fleet.
    #[must_use]
    pub fn run(&self) -> RunningProcess {
        self.command(&self.world.run_args(&[]))
    }

    /// Starts a command of a user of this fleet.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> RunningProcess {
        self.command_of(&binary(), args)
    }

    /// Starts a command of another build.
    #[must_use]
    pub fn command_of(&self, program: &Path, args: &[&str]) -> RunningProcess {
        let (url, creds) = (self.local.broker.url(), self.world.path("operator.creds").display().to_string());
        let mut args = args.to_vec();
        args.extend(["--nats", &url, "--creds", &creds]);
        self.world.start_with(self.world.command_of(program, &args))
    }

    /// Sends a signal to one of its processes.
    pub fn signal(&self, name: &str, signal: Signal) {
        self.processes[name].signal(signal);
    }

    /// The process with this number.
    #[must_use]
    pub fn name_of(&self, pid: u32) -> Option<&str> {
        self.processes.iter().find(|(_, running)| running.pid() == pid).map(|(name, _)| name.as_str())
    }

    /// Kills a process, and waits until it is gone.
    pub fn kill(&mut self, name: &str) {
        let running = self.processes.remove(name).unwrap();
        running.signal(Signal::SIGKILL);
        let _: Finished = running.finish();
    }

    /// Ends a process in order; what it said.
    pub fn end(&mut self, name: &str) -> Finished {
        let running = self.processes.remove(name).unwrap();
        running.signal(Signal::SIGTERM);
        running.finish_by(Instant::now() + PATIENCE).unwrap_or_else(|late| panic!("{name} does not end: {late}"))
    }

    /// What all processes have said so far.
    #[must_use]
    pub fn said(&self) -> String {
        self.processes.iter().map(|(name, running)| format!("--- {name}\n{}\n", running.said())).collect()
    }

    /// Everything that its broker holds of its flights.
    #[must_use]
    pub fn account(&self) -> SoakAccount {
        self.runtime.block_on(async {
            let bus = self.local.connect(&self.local.orchestrator).await.unwrap();
            SoakAccount::read(&bus, self.local.authority.trust_roots()).await
        })
    }
}

impl Drop for TestFleet {
    fn drop(&mut self) {
        for running in self.processes.values() {
            // It may have ended by itself.
            let _ = kill(Pid::from_raw(i32::try_from(running.pid()).unwrap()), Signal::SIGKILL);
        }
    }
}
