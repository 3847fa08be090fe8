//! Takes the handoffs of one role and partition from the broker and gives them to the router, while the partition is this
//! orchestrator's.
//!
//! It holds no state: what it took and nobody acknowledged is delivered again.

mod desk;
mod in_hand;
mod reception;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use desk::Taken;
use desk::{Answer, Desk, Settled};
use holdpoint_admission::intake::PLACES;
use holdpoint_bus::handoffs::{HandoffQueue, Received};
use holdpoint_protocol::ids::RoleId;
use holdpoint_runtime::{
    supervise::{Errand, TaskFailed},
    telemetry::ErrorChain,
};
use in_hand::InHand;
use reception::{Mail, Seen};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};

use crate::{peers::Shares, router::RouterHandle, senders::SenderError, shell::Shell};

/// How long one pull waits before it is asked again; a stop is seen at once anyway.
const PULL_WAIT: Duration = Duration::from_secs(5);
/// How long after the partition went to another orchestrator what is under way to this one is still taken.
const LAST_PULL_WAIT: Duration = Duration::from_millis(50);
/// The pause before a broken queue is reopened.
const REOPEN_PAUSE: Duration = Duration::from_millis(500);

/// Arguments of one intake.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
    pub(crate) role: RoleId,
    pub(crate) partition: u32,
    pub(crate) shares: Shares,
}

impl Args {
    /// What an intake does as long as it lives.
    pub(crate) fn errands(&self) -> Vec<Errand> {
        let in_hand = InHand::new();
        let heartbeats = in_hand.clone().beat(self.shell.settings.handoff_ack_wait);
        vec![Errand::new("heartbeats", heartbeats), Errand::new("pull", pull(self.clone(), in_hand))]
    }
}

/// Pulls until it is aborted.
async fn pull(mut args: Args, in_hand: InHand<Received>) -> TaskFailed {
    let room = Arc::new(Semaphore::new(PLACES));
    let desk = Desk::new(args.shell.clone(), args.router.clone());
    let partition = args.partition;
    // Fails only when the process ends.
    while args.shares.wait_for(|members| members.has(partition)).await.is_ok() {
        match HandoffQueue::open(&args.shell.bus, &args.role, args.partition).await {
            Ok(queue) => match pull_from(queue, &args, &room, &desk, &in_hand).await {
                Pulled::NotOurs => continue,
                Pulled::Broken => {}
            },
            Err(error) => {
                tracing::warn!(role = %args.role, partition = args.partition, %error, "cannot open the handoff queue");
            }
        }
        tokio::time::sleep(REOPEN_PAUSE).await;
    }
    TaskFailed::ended("pull")
}

/// Why nothing is pulled any more.
enum Pulled {
    /// The queue broke.
    Broken,
    /// The partition is another orchestrator's now.
    NotOurs,
}

/// Pulls until the queue breaks, or the partition goes to another orchestrator.
async fn pull_from(
    mut queue: HandoffQueue,
    args: &Args,
    room: &Arc<Semaphore>,
    desk: &Desk,
    in_hand: &InHand<Received>,
) -> Pulled {
    let mut shares = args.shares.clone();
    let mut aside = JoinSet::new();
    loop {
        while aside.try_join_next().is_some() {}
        let room = room.clone().acquire_owned().await.expect("the semaphore is never closed");
        let received = loop {
            let ours = shares.borrow_and_update().has(args.partition);
            let wait = if ours { PULL_WAIT } else { LAST_PULL_WAIT };
            let next = tokio::select! {
                next = queue.next(wait) => next,
                _ = shares.changed() => continue,
            };
            match next {
                Ok(None) if ours => {}
                Ok(None) => return Pulled::NotOurs,
                Ok(Some(received)) => break received,
                Err(error) => {
                    tracing::debug!(role = %args.role, partition = args.partition, %error, "handoff queue broke");
                    return Pulled::Broken;
                }
            }
        };
        let received = Arc::new(received);
        in_hand.add(&received, Instant::now());
        let settled = match reception::look(&args.shell.senders, &received) {
            Seen::By(sender, mail) => desk.admit(sender, mail, room),
            Seen::Stranger(mail) => {
                aside.spawn(look_up(args.shell.clone(), desk.clone(), mail, room));
                None
            }
            Seen::Refused(code, what) => Some(Settled { received, answer: Answer::Refused(code, what), _room: room }),
        };
        if let Some(settled) = settled {
            let desk = desk.clone();
            aside.spawn(async move { desk.answer(settled).await });
        }
    }
}

/// Looks up whose a handoff is; then it is admitted like any other.
async fn look_up(shell: Shell, desk: Desk, mail: Mail, room: OwnedSemaphorePermit) {
    let Some((mail, hold)) = desk.stranger(mail, room).await else { return };
    let (Some(subject), Some(head)) = (mail.subject.clone().on_waypoint(), &mail.head) else { return };
    let verified = shell.senders.verify(&shell.bus, &subject, &mail.received.stored, &head.agent).await;
    let Some(room) = hold.release() else { return };
    match verified {
        Ok(harness) => {
            let sender = Some(head.agent.clone());
            if let Some(settled) = desk.admit(sender, Mail { harness, ..mail }, room) {
                desk.answer(settled).await;
            }
        }
        Err(SenderError::Unknown(error)) => {
            if shell.may_log("handoffs that wait") {
                tracing::warn!(error = %ErrorChain(&error), "cannot look up who sent a handoff now");
            }
            desk.not_now(&mail.received).await;
        }
        Err(SenderError::Refused { code, what }) => desk.refuse(&mail.received, code, &what).await,
    }
}
