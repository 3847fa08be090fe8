//! How everybody else reaches the router, which may fail and be started again.

use ractor::ActorRef;
use tokio::sync::watch;

use super::Msg;

/// The router, by the actor that it is at the moment.
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

    /// Waits until there is a router.
    pub(crate) async fn there(&self) {
        // The sender is this handle's own: it cannot be closed.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }

    /// The actor, if there is one.
    pub(crate) fn actor(&self) -> Option<ActorRef<Msg>> {
        self.0.borrow().clone()
    }

    /// Sends a message; lost if there is no router right now.
    pub(crate) fn cast(&self, msg: Msg) {
        if let Some(actor) = self.actor() {
            // It has just ended: those who wait for the outcome try again.
            let _ = actor.cast(msg);
        }
    }
}
