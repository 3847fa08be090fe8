//! The broker is killed under load.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use holdpoint_bus::{
    api::{self, ApiError, Call},
    auth::KnownUsers,
    handoffs::{self, HandoffQueue, ShowJwt},
    tries::{self, RetriedKind},
    turns::TurnQueue,
};
use holdpoint_protocol::{
    ids::role,
    journal::{EntryKind, Sequence},
    plan::Priority,
    streams,
    subjects::{self, JournalKey},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::Notify;

use crate::support::{SOON, TestBroker, all, append, flight, outgoing, waypoint};

const HANDOFFS: usize = 150;
const ENTRIES: u64 = 150;

#[tokio::test]
async fn handoffs_and_entries_are_stored_once_although_the_broker_is_killed_in_between_and_retries_are_counted() {
    let before = [RetriedKind::Write, RetriedKind::Dispatch].map(tries::count);
    let mut broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let subject = subjects::handoff(&role::id(role::BUILDER), &flight("f"), &waypoint("w"), "build_plan");
    let sender = tokio::spawn(async move {
        for n in 0..HANDOFFS {
            let handoff = outgoing(&n.to_string(), &format!("id-{n}"));
            handoffs::publish(&builder, &subject, &handoff, ShowJwt::No).await.unwrap();
        }
    });
    let (journal, key) = (broker.journal(), JournalKey::flight(&flight("f")));
    let writer = tokio::spawn(async move {
        let mut last = Sequence(0);
        for n in 0..ENTRIES {
            last = append(&journal, &key, &EntryKind::Landed, last, &format!("e-{n}")).await.unwrap();
        }
        last
    });
    for enough in [30, 90] {
        let reached = async { while broker.count(streams::JOURNAL).await < enough {} };
        tokio::time::timeout(SOON, reached).await.unwrap();
        broker.local.broker.kill().await.unwrap();
        broker.local.broker.restart().await.unwrap();
    }
    sender.await.unwrap();
    assert_eq!(writer.await.unwrap(), Sequence(ENTRIES));
    assert_eq!(broker.count(streams::JOURNAL).await, ENTRIES);
    assert_eq!(broker.count(&streams::handoff(&role::id(role::BUILDER))).await, HANDOFFS as u64);
    // Both always had something under way when the broker was killed.
    let after = [RetriedKind::Write, RetriedKind::Dispatch].map(tries::count);
    assert!(after[0] > before[0] && after[1] > before[1], "{before:?} {after:?}");
}

#[tokio::test]
async fn consumers_go_on_after_a_kill_and_see_everything_at_least_once() {
    let mut broker = TestBroker::start().await;
    let (f, role) = (flight("f"), role::id(role::BUILDER));
    let builder = broker.bus(role::BUILDER, "b1").await;
    let subject = subjects::handoff(&role, &f, &waypoint("w"), "build_plan");
    for n in 0..20 {
        let handoff = outgoing("{}", &format!("id-{n}"));
        handoffs::publish(&builder, &subject, &handoff, ShowJwt::No).await.unwrap();
    }
    broker.open_turn(&f, "w", role::BUILDER, Priority::High).await;
    let mut queue = HandoffQueue::open(&broker.orchestrator, &role, subjects::partition(&f)).await.unwrap();
    let mut turns = TurnQueue::open(&builder, &role, &streams::fleet_pool(), broker.roots()).await.unwrap();
    let mut seen = BTreeSet::new();
    for _ in 0..10 {
        let received = queue.next(SOON).await.unwrap().unwrap();
        seen.insert(received.stored.message_id.clone().unwrap());
        received.ack().await.unwrap();
    }
    broker.local.broker.kill().await.unwrap();
    broker.local.broker.restart().await.unwrap();

    // Also acknowledged ones may come again: that is why every consumer is idempotent.
    let all = async {
        while seen.len() < 20 {
            if let Some(received) = queue.next(SOON).await.unwrap() {
                seen.insert(received.stored.message_id.clone().unwrap());
                received.ack().await.unwrap();
            }
        }
    };
    tokio::time::timeout(2 * SOON, all).await.unwrap();
    let delivery = tokio::time::timeout(SOON, turns.next()).await.unwrap();
    delivery.ack().await.unwrap();
}

#[tokio::test]
async fn whoever_waits_for_an_answer_is_told_when_the_broker_dies() {
    let mut broker = TestBroker::start().await;
    let asked = Arc::new(Notify::new());
    let seen = asked.clone();
    let server = api::serve(
        &broker.orchestrator,
        KnownUsers::new(broker.roots()),
        &["status"],
        api::REQUESTS_PER_MINUTE,
        move |_| {
            seen.notify_one();
            std::future::pending()
        },
    );
    let _server = server.await.unwrap();
    let operator = broker.bus(role::OPERATOR, "ann").await;
    let waiting = tokio::spawn(async move {
        let call =
            Call { endpoint: "status", payload: "f".into(), timeout: Duration::from_secs(3600), traceparent: None };
        api::request(&operator, call).await
    });
    tokio::time::timeout(SOON, asked.notified()).await.unwrap();
    broker.local.broker.kill().await.unwrap();
    let answer = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap();
    assert!(matches!(answer, Err(ApiError::Lost { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_replay_goes_on_when_the_broker_dies_with_a_batch_under_way() {
    // More than one batch, so that the second one can be asked for while the broker is silent.
    const LONG: u64 = 520;
    let mut broker = TestBroker::start().await;
    let (journal, key) = (broker.journal(), JournalKey::flight(&flight("f")));
    let mut last = Sequence(0);
    for n in 0..LONG {
        last = append(&journal, &key, &EntryKind::Landed, last, &format!("e-{n}")).await.unwrap();
    }
    let mut replay = journal.replay(&key.filter()).await.unwrap();
    let mut seen = 0;
    while seen < 500 {
        replay.next().await.unwrap().unwrap();
        seen += 1;
    }
    kill(Pid::from_raw(broker.local.broker.pid().cast_signed()), Signal::SIGSTOP).unwrap();
    let moved = broker.orchestrator.bytes_moved();
    let rest = tokio::spawn(all(replay));
    let asked = async {
        while broker.orchestrator.bytes_moved() == moved {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, asked).await.unwrap();
    broker.local.broker.kill().await.unwrap();
    broker.local.broker.restart().await.unwrap();
    let rest = tokio::time::timeout(2 * SOON, rest).await.unwrap().unwrap().unwrap();
    assert_eq!(rest.len() as u64, LONG - seen);
}

#[tokio::test]
async fn a_broker_that_is_late_is_asked_for_its_consumers_again() {
    // Longer than it may take for one answer.
    const LATE: Duration = Duration::from_secs(11);
    let broker = TestBroker::start().await;
    let pid = Pid::from_raw(broker.local.broker.pid().cast_signed());
    kill(pid, Signal::SIGSTOP).unwrap();
    let goes_on = async {
        tokio::time::sleep(LATE).await;
        kill(pid, Signal::SIGCONT).unwrap();
    };
    let (pool, flight) = (streams::fleet_pool(), flight("f"));
    let made = broker.ensure_pool(role::BUILDER, &pool, Some(&flight), SOON);
    tokio::time::timeout(2 * SOON, async { tokio::join!(made, goes_on) }).await.unwrap();
}
