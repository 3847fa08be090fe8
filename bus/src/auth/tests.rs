use std::{os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use data_encoding::BASE64URL_NOPAD;
use holdpoint_protocol::{
    Timestamp,
    facts::Harness,
    ids::{AgentName, role},
    streams,
};
use nkeys::KeyPair;

use super::{
    Authority, Credentials, EnvelopeError, Holder, InvalidCredentials, JwtRefusal, KnownUsers, PastSenders,
    SignedMessage, Trust, TrustRoots, UnknownRole, accounts,
    jwt::{self, Subject},
    open_envelope, raw_public_key,
    signer::Signer,
    verify_signature,
};

fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

fn builder(authority: &Authority, lifetime: Option<Duration>) -> Credentials {
    authority.mint_agent(&role::id(role::BUILDER), &name("b1"), &streams::fleet_pool(), lifetime).unwrap()
}

/// A time long after anything in these tests was issued.
fn later() -> Timestamp {
    Timestamp::from_millis(4_000_000_000_000)
}

#[test]
fn a_minted_users_jwt_is_believed_for_its_role_and_no_other() {
    let authority = Authority::create();
    let (roots, user) = (authority.trust_roots(), builder(&authority, None));
    let verified = roots.verify_jwt_of(&role::id(role::BUILDER), user.jwt(), later()).unwrap();
    assert_eq!((verified.name.as_str(), verified.role.as_str()), ("b1", "builder"));
    assert_eq!(verified.public_key, user.public_key());
    assert!(verified.tags.contains(&"pool:fleet".to_owned()), "{:?}", verified.tags);
    let refused = roots.verify_jwt_of(&role::id(role::VERIFIER), user.jwt(), later()).unwrap_err();
    assert!(matches!(refused, JwtRefusal::WrongRole { .. }), "{refused:?}");
    let person = authority.mint_operator(&name("ann"));
    assert_eq!(roots.verify_jwt(person.jwt(), later()).unwrap().role, role::id(role::OPERATOR));
}

#[test]
fn each_reason_to_doubt_a_jwt_is_told() {
    let mut authority = Authority::create();
    let user = builder(&authority, Some(Duration::from_secs(60)));
    let roots = authority.trust_roots().clone();
    assert_eq!(roots.verify_jwt(user.jwt(), later()), Err(JwtRefusal::Expired));
    assert!(roots.verify_jwt(user.jwt(), Timestamp::from_millis(0)).is_ok());
    for junk in ["", "a.b", "a.b.c", &user.jwt()[1..]] {
        assert_eq!(roots.verify_jwt(junk, later()), Err(JwtRefusal::Malformed), "{junk}");
    }
    let foreign = builder(&Authority::create(), None);
    assert_eq!(roots.verify_jwt(foreign.jwt(), later()), Err(JwtRefusal::Malformed));
    let orchestrator = authority.mint_orchestrator(&name("o1"));
    assert_eq!(roots.verify_jwt(orchestrator.jwt(), later()), Err(JwtRefusal::Malformed));
    authority.revoke(user.public_key());
    assert_eq!(authority.trust_roots().verify_jwt(user.jwt(), Timestamp::from_millis(0)), Err(JwtRefusal::Revoked));
}

#[test]
fn a_remembered_jwt_is_asked_for_its_time_and_role_again() {
    let authority = Authority::create();
    let user = builder(&authority, Some(Duration::from_secs(60)));
    let known = KnownUsers::new(Arc::new(authority.trust_roots().clone()));
    let begin = Timestamp::from_millis(0);
    let fresh = known.verify_jwt(user.jwt(), begin).unwrap();
    assert_eq!(known.verify_jwt(user.jwt(), begin), Ok(fresh));
    assert_eq!(known.verify_jwt(user.jwt(), later()), Err(JwtRefusal::Expired));
    let refused = known.verify_jwt_of(&role::id(role::VERIFIER), user.jwt(), begin).unwrap_err();
    assert!(matches!(refused, JwtRefusal::WrongRole { .. }), "{refused:?}");
    assert_eq!(known.verify_jwt(&user.jwt()[1..], begin), Err(JwtRefusal::Malformed));
}

#[test]
fn a_remembered_jwt_is_asked_for_its_issuer_and_revocation_again() {
    let mut authority = Authority::create();
    let (kept, revoked) = (builder(&authority, None), builder(&authority, None));
    let trust = Trust::from(Arc::new(authority.trust_roots().clone()));
    let known = KnownUsers::new(trust.clone());
    let now = Timestamp::from_millis(0);
    for user in [&kept, &revoked] {
        assert!(known.verify_jwt(user.jwt(), now).is_ok());
    }
    authority.revoke(revoked.public_key());
    authority.rotate(&role::id(role::BUILDER)).unwrap();
    assert!(trust.watched().replace(authority.trust_roots().clone()));
    assert!(known.verify_jwt(kept.jwt(), now).is_ok(), "the former key counts");
    assert_eq!(known.verify_jwt(revoked.jwt(), now), Err(JwtRefusal::Revoked));
    authority.drop_former(&role::id(role::BUILDER)).unwrap();
    assert!(trust.watched().replace(authority.trust_roots().clone()));
    assert_eq!(known.verify_jwt(kept.jwt(), now), Err(JwtRefusal::UnknownIssuer));
    let watched = trust.watched();
    drop((trust, known));
    assert!(!watched.is_used() && !watched.replace(authority.trust_roots().clone()));
}

#[test]
fn whose_harness_a_key_is_for_is_said_when_it_is_made_and_outlives_a_new_signing_key() {
    let mut authority = Authority::create();
    let (verifier, pool) = (role::id(role::VERIFIER), streams::fleet_pool());
    let ours = authority.mint_own_agent(&verifier, &name("v1"), &pool).unwrap();
    let foreign = authority.mint_agent(&verifier, &name("v2"), &pool, None).unwrap();
    let operator = authority.mint_operator(&name("ann"));
    authority.rotate(&verifier).unwrap();
    let renewed = [&ours, &foreign].map(|user| authority.renew(&verifier, user).unwrap());
    let harness = |user: &Credentials| authority.trust_roots().verify_jwt(user.jwt(), later()).unwrap().harness();
    assert_eq!([&ours, &renewed[0]].map(harness), [Harness::Holdpoint; 2]);
    assert_eq!([&foreign, &renewed[1], &operator].map(harness), [Harness::Foreign; 3]);
    // Its holder cannot add the tag: the JWT is its issuer's.
    let (signed, signature) = foreign.jwt().rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let text = String::from_utf8(BASE64URL_NOPAD.decode(claims.as_bytes()).unwrap()).unwrap();
    let text = text.replace("\"pool:fleet\"", "\"pool:fleet\",\"harness:holdpoint\"");
    assert!(text.contains("harness:holdpoint"), "{text}");
    let forged = format!("{header}.{}.{signature}", BASE64URL_NOPAD.encode(text.as_bytes()));
    assert_eq!(authority.trust_roots().verify_jwt(&forged, later()), Err(JwtRefusal::BadSignature));
}

#[test]
fn agents_and_people_have_so_many_connections_together_and_orchestrators_have_no_limit() {
    let config = Authority::create().server_config();
    let limits: Vec<i64> =
        ["HOLDPOINT", "AGENTS"].into_iter().map(|account| connections_of(&config, account)).collect();
    assert_eq!(limits, [-1, 8_192]);
}

/// The limit of connections in an account's claims.
fn connections_of(config: &str, account: &str) -> i64 {
    let claims = config.split_whitespace().filter_map(jwt::parse::<serde_json::Value>).map(|parsed| parsed.claims);
    let mut of = claims.filter(|claims| claims.name == account);
    of.next().unwrap().nats["limits"]["conn"].as_i64().unwrap()
}

#[test]
fn an_authority_of_an_earlier_version_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::create();
    authority.save(dir.path()).unwrap();
    let file = dir.path().join("authority.json");
    let mut saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for later in ["former_orchestrators", "created_at", "changed_at", "issued"] {
        assert!(saved.as_object_mut().unwrap().remove(later).is_some(), "{later}");
    }
    std::fs::write(&file, saved.to_string()).unwrap();
    let loaded = Authority::load(dir.path()).unwrap().unwrap();
    assert_eq!(loaded.trust_roots(), authority.trust_roots());
}

#[test]
fn a_jwt_that_names_an_issuer_who_did_not_sign_it_is_refused() {
    let authority = Authority::create();
    let roots = authority.trust_roots();
    let user = builder(&authority, None);
    let (signed, signature) = user.jwt().rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let text = String::from_utf8(BASE64URL_NOPAD.decode(claims.as_bytes()).unwrap()).unwrap();
    let renamed = BASE64URL_NOPAD.encode(text.replace("\"b1\"", "\"b2\"").as_bytes());
    let forged = format!("{header}.{renamed}.{signature}");
    assert_eq!(roots.verify_jwt(&forged, later()), Err(JwtRefusal::BadSignature));

    // Signed well, but by a key that is no role's: an account's own key does not count either.
    let key = KeyPair::new_user();
    let subject = Subject { name: "b1", public_key: &key.public_key(), issued_at: 0, expires_at: None };
    for issuer in [KeyPair::new_account(), KeyPair::from_seed(&authority.agents.seed().unwrap()).unwrap()] {
        let nats = accounts::scoped_user(&roots.agents_account, &[]);
        assert_eq!(roots.verify_jwt(&jwt::encode(subject, nats, &issuer), later()), Err(JwtRefusal::UnknownIssuer));
    }
}

#[test]
fn only_agents_roles_are_minted_as_agents() {
    let authority = Authority::create();
    for unknown in [role::OPERATOR, role::ORCHESTRATOR, "stranger"] {
        let role = unknown.parse().unwrap();
        let refused = authority.mint_agent(&role, &name("x"), &streams::fleet_pool(), None).unwrap_err();
        assert_eq!(refused, UnknownRole { role });
    }
}

#[test]
fn an_archivist_is_known_by_its_signing_key_and_is_no_agent_and_no_role_of_the_fleet() {
    let authority = Authority::create();
    let archivist = authority.mint_archivist(&name("a1"), None).unwrap();
    let roots = authority.trust_roots();
    assert_eq!(roots.verify_jwt(archivist.jwt(), later()).unwrap().role, role::id(role::ARCHIVIST));
    assert!(!authority.fleet_roles().is_agents(&role::id(role::ARCHIVIST)));
    let refused = authority.mint_agent(&role::id(role::ARCHIVIST), &name("x"), &streams::fleet_pool(), None);
    assert_eq!(refused.unwrap_err(), UnknownRole { role: role::id(role::ARCHIVIST) });
    // An agent's key does not make one by naming the account with the streams.
    let builders = &authority.roles[&role::id(role::BUILDER)];
    let key = KeyPair::new_user();
    let subject = Subject { name: "b1", public_key: &key.public_key(), issued_at: 0, expires_at: None };
    let nats = accounts::archivist(&authority.holdpoint.public_key(), &name("b1"));
    assert_eq!(roots.verify_jwt(&jwt::encode(subject, nats, builders), later()), Err(JwtRefusal::Malformed));
}

#[test]
fn an_authority_of_before_there_were_archivists_gets_a_key_for_them_once() {
    let mut authority = Authority::create();
    let role = role::id(role::ARCHIVIST);
    authority.roles.remove(&role);
    authority.roots.roles.remove(&role);
    assert!(authority.mint_archivist(&name("a1"), None).is_err());
    let before = authority.server_config();
    assert!(authority.ensure_archivists() && !authority.ensure_archivists());
    assert_ne!(authority.server_config(), before, "the broker has to hear of the key");
    let [one, other] = ["a1", "a2"].map(|a| authority.mint_archivist(&name(a), None).unwrap());
    assert_eq!(one.issuer(), other.issuer());
    for credentials in [one, other] {
        assert!(authority.trust_roots().verify_jwt(credentials.jwt(), later()).is_ok());
    }
}

#[test]
fn credentials_show_for_whom_they_are_made() {
    let mut authority = Authority::create();
    let of = [
        (builder(&authority, None), Holder::Agent),
        (authority.mint_operator(&name("ann")), Holder::Operator),
        (authority.mint_orchestrator(&name("o1")), Holder::Process),
        (authority.mint_archivist(&name("a1"), None).unwrap(), Holder::Process),
        (authority.mint_migrator(&name("m1"), None), Holder::Process),
        (authority.mint_connections(), Holder::Process),
    ];
    for (credentials, holder) in of {
        assert_eq!(credentials.holder(), holder, "{credentials:?}");
    }
}

#[test]
fn credentials_read_back_from_their_text_and_do_not_show_their_seed() {
    let user = builder(&Authority::create(), None);
    let read = Credentials::parse(&user.to_text()).unwrap();
    assert_eq!((read.jwt(), read.name(), read.public_key()), (user.jwt(), user.name(), user.public_key()));
    assert_eq!(read.to_text(), user.to_text());
    let seed = user.to_text().lines().find(|line| line.starts_with("SU")).unwrap().to_owned();
    assert!(!format!("{user:?} {:?}", user.signer()).contains(&seed));

    let other = builder(&Authority::create(), None).to_text();
    let other_seed = other.lines().find(|line| line.starts_with("SU")).unwrap();
    let swapped = user.to_text().replace(&seed, other_seed);
    assert_eq!(Credentials::parse(&swapped).unwrap_err(), InvalidCredentials::BadSeed);
    assert_eq!(Credentials::parse("").unwrap_err(), InvalidCredentials::MissingBlock { block: "JWT" });
    let cut = user.to_text().split("-----BEGIN USER").next().unwrap().to_owned();
    assert_eq!(Credentials::parse(&cut).unwrap_err(), InvalidCredentials::MissingBlock { block: "seed" });
}

#[test]
fn an_authority_is_kept_for_its_owner_only_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys");
    assert!(Authority::load(&keys).unwrap().is_none());
    let mut authority = Authority::create();
    let orchestrator = authority.mint_orchestrator(&name("o1"));
    authority.save(&keys).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&keys), mode(&keys.join("authority.json"))), (0o700, 0o600));

    let loaded = Authority::load(&keys).unwrap().unwrap();
    assert_eq!(loaded.trust_roots(), authority.trust_roots());
    let user = builder(&loaded, None);
    assert!(authority.trust_roots().verify_jwt(user.jwt(), later()).is_ok());
    let signature = orchestrator.signer().sign("s", b"p");
    assert!(loaded.trust_roots().is_orchestrators("s", b"p", &signature, later()));
    std::fs::write(keys.join("authority.json"), "{}").unwrap();
    assert!(Authority::load(&keys).is_err());
}

#[test]
fn a_signature_holds_for_its_subject_payload_and_key() {
    let mut authority = Authority::create();
    let orchestrator = authority.mint_orchestrator(&name("o1"));
    let signature = orchestrator.signer().sign("subject", b"payload");
    let key = orchestrator.public_key();
    assert!(verify_signature(key, "subject", b"payload", &signature));
    assert!(!verify_signature(key, "subject2", b"payload", &signature));
    assert!(!verify_signature(key, "subject", b"payload2", &signature));
    assert!(!verify_signature(builder(&authority, None).public_key(), "subject", b"payload", &signature));
    for junk in ["", "!", &signature[1..], &format!("{signature}A")] {
        assert!(!verify_signature(key, "subject", b"payload", junk), "{junk}");
    }
    let user = builder(&authority, None);
    assert!(!authority.trust_roots().is_orchestrators("s", b"p", &user.signer().sign("s", b"p"), later()));
    authority.revoke(key);
    assert!(!authority.trust_roots().is_orchestrators("subject", b"payload", &signature, later()));
    // Messages stored before go on counting.
    let before = Timestamp::from_millis(0);
    assert!(authority.trust_roots().is_orchestrators("subject", b"payload", &signature, before));
}

#[test]
fn trust_roots_are_plain_json() {
    let mut authority = Authority::create();
    let _ = authority.mint_orchestrator(&name("o1"));
    let text = serde_json::to_string(authority.trust_roots()).unwrap();
    assert_eq!(&serde_json::from_str::<TrustRoots>(&text).unwrap(), authority.trust_roots());
    // No seed, of whatever kind of key.
    assert!(!text.contains("\"S"), "{text}");
}

/// The test vector of the guide for agents in other languages.
#[test]
fn the_guides_test_vector_is_what_we_sign_and_believe() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/external-agents.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let value = |name: &str| {
        let line = guide.lines().find_map(|line| line.strip_prefix(&format!("{name:<11}")));
        line.unwrap_or_else(|| panic!("no {name} in the guide")).trim().to_owned()
    };
    let signer = Signer::new(KeyPair::from_seed(&value("seed")).unwrap());
    assert_eq!(signer.public_key(), value("public"));
    let (subject, payload) = (value("subject"), value("payload"));
    assert_eq!(signer.sign(&subject, payload.as_bytes()), value("signature"));
    assert!(verify_signature(&value("public"), &subject, payload.as_bytes(), &value("signature")));
    assert!(!verify_signature(&value("public"), &subject, b"{}", &value("signature")));
}

const STATEMENT: &[u8] = br#"{"_type":"https://in-toto.io/Statement/v1"}"#;
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

#[test]
fn an_envelope_is_signed_as_its_specification_says() {
    let credentials = Authority::create().mint_orchestrator(&name("o1"));
    let envelope = credentials.signer().envelope(PAYLOAD_TYPE, STATEMENT);
    // By hand, with another library: what an outsider does.
    let payload = data_encoding::BASE64.decode(envelope.payload.as_bytes()).unwrap();
    assert_eq!(payload, STATEMENT);
    let signed = [b"DSSEv1 28 application/vnd.in-toto+json 43 ".as_slice(), STATEMENT].concat();
    let key = ed25519_dalek::VerifyingKey::from_bytes(&raw_public_key(credentials.public_key()).unwrap()).unwrap();
    let signature = data_encoding::BASE64.decode(envelope.signatures[0].sig.as_bytes()).unwrap();
    let signature = ed25519_dalek::Signature::from_slice(&signature).unwrap();
    key.verify_strict(&signed, &signature).unwrap();
    assert!(key.verify_strict(STATEMENT, &signature).is_err(), "the type is signed with it");
    assert_eq!(envelope.signatures[0].keyid, credentials.public_key());
    assert_eq!(raw_public_key("not a key"), None);
}

#[test]
fn an_envelope_with_another_payload_type_or_key_does_not_open() {
    let mut authority = Authority::create();
    let (one, other) = (authority.mint_orchestrator(&name("o1")), authority.mint_orchestrator(&name("o2")));
    let envelope = one.signer().envelope(PAYLOAD_TYPE, STATEMENT);
    assert_eq!(open_envelope(&envelope, one.public_key()).unwrap(), STATEMENT);
    let refused = |envelope| matches!(open_envelope(&envelope, one.public_key()), Err(EnvelopeError::Signature { .. }));
    assert!(open_envelope(&envelope, other.public_key()).is_err());
    let mut changed = envelope.clone();
    changed.payload = data_encoding::BASE64.encode(b"{}");
    assert!(refused(changed));
    let mut changed = envelope.clone();
    changed.payload_type = "application/json".to_owned();
    assert!(refused(changed));
    let mut changed = envelope;
    changed.signatures.clear();
    assert!(refused(changed));
}

#[test]
fn what_was_signed_before_a_key_was_revoked_still_counts_and_nothing_after() {
    let mut authority = Authority::create();
    let orchestrator = authority.mint_orchestrator(&name("o1"));
    let (subject, payload) = ("hp.v1.journal.f._.submitted", b"{}".as_slice());
    let signature = orchestrator.signer().sign(subject, payload);
    let signed = |at| SignedMessage { subject, payload, signature: Some(&signature), at };
    let (before, after) = (Timestamp::from_millis(0), later());
    assert!(authority.trust_roots().was_orchestrators(signed(after)));
    authority.revoke(orchestrator.public_key());
    assert!(authority.trust_roots().was_orchestrators(signed(before)));
    assert!(!authority.trust_roots().was_orchestrators(signed(after)));
    assert!(!authority.trust_roots().was_orchestrators(SignedMessage { payload: b"{} ", ..signed(before) }));
    assert!(!authority.trust_roots().was_orchestrators(SignedMessage { signature: None, ..signed(before) }));
}

#[test]
fn a_past_sender_is_known_by_a_jwt_that_came_before_and_is_of_its_role() {
    let authority = Authority::create();
    let (builder_role, verifier_role) = (role::id(role::BUILDER), role::id(role::VERIFIER));
    let user = builder(&authority, None);
    let (subject, payload) = ("hp.v1.handoff.builder.0.f.w.build_plan", b"{}".as_slice());
    let signature = user.signer().sign(subject, payload);
    let signed = SignedMessage { subject, payload, signature: Some(&signature), at: later() };
    let mut senders = PastSenders::new(authority.trust_roots());
    let early = senders.verify(&builder_role, &name("b1"), None, signed).unwrap_err();
    assert!(early.contains("no JWT of b1 came before"), "{early}");
    senders.verify(&builder_role, &name("b1"), Some(user.jwt()), signed).unwrap();
    senders.verify(&builder_role, &name("b1"), None, signed).unwrap();
    let renamed = senders.verify(&builder_role, &name("b2"), Some(user.jwt()), signed).unwrap_err();
    assert!(renamed.contains("names agent b2, its JWT names b1"), "{renamed}");
    let other_role = senders.verify(&verifier_role, &name("b1"), Some(user.jwt()), signed).unwrap_err();
    assert!(other_role.contains("issued for the role builder, not verifier"), "{other_role}");
    let forged = SignedMessage { payload: b"{} ", ..signed };
    let other_bytes = senders.verify(&builder_role, &name("b1"), None, forged).unwrap_err();
    assert!(other_bytes.contains("does not fit"), "{other_bytes}");
    // The same agent under another key: both count for what they signed.
    let again = builder(&authority, None);
    let signature = again.signer().sign(subject, payload);
    senders
        .verify(&builder_role, &name("b1"), Some(again.jwt()), SignedMessage { signature: Some(&signature), ..signed })
        .unwrap();
    senders.verify(&builder_role, &name("b1"), None, signed).unwrap();
}
