//! Handoffs from an agent's account to the orchestrators'.

use holdpoint_bus::{
    handoffs::{self, HandoffQueue, PublishError, ShowJwt},
    past,
    tries::{self, RetriedKind},
};
use holdpoint_protocol::{
    ids::{RoleId, role},
    journal::Sequence,
    streams, subjects,
};

use crate::support::{self, NOTHING_AFTER, SOON, TestBroker, flight, outgoing, waypoint};

fn subject(role: &str, kind: &str) -> String {
    subjects::handoff(&role.parse().unwrap(), &flight("f"), &waypoint("w"), kind)
}

async fn queue(broker: &TestBroker, role: &str) -> HandoffQueue {
    let role: RoleId = role.parse().unwrap();
    HandoffQueue::open(&broker.orchestrator, &role, subjects::partition(&flight("f"))).await.unwrap()
}

#[tokio::test]
async fn a_handoff_reaches_the_orchestrator_with_its_senders_signature_and_jwt() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let subject = subject(role::BUILDER, "build_plan");
    let sent =
        handoffs::publish(&builder, &subject, &outgoing("{}", "t.1.b1.build_plan.0"), ShowJwt::Yes).await.unwrap();
    assert_eq!(sent, Sequence(1));

    let mut queue = queue(&broker, role::BUILDER).await;
    let received = queue.next(SOON).await.unwrap().unwrap();
    assert_eq!((received.stored.subject.as_str(), received.delivery), (subject.as_str(), 1));
    assert!(received.stored.traceparent.is_some());
    let jwt = received.stored.jwt.clone().unwrap();
    let user = broker.roots().verify_jwt_of(&role::id(role::BUILDER), &jwt, received.stored.time).unwrap();
    assert_eq!(user.name.as_str(), "b1");
    assert!(received.stored.is_signed_by(&user.public_key));
    assert!(!received.stored.is_signed_by(broker.orchestrator.public_key()));
    received.progress().await.unwrap();
    received.ack().await.unwrap();

    let by_place = handoffs::get(&broker.orchestrator, &received.stream, received.stored.sequence).await.unwrap();
    assert_eq!(by_place.as_ref(), Some(&received.stored));
    assert_eq!(handoffs::get(&broker.orchestrator, &received.stream, Sequence(99)).await.unwrap(), None);
    assert!(queue.next(NOTHING_AFTER).await.unwrap().is_none());
}

#[tokio::test]
async fn a_persons_act_reaches_the_orchestrator_with_the_key_that_signed_it() {
    let broker = TestBroker::start().await;
    let person = broker.bus(role::OPERATOR, "human-ann").await;
    for waypoint in [Some(waypoint("w")), None] {
        let subject = subjects::act(&flight("f"), waypoint.as_ref(), "cancel");
        let act = outgoing("{}", &subject);
        handoffs::publish(&person, &subject, &act, ShowJwt::Yes).await.unwrap();
    }
    let mut queue = queue(&broker, role::OPERATOR).await;
    for waypoint in [Some(waypoint("w")), None] {
        let stored = queue.next(SOON).await.unwrap().unwrap().stored;
        assert_eq!(subjects::parse_handed(&stored.subject).unwrap().waypoint, waypoint);
        let jwt = stored.jwt.clone().unwrap();
        let user = broker.roots().verify_jwt_of(&role::id(role::OPERATOR), &jwt, stored.time).unwrap();
        assert_eq!(user.name.as_str(), "human-ann");
        assert!(stored.is_signed_by(&user.public_key));
    }
}

#[tokio::test]
async fn the_same_handoff_sent_again_is_success_and_stored_once() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let subject = subject(role::BUILDER, "build_artifact");
    let handoff = outgoing("{}", "t.1.b1.build_artifact.0");
    let first = handoffs::publish(&builder, &subject, &handoff, ShowJwt::No).await.unwrap();
    assert_eq!(handoffs::publish(&builder, &subject, &handoff, ShowJwt::No).await.unwrap(), first);
    assert_eq!(broker.count(&streams::handoff(&role::id(role::BUILDER))).await, 1);
}

#[tokio::test]
async fn what_was_handed_off_before_is_found_by_waypoint_and_kind() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let role = role::id(role::BUILDER);
    for (n, kind) in ["build_plan", "build_artifact", "build_plan"].into_iter().enumerate() {
        let handoff = outgoing("{}", &format!("id-{n}"));
        handoffs::publish(&builder, &subject(role::BUILDER, kind), &handoff, ShowJwt::No).await.unwrap();
    }
    let all = past::of_waypoint(&broker.orchestrator, &role, &flight("f"), &waypoint("w"), Sequence(0)).await.unwrap();
    let all = support::all(all).await.unwrap();
    assert_eq!(all.iter().map(|stored| stored.sequence.0).collect::<Vec<_>>(), [1, 2, 3]);
    let plans = past::of_kind(&broker.orchestrator, &role, &flight("f"), &waypoint("w"), "build_plan").await.unwrap();
    let plans = support::all(plans).await.unwrap();
    let plan = plans.into_iter().next_back();
    assert_eq!(plan.as_ref(), all.last());
    let none = past::of_waypoint(&broker.orchestrator, &role, &flight("f"), &waypoint("x"), Sequence(0)).await.unwrap();
    assert_eq!(support::all(none).await.unwrap(), []);
}

#[tokio::test]
async fn a_handoff_that_was_put_back_comes_again_with_its_count() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let subject = subject(role::BUILDER, "build_plan");
    handoffs::publish(&builder, &subject, &outgoing("{}", "one"), ShowJwt::No).await.unwrap();
    let mut queue = queue(&broker, role::BUILDER).await;
    let received = queue.next(SOON).await.unwrap().unwrap();
    received.nak(std::time::Duration::from_millis(10)).await.unwrap();
    let again = queue.next(SOON).await.unwrap().unwrap();
    assert_eq!((again.stored, again.delivery), (received.stored, 2));
}

#[tokio::test]
async fn what_another_agent_stored_under_its_message_id_is_not_taken_for_a_handoff() {
    let broker = TestBroker::start().await;
    let (honest, other) = (broker.bus(role::BUILDER, "b1").await, broker.bus(role::BUILDER, "b2").await);
    let subject = subject(role::BUILDER, "build_artifact");
    let ids = ["t.1.b1.build_artifact.0", "t.1.b1.build_artifact.1"];
    for id in ids {
        handoffs::publish(&other, &subject, &outgoing("{\"of\": \"b2\"}", id), ShowJwt::No).await.unwrap();
    }
    let before = tries::count(RetriedKind::TakenId);
    let mut more = ["t.1.b1.build_artifact.1", "t.1.b1.build_artifact.2"].into_iter().map(str::to_owned);
    let handoff = outgoing("{\"of\": \"b1\"}", ids[0]);
    let another = || more.next().unwrap();
    let stored = handoffs::publish_for_certain(&honest, &subject, &handoff, ShowJwt::No, another).await.unwrap();
    let stream = streams::handoff(&role::id(role::BUILDER));
    let found = handoffs::get(&broker.orchestrator, &stream, stored).await.unwrap().unwrap();
    assert_eq!((found.payload.as_ref(), stored), (handoff.payload.as_ref(), Sequence(3)));
    assert!(found.is_signed_by(honest.public_key()));
    assert_eq!(tries::count(RetriedKind::TakenId) - before, 2);
    // Where each is taken it is not stored, and the sender is not left in the belief that it is.
    let taken = || ids[0].to_owned();
    let refused = handoffs::publish_for_certain(&honest, &subject, &handoff, ShowJwt::No, taken).await;
    assert!(matches!(refused, Err(PublishError::TakenIds { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_builder_cannot_poison_the_message_id_of_a_verifiers_report() {
    let broker = TestBroker::start().await;
    let (builder, verifier) = (broker.bus(role::BUILDER, "b1").await, broker.bus(role::VERIFIER, "v1").await);
    let report = outgoing("{}", "t.1.v1.verification_report.0");
    handoffs::publish(&builder, &subject(role::BUILDER, "build_plan"), &report, ShowJwt::No).await.unwrap();
    let subject = subject(role::VERIFIER, "verification_report");
    handoffs::publish(&verifier, &subject, &report, ShowJwt::No).await.unwrap();

    // Message ids are compared per stream, and each role has its own: the report is no duplicate of the junk.
    let received = queue(&broker, role::VERIFIER).await.next(SOON).await.unwrap().unwrap();
    assert_eq!(received.stored.subject, subject);
    assert!(received.stored.is_signed_by(verifier.public_key()));
}
