//! Bytes by digest, across the accounts.

use async_nats::jetstream::{self, stream::SubjectTransform};
use bytes::Bytes;
use holdpoint_bus::{
    blobs::{self, BlobError, CHUNK_LEN},
    topology::{self, TopologySettings},
};
use holdpoint_protocol::{Digest, ids::role, streams, subjects};

use crate::support::TestBroker;

const CAP: u64 = 16 << 20;

fn bytes(len: usize) -> Bytes {
    (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

#[tokio::test]
async fn blobs_of_any_length_come_back_in_the_other_account() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let verifier = broker.bus(role::VERIFIER, "v1").await;
    let roles = [role::id(role::OPERATOR), role::id(role::BUILDER)];
    for len in [0, 1, CHUNK_LEN, CHUNK_LEN + 1, 20 * CHUNK_LEN + 5] {
        let digest = blobs::put(&builder, &roles[1], bytes(len)).await.unwrap();
        assert_eq!(digest, Digest::of(&bytes(len)));
        for reader in [&broker.orchestrator, &verifier, &builder] {
            assert_eq!(blobs::get(reader, digest, &roles, CAP).await.unwrap(), bytes(len), "{len}");
        }
    }
}

#[tokio::test]
async fn a_stream_made_before_there_were_transcripts_takes_them_and_keeps_its_blobs() {
    let broker = TestBroker::start().await;
    let (bus, role) = (broker.bus(role::BUILDER, "b1").await, role::id(role::BUILDER));
    let context = jetstream::new(broker.raw(&broker.local.orchestrator).await.0);
    let stream = context.get_stream(streams::blob(&role)).await.unwrap();
    let mut earlier = stream.cached_info().config.clone();
    earlier.subjects = vec![subjects::blobs_stored(&role)];
    let destination = format!("hp.v1.blob.{role}.{{{{left(1,64)}}}}.{{{{left(2,64)}}}}");
    earlier.subject_transform = Some(SubjectTransform { source: subjects::blobs_stored(&role), destination });
    context.update_stream(earlier).await.unwrap();
    let digest = blobs::put(&bus, &role, bytes(9)).await.unwrap();
    assert!(blobs::put_talk(&bus, &role, bytes(8)).await.is_err());

    topology::ensure_role(&broker.orchestrator, &role, &TopologySettings::default()).await.unwrap();
    let said = blobs::put_talk(&bus, &role, bytes(8)).await.unwrap();
    assert_eq!(blobs::get_talk(&bus, said, &role, CAP).await.unwrap(), bytes(8));
    assert_eq!(blobs::get(&bus, digest, &[role], CAP).await.unwrap(), bytes(9));
}

#[tokio::test]
async fn files_go_and_come_without_being_in_memory_and_the_same_again_is_success() {
    let broker = TestBroker::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::write(&from, bytes(9 * CHUNK_LEN + 17)).unwrap();
    let operator = broker.bus(role::OPERATOR, "ann").await;
    let role = role::id(role::OPERATOR);
    let digest = blobs::put_file(&operator, &role, &from).await.unwrap();
    let stored_in = streams::blob(&role);
    let stored = broker.count(&stored_in).await;
    assert_eq!(blobs::put_file(&operator, &role, &from).await.unwrap(), digest);
    assert_eq!(blobs::put(&operator, &role, bytes(9 * CHUNK_LEN + 17)).await.unwrap(), digest);
    assert_eq!(broker.count(&stored_in).await, stored);

    let builder = broker.bus(role::BUILDER, "b1").await;
    blobs::get_to_file(&builder, digest, &[role], CAP, &to).await.unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), bytes(9 * CHUNK_LEN + 17));
}

#[tokio::test]
async fn what_is_missing_too_large_or_not_what_it_says_is_told_apart() {
    let broker = TestBroker::start().await;
    let bus = broker.bus(role::BUILDER, "b1").await;
    let (builder, repair) = (role::id(role::BUILDER), role::id(role::REPAIR));
    let digest = Digest::of(b"abc");
    // Also of a role that nobody has, no matter who said so.
    for (reader, whose) in
        [(&bus, builder.clone()), (&bus, "nobody".parse().unwrap()), (&broker.orchestrator, "nobody".parse().unwrap())]
    {
        let missing = blobs::get(reader, digest, &[whose], CAP).await.unwrap_err();
        assert!(matches!(missing, BlobError::NotFound { .. }), "{missing:?}");
    }

    // A liar's chunk under that name.
    let raw = broker.raw_agent(role::BUILDER, "b2").await;
    let mut headers = async_nats::HeaderMap::new();
    headers.insert(blobs::SIZE, "3");
    raw.ask_with(&subjects::blob_chunk(&builder, &digest, 0), "xyz", headers).await;
    let corrupt = blobs::get(&bus, digest, std::slice::from_ref(&builder), CAP).await.unwrap_err();
    assert!(matches!(corrupt, BlobError::Corrupt { .. }), "{corrupt:?}");

    // The right bytes may be under another role, and are found.
    let mender = broker.bus(role::REPAIR, "r1").await;
    blobs::put(&mender, &repair, Bytes::from_static(b"abc")).await.unwrap();
    assert_eq!(blobs::get(&bus, digest, &[builder, repair.clone()], CAP).await.unwrap(), "abc");
    let large = blobs::get(&bus, digest, &[repair], 2).await.unwrap_err();
    assert!(matches!(large, BlobError::TooLarge { size: 3, cap: 2, .. }), "{large:?}");
}

#[tokio::test]
async fn a_blob_is_never_overwritten_or_rolled_up() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let role = role::id(role::BUILDER);
    let digest = blobs::put(&builder, &role, bytes(CHUNK_LEN + 1)).await.unwrap();
    let stored_in = streams::blob(&role);
    let stored = broker.count(&stored_in).await;

    let raw = broker.raw_agent(role::BUILDER, "b2").await;
    let subject = subjects::blob_chunk(&role, &digest, 1);
    let overwritten = raw.ask(&subject, "x").await;
    assert!(overwritten.contains("error"), "{overwritten}");
    for scope in ["all", "sub"] {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Rollup", scope);
        let rolled = raw.ask_with(&subjects::blob_chunk(&role, &digest, 7), "x", headers).await;
        assert!(rolled.contains("error"), "{rolled}");
    }
    assert_eq!(broker.count(&stored_in).await, stored);
    assert_eq!(blobs::get(&builder, digest, &[role], CAP).await.unwrap(), bytes(CHUNK_LEN + 1));
}
