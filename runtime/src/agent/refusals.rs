//! Logs what an orchestrator found wrong with a handoff of this agent. The turn stays open, and its deadline decides.
//! What no orchestrator signed is passed over.

use holdpoint_bus::{
    Bus,
    auth::Trust,
    signals::{Forged, SignalError, Signals},
};
use holdpoint_protocol::{ids::RoleId, subjects};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinSet;

use crate::clock;

/// The most that is logged of a refusal, in characters.
const SHOWN_LEN_MAX: usize = 2_000;

#[derive(Debug)]
pub(super) enum Msg {
    /// A refusal came.
    Refused(String),
    /// None will come any more.
    Deaf(Option<SignalError>),
}

#[derive(Debug)]
pub(super) struct Args {
    pub(super) bus: Bus,
    pub(super) role: RoleId,
    pub(super) trust: Trust,
}

#[derive(Debug)]
pub(super) struct Refusals;

impl Actor for Refusals {
    type Msg = Msg;
    /// The task that listens, which ends with the actor.
    type State = JoinSet<()>;
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args) -> Result<JoinSet<()>, ActorProcessingErr> {
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(myself, args));
        Ok(tasks)
    }

    async fn handle(&self, _: ActorRef<Msg>, message: Msg, _: &mut JoinSet<()>) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Refused(text) => {
                tracing::error!(refusal = text, "an orchestrator refuses a handoff of this agent");
                Ok(())
            }
            Msg::Deaf(Some(error)) => Err(error.into()),
            Msg::Deaf(None) => Err("the connection was closed".into()),
        }
    }
}

async fn listen(myself: ActorRef<Msg>, args: Args) {
    let subject = subjects::refused(&args.role, args.bus.name());
    let deaf = match Signals::listen(&args.bus, subject).await {
        Ok(mut signals) => {
            let mut forged = Forged::default();
            while let Some(signal) = signals.next().await {
                if !signal.is_orchestrators(&args.trust.roots(), clock::now()) {
                    forged.count(&signal);
                    continue;
                }
                let text = String::from_utf8_lossy(&signal.payload).chars().take(SHOWN_LEN_MAX).collect();
                let _ = myself.cast(Msg::Refused(text));
            }
            None
        }
        Err(error) => Some(error),
    };
    // Fails only when this actor has ended.
    let _ = myself.cast(Msg::Deaf(deaf));
}
