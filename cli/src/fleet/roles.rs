//! The configuration of each process of a local fleet, made from the user's. Plain data: nothing is started here.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use holdpoint_admission::traffic::SHARE_OFF;
use holdpoint_harness::environment::CERTIFICATES;
use holdpoint_protocol::ids::{AgentName, PoolId, RoleId, role};
use holdpoint_runtime::config::{Config, NatsConfig, NotifyConfig, OrchestratorConfig, TimeSpan};

use super::broker::BrokerLease;
use crate::state::{Slot, StateDir};

/// The agents of one fleet.
#[derive(Debug, Clone)]
pub(crate) struct Crew {
    /// What the user configured.
    pub(crate) config: Config,
    /// Whose turns they take.
    pub(crate) pool: PoolId,
    /// How many build at once.
    pub(crate) builders: u32,
    /// How many verify at once; without it, as many as the builders need.
    pub(crate) verifiers: Option<u32>,
    /// The roles that have agents besides the built-in ones.
    pub(crate) declared: Vec<RoleId>,
    /// What their programs may read besides: the plan's folder.
    pub(crate) read: Vec<PathBuf>,
    /// What no program of an agent may reach: the user's repository.
    pub(crate) deny: Vec<PathBuf>,
}

/// Builders for whom one verifier is enough: each work is verified twice, by itself and as it lands.
const BUILDERS_PER_VERIFIER: u32 = 2;
/// Verifiers that a local fleet has by itself: each runs checks of a whole tree.
const VERIFIERS_BY_ITSELF_MAX: u32 = 8;

impl Crew {
    /// How many verifiers there are to be.
    pub(super) fn verifiers(&self) -> u32 {
        let by_itself = (self.builders / BUILDERS_PER_VERIFIER).clamp(1, VERIFIERS_BY_ITSELF_MAX);
        self.verifiers.unwrap_or(by_itself)
    }

    /// How long the turns of its agents may go on once they are asked to end.
    pub(super) fn drain(&self) -> TimeSpan {
        self.config.agent.drain.unwrap_or(DRAIN_DEFAULT)
    }

    /// How many agents of a declared role there are to be: none without a program.
    pub(super) fn count(&self, role: &RoleId) -> u32 {
        self.config.agents.program(role).map_or(0, |program| match program.command {
            Some(_) => program.count.unwrap_or(1),
            None => 0,
        })
    }
}

/// How long a local agent's turn may go on once a person has asked for the end, unless the configuration says.
const DRAIN_DEFAULT: TimeSpan = TimeSpan::from_secs(4);

/// Flights and waypoints that a person of a local fleet may have open: as good as any number.
const OPEN_MAX: usize = u32::MAX as usize;

/// One agent.
#[derive(Debug)]
pub(super) struct Agent<'a> {
    pub(super) role: RoleId,
    pub(super) name: AgentName,
    pub(super) pool: PoolId,
    pub(super) creds: PathBuf,
    pub(super) slot: &'a Slot,
}

/// The configuration of an orchestrator.
pub(super) fn orchestrator(user: &Config, lease: &BrokerLease, state: &StateDir, slot: &Slot) -> Config {
    let mut config = connected(user, lease, lease.orchestrator_creds());
    config.orchestrator.state_dir.clone_from(&slot.dir);
    // The user's settings for it are about a broker elsewhere, too.
    let OrchestratorConfig { broker_disk, connections_per_key, open_flights, open_waypoints, .. } =
        OrchestratorConfig::default();
    config.orchestrator.broker_disk = broker_disk;
    config.orchestrator.connections_per_key = connections_per_key;
    // These keys do not leave the machine, and one agent may have all of its role's room.
    config.orchestrator.room_per_key = SHARE_OFF;
    // A person's open flights here are in nobody's way, and may be years old: only bounds that the user sets hold.
    for (bound, default) in [
        (&mut config.orchestrator.open_flights, open_flights),
        (&mut config.orchestrator.open_waypoints, open_waypoints),
    ] {
        if *bound == default {
            *bound = OPEN_MAX;
        }
    }
    // A broker that an earlier version started has none.
    config.orchestrator.system_creds = Some(lease.system_creds()).filter(|file| file.exists());
    // Never used by an orchestrator, and never elsewhere than in the state folder.
    config.agent.state_dir = state.path("agents");
    config
}

/// The configuration of an agent.
pub(super) fn agent(crew: &Crew, agent: Agent<'_>, lease: &BrokerLease, state: &StateDir) -> Config {
    let mut config = connected(&crew.config, lease, agent.creds);
    // The orchestrator has the port, and there are no others. Each process sends what it counts by itself.
    config.metrics.listen = None;
    config.agent.name = Some(agent.name);
    config.agent.pool = agent.pool;
    config.agent.state_dir.clone_from(&agent.slot.dir);
    config.agent.environments_dir.get_or_insert_with(|| state.environments());
    config.agent.drain = Some(crew.drain());
    let mut deny = crew.deny.clone();
    deny.push(state.root().to_owned());
    for (_, program) in config.agents.programs_mut() {
        program.read_paths.extend(crew.read.iter().cloned());
        program.deny_paths.extend(deny.iter().cloned());
    }
    config.agents.verifier.deny_paths.extend(deny);
    only_own_secrets(&mut config, &agent.role);
    config
}

/// The user's configuration, with the local broker in the place of any other.
pub(super) fn connected(user: &Config, lease: &BrokerLease, creds: PathBuf) -> Config {
    let mut config = user.clone();
    // It notifies nobody, and its webhook may be a secret.
    config.notify = NotifyConfig::default();
    // The other settings there are about a broker elsewhere.
    config.nats = NatsConfig {
        url: lease.url().to_owned(),
        creds: Some(creds),
        trust: Some(lease.trust()),
        ..NatsConfig::default()
    };
    config
}

/// A process does not get the variables of other roles' programs.
fn only_own_secrets(config: &mut Config, role: &RoleId) {
    let others = config.agents.programs_mut().filter(|(other, _)| other != role);
    others.for_each(|(_, program)| program.env.0.clear());
}

/// The variables of ours that a role's programs get, and those by which setups trust this machine's network.
pub(super) fn passed_on(config: &Config, role: &RoleId) -> Vec<(OsString, OsString)> {
    let verifier = &config.agents.verifier;
    let names: Vec<&String> = match config.agents.program(role) {
        // Checks run in the same process.
        Some(program) if role.as_str() == role::SOLO => program.pass_env.iter().chain(&verifier.pass_env).collect(),
        Some(program) => program.pass_env.iter().collect(),
        None if role.as_str() == role::VERIFIER => verifier.pass_env.iter().chain(&verifier.judge_pass_env).collect(),
        None => Vec::new(),
    };
    let names = names.into_iter().map(String::as_str).chain(CERTIFICATES);
    names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// What of the plan's folder may be read: all of it, unless a whole home is below it; nothing of the repository.
pub(crate) fn plan_folder(plan: &Path, repository: &[PathBuf]) -> Vec<PathBuf> {
    let plan = plan.canonicalize().or_else(|_| std::path::absolute(plan)).unwrap_or_else(|_| plan.to_owned());
    if repository.iter().any(|place| plan.starts_with(place)) {
        return Vec::new();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let folder = plan.parent().filter(|folder| !home.starts_with(folder)).map(Path::to_owned);
    folder.into_iter().chain(std::iter::once(plan)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_plan_is_readable_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().canonicalize().unwrap().join("plan.yaml");
        std::fs::write(&plan, "").unwrap();
        assert_eq!(plan_folder(&plan, &[]), [plan.parent().unwrap().to_owned(), plan.clone()]);
        assert_eq!(plan_folder(&plan, &[dir.path().canonicalize().unwrap()]), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_plan_at_the_root_opens_nothing_else() {
        assert_eq!(plan_folder(Path::new("/plan.yaml"), &[]), [PathBuf::from("/plan.yaml")]);
    }

    #[test]
    fn an_agent_does_not_know_the_variables_of_others() {
        let mut config = Config::default();
        config.agents.builder.env.0.insert("TOKEN".to_owned(), "x".to_owned());
        config.agents.repair.env.0.insert("OTHER".to_owned(), "y".to_owned());
        let architect: RoleId = "architect".parse().unwrap();
        let program = config.agents.declared.entry(architect.clone()).or_default();
        program.env.0.insert("THIRD".to_owned(), "z".to_owned());
        only_own_secrets(&mut config, &architect);
        assert!(config.agents.builder.env.0.is_empty() && config.agents.repair.env.0.is_empty());
        assert_eq!(config.agents.declared[&architect].env.0.len(), 1);
        only_own_secrets(&mut config, &role::id(role::VERIFIER));
        assert!(config.agents.programs().all(|(_, program)| program.env.0.is_empty()));
    }
}
