//! Takes the handoffs of one role and partition from the broker and gives them to the router.
//!
//! It holds no state: what it took and nobody acknowledged is delivered again.

use std::{ops::Deref, sync::Arc, time::Duration};

use holdpoint_bus::handoffs::{HandoffQueue, Received};
use holdpoint_protocol::ids::RoleId;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    router::{self, RouterHandle},
    shell::Shell,
};

/// How long one pull waits before it is asked again; a stop is seen at once anyway.
const PULL_WAIT: Duration = Duration::from_secs(5);
/// The pause before a broken queue is opened anew.
const REOPEN_PAUSE: Duration = Duration::from_millis(500);
/// Handoffs of one role and partition in hand at once: those of different flights are worked on beside each other, and
/// the rest waits in the broker.
const IN_HAND_MAX: usize = 64;

/// Arguments of one intake.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
    pub(crate) role: RoleId,
    pub(crate) partition: u32,
}

/// A handoff in hand. It takes up room until it is dropped.
pub(crate) struct Taken {
    received: Received,
    _room: OwnedSemaphorePermit,
}

impl Deref for Taken {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.received
    }
}

/// The actor. It has no messages: its task is what it is there for.
pub(crate) struct Intake;

impl Actor for Intake {
    type Msg = ();
    type State = tokio::task::JoinHandle<()>;
    type Arguments = Args;

    async fn pre_start(&self, _: ActorRef<()>, args: Args) -> Result<Self::State, ActorProcessingErr> {
        Ok(tokio::spawn(pull(args)))
    }

    async fn post_stop(&self, _: ActorRef<()>, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        state.abort();
        Ok(())
    }
}

/// Pulls until it is aborted.
async fn pull(args: Args) {
    let room = Arc::new(Semaphore::new(IN_HAND_MAX));
    loop {
        match HandoffQueue::open(&args.shell.bus, &args.role, args.partition).await {
            Ok(queue) => pull_from(queue, &args, &room).await,
            Err(error) => {
                tracing::warn!(role = %args.role, partition = args.partition, %error, "cannot open the handoff queue");
            }
        }
        tokio::time::sleep(REOPEN_PAUSE).await;
    }
}

/// Pulls until the queue breaks.
async fn pull_from(mut queue: HandoffQueue, args: &Args, room: &Arc<Semaphore>) {
    loop {
        let room = room.clone().acquire_owned().await.expect("the semaphore is never closed");
        let received = loop {
            match queue.next(PULL_WAIT).await {
                Ok(None) => {}
                Ok(Some(received)) => break received,
                Err(error) => {
                    tracing::debug!(role = %args.role, partition = args.partition, %error, "handoff queue broke");
                    return;
                }
            }
        };
        // A router that is gone right now leaves the handoff unacknowledged: it comes again.
        args.router.cast(router::Msg::Handoff(Box::new(Taken { received, _room: room })));
    }
}
