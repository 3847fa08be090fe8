use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::mpsc, time::timeout};

use super::*;
use crate::supervise::{Backoff, Child, ChildSpec, RestartBudget, Started};

const PATIENCE: Duration = Duration::from_secs(20);

/// Ends at the first message, in order or not.
struct Stubborn;

#[derive(Clone, Copy)]
enum Msg {
    Drain,
    Fail,
}

impl Actor for Stubborn {
    type Msg = Msg;
    type State = bool;
    type Arguments = (bool, bool);

    async fn pre_start(&self, myself: ActorRef<Msg>, args: (bool, bool)) -> Result<bool, ActorProcessingErr> {
        let (heeds, fails) = args;
        if fails {
            myself.cast(Msg::Fail)?;
        }
        Ok(heeds)
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, heeds: &mut bool) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Drain if *heeds => myself.stop(None),
            Msg::Drain => {}
            Msg::Fail => return Err("told to fail".into()),
        }
        Ok(())
    }
}

async fn tree(heeds: bool, fails: bool) -> Tree {
    let spec = ChildSpec {
        budget: RestartBudget { max_restarts: 1, window: PATIENCE },
        backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_millis(1) },
        ..ChildSpec::permanent("stubborn")
    };
    let child = Child::new(spec, move |supervisor| async move {
        let (actor, _) = Stubborn::spawn_linked(None, Stubborn, (heeds, fails), supervisor).await?;
        Ok(Started::by_message(actor, |_| Msg::Drain))
    });
    Tree::start(vec![child]).await.unwrap()
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_drains() {
    let (ask, asked) = mpsc::unbounded_channel();
    ask.send(StopCause::Terminate).unwrap();
    let ended = timeout(PATIENCE, run_until(tree(true, false).await, asked, PATIENCE)).await.unwrap().unwrap();
    assert_eq!(ended, ProcessEnd::Drained(StopCause::Terminate));
    assert_eq!(ended.exit_code(), exit::OK);
}

#[tokio::test]
async fn a_second_request_ends_it_at_once() {
    let (ask, asked) = mpsc::unbounded_channel();
    ask.send(StopCause::Interrupt).unwrap();
    ask.send(StopCause::Interrupt).unwrap();
    let running = run_until(tree(false, false).await, asked, Duration::from_secs(3600));
    let ended = timeout(PATIENCE, running).await.unwrap().unwrap();
    assert_eq!(ended, ProcessEnd::Cut(StopCause::Interrupt));
    assert_eq!(ended.exit_code(), exit::INTERRUPTED);
}

#[tokio::test]
async fn a_part_that_cannot_be_kept_running_fails_the_process() {
    let (_ask, asked) = mpsc::unbounded_channel();
    let failed = timeout(PATIENCE, run_until(tree(true, true).await, asked, PATIENCE)).await.unwrap();
    assert!(matches!(failed, Err(ProcessError::Meltdown(_))));
}
