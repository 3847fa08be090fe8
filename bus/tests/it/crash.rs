//! The broker is killed under load.

use std::collections::BTreeSet;

use holdpoint_bus::{
    handoffs::{self, HandoffQueue, ShowJwt},
    turns::TurnQueue,
};
use holdpoint_protocol::{
    ids::role,
    journal::{EntryKind, Sequence},
    plan::Priority,
    streams,
    subjects::{self, JournalKey},
};

use crate::support::{SOON, TestBroker, append, flight, outgoing, waypoint};

const HANDOFFS: usize = 150;
const ENTRIES: u64 = 150;

#[tokio::test]
async fn handoffs_and_entries_are_stored_once_although_the_broker_is_killed_in_between() {
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
