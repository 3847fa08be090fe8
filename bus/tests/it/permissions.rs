//! What an agent cannot do, each with what it can.

use futures::StreamExt as _;
use holdpoint_bus::{Bus, ConnectArgs, ConnectError, auth::Authority, blobs, turns::TurnQueue};
use holdpoint_protocol::{
    Digest,
    ids::role,
    journal::EntryKind,
    plan::Priority,
    streams,
    subjects::{self, JournalKey},
};

use crate::support::{NOTHING_AFTER, SOON, TestBroker, flight, waypoint};

fn handoff(role: &str) -> String {
    subjects::handoff(&role.parse().unwrap(), &flight("f"), &waypoint("w"), "build_plan")
}

fn pull(role: &str, pool: &str) -> String {
    let pool = pool.parse().unwrap();
    format!(
        "$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.{}",
        streams::turn_consumer(&role.parse().unwrap(), &pool, Priority::High)
    )
}

const PULL: &str = r#"{"batch":1,"no_wait":true}"#;

#[tokio::test]
async fn an_agent_publishes_handoffs_and_blobs_of_its_own_role_and_nothing_else() {
    let broker = TestBroker::start().await;
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    for (own, other) in [(role::BUILDER, role::VERIFIER), (role::VERIFIER, role::REPAIR), (role::REPAIR, role::BUILDER)]
    {
        let raw = broker.raw_agent(own, "a1").await;
        let stored = raw.ask(&handoff(own), "{}").await;
        assert!(stored.contains("\"seq\":"), "{stored}");
        let digest = Digest::of(b"x");
        assert!(raw.ask(&subjects::blob_chunk(&role::id(own), &digest, 0), "x").await.contains("\"seq\":"));
        let (handoff, entry) = (handoff(other), key.entry(&EntryKind::Decided));
        let chunk = subjects::blob_chunk(&role::id(other), &digest, 1);
        let forbidden = [handoff, entry, chunk];
        let answers = forbidden.iter().map(|subject| raw.refused(subject, "{}"));
        assert_eq!(futures::future::join_all(answers).await, [true, true, true]);
    }
    assert_eq!(broker.count(streams::JOURNAL).await, 0);
    for name in role::AGENTS {
        assert_eq!(broker.count(&streams::blob(&role::id(name))).await, 1);
        assert_eq!(broker.count(&streams::handoff(&role::id(name))).await, 1);
    }
}

#[tokio::test]
async fn a_transcript_is_read_by_its_own_role_and_by_no_verifier() {
    let broker = TestBroker::start().await;
    let builder = role::id(role::BUILDER);
    let digest = Digest::of(b"what a builder said");
    let chunk = subjects::talk_chunk(&builder, &digest, 0);
    let own = broker.raw_agent(role::BUILDER, "b1").await;
    assert!(own.ask(&chunk, "what a builder said").await.contains("\"seq\":"));
    let get = subjects::direct_get(streams::BLOB_GETS, &chunk);
    assert_eq!(own.ask(&get, "").await, "what a builder said");
    let by_stream = subjects::direct_get(&streams::blob(&builder), &chunk);
    let blob = subjects::direct_get(streams::BLOB_GETS, &subjects::blob_chunk(&builder, &digest, 0));
    for (role, name) in [(role::VERIFIER, "v1"), (role::REPAIR, "r1"), (role::OPERATOR, "human-ann")] {
        let other = broker.raw_agent(role, name).await;
        let answers = [&get, &by_stream, &chunk].map(|subject| other.refused(subject, "x"));
        assert_eq!(futures::future::join_all(answers).await, [true, true, true], "{role}");
        assert!(!other.ask(&blob, "").await.contains("builder said"), "{role}: a transcript is no blob");
    }
    assert!(own.refused(&by_stream, "").await, "there is one way to it");
}

#[tokio::test]
async fn people_publish_acts_and_agents_do_not() {
    let broker = TestBroker::start().await;
    let (flight, waypoint) = (flight("f"), waypoint("w"));
    let acts = [subjects::act(&flight, Some(&waypoint), "retry"), subjects::act(&flight, None, "cancel")];
    for (role, name) in [(role::BUILDER, "b1"), (role::VERIFIER, "v1"), (role::REPAIR, "r1")] {
        let agent = broker.raw_agent(role, name).await;
        let answers = acts.iter().map(|act| agent.refused(act, "{}"));
        assert_eq!(futures::future::join_all(answers).await, [true, true], "{role}");
    }
    let person = broker.raw_agent(role::OPERATOR, "human-ann").await;
    for act in &acts {
        assert!(person.ask(act, "{}").await.contains("\"seq\":"), "{act}");
    }
    let foreign = role::AGENTS.map(handoff);
    let answers = foreign.iter().map(|subject| person.refused(subject, "{}"));
    assert_eq!(futures::future::join_all(answers).await, [true, true, true]);
    assert_eq!(broker.count(&streams::handoff(&role::id(role::OPERATOR))).await, 2);
}

#[tokio::test]
async fn an_agent_pulls_the_turns_of_its_own_role_and_pool_only() {
    let broker = TestBroker::start().await;
    let mine = streams::flight_pool(&flight("mine"));
    broker.ensure_pool(role::BUILDER, &mine, Some(&flight("mine")), SOON).await;
    for role in [role::BUILDER, role::VERIFIER] {
        broker.open_local_turn(&flight("mine"), role, role, Priority::High).await;
        broker.open_turn(&flight("fleets"), role, role, Priority::High).await;
    }
    let raw = broker.raw(&broker.mint(role::BUILDER, "b1", &mine)).await;
    assert!(raw.refused(&pull(role::BUILDER, "fleet"), PULL).await);
    assert!(raw.refused(&pull(role::VERIFIER, "fleet"), PULL).await);
    assert!(raw.ask(&pull(role::BUILDER, "mine"), PULL).await.contains("id"));
    let fleet = broker.raw_agent(role::BUILDER, "b2").await;
    assert!(fleet.refused(&pull(role::BUILDER, "mine"), PULL).await);
    let fleet = broker.raw_agent(role::VERIFIER, "v1").await;
    assert!(fleet.ask(&pull(role::VERIFIER, "fleet"), PULL).await.contains("id"));
}

#[tokio::test]
async fn an_agent_cannot_acknowledge_for_another_role() {
    let broker = TestBroker::start().await;
    broker.open_turn(&flight("f"), "w", role::VERIFIER, Priority::High).await;
    let raw = broker.raw_agent(role::VERIFIER, "v1").await;
    let inbox = raw.0.new_inbox();
    let mut answers = raw.0.subscribe(inbox.clone()).await.unwrap();
    raw.publish_with_reply(&pull(role::VERIFIER, "fleet"), &inbox, PULL).await;
    let message = tokio::time::timeout(SOON, answers.next()).await.unwrap().unwrap();
    let ack = message.reply.unwrap().to_string();

    let builder = broker.raw_agent(role::BUILDER, "b1").await;
    assert!(builder.refused(&ack, "+ACK").await);
    assert_eq!(pending(&broker).await, 1);
    assert_eq!(raw.ask(&ack, "+ACK").await, "");
    assert_eq!(pending(&broker).await, 0);
}

/// Turns of verifiers that are delivered and not acknowledged.
async fn pending(broker: &TestBroker) -> usize {
    let raw = broker.raw(&broker.local.orchestrator).await;
    let stream = async_nats::jetstream::new(raw.0).get_stream(streams::JOURNAL).await.unwrap();
    stream.consumer_info("verifier_high_fleet").await.unwrap().num_ack_pending
}

#[tokio::test]
async fn an_agent_cannot_touch_streams_and_consumers() {
    let broker = TestBroker::start().await;
    broker.open_turn(&flight("f"), "w", role::BUILDER, Priority::High).await;
    for role in [role::BUILDER, role::OPERATOR] {
        let raw = broker.raw_agent(role, "a1").await;
        let forbidden = [
            ("$JS.API.STREAM.DELETE.HP_JOURNAL", ""),
            ("$JS.API.STREAM.PURGE.HP_JOURNAL", ""),
            ("$JS.API.STREAM.MSG.DELETE.HP_JOURNAL", r#"{"seq":1}"#),
            ("$JS.API.STREAM.MSG.GET.HP_JOURNAL", r#"{"seq":1}"#),
            ("$JS.API.STREAM.INFO.HP_JOURNAL", ""),
            ("$JS.API.DIRECT.GET.HP_JOURNAL", r#"{"seq":1}"#),
            ("$JS.API.DIRECT.GET.HP_BLOB", r#"{"seq":1}"#),
            ("$JS.API.DIRECT.GET.HP_BLOB_BUILDER", r#"{"seq":1}"#),
            ("$JS.API.CONSUMER.DELETE.HP_JOURNAL.builder_high_fleet", ""),
            ("$JS.API.CONSUMER.CREATE.HP_JOURNAL", r#"{"stream_name":"HP_JOURNAL","config":{"ack_policy":"none"}}"#),
        ];
        let answers = forbidden.map(|(subject, payload)| raw.refused(subject, payload));
        assert_eq!(futures::future::join_all(answers).await, vec![true; forbidden.len()], "{role}");
    }
    // An orchestrator may ask, and may not undo what is written either.
    let raw = broker.raw(&broker.local.orchestrator).await;
    assert!(raw.ask("$JS.API.STREAM.INFO.HP_JOURNAL", "").await.contains("\"messages\":1"));
    assert!(raw.refused("$JS.API.STREAM.PURGE.HP_JOURNAL", "").await);
    assert!(raw.refused("$JS.API.STREAM.MSG.DELETE.HP_JOURNAL", r#"{"seq":1}"#).await);
    assert_eq!(broker.count(streams::JOURNAL).await, 1);
}

#[tokio::test]
async fn an_agent_reads_its_own_inbox_only() {
    let broker = TestBroker::start().await;
    let victim = broker.raw_agent(role::VERIFIER, "v1").await;
    let own = broker.raw_agent(role::VERIFIER, "v1").await;
    let spy = broker.raw_agent(role::BUILDER, "b1").await;
    let mut theirs = own.0.subscribe("_INBOX.v1.>").await.unwrap();
    let mut spied = Vec::new();
    for subject in
        ["_INBOX.v1.>", "_INBOX.>", ">", "hp.v1.refused.verifier.v1", "hp.v1.progress.verifier.v1", "hp.v1.handoff.>"]
    {
        spied.push(spy.0.subscribe(subject).await.unwrap());
    }
    let missing = subjects::blob_chunk(&role::id(role::BUILDER), &Digest::of(b"none"), 0);
    let get = format!("$JS.API.DIRECT.GET.HP_BLOB.{missing}");
    // An answer says that the broker has all subscriptions that were made before on that connection.
    own.ask(&get, "").await;
    assert!(tokio::time::timeout(SOON, theirs.next()).await.unwrap().is_some());
    spy.ask(&get, "").await;
    victim.ask(&get, "").await;
    assert!(tokio::time::timeout(SOON, theirs.next()).await.unwrap().is_some());
    let mut heard = futures::stream::select_all(spied);
    assert!(tokio::time::timeout(NOTHING_AFTER, heard.next()).await.is_err());
}

#[tokio::test]
async fn a_builder_does_not_read_evidence_and_repair_does() {
    let broker = TestBroker::start().await;
    let verifier = broker.bus(role::VERIFIER, "v1").await;
    let digest = blobs::put(&verifier, &role::id(role::VERIFIER), "evidence".into()).await.unwrap();
    let chunk = subjects::blob_chunk(&role::id(role::VERIFIER), &digest, 0);
    let get = format!("$JS.API.DIRECT.GET.HP_BLOB.{chunk}");
    assert!(broker.raw_agent(role::BUILDER, "b1").await.refused(&get, "").await);
    for role in [role::REPAIR, role::OPERATOR] {
        assert_eq!(broker.raw_agent(role, "a1").await.ask(&get, "").await, "evidence");
    }
}

#[tokio::test]
async fn credentials_of_another_authority_or_revoked_ones_do_not_get_in() {
    let mut broker = TestBroker::start().await;
    let fleet = streams::fleet_pool();
    let foreign =
        Authority::create().mint_agent(&role::id(role::BUILDER), &"b1".parse().unwrap(), &fleet, None).unwrap();
    let refused = Bus::connect(ConnectArgs::new(broker.local.broker.url(), foreign)).await.unwrap_err();
    assert!(matches!(refused, ConnectError::NotAuthorized { .. }), "{refused:?}");

    let own = broker.mint(role::BUILDER, "b1", &fleet);
    let bus = broker.local.connect(&own).await.unwrap();
    TurnQueue::open(&bus, &role::id(role::BUILDER), &fleet, broker.roots()).await.unwrap();
    broker.local.authority.revoke(own.public_key());
    broker.restart_with_new_authority().await;
    let refused = Bus::connect(ConnectArgs::new(broker.local.broker.url(), own)).await.unwrap_err();
    assert!(matches!(refused, ConnectError::NotAuthorized { .. }), "{refused:?}");
    broker.bus(role::BUILDER, "b2").await;
}

#[tokio::test]
async fn a_get_may_leave_the_digest_open_within_the_roles_that_may_be_read_only() {
    let broker = TestBroker::start().await;
    for (role, name) in [(role::BUILDER, "b1"), (role::VERIFIER, "v1")] {
        let bus = broker.bus(role, name).await;
        blobs::put(&bus, &role::id(role), format!("of {role}").into()).await.unwrap();
    }
    let other = broker.raw_agent(role::BUILDER, "b2").await;
    let get = |owner: &str| format!("$JS.API.DIRECT.GET.HP_BLOB.hp.v1.blob.{owner}.*.0");
    assert_eq!(other.ask(&get(role::BUILDER), "").await, "of builder");
    assert!(other.refused(&get(role::VERIFIER), "").await);
    assert!(other.refused(&get("*"), "").await);
    // Also of those who may read the blobs of all roles.
    assert!(broker.raw_agent(role::OPERATOR, "ann").await.refused(&get("*"), "").await);
    let several = r#"{"multi_last":["hp.v1.blob.>"],"batch":9}"#;
    assert!(!other.ask(&get(role::BUILDER), several).await.contains("of verifier"));
}

#[tokio::test]
async fn a_connection_has_a_bounded_number_of_subscriptions() {
    let broker = TestBroker::start().await;
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    let inbox = |n: usize| format!("_INBOX.b1.ears.{n}");
    let mut ears = Vec::new();
    for n in 0..200 {
        ears.push(raw.0.subscribe(inbox(n)).await.unwrap());
    }
    let missing = subjects::blob_chunk(&role::id(role::BUILDER), &Digest::of(b"none"), 0);
    let get = format!("$JS.API.DIRECT.GET.HP_BLOB.{missing}");
    for n in [0, 199] {
        raw.publish_with_reply(&get, &inbox(n), "").await;
    }
    assert!(tokio::time::timeout(SOON, ears[0].next()).await.unwrap().is_some());
    assert!(tokio::time::timeout(NOTHING_AFTER, ears[199].next()).await.is_err());
}
