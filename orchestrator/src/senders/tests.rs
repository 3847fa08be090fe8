#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use bytes::Bytes;
use holdpoint_bus::auth::{Authority, Credentials};
use holdpoint_protocol::{headers, ids::PoolId, journal::Sequence};
use holdpoint_runtime::clock;

use super::*;

const SUBJECT: &str = "hp.v1.handoff.operator.0.f.w.cancel";

/// An act as it is stored: shown by one key, signed by another.
fn stored(shown: &Credentials, signed: &Credentials) -> Stored {
    let payload = Bytes::from_static(b"{}");
    Stored {
        sequence: Sequence(1),
        subject: SUBJECT.to_owned(),
        time: clock::now(),
        signature: Some(signed.signer().sign(SUBJECT, &payload)),
        payload,
        jwt: Some(shown.jwt().to_owned()),
        schema: None,
        content_type: Some(headers::JSON.to_owned()),
        traceparent: None,
        message_id: None,
        nonce: None,
    }
}

fn refusal(senders: &Senders, stored: &Stored, person: &str) -> Option<RefusalCode> {
    match senders.verify_person(stored, &person.parse().unwrap()) {
        Ok(()) => None,
        Err(SenderError::Refused { code, .. }) => Some(code),
        Err(SenderError::Unknown(error)) => panic!("{error}"),
    }
}

#[test]
fn an_act_is_a_persons_who_shows_a_key_of_the_fleet_and_signs_with_it() {
    let authority = Authority::create();
    let [ada, bob] = ["human-ada", "human-bob"].map(|name| authority.mint_operator(&name.parse().unwrap()));
    let pool: PoolId = "fleet".parse().unwrap();
    let agent = authority.mint_agent(&role::id(role::BUILDER), &"human-ada".parse().unwrap(), &pool, None).unwrap();
    let stranger = Authority::create().mint_operator(&"human-ada".parse().unwrap());
    let senders = Senders::new(KnownUsers::new(Arc::new(authority.trust_roots().clone())));
    assert_eq!(refusal(&senders, &stored(&ada, &ada), "human-ada"), None);
    assert_eq!(refusal(&senders, &stored(&ada, &ada), "human-bob"), Some(RefusalCode::WrongAgent));
    assert_eq!(refusal(&senders, &stored(&ada, &bob), "human-ada"), Some(RefusalCode::WrongSignature));
    assert_eq!(refusal(&senders, &stored(&agent, &agent), "human-ada"), Some(RefusalCode::JwtRefused));
    assert_eq!(refusal(&senders, &stored(&stranger, &stranger), "human-ada"), Some(RefusalCode::JwtRefused));
    let elsewhere = Stored { subject: SUBJECT.replace(".w.", ".v."), ..stored(&ada, &ada) };
    assert_eq!(refusal(&senders, &elsewhere, "human-ada"), Some(RefusalCode::WrongSignature));
    let unsigned = Stored { signature: None, ..stored(&ada, &ada) };
    assert_eq!(refusal(&senders, &unsigned, "human-ada"), Some(RefusalCode::WrongSignature));
    let unshown = Stored { jwt: None, ..stored(&ada, &ada) };
    assert_eq!(refusal(&senders, &unshown, "human-ada"), Some(RefusalCode::JwtRefused));
}
