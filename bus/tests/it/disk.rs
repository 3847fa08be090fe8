//! A broker whose disk somebody with a valid key tries to fill.

use std::error::Error as _;

use async_nats::HeaderMap;
use holdpoint_bus::{
    blobs::{self, BlobError},
    journal::Append,
    topology::{self, Settings, TopologyError},
};
use holdpoint_protocol::{
    ids::role,
    journal::{EntryKind, Sequence},
    subjects::{self, JournalKey},
};

use crate::support::{TestBroker, flight, outgoing, waypoint};

/// A disk that is filled in a moment.
const DISK_BYTES: u64 = 32 << 20;
/// What is stored at a time.
const PIECE_LEN: usize = 200 << 10;

fn settings(disk_bytes: u64) -> Settings {
    Settings { disk_bytes, ..Settings::default() }
}

/// Stores blobs of a role until there is no room; what the last one is told.
async fn fill_blobs(broker: &TestBroker, role: &'static str) -> BlobError {
    let bus = broker.bus(role, "filler").await;
    let mut n: u64 = 0;
    loop {
        let mut bytes = vec![0; PIECE_LEN];
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        if let Err(error) = blobs::put(&bus, &role::id(role), bytes.into()).await {
            return error;
        }
        n += 1;
        assert!(n * PIECE_LEN as u64 <= DISK_BYTES, "everything is taken");
    }
}

/// Stores handoffs of a role until they are refused; how many were not.
async fn fill_handoffs(broker: &TestBroker, role: &'static str) -> u64 {
    let raw = broker.raw_agent(role, "filler").await;
    let subject = subjects::handoff(&role::id(role), &flight("f"), &waypoint("w"), "build_plan");
    let junk = "x".repeat(PIECE_LEN);
    let mut stored = 0;
    loop {
        let answer = raw.ask_with(&subject, &junk, HeaderMap::new()).await;
        if answer.contains("error") {
            assert!(answer.contains("maximum bytes exceeded"), "{answer}");
            return stored;
        }
        stored += 1;
        assert!(stored * PIECE_LEN as u64 <= DISK_BYTES, "everything is taken");
    }
}

#[tokio::test]
async fn keys_that_fill_their_streams_leave_the_journals_room() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES)).await.unwrap();
    let refused = fill_blobs(&broker, role::BUILDER).await;
    let why = refused.source().unwrap().to_string();
    assert!(why.contains("orchestrator.broker_disk"), "{why}");

    // One role's handoffs take nothing from another's.
    let stored = fill_handoffs(&broker, role::BUILDER).await;
    for role in [role::VERIFIER, role::REPAIR, role::OPERATOR] {
        assert_eq!(fill_handoffs(&broker, role).await, stored, "{role}");
    }

    let (journal, kind) = (broker.journal(), EntryKind::Decided);
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let (mut last, mut written) = (Sequence(0), 0);
    while written < DISK_BYTES / 11 {
        let mut entry = outgoing(&"x".repeat(PIECE_LEN), &written.to_string());
        entry.schema = "decided/1.0".to_owned();
        last = journal.append(Append { key: &key, kind: &kind, expected: last, entry }).await.unwrap();
        written += PIECE_LEN as u64;
    }
}

#[tokio::test]
async fn a_broker_with_less_disk_than_configured_is_refused_by_the_name_of_the_setting() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    let error = topology::ensure(&broker.orchestrator, &settings(2 * DISK_BYTES)).await.unwrap_err();
    assert!(matches!(error, TopologyError::NoDisk { disk_bytes, .. } if disk_bytes == 2 * DISK_BYTES), "{error:?}");
    assert!(error.to_string().contains("orchestrator.broker_disk"), "{error}");
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES)).await.unwrap();
}

#[tokio::test]
async fn bounds_that_are_set_later_take_nothing_that_is_stored() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let bytes = vec![7; 4 * PIECE_LEN];
    let digest = blobs::put(&builder, &role::id(role::BUILDER), bytes.clone().into()).await.unwrap();
    topology::ensure(&broker.orchestrator, &settings(PIECE_LEN as u64)).await.unwrap();
    let there = blobs::get(&builder, digest, &[role::id(role::BUILDER)], 1 << 20).await.unwrap();
    assert_eq!(there, bytes);
    let refused = blobs::put(&builder, &role::id(role::BUILDER), "another".into()).await.unwrap_err();
    assert!(refused.source().unwrap().to_string().contains("orchestrator.broker_disk"), "{refused:?}");
}
