//! Takes the handoffs of one role and partition from the broker and gives them to the router.
//!
//! It holds no state: what it took and nobody acknowledged is delivered again.

use std::time::Duration;

use holdpoint_bus::handoffs::{HandoffQueue, Received};
use holdpoint_protocol::ids::RoleId;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{
    router::{self, RouterHandle},
    shell::Shell,
};

/// How long one pull waits before it is asked again; a stop is seen at once anyway.
const PULL_WAIT: Duration = Duration::from_secs(5);
/// The pause before a broken queue is opened anew.
const REOPEN_PAUSE: Duration = Duration::from_millis(500);

/// Arguments of one intake.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
    pub(crate) role: RoleId,
    pub(crate) partition: u32,
}

/// Messages of an intake.
pub(crate) enum Msg {
    /// A handoff came.
    Received(Box<Received>),
}

/// The actor.
pub(crate) struct Intake;

impl Actor for Intake {
    type Msg = Msg;
    type State = (RouterHandle, tokio::task::JoinHandle<()>);
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<Msg>, args: Args) -> Result<Self::State, ActorProcessingErr> {
        let router = args.router.clone();
        Ok((router, tokio::spawn(pull(args, myself))))
    }

    async fn post_stop(&self, _: ActorRef<Msg>, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        state.1.abort();
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Msg>, msg: Msg, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        let Msg::Received(received) = msg;
        // A router that is gone right now leaves the handoff unacknowledged: it comes again.
        state.0.cast(router::Msg::Handoff(received));
        Ok(())
    }
}

/// Pulls until the actor is gone.
async fn pull(args: Args, myself: ActorRef<Msg>) {
    loop {
        let mut queue = match HandoffQueue::open(&args.shell.bus, &args.role, args.partition).await {
            Ok(queue) => queue,
            Err(error) => {
                tracing::warn!(role = %args.role, partition = args.partition, %error, "cannot open the handoff queue");
                tokio::time::sleep(REOPEN_PAUSE).await;
                continue;
            }
        };
        loop {
            match queue.next(PULL_WAIT).await {
                Ok(None) => {}
                Ok(Some(received)) => {
                    if myself.cast(Msg::Received(Box::new(received))).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::debug!(role = %args.role, partition = args.partition, %error, "handoff queue broke");
                    break;
                }
            }
        }
        tokio::time::sleep(REOPEN_PAUSE).await;
    }
}
