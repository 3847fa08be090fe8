//! A local fleet: a broker that all commands of a repository share, and the processes that one command needs.
//!
//! The processes end with the command that started them, also when it is killed; the broker ends with its last user, by way of its
//! keeper where that was killed.

mod broker;
mod child;
mod keeper;
mod leftovers;
mod logs;
mod recruit;
mod roles;
mod started;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use holdpoint_bus::{Bus, ConnectArgs};
use holdpoint_protocol::ids::{AgentName, PoolId, RoleId, role};
use holdpoint_runtime::{config::Config, fresh, telemetry};
use started::LOOK_EVERY;
use tokio::{sync::mpsc, time::Instant};

pub use keeper::maybe_run as maybe_keep_broker;

pub(crate) use broker::{BrokerLease, find_server, known_broker};
pub(crate) use recruit::Recruiter;
pub(crate) use roles::{Crew, plan_folder};

use crate::{
    client::Client,
    failure::Failure,
    output,
    people::key,
    state::{Slot, StateDir},
};
use child::Child;
use logs::Logs;
use recruit::Wanted;

/// What processes get to end beyond the time of their turns, before they are killed.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// How long the end may take without a word on it. An orchestrator alone is never waited for longer.
const UNSAID: Duration = STOP_GRACE;

/// The part of a local fleet that this command keeps running.
#[derive(Debug)]
pub(crate) struct Fleet {
    state: StateDir,
    lease: Box<BrokerLease>,
    /// The name of this run in the folders of logs and processes.
    run: String,
    orchestrators: Vec<Child>,
    agents: Vec<Child>,
    /// What its agents are made of, and the roles that have some.
    crew: Option<Arc<Crew>>,
    staffed: BTreeSet<RoleId>,
    /// Roles that are wanted while it runs.
    wanted: mpsc::Receiver<Wanted>,
    recruiter: Recruiter,
    trouble: mpsc::Receiver<Failure>,
    /// Its command may delete.
    deletes: bool,
    reporter: mpsc::Sender<Failure>,
}

impl Fleet {
    /// Uses the broker of the repository, or starts it. `run` names this command's logs; `roles` are those that it needs besides
    /// the built-in ones, each with whether its turns make work.
    pub(crate) async fn attach(state: &StateDir, run: &str, roles: &[(RoleId, bool)]) -> Result<Self, Failure> {
        state.ensure()?;
        let mut lease = Box::new(BrokerLease::take(state).await?);
        lease.add_roles(roles).await?;
        leftovers::sweep(state);
        logs::prune(state);
        let (reporter, trouble) = mpsc::channel(1);
        let (recruiter, wanted) = Recruiter::new();
        Ok(Self {
            state: state.clone(),
            lease,
            run: run.to_owned(),
            orchestrators: Vec::new(),
            agents: Vec::new(),
            crew: None,
            staffed: BTreeSet::new(),
            wanted,
            recruiter,
            trouble,
            deletes: false,
            reporter,
        })
    }

    /// Where the broker is.
    pub(crate) fn url(&self) -> &str {
        self.lease.url()
    }

    /// The name of this run in the folders of logs and processes.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// A file with credentials for people, for the time of this command.
    pub(crate) fn operator_file(&self) -> Result<PathBuf, Failure> {
        let name = operator_name();
        let path = self.processes()?.join("operator.creds");
        self.lease.authority().mint_operator(&name).save(&path)?;
        Ok(path)
    }

    /// A connection with credentials of its own.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        let credentials = self.lease.authority().mint_operator(&operator_name());
        let bus = Bus::connect(ConnectArgs::new(self.lease.url().to_owned(), credentials)).await?;
        Ok(Client::new(bus))
    }

    /// A connection with a key that may delete, for the time of this command.
    pub(crate) async fn archivist(&mut self) -> Result<Client, Failure> {
        let credentials = self.lease.archivist().await?;
        self.deletes = true;
        Ok(Client::new(Bus::connect(ConnectArgs::new(self.lease.url().to_owned(), credentials)).await?))
    }

    /// A connection as a person.
    pub(crate) async fn client_of(&self, person: &AgentName) -> Result<Client, Failure> {
        let credentials = key::of_person(&self.state, self.lease.authority(), person).await?;
        Ok(Client::new(Bus::connect(ConnectArgs::new(self.lease.url().to_owned(), credentials)).await?))
    }

    /// Starts an orchestrator.
    pub(crate) fn start_orchestrator(&mut self, config: &Config) -> Result<(), Failure> {
        let slot = Slot::take(&self.state, "orchestrator", "orchestrator")?;
        let config = roles::orchestrator(config, &self.lease, &self.state, &slot);
        let label = format!("orchestrator-{}", slot.number);
        let child = self.start(slot, &label, vec!["orchestrator".into()], &config, Vec::new())?;
        self.orchestrators.push(child);
        Ok(())
    }

    /// Starts the agents of a crew: builders, verifiers, repair agents if they have a program, and those of the
    /// declared roles.
    pub(crate) fn start_crew(&mut self, crew: Arc<Crew>) -> Result<(), Failure> {
        let verifiers = crew.verifiers();
        let builders = crew.config.agents.builder.command.as_ref().map_or(0, |_| crew.builders);
        let repair = crew.count(&role::id(role::REPAIR));
        let own = [(role::BUILDER, builders), (role::VERIFIER, verifiers), (role::REPAIR, repair)];
        for (name, count) in own {
            self.start_agents(&role::id(name), count, &crew)?;
        }
        for role in &crew.declared {
            self.start_agents(role, crew.count(role), &crew)?;
        }
        self.crew = Some(crew);
        Ok(())
    }

    /// Its holder can have the fleet take up roles.
    pub(crate) fn recruiter(&self) -> Recruiter {
        self.recruiter.clone()
    }

    /// Starts agents for those of these roles that have none, each with whether its turns make work. Returns the roles for
    /// which there is no program.
    pub(crate) async fn take_up(&mut self, roles: &[(RoleId, bool)]) -> Result<Vec<RoleId>, Failure> {
        let Some(crew) = self.crew.clone() else { return Ok(Vec::new()) };
        let missing = roles.iter().filter(|(role, _)| !self.staffed.contains(role)).cloned();
        let (with_program, lacking): (Vec<_>, Vec<_>) = missing.partition(|(role, _)| crew.count(role) > 0);
        self.lease.add_roles(&with_program).await?;
        for (role, _) in &with_program {
            self.start_agents(role, crew.count(role), &crew)?;
        }
        Ok(lacking.into_iter().map(|(role, _)| role).collect())
    }

    /// A file with credentials of an agent, for the time of this command.
    fn agent_file(&self, role: &RoleId, name: &AgentName, pool: &PoolId) -> Result<PathBuf, Failure> {
        let file = self.processes()?.join(format!("{name}.creds"));
        let credentials = self.lease.authority().mint_own_agent(role, name, pool).map_err(|error| {
            Failure::environment("keys", error.to_string(), "the keys in the state folder are of another version")
        })?;
        credentials.save(&file)?;
        Ok(file)
    }

    /// The configuration of an agent in this very process. Its role is one that the fleet was attached with.
    pub(crate) fn agent_here(&self, config: &Config, role: &RoleId, name: &AgentName) -> Result<Config, Failure> {
        let creds = self.agent_file(role, name, &config.agent.pool)?;
        Ok(roles::connected(config, &self.lease, creds))
    }

    fn start_agents(&mut self, role: &RoleId, count: u32, crew: &Crew) -> Result<(), Failure> {
        for _ in 0..count {
            self.start_agent(role, crew)?;
            self.staffed.insert(role.clone());
        }
        Ok(())
    }

    fn start_agent(&mut self, role: &RoleId, crew: &Crew) -> Result<(), Failure> {
        let pool = &crew.pool;
        let slot = Slot::take(&self.state, "agents", role.as_str())?;
        let label = format!("{role}-{}", slot.number);
        let name = AgentName::try_new(&label).map_err(|error| {
            Failure::usage(
                "role_name",
                format!("agents of the role {role} cannot be named: {error}"),
                "shorten its name",
            )
        })?;
        let creds = self.agent_file(role, &name, pool)?;
        let agent = roles::Agent { role: role.clone(), name, pool: pool.clone(), creds, slot: &slot };
        let config = roles::agent(crew, agent, &self.lease, &self.state);
        let env = roles::passed_on(&config, role);
        let child = self.start(slot, &label, vec!["agent".into(), role.as_str().into()], &config, env)?;
        self.agents.push(child);
        Ok(())
    }

    fn start(
        &self,
        slot: Slot,
        label: &str,
        mut args: Vec<std::ffi::OsString>,
        config: &Config,
        mut env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    ) -> Result<Child, Failure> {
        let file = self.processes()?.join(format!("{label}.toml"));
        crate::state::write_private(&file, config.to_toml().as_bytes())?;
        args.extend(["--config".into(), file.into()]);
        let log = self.state.folder(&format!("logs/{}", self.run))?.join(format!("{label}.log"));
        env.extend(holdpoint_faults::passed_on(label));
        // Where traces go. An agent's program gets none of these: its environment is a new one.
        env.extend(telemetry::otel_variables());
        let spec = child::spec(args, env, log);
        Ok(Child::start(label.to_owned(), spec, slot, self.reporter.clone()))
    }

    /// The folder of the processes' configuration and credentials; removed when they have ended.
    fn processes(&self) -> Result<PathBuf, Failure> {
        let folder = self.state.folder(&format!("processes/{}", self.run))?;
        leftovers::own(&folder)?;
        Ok(folder)
    }

    /// Keeps the broker running and takes up the roles that are wanted, until something fails for good: a process that cannot be
    /// kept running, a broker that does not come back.
    pub(crate) async fn failed(&mut self) -> Failure {
        let (mut room, mut logs) = (self.lease.room(), Logs::of(&self.state, &self.run));
        loop {
            tokio::select! {
                failure = self.trouble.recv() => return failure.expect("this value holds a sender"),
                wanted = self.wanted.recv() => {
                    let wanted = wanted.expect("this value holds a sender");
                    let taken = Box::pin(self.take_up(wanted.roles())).await;
                    wanted.answer(taken);
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    if let Err(failure) = self.lease.keep(&mut room).await {
                        return failure;
                    }
                    logs.look();
                }
            }
        }
    }

    /// Ends the processes in order, then gives the broker back. `hurry` completing ends them the hard way, and so does a time
    /// that is over: by then each has given its turn back, or will not.
    pub(crate) async fn stop(self, hurry: impl Future<Output = ()>) {
        let mut hurry = std::pin::pin!(hurry);
        let mut hurried = false;
        let turns = self.crew.as_ref().map_or(Duration::ZERO, |crew| crew.drain().duration());
        // An orchestrator that still answers says to agents which work nobody wants any more.
        for (mut children, within) in [(self.agents, turns + STOP_GRACE), (self.orchestrators, STOP_GRACE)] {
            children.iter().for_each(Child::drain);
            let deadline = Instant::now() + within;
            if !hurried {
                tokio::select! {
                    () = settled(&mut children, within) => {}
                    () = &mut hurry => hurried = true,
                }
            }
            for mut child in children {
                if !hurried && tokio::time::timeout_at(deadline, child.ended()).await.is_ok() {
                    continue;
                }
                child.kill();
                child.ended().await;
            }
        }
        let processes = self.state.path(&format!("processes/{}", self.run));
        if let Err(error) = std::fs::remove_dir_all(&processes) {
            tracing::debug!(%error, "the folder of the processes was not there");
        }
        if let Err(failure) = self.lease.give_back(self.crew.is_some(), self.deletes).await {
            failure.report(false);
        }
    }
}

/// Waits until all have ended, or the time is over, and says for whom once that takes a moment.
async fn settled(children: &mut [Child], within: Duration) {
    let deadline = Instant::now() + within;
    if tokio::time::timeout(UNSAID.min(within), all_ended(children)).await.is_ok() || within <= UNSAID {
        return;
    }
    let names: Vec<&str> = children.iter().filter_map(Child::still_there).collect();
    let seconds = within.as_secs();
    output::err(&format!("waiting for {}, {seconds} s at most; Ctrl-C ends it at once", names.join(", ")));
    let _ = tokio::time::timeout_at(deadline, all_ended(children)).await;
}

async fn all_ended(children: &mut [Child]) {
    for child in children {
        child.ended().await;
    }
}

fn operator_name() -> AgentName {
    AgentName::try_new(format!("operator-{}", fresh::suffix())).expect("letters and hex digits are an id")
}
