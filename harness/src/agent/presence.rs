//! Says every few seconds that this agent is there, and what it does. Nothing is decided by it: it is for people.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use holdpoint_bus::{Bus, signals};
use holdpoint_protocol::{
    ids::{RoleId, TurnId},
    presence::Presence,
    subjects,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use holdpoint_runtime::telemetry::ErrorChain;

/// How often it is said.
const EVERY: Duration = Duration::from_secs(10);
/// How long saying it may take. It takes time only when the broker is away and the connection's buffer is full.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The turn this agent holds and which delivery of it, shared by the actors that know it and announce it.
#[derive(Debug, Clone, Default)]
pub(super) struct CurrentTurn(Arc<Mutex<Option<(TurnId, u32)>>>);

impl CurrentTurn {
    pub(super) fn set(&self, turn: Option<(TurnId, u32)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = turn;
    }

    fn get(&self) -> Option<(TurnId, u32)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub(super) struct Tell;

#[derive(Debug)]
pub(super) struct Args {
    pub(super) bus: Bus,
    pub(super) role: RoleId,
    pub(super) current: CurrentTurn,
}

#[derive(Debug)]
pub(super) struct PresenceActor;

impl Actor for PresenceActor {
    type Msg = Tell;
    type State = Args;
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Tell>, args: Args) -> Result<Args, ActorProcessingErr> {
        myself.cast(Tell)?;
        myself.send_interval(EVERY, || Tell);
        Ok(args)
    }

    async fn handle(&self, _: ActorRef<Tell>, Tell: Tell, args: &mut Args) -> Result<(), ActorProcessingErr> {
        let agent = args.bus.name().clone();
        let subject = subjects::presence(&args.role, &agent);
        let (turn, delivery) = args.current.get().unzip();
        let (pid, version) = (std::process::id(), Some(env!("CARGO_PKG_VERSION").to_owned()));
        let presence = Presence { role: args.role.clone(), agent, pid, turn, delivery, version };
        let payload = Bytes::from(serde_json::to_vec(&presence)?);
        let sent = tokio::time::timeout(TIMEOUT, signals::send(&args.bus, subject, payload, None)).await;
        if let Ok(Err(error)) = sent {
            tracing::debug!(error = %ErrorChain(&error), "nobody hears that this agent is there");
        }
        Ok(())
    }
}
