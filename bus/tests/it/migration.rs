//! A fleet moves from one broker to three and back: what was written, and how far each consumer is.

use std::{collections::BTreeMap, io::Cursor, pin::pin, time::Duration};

use async_nats::jetstream::{self, consumer::PullConsumer};
use futures::StreamExt as _;
use holdpoint_bus::{
    Bus,
    archivist::{Archivist, ArchivistError},
    blobs,
    journal::Journal,
    migrator::{MigrateError, Migrator, StreamContent, StreamShape},
};
use holdpoint_protocol::{
    Digest,
    ids::role,
    journal::Sequence,
    streams,
    subjects::{self, JournalKey},
};

use tokio::time::{Instant, timeout};

use crate::{
    cluster::{Cluster, PAUSE, SERVERS, append_surely, read_surely},
    support::{Raw, SOON, flight, waypoint},
};

/// A copy of every stream, with what was in it.
type Copies = BTreeMap<String, (StreamShape, Vec<u8>, StreamContent)>;

/// The partition that the flight's handoffs are in.
fn partition() -> u32 {
    subjects::partition(&flight("f"))
}

fn key() -> JournalKey {
    JournalKey::waypoint(&flight("f"), &waypoint("w"))
}

async fn migrator(cluster: &Cluster) -> Migrator {
    cluster.has_leader().await;
    let credentials = cluster.authority.mint_migrator(&"mover".parse().unwrap(), None);
    Migrator::open(&cluster.connect_as(&credentials).await).unwrap()
}

async fn copied(migrator: &Migrator) -> Copies {
    let mut copies = Copies::new();
    for name in migrator.streams().await.unwrap() {
        let content = migrator.content(&name).await.unwrap();
        let mut bytes = Vec::new();
        let shape = migrator.snapshot(&name, &mut bytes).await.unwrap();
        copies.insert(name, (shape, bytes, content));
    }
    copies
}

async fn restored(migrator: &Migrator, copies: &Copies, replicas: usize) {
    assert_eq!((migrator.streams().await.unwrap(), migrator.replicas()), (Vec::new(), replicas));
    for (name, (shape, bytes, _)) in copies {
        migrator.restore(name, shape, replicas, &mut Cursor::new(bytes)).await.unwrap();
    }
    for (name, (_, _, content)) in copies {
        assert_eq!(migrator.content(name).await.unwrap(), *content, "{name}");
    }
}

/// The next handoff that no orchestrator has acknowledged.
async fn take(cluster: &Cluster) -> String {
    let raw = Raw::connect(&cluster.url(), &cluster.orchestrator).await;
    let stream = jetstream::new(raw.0).get_stream(streams::handoff(&role::id(role::BUILDER))).await.unwrap();
    let consumer: PullConsumer = stream.get_consumer(&streams::handoff_consumer(partition())).await.unwrap();
    let deadline = Instant::now() + SOON;
    loop {
        // One whose servers are choosing a leader has nothing to give.
        if let Some(message) = consumer.fetch().max_messages(1).messages().await.unwrap().next().await {
            let message = message.unwrap();
            message.double_ack().await.unwrap();
            return String::from_utf8(message.payload.to_vec()).unwrap();
        }
        assert!(Instant::now() < deadline, "the consumer does not come back");
        tokio::time::sleep(PAUSE).await;
    }
}

/// A flight with entries of which five are gone, four handoffs of which one was taken and the last one is gone, and a blob.
async fn fly(cluster: &Cluster, orchestrator: &Bus) -> Digest {
    let journal = Journal::new(orchestrator);
    let mut last = Sequence(0);
    for n in 0..20 {
        last = append_surely(&journal, &key(), last, &format!("e{n}")).await;
    }
    let pool = streams::fleet_pool();
    let builder = cluster.authority.mint_agent(&role::id(role::BUILDER), &"b1".parse().unwrap(), &pool, None).unwrap();
    let agent = Raw::connect(&cluster.url(), &builder).await;
    let subject = subjects::handoff(&role::id(role::BUILDER), &flight("f"), &waypoint("w"), "build_plan");
    for n in 0..3 {
        agent.ask(&subject, &format!("handoff {n}")).await;
    }
    let last = subjects::handoff(&role::id(role::BUILDER), &flight("g"), &waypoint("w"), "build_plan");
    agent.ask(&last, "handoff 3").await;
    assert_eq!(take(cluster).await, "handoff 0");
    let archivist = cluster.authority.mint_archivist(&"a1".parse().unwrap(), None).unwrap();
    let purged = Raw::connect(&cluster.url(), &archivist).await;
    let of = format!(r#"{{"filter":"{}","seq":6}}"#, subjects::journal_of_flight(&flight("f")));
    assert!(purged.ask(&format!("$JS.API.STREAM.PURGE.{}", streams::JOURNAL), &of).await.contains("\"purged\":5"));
    let handoffs = streams::handoff(&role::id(role::BUILDER));
    let of = format!(r#"{{"filter":"{last}"}}"#);
    assert!(purged.ask(&format!("$JS.API.STREAM.PURGE.{handoffs}"), &of).await.contains("\"purged\":1"));
    let bus = cluster.connect_as(&builder).await;
    blobs::put(&bus, &role::id(role::BUILDER), vec![7; 300_000].into()).await.unwrap()
}

/// The flight goes on where it was: the next append and the next handoff.
async fn goes_on(orchestrator: &Bus, cluster: &Cluster, blob: Digest, entries: usize, next: &str) {
    let journal = Journal::new(orchestrator);
    let read = read_surely(&journal, &key()).await;
    assert_eq!(read.len(), entries);
    append_surely(&journal, &key(), read.last().unwrap().sequence, next).await;
    assert_eq!(take(cluster).await, next);
    let got = blobs::get(orchestrator, blob, &[role::id(role::BUILDER)], 1 << 20).await.unwrap();
    assert_eq!(got, vec![7; 300_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_moves_from_one_broker_to_three_and_back_with_every_message_and_every_position() {
    let mut cluster = Cluster::prepared().await;
    cluster.write_alone("one.conf", "store-one");
    cluster.write_alone("again.conf", "store-again");
    cluster.start_with(0, "one.conf");
    let blob = {
        let orchestrator = cluster.connect_with(1).await;
        fly(&cluster, &orchestrator).await
    };
    let copies = copied(&migrator(&cluster).await).await;
    assert_eq!(copies[streams::JOURNAL].2.messages, 15);
    cluster.kill(0);

    (0..SERVERS).for_each(|n| cluster.start_server(n));
    restored(&migrator(&cluster).await, &copies, SERVERS).await;
    {
        let orchestrator = cluster.connect().await;
        goes_on(&orchestrator, &cluster, blob, 15, "handoff 1").await;
        cluster.caught_up().await;
    }
    let back = copied(&migrator(&cluster).await).await;
    (0..SERVERS).for_each(|n| cluster.kill(n));

    cluster.start_with(0, "again.conf");
    restored(&migrator(&cluster).await, &back, 1).await;
    goes_on(&cluster.connect_with(1).await, &cluster, blob, 16, "handoff 2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_whose_servers_have_not_chosen_a_leader_is_waited_for() {
    /// Longer than the broker may take to answer one question.
    const SILENCE: Duration = Duration::from_secs(11);
    let mut cluster = Cluster::prepared().await;
    (0..SERVERS).for_each(|n| cluster.start_server(n));
    append_surely(&Journal::new(&cluster.connect().await), &key(), Sequence(0), "first").await;
    let own = migrator(&cluster).await;
    cluster.caught_up().await;
    (0..SERVERS).for_each(|n| cluster.kill(n));
    cluster.start_server(0);
    let mut standing = pin!(own.standing(streams::JOURNAL));
    assert!(timeout(SILENCE, &mut standing).await.is_err(), "one server of three answers for nobody");
    (1..SERVERS).for_each(|n| cluster.start_server(n));
    assert_eq!(standing.await.unwrap(), (1, Sequence(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_earlier_version_lets_an_archivist_delete_once_it_has_moved() {
    let mut cluster = Cluster::prepared().await;
    cluster.write_alone("one.conf", "store-one");
    cluster.write_alone("other.conf", "store-other");
    cluster.start_with(0, "one.conf");
    let orchestrator = cluster.connect_as(&cluster.orchestrator).await;
    let journal = jetstream::stream::Config {
        name: streams::JOURNAL.to_owned(),
        subjects: vec![subjects::journals()],
        deny_delete: true,
        deny_purge: true,
        allow_direct: true,
        ..jetstream::stream::Config::default()
    };
    let raw = Raw::connect(&cluster.url(), &cluster.orchestrator).await;
    jetstream::new(raw.0).create_stream(journal).await.unwrap();
    append_surely(&Journal::new(&orchestrator), &key(), Sequence(0), "first").await;
    let archivist = cluster.authority.mint_archivist(&"a1".parse().unwrap(), None).unwrap();
    let guarded = Archivist::open(&cluster.connect_as(&archivist).await).await.unwrap_err();
    assert!(matches!(guarded, ArchivistError::Guarded { .. }), "{guarded:?}");
    let copies = copied(&migrator(&cluster).await).await;
    cluster.kill(0);

    cluster.start_with(0, "other.conf");
    restored(&migrator(&cluster).await, &copies, 1).await;
    assert_eq!(read_surely(&Journal::new(&cluster.connect_with(1).await), &key()).await.len(), 1);
    Archivist::open(&cluster.connect_as(&archivist).await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_restored_over_a_stream_and_a_damaged_copy_makes_none() {
    let mut cluster = Cluster::prepared().await;
    cluster.write_alone("one.conf", "store-one");
    cluster.write_alone("other.conf", "store-other");
    cluster.start_with(0, "one.conf");
    fly(&cluster, &cluster.connect_with(1).await).await;
    let own = migrator(&cluster).await;
    assert!(!own.is_orchestrated().await.unwrap());
    let (shape, bytes, content) = copied(&own).await.remove(streams::JOURNAL).unwrap();
    let over = own.restore(streams::JOURNAL, &shape, 1, &mut Cursor::new(&bytes)).await.unwrap_err();
    assert!(matches!(&over, MigrateError::Refused { message, .. } if message.contains("already in use")), "{over:?}");
    assert_eq!(own.content(streams::JOURNAL).await.unwrap(), content);
    cluster.kill(0);

    cluster.start_with(0, "other.conf");
    let own = migrator(&cluster).await;
    let cut = &bytes[..bytes.len() / 2];
    let refused = own.restore(streams::JOURNAL, &shape, 1, &mut Cursor::new(cut)).await.unwrap_err();
    assert!(matches!(refused, MigrateError::Refused { .. }), "{refused:?}");
    assert_eq!(own.streams().await.unwrap(), Vec::<String>::new());
    own.restore(streams::JOURNAL, &shape, 1, &mut Cursor::new(&bytes)).await.unwrap();
    assert_eq!(own.content(streams::JOURNAL).await.unwrap(), content);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migrator_writes_and_deletes_nothing_else() {
    let mut cluster = Cluster::prepared().await;
    cluster.write_alone("one.conf", "store-one");
    cluster.start_with(0, "one.conf");
    let _orchestrator = cluster.connect_with(1).await;
    let credentials = cluster.authority.mint_migrator(&"mover".parse().unwrap(), None);
    let raw = Raw::connect(&cluster.url(), &credentials).await;
    let journal = streams::JOURNAL;
    for call in ["PURGE", "DELETE", "MSG.DELETE", "UPDATE", "CREATE", "PEER.REMOVE"] {
        assert!(raw.refused(&format!("$JS.API.STREAM.{call}.{journal}"), "{}").await, "{call}");
    }
    let entry = key().entry(&holdpoint_protocol::journal::EntryKind::Decided);
    for subject in [format!("$JS.API.CONSUMER.LIST.{journal}"), entry, subjects::api("status")] {
        assert!(raw.refused(&subject, "{}").await, "{subject}");
    }
    // An orchestrator may copy, and could restore nothing of it.
    let operator = cluster.authority.mint_operator(&"ann".parse().unwrap());
    for other in [&operator, &cluster.orchestrator] {
        let refused = Migrator::open(&cluster.connect_as(other).await).unwrap_err();
        assert!(matches!(refused, MigrateError::NoMigrator));
    }
}
