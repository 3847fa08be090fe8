//! A child that is there for its tasks alone: it takes no messages, its tasks run as long as it does, and with the first of
//! them that ends it fails, so that its supervisor starts all of them again.

use std::pin::Pin;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{ActorTasks, Child, ChildSpec, Started, TaskFailed};

/// A task with its name. That it ends is a failure.
pub struct Errand(&'static str, Pin<Box<dyn Future<Output = TaskFailed> + Send>>);

impl Errand {
    /// Runs this until it is aborted.
    pub fn new(name: &'static str, work: impl Future<Output = TaskFailed> + Send + 'static) -> Self {
        Self(name, Box::pin(work))
    }

    /// Runs it as part of another task.
    pub async fn run(self) -> TaskFailed {
        self.1.await
    }
}

impl Child {
    /// A child of these tasks, which are made again at each start.
    pub fn of_errands(spec: ChildSpec, make: impl Fn() -> Vec<Errand> + Send + Sync + 'static) -> Self {
        Self::new(spec, move |supervisor| {
            let errands = make();
            async move {
                let (actor, _) = Actor::spawn_linked(None, Errands, errands, supervisor).await?;
                Ok(Started::by_mailbox(&actor))
            }
        })
    }
}

struct Errands;

impl Actor for Errands {
    type Msg = TaskFailed;
    type State = ActorTasks;
    type Arguments = Vec<Errand>;

    async fn pre_start(
        &self,
        myself: ActorRef<TaskFailed>,
        errands: Vec<Errand>,
    ) -> Result<ActorTasks, ActorProcessingErr> {
        let mut tasks = ActorTasks::default();
        for Errand(name, work) in errands {
            tasks.run(&myself, name, work);
        }
        Ok(tasks)
    }

    async fn handle(
        &self,
        _: ActorRef<TaskFailed>,
        failed: TaskFailed,
        _: &mut ActorTasks,
    ) -> Result<(), ActorProcessingErr> {
        Err(failed.into())
    }
}
