//! What is not stored, across the accounts in both directions.

use holdpoint_bus::signals::{self, Signals};
use holdpoint_protocol::{Digest, Timestamp, headers, ids::role, streams, subjects};

use crate::support::{NOTHING_AFTER, SOON, TestBroker, settled};

#[tokio::test]
async fn refusals_reach_the_agent_and_presence_reaches_orchestrators_and_people() {
    let broker = TestBroker::start().await;
    let (role, name) = (role::id(role::BUILDER), "b1".parse().unwrap());
    let builder = broker.bus(role::BUILDER, "b1").await;
    let person = broker.bus(role::OPERATOR, "ann").await;
    let refused = subjects::refused(&role, &name);
    let mut refusals = Signals::listen(&builder, refused.clone()).await.unwrap();
    let mut fleet = Signals::listen(&broker.orchestrator, "hp.v1.presence.>".to_owned()).await.unwrap();
    let mut page = Signals::listen(&person, "hp.v1.presence.>".to_owned()).await.unwrap();
    for listening in [&builder, &broker.orchestrator, &person] {
        settled(listening).await;
    }

    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    signals::send(&broker.orchestrator, refused.clone(), "why".into(), Some(trace)).await.unwrap();
    let heard = tokio::time::timeout(SOON, refusals.next()).await.unwrap().unwrap();
    assert_eq!((heard.subject, heard.payload, heard.traceparent), (refused, "why".into(), Some(trace.to_owned())));

    // In another agent's name it does not get out; its own word is the first that is heard.
    let other = subjects::presence(&role, &"b2".parse().unwrap());
    signals::send(&builder, other, "here".into(), None).await.unwrap();
    let own = subjects::presence(&role, &name);
    signals::send(&builder, own.clone(), "here".into(), None).await.unwrap();
    for listener in [&mut fleet, &mut page] {
        assert_eq!(tokio::time::timeout(SOON, listener.next()).await.unwrap().unwrap().subject, own);
    }
}

#[tokio::test]
async fn what_the_broker_was_made_to_say_is_told_from_what_an_orchestrator_says() {
    let broker = TestBroker::start().await;
    let (role, roots) = (role::id(role::BUILDER), broker.roots());
    let victim = broker.bus(role::BUILDER, "victim").await;
    let refused = subjects::refused(&role, &"victim".parse().unwrap());
    let presence = "hp.v1.presence.orchestrator.evil";
    let mut refusals = Signals::listen(&victim, refused.clone()).await.unwrap();
    let person = broker.bus(role::OPERATOR, "ann").await;
    let mut page = Signals::listen(&person, "hp.v1.presence.>".to_owned()).await.unwrap();
    let mut members = Signals::listen(&broker.orchestrator, "hp.v1.presence.>".to_owned()).await.unwrap();
    for listening in [&victim, &person, &broker.orchestrator] {
        settled(listening).await;
    }

    // A blob of its own, with headers of its own, sent where the attacker may not publish: as the answer to a get.
    let credentials = broker.mint(role::BUILDER, "attacker", &streams::fleet_pool());
    let attacker = broker.raw(&credentials).await;
    let chunk = subjects::blob_chunk(&role, &Digest::of(b"here"), 0);
    let mut map = async_nats::HeaderMap::new();
    map.insert(headers::SIGNATURE, credentials.signer().sign(presence, b"here").as_str());
    attacker.ask_with(&chunk, "here", map).await;
    let get = format!("$JS.API.DIRECT.GET.HP_BLOB.{chunk}");
    let now = Timestamp::from_millis(1_790_000_000_000);
    for (reply, ear) in [(refused.as_str(), &mut refusals), (presence, &mut page)] {
        attacker.publish_with_reply(&get, reply, "").await;
        let heard = tokio::time::timeout(SOON, ear.next()).await.expect(reply).unwrap();
        assert_eq!((heard.subject.as_str(), &*heard.payload), (reply, &b"here"[..]));
        assert!(heard.signature.is_some() && !heard.is_orchestrators(&roots, now), "{reply}");
    }
    // It does not come back to the account of the one who answered.
    assert!(tokio::time::timeout(NOTHING_AFTER, members.next()).await.is_err());
    signals::send(&broker.orchestrator, refused, "why".into(), None).await.unwrap();
    let heard = tokio::time::timeout(SOON, refusals.next()).await.unwrap().unwrap();
    assert!(heard.is_orchestrators(&roots, now));
}
