//! `bridge`: a folder as an agent of two roles and an operator, until Ctrl-C.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdpoint_bridge::{agent::FolderWorker, desk::BridgeDesk, folder::FolderError, keeper::Keeper, moves::Actor};
use holdpoint_harness::agent::{self, AgentArgs};
use holdpoint_protocol::ids::{AgentName, RoleId};
use holdpoint_runtime::{broker, config::Config, fresh, mirror::MirrorStore, process::DRAIN_DEADLINE, supervise::Tree};
use holdpoint_sandbox::TemporaryFolder;
use holdpoint_workspace::{InputLimits, UserRepo};

use crate::{
    args::bridge::BridgeArgs,
    bridge::BridgeOperator,
    client::Client,
    failure::{Exit, Failure, chain},
    fleet::Fleet,
    ground,
    interrupt::Interrupts,
    output,
    running_fleet::RunningFleet,
    target::Remote,
    temporary,
};

/// How often a bridge that stands by looks whether the folder is free.
const STAND_BY: Duration = Duration::from_millis(500);

/// Keeps a folder and a fleet together until it is interrupted.
pub(super) async fn bridge(args: BridgeArgs) -> Result<Exit, Failure> {
    let config = Config::load(args.config.as_deref(), args.place.overrides())?;
    let mut interrupts = Interrupts::listen()?;
    check_outside(&args.dir, &args.place.repo).await?;
    let desk = Arc::new(BridgeDesk::open(&args.dir).map_err(unusable)?);
    let _alone = tokio::select! {
        taken = take(&desk) => taken?,
        () = interrupts.next() => return Ok(Exit::Success),
    };
    match Remote::named(&args.place)? {
        Some(remote) => {
            let client = remote.connect().await?;
            let creds = [&args.supervisor_creds, &args.worker_creds];
            let mut trees = Vec::new();
            for (actor, creds) in Actor::ALL.into_iter().zip(creds) {
                let creds = creds.clone().ok_or_else(|| {
                    let message = format!("a fleet elsewhere wants the credentials of the role {}", actor.as_str());
                    Failure::usage(
                        "no_creds",
                        message,
                        "name them with --supervisor-creds FILE and --worker-creds FILE",
                    )
                })?;
                let mut config = config.clone();
                config.nats.creds = Some(creds);
                trees.push((actor, config));
            }
            let crew = Crew::start(&args, &desk, trees).await?;
            let operator = operator(&args, client, false);
            let result = tokio::select! {
                failure = keep(&desk, operator) => Err(failure),
                failure = crew.gone() => Err(failure),
                () = interrupts.next() => Ok(Exit::Success),
            };
            crew.stop(&mut interrupts).await;
            result
        }
        None => local(&args, &config, &desk, interrupts).await,
    }
}

/// The same with the fleet of this machine.
async fn local(
    args: &BridgeArgs,
    config: &Config,
    desk: &Arc<BridgeDesk>,
    mut interrupts: Interrupts,
) -> Result<Exit, Failure> {
    let state = ground::state(&ground::find(&args.place.repo).await?).await?;
    if RunningFleet::find(&state).is_none() {
        let message = format!("no fleet runs for the repository in {}", args.place.repo.display());
        let hint = "start one with `holdpoint up`, or name one with --nats URL";
        return Err(Failure::environment("no_fleet", message, hint));
    }
    let roles = Actor::ALL.map(|actor| (role(actor), actor == Actor::Worker));
    let mut fleet = Fleet::attach(&state, &format!("bridge-{}", fresh::suffix()), &roles).await?;
    let id = desk.at(BridgeDesk::id).await.map_err(unusable)?;
    let agents = || -> Result<Vec<(Actor, Config)>, Failure> {
        let one = |actor: Actor| {
            let name = AgentName::try_new(format!("{}-{id}", actor.as_str())).expect("two ids are one");
            Ok((actor, fleet.agent_here(config, &role(actor), &name)?))
        };
        Actor::ALL.into_iter().map(one).collect()
    };
    let begun = match (agents(), fleet.client().await) {
        (Ok(agents), Ok(client)) => Crew::start(args, desk, agents).await.map(|crew| (crew, client)),
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    };
    let result = match begun {
        Ok((crew, client)) => {
            let operator = operator(args, client, true);
            let result = tokio::select! {
                failure = keep(desk, operator) => Err(failure),
                failure = crew.gone() => Err(failure),
                failure = fleet.failed() => Err(failure),
                () = interrupts.next() => Ok(Exit::Success),
            };
            crew.stop(&mut interrupts).await;
            result
        }
        Err(failure) => Err(failure),
    };
    fleet.stop(interrupts.next()).await;
    result
}

fn operator(args: &BridgeArgs, client: Client, is_local: bool) -> BridgeOperator {
    BridgeOperator { client, repo: args.place.repo.clone(), workflow: args.workflow.clone(), is_local }
}

async fn keep(desk: &Arc<BridgeDesk>, operator: BridgeOperator) -> Failure {
    output::err(&format!(
        "keeps {} until Ctrl-C: put a request into tasks/queue/NEW_ID.md there",
        desk.folder().path().display()
    ));
    unusable(Keeper::new(desk.clone(), operator).keep().await)
}

/// Takes the folder, or stands by while another bridge has it.
async fn take(desk: &BridgeDesk) -> Result<File, Failure> {
    let mut is_said = false;
    loop {
        if let Some(taken) = desk.folder().take(&BridgeDesk::lock_name()).map_err(unusable)? {
            return Ok(taken);
        }
        if !is_said {
            output::err(&format!("another bridge keeps {}: this one stands by", desk.folder().path().display()));
            is_said = true;
        }
        tokio::time::sleep(STAND_BY).await;
    }
}

/// The agents of a bridge.
struct Crew {
    trees: Vec<Tree>,
    buses: Vec<holdpoint_bus::Bus>,
    _scratch: Arc<TemporaryFolder>,
}

impl Crew {
    async fn start(args: &BridgeArgs, desk: &Arc<BridgeDesk>, agents: Vec<(Actor, Config)>) -> Result<Self, Failure> {
        let scratch = Arc::new(temporary::folder()?);
        let mirrors = Arc::new(MirrorStore::new(scratch.path().join("mirrors"), InputLimits::default()));
        let (mut trees, mut buses) = (Vec::new(), Vec::new());
        for (actor, config) in agents {
            let role = role(actor);
            let (bus, trust) = broker::connect(&config, &role).await.map_err(|error| {
                let hint = "name the agent's .creds file, and the fleet's trust.json with HOLDPOINT__NATS__TRUST";
                Failure::environment("agent", chain(&error), hint)
            })?;
            let worker = Arc::new(FolderWorker::new(desk.clone(), mirrors.clone(), scratch.clone()));
            let (pool, ack_wait) = (config.agent.pool.clone(), config.agent.ack_wait.duration());
            let agent = AgentArgs { role, pool, ack_wait, bus: bus.clone(), trust, worker };
            let slots = usize::try_from(args.slots).unwrap_or(usize::MAX);
            let started = agent::start_with(agent, slots).await;
            trees.push(started.map_err(|error| Failure::environment("agent", chain(&error), "start it again"))?);
            buses.push(bus);
        }
        Ok(Self { trees, buses, _scratch: scratch })
    }

    /// Returns when an agent's credentials do not count any more.
    async fn gone(&self) -> Failure {
        match self.buses.as_slice() {
            [one, other, ..] => tokio::select! { () = one.gone() => {}, () = other.gone() => {} },
            _ => std::future::pending().await,
        }
        Failure::environment(
            "agent",
            "the broker does not let this bridge's agents in any more",
            "renew their credentials",
        )
    }

    /// Gives its turns back; the next signal ends it at once.
    async fn stop(mut self, interrupts: &mut Interrupts) {
        self.trees.iter().for_each(|tree| tree.drain(DRAIN));
        let ended = async {
            for tree in &mut self.trees {
                // It ends either way.
                let _ = tree.ended().await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(DRAIN_DEADLINE, ended) => {}
            () = interrupts.next() => {}
        }
        for bus in &self.buses {
            bus.close().await;
        }
    }
}

/// How long turns may go on: what is not handed in yet is not going to be.
const DRAIN: Duration = Duration::from_millis(100);

/// Refuses a folder in the working tree: that is its user's alone.
async fn check_outside(dir: &Path, repo: &Path) -> Result<(), Failure> {
    let Ok(repo) = UserRepo::open(repo).await else { return Ok(()) };
    let there = || {
        let dir = std::path::absolute(dir).ok()?;
        dir.ancestors().find_map(|folder| folder.canonicalize().ok())
    };
    let tree: Option<PathBuf> = repo.working_tree().await.ok().flatten();
    match tree.filter(|tree| there().is_some_and(|there| there.starts_with(tree))) {
        None => Ok(()),
        Some(tree) => {
            let message = format!("{} is in the working tree of {}", dir.display(), tree.display());
            Err(Failure::usage("bridge_folder", message, "name a folder outside of it"))
        }
    }
}

fn role(actor: Actor) -> RoleId {
    RoleId::try_new(actor.as_str()).expect("a literal id")
}

fn unusable(error: FolderError) -> Failure {
    Failure::environment(
        "bridge_folder",
        chain(&error),
        "give the bridge a folder that it may write, without links in it",
    )
}
