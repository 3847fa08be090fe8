//! Ways to make the broker itself write what the sender may not. All of them work with plain permissions in one account.

use async_nats::HeaderMap;
use holdpoint_bus::{
    api::{self, ApiRequest},
    auth::KnownUsers,
};
use holdpoint_protocol::{
    ids::role,
    journal::EntryKind,
    plan::Priority,
    streams,
    subjects::{self, JournalKey},
};

use crate::support::{TestBroker, flight, waypoint};

fn handoff(role: &str) -> String {
    subjects::handoff(&role.parse().unwrap(), &flight("f"), &waypoint("w"), "build_plan")
}

fn entry() -> String {
    JournalKey::waypoint(&flight("f"), &waypoint("w")).entry(&EntryKind::Decided)
}

#[tokio::test]
async fn an_acknowledgement_cannot_be_sent_into_the_journal_by_a_reply_subject() {
    let broker = TestBroker::start().await;
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    raw.publish_with_reply(&handoff(role::BUILDER), &entry(), "{}").await;
    // A later request on the same connection is answered later: the forgery, if it worked, is stored by now.
    assert!(raw.ask(&handoff(role::BUILDER), "{}").await.contains("\"seq\":2"));
    assert_eq!(broker.count(streams::JOURNAL).await, 0);

    // The same reply subject within the account of the streams does it: this is what the accounts are for.
    let inside = broker.raw(&broker.local.orchestrator).await;
    inside.publish_with_reply(&handoff(role::BUILDER), &entry(), "{}").await;
    assert!(inside.ask(&handoff(role::BUILDER), "{}").await.contains("\"seq\":4"));
    assert_eq!(broker.count(streams::JOURNAL).await, 1);
}

#[tokio::test]
async fn an_answer_of_the_api_cannot_be_sent_into_the_journal() {
    let broker = TestBroker::start().await;
    let answer = |_: ApiRequest| async { Ok("{}".into()) };
    let _server = api::serve(
        &broker.orchestrator,
        KnownUsers::new(broker.roots()),
        &["progress"],
        api::REQUESTS_PER_MINUTE,
        answer,
    )
    .await
    .unwrap();
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    raw.publish_with_reply(&subjects::api("progress"), &entry(), "{}").await;
    // Answered after the one before.
    raw.ask(&subjects::api("progress"), "{}").await;
    assert_eq!(broker.count(streams::JOURNAL).await, 0);
}

#[tokio::test]
async fn a_pulled_turn_cannot_be_sent_into_the_journal() {
    let broker = TestBroker::start().await;
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    broker.open_turn(&flight("f"), "w", role::BUILDER, Priority::High).await;
    let pull = "$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.builder_high_fleet";
    raw.publish_with_reply(pull, &entry(), r#"{"batch":1}"#).await;
    raw.ask(&handoff(role::BUILDER), "{}").await;
    assert_eq!(broker.count(streams::JOURNAL).await, 1);
}

#[tokio::test]
async fn the_broker_publishes_nothing_on_anybodys_schedule() {
    let broker = TestBroker::start().await;
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    for target in [handoff(role::VERIFIER), entry()] {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Schedule", "@at 2020-01-01T00:00:00Z");
        headers.insert("Nats-Schedule-Target", target.as_str());
        let answer = raw.ask_with(&handoff(role::BUILDER), "{}", headers).await;
        assert!(answer.contains("error"), "{answer}");
    }
    for header in ["Nats-TTL", "Nats-Rollup"] {
        let mut headers = HeaderMap::new();
        headers.insert(header, if header == "Nats-TTL" { "1s" } else { "all" });
        let answer = raw.ask_with(&handoff(role::BUILDER), "{}", headers).await;
        assert!(answer.contains("error"), "{answer}");
    }
    assert!(raw.ask(&handoff(role::BUILDER), "{}").await.contains("\"seq\":1"));
    assert_eq!(broker.count(&streams::handoff(&role::id(role::VERIFIER))).await, 0);
    assert_eq!(broker.count(streams::JOURNAL).await, 0);
}
