//! The actors of an agent process.

use std::sync::Arc;

use holdpoint_protocol::ids::RoleId;
use holdpoint_runtime::{
    broker::{self, BrokerConnectionError},
    config::{Config, TimeSpan},
    health::Beat,
    metrics,
    process::{self, DRAIN_DEADLINE, ProcessEnd},
    supervise::{Child, ChildSpec, Started, Tree},
};
use ractor::{Actor as _, SpawnErr};

use super::{
    args::AgentArgs,
    error::AgentError,
    presence::{self, CurrentTurn, PresenceActor},
    puller::{self, Puller},
    refusals::{self, Refusals},
    worker::Worker,
};

/// Runs an agent process: connects, takes turns until it is asked to end, and ends in order.
///
/// # Errors
/// [`AgentError`], with its exit code.
pub async fn run<W: Worker>(role: RoleId, worker: W, config: &Config) -> Result<ProcessEnd, AgentError> {
    let (bus, trust) = broker::connect(config, &role).await?;
    let args = AgentArgs {
        role,
        pool: config.agent.pool.clone(),
        ack_wait: config.agent.ack_wait.duration(),
        bus: bus.clone(),
        trust,
        worker: Arc::new(worker),
    };
    let _metrics = metrics::publish_agent(args.role.as_str(), config).await.map_err(AgentError::Metrics)?;
    let tree = start(args).await.map_err(AgentError::Start)?;
    let _beat = Beat::begin(config.health.file.as_deref(), &bus);
    let drain = config.agent.drain.map_or(DRAIN_DEADLINE, TimeSpan::duration);
    let ended = tokio::select! {
        ended = process::run_process(bus.name().as_str(), tree, drain) => ended.map_err(AgentError::Process),
        () = bus.gone() => return Err(BrokerConnectionError::Gone { name: bus.name().clone() }.into()),
    };
    bus.close().await;
    ended
}

/// Starts the actors of an agent that takes one turn at a time.
///
/// # Errors
/// The root of the tree could not be started.
pub async fn start<W: Worker>(args: AgentArgs<W>) -> Result<Tree, SpawnErr> {
    start_with(args, 1).await
}

/// Starts the actors of an agent that takes so many turns at a time: one that waits for others more than it works itself.
///
/// # Errors
/// The root of the tree could not be started.
pub async fn start_with<W: Worker>(args: AgentArgs<W>, slots: usize) -> Result<Tree, SpawnErr> {
    let current = CurrentTurn::default();
    let pullers = (0..slots).map(|_| puller_child(args.clone(), current.clone()));
    let others = [presence_child(&args, &current), refusals_child(&args)];
    Tree::start(others.into_iter().chain(pullers).collect()).await
}

fn presence_child<W: Worker>(args: &AgentArgs<W>, current: &CurrentTurn) -> Child {
    let (bus, role, current) = (args.bus.clone(), args.role.clone(), current.clone());
    Child::new(ChildSpec::permanent("presence"), move |supervisor| {
        let args = presence::Args { bus: bus.clone(), role: role.clone(), current: current.clone() };
        async move {
            let (actor, _) = PresenceActor::spawn_linked(None, PresenceActor, args, supervisor).await?;
            Ok(Started::by_mailbox(&actor))
        }
    })
}

fn refusals_child<W: Worker>(args: &AgentArgs<W>) -> Child {
    let (bus, role, trust) = (args.bus.clone(), args.role.clone(), args.trust.clone());
    Child::new(ChildSpec::permanent("refusals"), move |supervisor| {
        let args = refusals::Args { bus: bus.clone(), role: role.clone(), trust: trust.clone() };
        async move {
            let (actor, _) = Refusals::spawn_linked(None, Refusals, args, supervisor).await?;
            Ok(Started::by_mailbox(&actor))
        }
    })
}

fn puller_child<W: Worker>(args: AgentArgs<W>, current: CurrentTurn) -> Child {
    Child::new(ChildSpec::permanent("puller"), move |supervisor| {
        let args = puller::Args { agent: args.clone(), current: current.clone() };
        async move {
            let (actor, _) = Puller::spawn_linked(None, Puller::new(), args, supervisor).await?;
            Ok(Started::by_message(actor, puller::Msg::Drain))
        }
    })
}
