//! Work that runs alongside an actor, on its behalf: its outcome is a message to the actor, and so is its panic.
//!
//! A task that panics unseen leaves its actor waiting for an outcome that never comes. When the actor hears of it, it
//! fails, and its supervisor restarts it from what is stored.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
};

use ractor::{ActorRef, Message};
use tokio::task::JoinSet;

/// A task of an actor did not do what the actor relies on. The actor returns it as its own error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task `{task}` {cause}")]
pub struct TaskFailed {
    task: &'static str,
    cause: String,
}

impl TaskFailed {
    /// A task ended that runs as long as its actor does.
    #[must_use]
    pub fn ended(task: &'static str) -> Self {
        Self { task, cause: "ended".to_owned() }
    }

    fn panicked(task: &'static str, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message");
        Self { task, cause: format!("panicked: {text}") }
    }
}

/// The tasks of one actor, part of its state: they are aborted when the actor ends, however it ends.
#[derive(Debug, Default)]
pub struct ActorTasks(JoinSet<()>);

impl ActorTasks {
    /// Runs `work` and sends the actor what it returns, or that it panicked.
    pub fn run<M>(&mut self, actor: &ActorRef<M>, task: &'static str, work: impl Future<Output = M> + Send + 'static)
    where
        M: Message + From<TaskFailed>,
    {
        while self.0.try_join_next().is_some() {}
        let actor = actor.clone();
        self.0.spawn(async move {
            let mut work = Box::pin(work);
            let outcome = poll_fn(|cx| {
                // Nothing of the work is looked at again after a panic.
                match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
                    Ok(poll) => poll.map(Ok),
                    Err(panic) => std::task::Poll::Ready(Err(TaskFailed::panicked(task, panic.as_ref()))),
                }
            });
            let message = outcome.await.unwrap_or_else(M::from);
            // Fails only when the actor has ended.
            let _ = actor.cast(message);
        });
    }
}
