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

/// A builder's handoff as it is stored: with this message id and this name in its payload, signed and shown by these keys.
fn handoff(id: &str, agent: &str, signed: Option<&Credentials>, shown: Option<&Credentials>) -> Stored {
    let subject = "hp.v1.handoff.builder.0.f.w.build_artifact";
    let payload = Bytes::from(format!("{{\"agent\": \"{agent}\"}}"));
    Stored {
        subject: subject.to_owned(),
        signature: signed.map(|by| by.signer().sign(subject, &payload)),
        payload,
        jwt: shown.map(|by| by.jwt().to_owned()),
        message_id: Some(id.to_owned()),
        ..stored_by_nobody()
    }
}

fn stored_by_nobody() -> Stored {
    let nobody = Authority::create().mint_operator(&"nobody".parse().unwrap());
    stored(&nobody, &nobody)
}

#[test]
fn the_author_of_a_handoff_is_whose_key_signed_it_and_whom_it_names_only_without_one() {
    let (authority, role, pool) = (Authority::create(), role::id(role::BUILDER), "fleet".parse::<PoolId>().unwrap());
    let [b1, b2, b3] =
        ["b1", "b2", "b3"].map(|name| authority.mint_agent(&role, &name.parse().unwrap(), &pool, None).unwrap());
    let senders = Senders::new(KnownUsers::new(Arc::new(authority.trust_roots().clone())));
    // What their plans showed.
    for agent in [&b1, &b2] {
        let plan = handoff("t.1.x.build_plan.0", agent.name().as_str(), Some(agent), Some(agent));
        assert!(senders.recognise(&role, &plan, agent.name()).unwrap().is_some());
    }
    let author = |stored: &Stored| senders.author(&role, stored).map(|(name, signed)| (name.to_string(), signed));
    let is = |name: &str, signed: bool| Some((name.to_owned(), signed));
    let of_b2 = "t.1.b2.build_artifact.0";
    assert_eq!(author(&handoff(of_b2, "b2", Some(&b2), None)), is("b2", true));
    assert_eq!(author(&handoff(of_b2, "b2", Some(&b1), Some(&b1))), is("b1", true), "by the JWT it shows");
    assert_eq!(author(&handoff(of_b2, "b1", Some(&b1), None)), is("b1", true), "by the JWT it showed before");
    assert_eq!(author(&handoff(of_b2, "b2", Some(&b1), Some(&b2))), is("b2", false), "a JWT is no signature");
    assert_eq!(author(&handoff(of_b2, "b2", Some(&b3), None)), is("b2", false));
    assert_eq!(author(&handoff(of_b2, "b2", None, None)), is("b2", false));
    assert_eq!(author(&handoff("free", "b2", None, None)), is("b2", false));
    assert_eq!(author(&handoff("free", "not a name", None, None)), None);
}

#[test]
fn of_the_jwts_that_were_shown_the_newest_are_tried_however_many_there_are() {
    let mut newest = Newest::default();
    newest.take("first".to_owned());
    (0..10_000).for_each(|n| newest.take(format!("{}", n % 7)));
    assert_eq!(newest.0.len(), JWTS_TRIED_MAX, "each once");
    assert_eq!(newest.0.back().map(String::as_str), Some("3"));
    (0..JWTS_TRIED_MAX).for_each(|n| newest.take(format!("new {n}")));
    assert!(newest.0.iter().all(|jwt| jwt.starts_with("new ")));
}
