use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::mpsc, time::timeout};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Reports that it runs, and does what it is asked.
struct Worker;

enum Work {
    Fail,
    Panic,
    /// Says when it is begun, waits to be let go, and says when it is done.
    Slow {
        begun: mpsc::UnboundedSender<&'static str>,
        go: tokio::sync::oneshot::Receiver<()>,
    },
}

impl Actor for Worker {
    type Msg = Work;
    type State = ();
    type Arguments = mpsc::UnboundedSender<ActorRef<Work>>;

    async fn pre_start(&self, myself: ActorRef<Work>, args: Self::Arguments) -> Result<(), ActorProcessingErr> {
        let _ = args.send(myself);
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Work>, message: Work, (): &mut ()) -> Result<(), ActorProcessingErr> {
        match message {
            Work::Fail => Err("told to fail".into()),
            Work::Panic => panic!("told to panic"),
            Work::Slow { begun, go } => {
                let _ = begun.send("begun");
                let _ = go.await;
                let _ = begun.send("done");
                Ok(())
            }
        }
    }
}

fn quick(policy: RestartPolicy, max_restarts: u32) -> ChildSpec {
    ChildSpec {
        policy,
        budget: RestartBudget { max_restarts, window: Duration::from_secs(600) },
        backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_millis(5) },
        ..ChildSpec::permanent("worker")
    }
}

async fn tree(spec: ChildSpec) -> (Tree, mpsc::UnboundedReceiver<ActorRef<Work>>) {
    let (sender, started) = mpsc::unbounded_channel();
    let child = Child::new(spec, move |supervisor| {
        let sender = sender.clone();
        async move {
            let (actor, _) = Worker::spawn_linked(None, Worker, sender, supervisor).await?;
            Ok(Started::by_mailbox(&actor))
        }
    });
    (Tree::start(vec![child]).await.unwrap(), started)
}

async fn next<T>(receiver: &mut mpsc::UnboundedReceiver<T>) -> T {
    timeout(PATIENCE, receiver.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_child_that_fails_panics_or_is_killed_is_restarted() {
    let (_tree, mut started) = tree(quick(RestartPolicy::Transient, 3)).await;
    next(&mut started).await.cast(Work::Fail).unwrap();
    next(&mut started).await.cast(Work::Panic).unwrap();
    next(&mut started).await.kill();
    next(&mut started).await;
}

#[tokio::test]
async fn a_used_up_budget_ends_the_tree_with_an_error() {
    let (mut tree, mut started) = tree(quick(RestartPolicy::Permanent, 2)).await;
    for _ in 0..3 {
        next(&mut started).await.cast(Work::Fail).unwrap();
    }
    let meltdown = timeout(PATIENCE, tree.ended()).await.unwrap().unwrap_err();
    assert_eq!(meltdown.child, "worker");
    assert!(meltdown.cause.contains("told to fail"), "{meltdown}");
}

#[tokio::test]
async fn a_child_that_never_starts_uses_up_its_budget() {
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = attempts.clone();
    let child = Child::new(quick(RestartPolicy::Permanent, 2), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Err(ractor::SpawnErr::StartupFailed("no".into())) }
    });
    let mut tree = Tree::start(vec![child]).await.unwrap();
    assert!(timeout(PATIENCE, tree.ended()).await.unwrap().is_err());
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_transient_child_that_ends_in_order_ends_the_tree_without_error() {
    let (mut tree, mut started) = tree(quick(RestartPolicy::Transient, 2)).await;
    next(&mut started).await.stop(None);
    assert_eq!(timeout(PATIENCE, tree.ended()).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn draining_lets_the_message_in_hand_finish() {
    let (mut tree, mut started) = tree(quick(RestartPolicy::Permanent, 2)).await;
    let worker = next(&mut started).await;
    let (begun, mut events) = mpsc::unbounded_channel();
    let (let_go, go) = tokio::sync::oneshot::channel();
    worker.cast(Work::Slow { begun, go }).unwrap();
    assert_eq!(next(&mut events).await, "begun");
    tree.drain(PATIENCE);
    let_go.send(()).unwrap();
    assert_eq!(next(&mut events).await, "done");
    assert_eq!(timeout(PATIENCE, tree.ended()).await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_drain_in_time_is_killed() {
    let (mut tree, mut started) = tree(quick(RestartPolicy::Permanent, 2)).await;
    let worker = next(&mut started).await;
    let (begun, mut events) = mpsc::unbounded_channel();
    let (_never, go) = tokio::sync::oneshot::channel();
    worker.cast(Work::Slow { begun, go }).unwrap();
    assert_eq!(next(&mut events).await, "begun");
    tree.drain(Duration::from_millis(10));
    assert_eq!(timeout(PATIENCE, tree.ended()).await.unwrap(), Ok(()));
    assert_eq!(events.recv().await, None);
}

#[tokio::test]
async fn dropping_a_tree_kills_its_children() {
    let (tree, mut started) = tree(quick(RestartPolicy::Permanent, 2)).await;
    let worker = next(&mut started).await;
    drop(tree);
    timeout(PATIENCE, worker.wait(None)).await.unwrap().unwrap();
}

/// An actor with a task, which the test steers.
struct Employer;

enum Outcome {
    Done,
    Failed(TaskFailed),
}

impl From<TaskFailed> for Outcome {
    fn from(failed: TaskFailed) -> Self {
        Self::Failed(failed)
    }
}

/// What the task does once it is let go, and who hears of its outcome.
type Orders = Arc<std::sync::Mutex<mpsc::UnboundedReceiver<fn() -> Outcome>>>;

impl Actor for Employer {
    type Msg = Outcome;
    type State = (ActorTasks, mpsc::UnboundedSender<&'static str>);
    type Arguments = (Orders, mpsc::UnboundedSender<&'static str>);

    async fn pre_start(
        &self,
        myself: ActorRef<Outcome>,
        (orders, told): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let _ = told.send("started");
        let mut tasks = ActorTasks::default();
        tasks.run(&myself, "worker", async move {
            let next = std::future::poll_fn(|cx| orders.lock().unwrap().poll_recv(cx)).await;
            next.map_or_else(|| TaskFailed::ended("worker").into(), |order| order())
        });
        Ok((tasks, told))
    }

    async fn handle(
        &self,
        _: ActorRef<Outcome>,
        message: Outcome,
        (_, told): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Outcome::Done => drop(told.send("done")),
            Outcome::Failed(failed) => return Err(failed.into()),
        }
        Ok(())
    }
}

async fn employer(
    max_restarts: u32,
) -> (Tree, mpsc::UnboundedSender<fn() -> Outcome>, mpsc::UnboundedReceiver<&'static str>) {
    let ((orders, take), (told, events)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let take: Orders = Arc::new(std::sync::Mutex::new(take));
    let child = Child::new(quick(RestartPolicy::Permanent, max_restarts), move |supervisor| {
        let args = (take.clone(), told.clone());
        async move {
            let (actor, _) = Employer::spawn_linked(None, Employer, args, supervisor).await?;
            Ok(Started::by_mailbox(&actor))
        }
    });
    (Tree::start(vec![child]).await.unwrap(), orders, events)
}

#[tokio::test]
async fn an_actor_whose_task_panics_is_restarted_and_its_new_task_goes_on() {
    let (_tree, orders, mut events) = employer(1).await;
    assert_eq!(next(&mut events).await, "started");
    orders.send(|| panic!("told to panic")).unwrap();
    assert_eq!(next(&mut events).await, "started");
    orders.send(|| Outcome::Done).unwrap();
    assert_eq!(next(&mut events).await, "done");
}

#[tokio::test]
async fn a_task_that_keeps_panicking_or_ends_is_named_when_the_restarts_are_used_up() {
    let (mut tree, orders, _events) = employer(1).await;
    orders.send(|| panic!("told to panic")).unwrap();
    drop(orders);
    let meltdown = timeout(PATIENCE, tree.ended()).await.unwrap().unwrap_err();
    assert_eq!(meltdown.cause, "the task `worker` ended");
    let (mut tree, orders, _events) = employer(0).await;
    orders.send(|| panic!("told to {}", "panic")).unwrap();
    let meltdown = timeout(PATIENCE, tree.ended()).await.unwrap().unwrap_err();
    assert_eq!(meltdown.cause, "the task `worker` panicked: told to panic");
}

#[tokio::test]
async fn the_tasks_of_an_actor_end_with_it() {
    let (tree, orders, mut events) = employer(1).await;
    assert_eq!(next(&mut events).await, "started");
    drop(tree);
    timeout(PATIENCE, orders.closed()).await.unwrap();
}
