//! Knows the flight actors: starts them when something concerns their flight, and looks for flights now and then.
//!
//! A flight actor that fails is simply started again: it folds its journals anew.

use std::{collections::HashMap, time::Duration};

use holdpoint_bus::handoffs::Received;
use holdpoint_protocol::{ids::FlightId, subjects};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::sync::watch;

use crate::{
    flight::{self, FlightActor},
    shell::Shell,
};

/// How often to look for flights that another orchestrator took in, or whose actor failed.
const SCAN_PERIOD: Duration = Duration::from_secs(10);
/// The pause before a handoff that cannot be placed is delivered again.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// The router, whichever actor it is at the moment.
#[derive(Clone)]
pub(crate) struct RouterHandle(watch::Sender<Option<ActorRef<Msg>>>);

impl RouterHandle {
    /// A handle to no router yet.
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// From now on it is this actor.
    pub(crate) fn set(&self, actor: ActorRef<Msg>) {
        self.0.send_replace(Some(actor));
    }

    /// The actor, if there is one.
    pub(crate) fn actor(&self) -> Option<ActorRef<Msg>> {
        self.0.borrow().clone()
    }

    /// Sends a message; lost if there is no router right now.
    pub(crate) fn cast(&self, msg: Msg) {
        if let Some(actor) = self.actor() {
            // It has just ended: whoever waits for the outcome tries again.
            let _ = actor.cast(msg);
        }
    }
}

/// Messages of the router.
pub(crate) enum Msg {
    /// A handoff came.
    Handoff(Box<Received>),
    /// Which actor has this flight? It may turn out not to exist.
    Find(FlightId, RpcReplyPort<ActorRef<flight::Msg>>),
    /// Which flights are there?
    List(RpcReplyPort<Vec<FlightId>>),
    /// Look for flights.
    Scan,
}

/// State of the router.
pub(crate) struct State {
    shell: Shell,
    flights: HashMap<FlightId, ActorRef<flight::Msg>>,
}

/// The actor.
pub(crate) struct Router;

impl Actor for Router {
    type Msg = Msg;
    type State = State;
    type Arguments = Shell;

    async fn pre_start(&self, myself: ActorRef<Msg>, shell: Shell) -> Result<State, ActorProcessingErr> {
        myself.cast(Msg::Scan)?;
        myself.send_interval(SCAN_PERIOD, || Msg::Scan);
        Ok(State { shell, flights: HashMap::new() })
    }

    async fn handle(&self, myself: ActorRef<Msg>, msg: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Handoff(received) => handoff(&myself, state, received).await,
            Msg::Find(flight, reply) => {
                let actor = state.actor(&myself, &flight).await?;
                // The caller may have given up waiting.
                let _ = reply.send(actor);
                Ok(())
            }
            Msg::List(reply) => {
                let _ = reply.send(submissions(&state.shell).await.unwrap_or_default());
                Ok(())
            }
            Msg::Scan => {
                for flight in submissions(&state.shell).await.unwrap_or_default() {
                    if !state.flights.contains_key(&flight) {
                        state.actor(&myself, &flight).await?;
                    }
                }
                Ok(())
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(actor, error) => {
                tracing::error!(%error, "flight actor failed; it is started again when something concerns its flight");
                state.forget(actor.get_id());
            }
            SupervisionEvent::ActorTerminated(actor, ..) => state.forget(actor.get_id()),
            _ => {}
        }
        Ok(())
    }
}

impl State {
    async fn actor(
        &mut self,
        myself: &ActorRef<Msg>,
        flight: &FlightId,
    ) -> Result<ActorRef<flight::Msg>, ActorProcessingErr> {
        if let Some(actor) = self.flights.get(flight) {
            return Ok(actor.clone());
        }
        let args = flight::Args { shell: self.shell.clone(), flight: flight.clone() };
        let (actor, _) = Actor::spawn_linked(None, FlightActor, args, myself.get_cell()).await?;
        self.flights.insert(flight.clone(), actor.clone());
        Ok(actor)
    }

    fn forget(&mut self, id: ActorId) {
        self.flights.retain(|_, actor| actor.get_id() != id);
    }
}

async fn handoff(myself: &ActorRef<Msg>, state: &mut State, received: Box<Received>) -> Result<(), ActorProcessingErr> {
    let Some(subject) = subjects::parse_handoff(&received.stored.subject) else {
        tracing::warn!(subject = %received.stored.subject, "handoff on a subject that is none: dropped");
        return Ok(received.ack().await?);
    };
    let actor = state.actor(myself, &subject.flight).await?;
    if let Err(ractor::MessagingErr::SendErr(flight::Msg::Handoff(received, _))) =
        actor.cast(flight::Msg::Handoff(received, subject))
    {
        received.nak(RETRY_DELAY).await?;
    }
    Ok(())
}

/// All flights that were ever submitted, oldest first.
async fn submissions(shell: &Shell) -> Result<Vec<FlightId>, holdpoint_bus::journal::ReadError> {
    let entries = shell.journal.replay(&subjects::journal_submissions()).await?.collect().await?;
    Ok(entries.iter().filter_map(|e| subjects::parse_journal(&e.subject)).map(|key| key.flight).collect())
}
