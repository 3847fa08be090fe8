//! What leaves the broker, and what stays.

use std::collections::BTreeMap;

use async_nats::jetstream;
use holdpoint_bus::{
    Bus,
    archivist::{Archivist, ArchivistError},
    blobs,
    journal::AppendError,
    topology::{self, TopologySettings},
};
use holdpoint_protocol::{
    Digest,
    export::HandoffsEnd,
    ids::{FlightId, role},
    journal::{EntryKind, Sequence},
    roles::Roles,
    streams,
    subjects::{self, JournalKey},
};
use tokio::time::Instant;

use crate::support::{Raw, SOON, TestBroker, all, append, flight, waypoint};

async fn archivist(broker: &TestBroker) -> Archivist {
    Archivist::open(&broker.bus(role::ARCHIVIST, "archivist-1").await).await.unwrap()
}

/// A flight with a submission, some entries of a waypoint and a handoff; where the handoff stands.
async fn fly(broker: &TestBroker, agent: &Raw, id: &FlightId, entries: usize) -> Sequence {
    let journal = broker.journal();
    append(&journal, &JournalKey::flight(id), &EntryKind::Submitted, Sequence(0), &format!("{id}-submitted"))
        .await
        .unwrap();
    let (key, mut last) = (JournalKey::waypoint(id, &waypoint("w")), Sequence(0));
    for n in 0..entries {
        last = append(&journal, &key, &EntryKind::Decided, last, &format!("{id}-{n}")).await.unwrap();
    }
    hand_off(agent, id).await
}

async fn hand_off(agent: &Raw, id: &FlightId) -> Sequence {
    let stored = agent.ask(&subjects::handoff(&role::id(role::BUILDER), id, &waypoint("w"), "build_plan"), "{}").await;
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    Sequence(stored["seq"].as_u64().unwrap())
}

async fn retire(broker: &TestBroker, id: &FlightId) -> Sequence {
    let key = JournalKey::flight(id);
    let last = broker.journal().last(&key).await.unwrap().unwrap().sequence;
    append(&broker.journal(), &key, &EntryKind::Retired, last, &format!("{id}-retired")).await.unwrap()
}

fn until(sequence: Sequence) -> [HandoffsEnd; 1] {
    [HandoffsEnd { stream: streams::handoff(&role::id(role::BUILDER)), known: sequence, until: sequence }]
}

async fn subjects_of(broker: &TestBroker, id: &FlightId) -> Vec<String> {
    let entries = all(broker.journal().replay(&subjects::journal_of_flight(id)).await.unwrap()).await.unwrap();
    entries.into_iter().map(|entry| entry.subject).collect()
}

#[tokio::test]
async fn a_retired_flight_leaves_one_entry_that_fences_its_id_and_no_other_flight_loses_any() {
    let broker = TestBroker::start().await;
    let agent = broker.raw_agent(role::BUILDER, "builder-1").await;
    let (gone, stays) = (flight("gone"), flight("stays"));
    let handed = fly(&broker, &agent, &gone, 3).await;
    fly(&broker, &agent, &stays, 3).await;
    let own = archivist(&broker).await;
    assert_eq!((own.unfinished().await.unwrap(), own.retirement(&gone).await.unwrap()), (vec![], None));
    let entry = retire(&broker, &gone).await;
    assert_eq!(own.unfinished().await.unwrap(), std::slice::from_ref(&gone));
    let late = hand_off(&agent, &gone).await;

    assert_eq!(
        own.delete_flight(&gone, entry, &until(handed)).await.unwrap(),
        5,
        "a submission, three entries, a handoff"
    );
    assert_eq!(subjects_of(&broker, &gone).await, [JournalKey::flight(&gone).entry(&EntryKind::Retired)]);
    assert_eq!(subjects_of(&broker, &stays).await.len(), 4);
    assert_eq!(
        broker.count(&streams::handoff(&role::id(role::BUILDER))).await,
        2,
        "one of the other flight, and {late:?}"
    );
    assert_eq!(own.retirement(&gone).await.unwrap().unwrap().sequence, entry);
    assert_eq!(own.unfinished().await.unwrap(), []);
    assert_eq!(own.delete_flight(&gone, entry, &until(handed)).await.unwrap(), 0, "once more");

    // An orchestrator that slept since before the waypoint had begun finds its journal empty.
    let key = JournalKey::waypoint(&gone, &waypoint("w"));
    append(&broker.journal(), &key, &EntryKind::Decided, Sequence(0), "asleep").await.unwrap();
    assert_eq!(own.unfinished().await.unwrap(), std::slice::from_ref(&gone));
    assert_eq!(own.delete_flight(&gone, entry, &until(handed)).await.unwrap(), 1);
    assert_eq!(subjects_of(&broker, &gone).await, [JournalKey::flight(&gone).entry(&EntryKind::Retired)]);

    let again =
        append(&broker.journal(), &JournalKey::flight(&gone), &EntryKind::Submitted, Sequence(0), "again").await;
    assert!(matches!(again, Err(AppendError::Conflict { .. })), "{again:?}");
}

#[tokio::test]
async fn a_reading_ends_where_the_rest_was_deleted_meanwhile() {
    let broker = TestBroker::start().await;
    let agent = broker.raw_agent(role::BUILDER, "builder-1").await;
    let id = flight("f");
    let handed = fly(&broker, &agent, &id, 1_000).await;
    let journal = broker.journal();
    let mut of_waypoint = journal.replay(&JournalKey::waypoint(&id, &waypoint("w")).filter()).await.unwrap();
    let mut heads = journal.replay_subjects(&subjects::journal_of_flight(&id), Sequence(0)).await.unwrap();
    assert!(of_waypoint.next().await.unwrap().is_some() && heads.next().await.unwrap().is_some());
    let entry = retire(&broker, &id).await;
    archivist(&broker).await.delete_flight(&id, entry, &until(handed)).await.unwrap();
    // What came with the first is given out, and nothing is waited for that will not come.
    for (replay, all) in [(&mut of_waypoint, 999), (&mut heads, 1_000)] {
        let mut read = 0;
        while replay.next().await.unwrap().is_some() {
            read += 1;
        }
        assert!(read < all && !replay.is_whole());
    }
    let mut again = journal.replay(&subjects::journal_of_flight(&id)).await.unwrap();
    assert!(again.next().await.unwrap().is_some() && again.next().await.unwrap().is_none());
    assert!(again.is_whole());
}

#[tokio::test]
async fn every_payload_is_read_over_gaps_and_batches_and_then_only_what_is_new() {
    let broker = TestBroker::start().await;
    let agent = broker.raw_agent(role::BUILDER, "builder-1").await;
    let (gone, stays) = (flight("gone"), flight("stays"));
    fly(&broker, &agent, &stays, 700).await;
    let handed = fly(&broker, &agent, &gone, 20).await;
    let entry = retire(&broker, &gone).await;
    fly(&broker, &agent, &flight("later"), 700).await;
    let own = archivist(&broker).await;
    own.delete_flight(&gone, entry, &until(handed)).await.unwrap();
    let mut read = BTreeMap::new();
    let mut found: Vec<String> = Vec::new();
    let mut note = |payload: &[u8]| found.push(String::from_utf8(payload.to_vec()).unwrap());
    own.each_payload(&mut read, &mut note).await.unwrap();
    own.each_payload(&mut read, &mut note).await.unwrap();
    assert_eq!(found.len(), 2 * (1 + 700 + 1) + 1, "the retirement as well");
    let mut distinct: Vec<&String> = found.iter().filter(|payload| payload.contains("id")).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 2 * 701 + 1);
    hand_off(&agent, &stays).await;
    let mut new = 0;
    own.each_payload(&mut read, |_| new += 1).await.unwrap();
    assert_eq!(new, 1);
}

/// The broker says that a stream has no last message at all where the last one was deleted.
#[tokio::test]
async fn what_is_before_a_deleted_end_is_read_and_counted() {
    let broker = TestBroker::start().await;
    let agent = broker.raw_agent(role::BUILDER, "builder-1").await;
    let (stays, gone) = (flight("stays"), flight("gone"));
    fly(&broker, &agent, &stays, 3).await;
    let handed = fly(&broker, &agent, &gone, 0).await;
    let entry = retire(&broker, &gone).await;
    // Of an orchestrator that slept since before the flight had ended.
    let late = JournalKey::waypoint(&gone, &waypoint("w"));
    append(&broker.journal(), &late, &EntryKind::Decided, Sequence(0), "asleep").await.unwrap();
    let own = archivist(&broker).await;
    assert_eq!(own.delete_flight(&gone, entry, &until(handed)).await.unwrap(), 3);

    let mut payloads = 0;
    own.each_payload(&mut BTreeMap::new(), |_| payloads += 1).await.unwrap();
    assert_eq!(payloads, 4 + 1 + 1, "entries and a handoff of what stays, and the retirement");
    let journal = broker.journal();
    assert_eq!(journal.end().await.unwrap(), entry);
    assert_eq!(all(journal.all_after(Sequence(0)).await.unwrap()).await.unwrap().len(), 5);
}

/// Waits until the archivist has heard of the upload.
async fn heard(uploads: &holdpoint_bus::archivist::Uploads, blob: &holdpoint_bus::archivist::StoredBlob) {
    let deadline = Instant::now() + SOON;
    while !uploads.has(blob) {
        assert!(Instant::now() < deadline, "nothing was heard of {blob:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn blobs_are_listed_heard_of_and_deleted_whole_each_for_itself() {
    let broker = TestBroker::start().await;
    let (builder, verifier) = (role::id(role::BUILDER), role::id(role::VERIFIER));
    let by: Bus = broker.bus(role::BUILDER, "builder-1").await;
    let large: Vec<u8> = (0..600 << 10).map(|n| n as u8).collect();
    let kept = blobs::put(&by, &builder, "kept".into()).await.unwrap();
    let gone = blobs::put(&by, &builder, large.clone().into()).await.unwrap();
    let talk = blobs::put_talk(&by, &builder, "said".into()).await.unwrap();
    let judge = broker.bus(role::VERIFIER, "verifier-1").await;
    blobs::put(&judge, &verifier, large.clone().into()).await.unwrap();

    let own = archivist(&broker).await;
    let all = own.blobs().await.unwrap();
    let mut names: Vec<Digest> = all.iter().map(|blob| blob.digest).collect();
    names.sort_unstable();
    let mut wanted = vec![kept, gone, talk, gone];
    wanted.sort_unstable();
    assert_eq!(names, wanted);

    let uploads = own.uploads().await.unwrap();
    let of = |digest: Digest| all.iter().find(|blob| blob.digest == digest).unwrap();
    assert!(all.iter().all(|blob| !uploads.has(blob)));
    assert_eq!(blobs::put(&by, &builder, "kept".into()).await.unwrap(), kept, "it is there already");
    heard(&uploads, of(kept)).await;
    assert!(!uploads.has(of(talk)));

    assert!(own.stored_at(of(talk)).await.unwrap().is_some());
    assert_eq!(own.delete_blob(of(talk)).await.unwrap(), 1);
    assert_eq!(own.stored_at(of(talk)).await.unwrap(), None);
    let before = own.bytes().await.unwrap();
    for blob in all.iter().filter(|blob| blob.digest == gone) {
        assert_eq!(own.delete_blob(blob).await.unwrap(), 3);
    }
    assert!(before - own.bytes().await.unwrap() > (2 * 600) << 10);
    let (roles, reader) = ([builder.clone(), verifier], &broker.orchestrator);
    assert!(blobs::get(reader, gone, &roles, 1 << 20).await.is_err());
    assert_eq!(blobs::get(reader, kept, &roles, 1 << 20).await.unwrap(), "kept");
    // What was deleted can be stored again.
    blobs::put(&by, &builder, large.into()).await.unwrap();
    heard(&uploads, of(gone)).await;
}

#[tokio::test]
async fn uploads_that_were_missed_once_stay_missed() {
    let mut broker = TestBroker::start().await;
    let own = archivist(&broker).await;
    let mut uploads = own.uploads().await.unwrap();
    assert!(uploads.is_whole());
    broker.local.broker.restart().await.unwrap();
    let deadline = Instant::now() + SOON;
    while uploads.is_whole() {
        assert!(Instant::now() < deadline, "nothing is missed");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(!uploads.is_whole());
}

/// As earlier versions made them: the broker lets nobody take that back.
#[tokio::test]
async fn streams_that_let_nobody_delete_are_used_as_they_are_and_refused_to_an_archivist() {
    let broker = TestBroker::start().await;
    let raw = broker.raw(&broker.local.orchestrator).await;
    let context = jetstream::new(raw.0.clone());
    let there = context.get_stream(streams::JOURNAL).await.unwrap().cached_info().config.clone();
    let guarded = jetstream::stream::Config { deny_delete: true, deny_purge: true, ..there };
    context.update_stream(guarded).await.unwrap();
    topology::ensure(&broker.orchestrator, &TopologySettings::default(), &Roles::built_in()).await.unwrap();
    let info = context.get_stream(streams::JOURNAL).await.unwrap().cached_info().config.clone();
    assert!(info.deny_purge && info.deny_delete);
    let refused = Archivist::open(&broker.bus(role::ARCHIVIST, "archivist-1").await).await.unwrap_err();
    assert!(matches!(&refused, ArchivistError::Guarded { stream } if stream == streams::JOURNAL), "{refused}");
}

#[tokio::test]
async fn a_role_that_has_filled_its_room_stores_again_once_there_is_some() {
    let broker = TestBroker::with_disk(64 << 20).await;
    let settings = TopologySettings { disk_bytes: 64 << 20, ..TopologySettings::default() };
    topology::ensure(&broker.orchestrator, &settings, &Roles::built_in()).await.unwrap();
    let (builder, by) = (role::id(role::BUILDER), broker.bus(role::BUILDER, "builder-1").await);
    let mut stored = Vec::new();
    let full = loop {
        let bytes = vec![stored.len() as u8; 1 << 20];
        match blobs::put(&by, &builder, bytes.into()).await {
            Ok(digest) => stored.push(digest),
            Err(full) => break full,
        }
    };
    assert!(matches!(full, blobs::BlobError::NoRoom { .. }), "{full}");
    let own = archivist(&broker).await;
    let all = own.blobs().await.unwrap();
    own.delete_blob(all.iter().find(|blob| blob.digest == stored[0]).unwrap()).await.unwrap();
    blobs::put(&by, &builder, "there is room".into()).await.unwrap();
}
