//! How a supervisor starts a child, as often as need be, and how it asks it to end.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use ractor::{ActorCell, ActorRef, Message, SpawnErr};

use super::budget::ChildSpec;

type Starting = Pin<Box<dyn Future<Output = Result<Started, SpawnErr>> + Send>>;
type Drain = Box<dyn Fn(Duration) + Send>;

/// A child's rules and the way to start it.
pub struct Child {
    pub(super) spec: ChildSpec,
    pub(super) start: Box<dyn Fn(ActorCell) -> Starting + Send>,
}

impl Child {
    /// A child that is started by `start`: it spawns an actor *linked* to the given supervisor, with fresh arguments
    /// each time. Its `pre_start` is quick and local.
    pub fn new<F, S>(spec: ChildSpec, start: S) -> Self
    where
        S: Fn(ActorCell) -> F + Send + 'static,
        F: Future<Output = Result<Started, SpawnErr>> + Send + 'static,
    {
        Self { spec, start: Box::new(move |supervisor| Box::pin(start(supervisor))) }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A child that was started.
pub struct Started {
    pub(super) cell: ActorCell,
    pub(super) drain: Drain,
}

impl Started {
    /// A child that ends in order when the messages in its mailbox are handled.
    #[must_use]
    pub fn by_mailbox<M: Message>(actor: &ActorRef<M>) -> Self {
        let cell = actor.get_cell();
        let own = cell.clone();
        // Fails only when it has ended.
        Self { cell, drain: Box::new(move |_| drop(own.drain())) }
    }

    /// A child that ends in order when it gets a message, which carries the time it may still take.
    #[must_use]
    pub fn by_message<M: Message>(actor: ActorRef<M>, message: fn(Duration) -> M) -> Self {
        let cell = actor.get_cell();
        // Fails only when it has ended.
        Self { cell, drain: Box::new(move |deadline| drop(actor.cast(message(deadline)))) }
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("id", &self.cell.get_id()).finish_non_exhaustive()
    }
}
