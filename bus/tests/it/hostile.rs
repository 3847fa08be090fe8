//! Headers, signatures, tokens and lengths that an attacker made up: all refused, none believed, and none takes memory.

use holdpoint_bus::{
    auth::{Authority, Credentials, TrustRoots, verify_signature},
    blobs::{self, BlobError, CHUNK_LEN},
};
use holdpoint_protocol::{Digest, Timestamp, ids::role, streams, subjects};
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::FileFailurePersistence};

use crate::support::TestBroker;

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
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(blobs::SIZE, claim);
        liar.ask_with(&subjects::blob_chunk(&owner, &digest, 0), "xyz", headers).await;
        let told = blobs::get(&reader, digest, std::slice::from_ref(&owner), CAP).await.unwrap_err();
        assert!(matches!(told, BlobError::Corrupt { .. }), "{claim:?}: {told:?}");
    }
    for claim in ["4194305", "18446744073709551615"] {
        let digest = Digest::of(claim.as_bytes());
        let mut headers = async_nats::HeaderMap::new();
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
