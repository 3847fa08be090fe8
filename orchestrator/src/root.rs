//! The process: connects, sets up the streams, starts the actors, serves the API, and drains when it is asked to end.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use holdpoint_admission::{quota::Quota, shares::Members};
use holdpoint_bus::{
    api::{self, ApiServer},
    auth::{Credentials, KnownUsers},
    journal::Journal,
    topology,
};
use holdpoint_conditions::ConditionHelper;
use holdpoint_engine::flight;
use holdpoint_protocol::{ids::role, streams::fleet_pool, subjects::PARTITIONS};
use holdpoint_runtime::{
    broker::{self, BrokerConnectionError},
    config::{Config, OrchestratorConfig},
    health::Beat,
    metrics::{Metrics, Published},
    mirror::MirrorStore,
    process::{self, DRAIN_DEADLINE},
    supervise::{Child, ChildSpec, Errand, Started, Tree},
};
use holdpoint_workspace::InputLimits;
use ractor::Actor;
use tokio::sync::watch;

use crate::{
    api::{Api, ENDPOINTS},
    checkpoint, connections,
    error::OrchestratorError,
    handed::Handed,
    hints::Hints,
    intake,
    metrics::{self, GateMetrics},
    peers::{self, Peers},
    pulls,
    quota::OpenFlights,
    roles, rooms,
    router::{self, Router, RouterHandle},
    senders::Senders,
    set_up,
    shell::Shell,
    snapshots::Snapshots,
};

/// How long it waits for its router before it answers without.
const ROUTER_PATIENCE: Duration = Duration::from_secs(5);

/// An orchestrator that runs in this process. Dropping it ends it at once.
pub struct Orchestrator {
    tree: Tree,
    api: ApiServer,
    shell: Shell,
    /// Serves as long as it is there.
    metrics: Option<Published>,
}

/// Starts an orchestrator. `conditions` is what evaluates conditions of gates.
///
/// # Errors
/// [`OrchestratorError`].
pub async fn start(config: Config, conditions: ConditionHelper) -> Result<Orchestrator, OrchestratorError> {
    let system = system_credentials(&config.orchestrator)?;
    // Boxed: it is large, and the caller of this would carry it.
    let mut shell = Box::pin(connect(&config, conditions)).await?;
    let metrics = Metrics::new(role::ORCHESTRATOR);
    let metrics_served = metrics.publish(&config).await.map_err(OrchestratorError::Metrics)?;
    if metrics_served.is_some() {
        shell.metrics = GateMetrics::register(&metrics);
    }
    let warden = system
        .map(|credentials| connections::Args::new(&config.nats, &config.orchestrator, credentials, shell.clone()));
    let router = RouterHandle::new();
    let mut children = children(&shell, &router, &config.orchestrator.state_dir);
    children.extend(warden.map(connections_child));
    let tree = Tree::start(children).await.map_err(OrchestratorError::Spawn)?;
    // A caller that gets an answer is not asked to come again later. A tree that cannot be started ends by itself.
    let _ = tokio::time::timeout(ROUTER_PATIENCE, router.there()).await;
    let a_minute = config.orchestrator.requests_per_minute;
    let service = Api::new(shell.clone(), router, config.orchestrator);
    let handler = move |request| service.clone().answer(request);
    let api = api::serve(&shell.bus, shell.users.clone(), &ENDPOINTS, a_minute, handler)
        .await
        .map_err(OrchestratorError::Serve)?;
    Ok(Orchestrator { tree, api, shell, metrics: metrics_served })
}

impl Orchestrator {
    /// Where its metrics are served; `None`: nowhere.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(Published::address)
    }
}

/// Runs an orchestrator until it is asked to end; the exit code.
///
/// # Errors
/// [`OrchestratorError`].
pub async fn run(config: Config) -> Result<u8, OrchestratorError> {
    let health = config.health.file.clone();
    let Orchestrator { tree, api, shell, metrics: _metrics } =
        start(config, ConditionHelper::own().map_err(OrchestratorError::Conditions)?).await?;
    let _beat = Beat::begin(health.as_deref(), &shell.bus);
    let ended = tokio::select! {
        ended = process::run_process("orchestrator", tree, DRAIN_DEADLINE) => ended.map_err(OrchestratorError::Process)?,
        () = shell.bus.gone() => return Err(OrchestratorError::Connect(BrokerConnectionError::Gone { name: shell.bus.name().clone() })),
    };
    api.stop().await;
    shell.bus.close().await;
    Ok(ended.exit_code())
}

/// What it looks after connections with. That it cannot is said once.
fn system_credentials(config: &OrchestratorConfig) -> Result<Option<Credentials>, OrchestratorError> {
    let Some(file) = &config.system_creds else {
        tracing::warn!(
            "orchestrator.system_creds is not set: one key can take all connections that agents and operators have together"
        );
        return Ok(None);
    };
    let credentials = Credentials::load(file)
        .map_err(|error| OrchestratorError::Connect(BrokerConnectionError::Credentials(error)))?;
    Ok(Some(credentials))
}

async fn connect(config: &Config, conditions: ConditionHelper) -> Result<Shell, OrchestratorError> {
    let (bus, trust) =
        broker::connect(config, &role::id(role::ORCHESTRATOR)).await.map_err(OrchestratorError::Connect)?;
    let settings = topology::TopologySettings {
        turn_ack_wait: config.agent.ack_wait.duration(),
        handoff_ack_wait: config.orchestrator.handoff_ack_wait.duration(),
        replicas: config.orchestrator.replicas,
        disk_bytes: config.orchestrator.broker_disk.bytes(),
    };
    let roles = trust.roots().fleet_roles();
    let state_dir = &config.orchestrator.state_dir;
    let seen = checkpoint::seen(state_dir, &trust.roots());
    set_up::streams(&bus, &settings, &roles, state_dir, seen).await?;
    let mirrors = Arc::new(MirrorStore::new(config.orchestrator.state_dir.join("mirrors"), InputLimits::default()));
    let serves = config.orchestrator.serves.clone();
    let members = Arc::new(watch::Sender::new(Members::new(peers::own_name(&bus), serves.clone())));
    let users = KnownUsers::new(trust.clone());
    let senders = Arc::new(Senders::new(users.clone()));
    let (journal, snapshots) = (Journal::new(&bus), Arc::new(Snapshots::default()));
    let hints = Hints::new(&bus);
    let landing_attempts = config.orchestrator.landing_attempts;
    let lines = Arc::default();
    let blob_wait = config.orchestrator.blob_wait.duration();
    let quota = Quota { flights: config.orchestrator.open_flights, waypoints: config.orchestrator.open_waypoints };
    Ok(Shell {
        bus,
        journal,
        hints,
        trust,
        users,
        senders,
        mirrors,
        snapshots,
        lines,
        writers: Arc::default(),
        handed: Arc::new(Handed::new(config.orchestrator.handoffs_per_hour)),
        metrics: GateMetrics::default(),
        open: Arc::new(OpenFlights::new(quota)),
        ended: Arc::default(),
        serves,
        members,
        landing_attempts,
        landing_depth: config.orchestrator.landing_depth.clamp(1, flight::DEPTH_MAX),
        blob_wait,
        conditions,
        settings,
        roles: Arc::new(watch::Sender::new(roles)),
    })
}

fn children(shell: &Shell, router: &RouterHandle, state_dir: &Path) -> Vec<Child> {
    let shares = shell.members.subscribe();
    let peers = peers::Args { shell: shell.clone(), router: router.clone() };
    let mut children = vec![
        router_child(router::Args { shell: shell.clone(), handle: router.clone(), state_dir: state_dir.to_owned() }),
        peers_child(peers),
        rooms_child(shell.clone()),
    ];
    if shell.metrics.is_on() {
        children.push(gates_child(shell.clone()));
    }
    if shell.serves == fleet_pool() {
        children.push(pulls_child(pulls::Args { shell: shell.clone(), shares: shares.clone() }));
    }
    for name in role::HANDING {
        for partition in 0..PARTITIONS {
            let (shell, router, role, shares) = (shell.clone(), router.clone(), role::id(name), shares.clone());
            children.push(intake_child(intake::Args { shell, router, role, partition, shares }));
        }
    }
    let declared = roles::Args { shell: shell.clone(), router: router.clone(), shares };
    children.push(roles_child(declared));
    children
}

fn router_child(args: router::Args) -> Child {
    Child::new(ChildSpec::permanent("router"), move |supervisor| {
        let args = args.clone();
        async move {
            let handle = args.handle.clone();
            let (actor, _) = Actor::spawn_linked(None, Router, args, supervisor).await?;
            let started = Started::by_mailbox(&actor);
            handle.set(actor);
            Ok(started)
        }
    })
}

fn peers_child(args: peers::Args) -> Child {
    Child::new(ChildSpec::permanent("peers"), move |supervisor| {
        let args = args.clone();
        async move {
            let (actor, _) = Actor::spawn_linked(None, Peers, args, supervisor).await?;
            Ok(Started::by_mailbox(&actor))
        }
    })
}

fn rooms_child(shell: Shell) -> Child {
    let look = move || vec![Errand::new("look", rooms::look_for_ever(shell.clone()))];
    Child::of_errands(ChildSpec::permanent("rooms"), look)
}

fn gates_child(shell: Shell) -> Child {
    let look = move || vec![Errand::new("look", metrics::watch_for_ever(shell.clone()))];
    Child::of_errands(ChildSpec::permanent("gates"), look)
}

fn pulls_child(args: pulls::Args) -> Child {
    let look = move || vec![Errand::new("look", args.clone().look_for_ever())];
    Child::of_errands(ChildSpec::permanent("pulls"), look)
}

fn connections_child(args: connections::Args) -> Child {
    let look = move || vec![Errand::new("look", args.clone().look_for_ever())];
    Child::of_errands(ChildSpec::permanent("connections"), look)
}

fn roles_child(args: roles::Args) -> Child {
    let take_up = move || vec![Errand::new("take up", args.clone().take_up_for_ever())];
    Child::of_errands(ChildSpec::permanent("roles"), take_up)
}

fn intake_child(args: intake::Args) -> Child {
    Child::of_errands(ChildSpec::permanent("intake"), move || args.errands())
}
