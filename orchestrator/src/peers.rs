//! The other orchestrators: hears of them, says that this one is there, and shares the partitions with them.
//!
//! Each says whose agents it looks after: one that was started to answer a question takes its share of handoffs too, and serves the
//! deadlines of what it opens if somebody looks after the flight's agents.
//!
//! When one goes away, what it was about to do is looked for in the journals, as at a start: it may have decided something
//! and not have done what follows, of which nobody else hears. Nothing is safe because of this: the journal decides
//! between two that take the same handoff.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_admission::shares::{Members, News};
use holdpoint_bus::{
    Bus,
    auth::TrustRoots,
    signals::{self, Forged, Signal, SignalError, Signals},
};
use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, PoolId, role},
    subjects,
};
use holdpoint_runtime::{
    clock, fresh,
    supervise::{ActorTasks, TaskFailed},
    telemetry::ErrorChain,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::watch;

use crate::{
    router::{self, RouterHandle},
    shell::Shell,
};

/// Signs of life in the time after which a silent member is gone: two may get lost.
const BEATS_PER_PATIENCE: u32 = 3;
/// The pause before a broken subscription is renewed.
const LISTEN_PAUSE: Duration = Duration::from_secs(1);
/// What a sign of life says, and then the pool; of earlier versions that alone.
const HERE: &str = "here";
/// What one that ends in order says.
const LEAVING: &[u8] = b"leaving";

/// Which partitions are this orchestrator's at the moment.
pub(crate) type Shares = watch::Receiver<Members>;

/// Arguments.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
}

/// A name that no other orchestrator has: those of a fleet may share their credentials.
pub(crate) fn own_name(bus: &Bus) -> AgentName {
    let name: String = bus.name().as_str().chars().take(40).collect();
    AgentName::try_new(format!("{name}-{}", fresh::suffix())).expect("an id with hex digits behind it is one")
}

/// The actor. Its task is what it is there for: each ends with the other, however it ends.
pub(crate) struct Peers;

impl Actor for Peers {
    type Msg = TaskFailed;
    type State = (Args, ActorTasks);
    type Arguments = Args;

    async fn pre_start(&self, myself: ActorRef<TaskFailed>, args: Args) -> Result<Self::State, ActorProcessingErr> {
        let mut tasks = ActorTasks::default();
        tasks.run(&myself, "attend", args.clone().attend());
        Ok((args, tasks))
    }

    async fn handle(
        &self,
        _: ActorRef<TaskFailed>,
        failed: TaskFailed,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        Err(failed.into())
    }

    async fn post_stop(
        &self,
        _: ActorRef<TaskFailed>,
        (args, tasks): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // Nothing may say that it is here after it has left.
        std::mem::take(tasks);
        args.say(Bytes::from_static(LEAVING)).await;
        Ok(())
    }
}

impl Args {
    /// Until it is aborted.
    async fn attend(self) -> TaskFailed {
        loop {
            let everybody = subjects::presence_of(&role::id(role::ORCHESTRATOR));
            match Signals::listen(&self.shell.bus, everybody).await {
                Ok(signals) => self.listen(signals).await,
                Err(error) => tracing::warn!(error = %ErrorChain(&error), "cannot hear of other orchestrators"),
            }
            tokio::time::sleep(LISTEN_PAUSE).await;
        }
    }

    /// Until the connection is closed.
    async fn listen(&self, mut signals: Signals) {
        let patience = self.shell.settings.handoff_ack_wait;
        let mut forged = Forged::default();
        let mut beat = tokio::time::interval(patience / BEATS_PER_PATIENCE);
        loop {
            tokio::select! {
                _ = beat.tick() => {
                    self.say_here().await;
                    if self.change(|members| members.forget_silent(clock::now(), patience)) {
                        tracing::warn!("another orchestrator is silent: looking for what it left");
                        self.router.cast(router::Msg::TakeOver);
                    }
                }
                signal = signals.next() => match signal {
                    Some(signal) => self.heard(&signal, &mut forged).await,
                    None => return,
                }
            }
        }
    }

    async fn heard(&self, signal: &Signal, forged: &mut Forged) {
        let Some(member) = member(signal, &self.shell.trust.roots(), clock::now()) else {
            forged.count(signal);
            return;
        };
        if &*signal.payload == LEAVING {
            if self.change(|members| members.left(&member)) {
                tracing::info!(%member, "another orchestrator ends: looking for what it left");
                self.router.cast(router::Msg::TakeOver);
            }
            return;
        }
        let mut news = News::Nothing;
        self.change(|members| {
            news = members.heard(member.clone(), serves(&signal.payload), clock::now());
            news != News::Nothing
        });
        let next = match news {
            News::Nothing => return,
            // What is this one's from now on may have gone on elsewhere.
            News::Joined => router::Msg::ReadOn,
            // Flights at rest, too, may have a deadline that passed.
            News::JoinedToServe => router::Msg::TakeOver,
        };
        tracing::info!(%member, "another orchestrator is there");
        // It may be new, and know of nobody yet.
        self.say_here().await;
        self.router.cast(next);
    }

    /// Informs those who take handoffs, if anything changed.
    fn change(&self, how: impl FnOnce(&mut Members) -> bool) -> bool {
        self.shell.members.send_if_modified(how)
    }

    async fn say_here(&self) {
        self.say(format!("{HERE} {}", self.shell.serves).into()).await;
    }

    async fn say(&self, what: Bytes) {
        let subject = subjects::presence(&role::id(role::ORCHESTRATOR), self.shell.members.borrow().own());
        let sent: Result<(), SignalError> = signals::send(&self.shell.bus, subject, what, None).await;
        if let Err(error) = sent {
            tracing::debug!(error = %ErrorChain(&error), "nobody hears that this orchestrator is there");
        }
    }
}

/// The orchestrator that says something of itself; `None` where no orchestrator does: nobody would look after
/// partitions that are left to one that is not there.
fn member(signal: &Signal, roots: &TrustRoots, now: Timestamp) -> Option<AgentName> {
    if !signal.is_orchestrators(roots, now) {
        return None;
    }
    signal.subject.rsplit('.').next()?.parse().ok()
}

/// The pool whose agents the sender of a sign of life looks after.
fn serves(payload: &[u8]) -> Option<PoolId> {
    std::str::from_utf8(payload).ok()?.strip_prefix(HERE)?.strip_prefix(' ')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use holdpoint_bus::auth::{Authority, Credentials};
    use holdpoint_protocol::streams;

    use super::*;

    fn signal(by: Option<&Credentials>) -> Signal {
        let subject = subjects::presence(&role::id(role::ORCHESTRATOR), &"another".parse().unwrap());
        let signature = by.map(|credentials| credentials.signer().sign(&subject, HERE.as_bytes()));
        Signal { subject, payload: Bytes::from_static(HERE.as_bytes()), traceparent: None, signature }
    }

    #[test]
    fn a_sign_of_life_says_whose_agents_are_looked_after_and_one_of_earlier_versions_does_not() {
        assert_eq!(serves(b"here fleet"), Some("fleet".parse().unwrap()));
        assert_eq!(
            (serves(b"here"), serves(b"here "), serves(b"leaving"), serves(b"here /")),
            (None, None, None, None)
        );
    }

    #[test]
    fn only_an_orchestrators_own_word_makes_it_one_of_those_who_share_the_work() {
        let mut authority = Authority::create();
        let orchestrator = authority.mint_orchestrator(&"orchestrator".parse().unwrap());
        let (builder, pool) = (role::id(role::BUILDER), streams::fleet_pool());
        let builder = authority.mint_agent(&builder, &"b1".parse().unwrap(), &pool, None).unwrap();
        let of = |signal| member(&signal, authority.trust_roots(), clock::now());
        assert_eq!(of(signal(Some(&orchestrator))), Some("another".parse().unwrap()));
        assert_eq!((of(signal(Some(&builder))), of(signal(None))), (None, None));
        let elsewhere =
            Signal { subject: "hp.v1.presence.orchestrator.evil".to_owned(), ..signal(Some(&orchestrator)) };
        assert_eq!(of(elsewhere), None, "what it signed is about itself");
    }
}
