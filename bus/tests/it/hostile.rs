//! Headers, signatures, tokens and lengths that an attacker made up: all refused, none believed, and none takes memory.

use std::collections::BTreeMap;

use async_nats::HeaderMap;
use holdpoint_bus::{
    archivist::Archivist,
    auth::{Authority, Credentials, TrustRoots, verify_signature},
    blobs::{self, BlobError, CHUNK_LEN},
    past,
};
use holdpoint_protocol::{Digest, Timestamp, ids::role, journal::Sequence, streams, subjects};
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::FileFailurePersistence};

use crate::support::{TestBroker, all, flight, waypoint};

/// The most that a reader takes here, and what liars may claim.
const CAP: u64 = 4 << 20;

fn config() -> ProptestConfig {
    let failure_persistence = Some(Box::new(FileFailurePersistence::Off) as _);
    ProptestConfig { cases: 256, failure_persistence, ..ProptestConfig::default() }
}

/// An authority and the credentials of a builder of its own.
fn builder() -> (TrustRoots, Credentials) {
    let authority = Authority::create();
    let pool = streams::fleet_pool();
    let agent = authority.mint_agent(&role::id(role::BUILDER), &"b1".parse().unwrap(), &pool, None).unwrap();
    (authority.trust_roots().clone(), agent)
}

/// The text with one byte replaced by a character; texts of these formats are ASCII.
fn changed(text: &str, at: &Index, by: char) -> String {
    let at = at.index(text.len());
    text.char_indices().map(|(n, old)| if n == at { by } else { old }).collect()
}

/// What the broker adds to a message that it gives out, as a sender may write it as well.
fn headers_of_an_answer() -> HeaderMap {
    let written = [
        ("Nats-Stream", "HP_JOURNAL"),
        ("Nats-Subject", "hp.v1.journal.f.submitted"),
        ("Nats-Sequence", "1000000"),
        ("Nats-Time-Stamp", "2001-01-01T00:00:00Z"),
        ("Nats-Num-Pending", "0"),
        ("Nats-Last-Sequence", "999999"),
        ("Nats-UpTo-Sequence", "1"),
        ("Status", "404"),
    ];
    let mut headers = HeaderMap::new();
    written.into_iter().for_each(|(name, value)| headers.insert(name, value));
    headers
}

#[tokio::test]
async fn headers_that_look_like_the_brokers_neither_hide_a_message_nor_end_a_reading() {
    let broker = TestBroker::start().await;
    let agent = broker.raw_agent(role::BUILDER, "builder-1").await;
    let (builder, id) = (role::id(role::BUILDER), flight("f"));
    let subject = subjects::handoff(&builder, &id, &waypoint("w"), "build_plan");
    for (payload, headers) in
        [("one", headers_of_an_answer()), ("two", headers_of_an_answer()), ("three", HeaderMap::new())]
    {
        agent.ask_with(&subject, payload, headers).await;
    }

    let replay = past::of_flight(&broker.orchestrator, &builder, &id, Sequence(0)).await.unwrap();
    let read = all(replay).await.unwrap();
    let seen = read.iter().map(|one| (one.sequence.0, one.subject.as_str(), one.payload.as_ref())).collect::<Vec<_>>();
    let sent = [&b"one"[..], b"two", b"three"];
    assert_eq!(seen, [(1, subject.as_str(), sent[0]), (2, &subject, sent[1]), (3, &subject, sent[2])]);
    let before = Timestamp::from_millis(1_577_836_800_000);
    assert!(read.iter().all(|one| one.time > before), "{read:?}");

    let archivist = Archivist::open(&broker.bus(role::ARCHIVIST, "archivist-1").await).await.unwrap();
    let (mut places, mut payloads) = (BTreeMap::new(), Vec::new());
    archivist.each_payload(&mut places, |payload| payloads.push(payload.to_vec())).await.unwrap();
    assert_eq!(payloads, sent);
    assert_eq!(places[&streams::handoff(&builder)], Sequence(3), "what comes later is behind it");
}

#[tokio::test]
async fn a_blob_whose_length_is_a_lie_is_refused() {
    let broker = TestBroker::start().await;
    let reader = broker.bus(role::VERIFIER, "v1").await;
    let liar = broker.raw_agent(role::BUILDER, "b2").await;
    let owner = role::id(role::BUILDER);
    let chunk = "x".repeat(CHUNK_LEN);
    let claims =
        ["", "-1", "+3", "3.0", "0x3", " 3", "abc", "18446744073709551616", "2", "4", "0", "262145", "4194304"];
    for (n, claim) in claims.into_iter().enumerate() {
        let digest = Digest::of(&[u8::try_from(n).unwrap()]);
        let mut headers = HeaderMap::new();
        headers.insert(blobs::SIZE, claim);
        liar.ask_with(&subjects::blob_chunk(&owner, &digest, 0), "xyz", headers).await;
        let told = blobs::get(&reader, digest, std::slice::from_ref(&owner), CAP).await.unwrap_err();
        assert!(matches!(told, BlobError::Corrupt { .. }), "{claim:?}: {told:?}");
    }
    for claim in ["4194305", "18446744073709551615"] {
        let digest = Digest::of(claim.as_bytes());
        let mut headers = HeaderMap::new();
        headers.insert(blobs::SIZE, claim);
        liar.ask_with(&subjects::blob_chunk(&owner, &digest, 0), &chunk, headers).await;
        let told = blobs::get(&reader, digest, std::slice::from_ref(&owner), CAP).await.unwrap_err();
        assert!(matches!(told, BlobError::TooLarge { .. }), "{claim:?}: {told:?}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_token_with_any_character_changed_is_not_believed(at in any::<Index>(), by in "[A-Za-z0-9._=-]") {
        let (roots, agent) = builder();
        let now = Timestamp::from_millis(1_790_000_000_000);
        prop_assert!(roots.verify_jwt(agent.jwt(), now).is_ok());
        let forged = changed(agent.jwt(), &at, by.chars().next().unwrap());
        prop_assert!(forged == agent.jwt() || roots.verify_jwt(&forged, now).is_err(), "{forged}");
    }

    #[test]
    fn any_text_is_no_token_no_credentials_and_no_signature(text in "(?s).{0,120}", key in "[A-Z2-7]{0,60}") {
        let (roots, agent) = builder();
        let now = Timestamp::from_millis(0);
        prop_assert!(roots.verify_jwt(&text, now).is_err());
        let token = format!("eyJhbGciOiJlZDI1NTE5LW5rZXkifQ.{text}.{key}");
        prop_assert!(roots.verify_jwt(&token, now).is_err());
        prop_assert!(Credentials::parse(&text).is_err());
        prop_assert!(!verify_signature(agent.public_key(), "subject", b"payload", &text));
        prop_assert!(!verify_signature(&key, "subject", b"payload", &text));
        prop_assert!(!roots.is_orchestrators("subject", b"payload", &text, now));
    }

    #[test]
    fn credentials_with_any_character_changed_are_refused_or_the_same_users(at in any::<Index>(), by in "[A-Za-z0-9 -]") {
        let (_, agent) = builder();
        let text = changed(&agent.to_text(), &at, by.chars().next().unwrap());
        if let Ok(read) = Credentials::parse(&text) {
            prop_assert_eq!(read.public_key(), agent.public_key());
        }
    }

    #[test]
    fn a_signature_is_of_one_subject_and_one_payload(
        subject in "[a-z.]{1,20}",
        payload in vec(any::<u8>(), 0..64),
        other in vec(any::<u8>(), 0..64),
        at in any::<Index>(),
    ) {
        let (_, agent) = builder();
        let signature = agent.signer().sign(&subject, &payload);
        prop_assert!(verify_signature(agent.public_key(), &subject, &payload, &signature));
        prop_assert!(payload == other || !verify_signature(agent.public_key(), &subject, &other, &signature));
        let elsewhere = format!("{subject}x");
        prop_assert!(!verify_signature(agent.public_key(), &elsewhere, &payload, &signature));
        let forged = changed(&signature, &at, if signature.as_bytes()[at.index(signature.len())] == b'A' { 'B' } else { 'A' });
        prop_assert!(!verify_signature(agent.public_key(), &subject, &payload, &forged));
    }
}
