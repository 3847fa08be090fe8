//! The micro service: who is let in, and what they get.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::{
    Bus,
    api::{self, ApiError, ApiFailure, ApiServer, Call},
    auth::KnownUsers,
};
use holdpoint_protocol::{headers, ids::role, subjects};

use crate::support::{NOTHING_AFTER, TestBroker};

const ENDPOINTS: [&str; 4] = ["status", "progress", "complete", "task"];

/// Answers with its caller and what it was asked; refuses what is empty.
async fn serve(broker: &TestBroker) -> ApiServer {
    api::serve(
        &broker.orchestrator,
        KnownUsers::new(broker.roots()),
        &ENDPOINTS,
        api::REQUESTS_PER_MINUTE,
        |request| async move {
            if request.payload.is_empty() {
                return Err(ApiFailure::new(404, "no such\nflight"));
            }
            let asked = String::from_utf8_lossy(&request.payload).into_owned();
            Ok(format!("{} {} {} {asked}", request.endpoint, request.caller.role, request.caller.name).into())
        },
    )
    .await
    .unwrap()
}

async fn call(bus: &Bus, endpoint: &str, payload: &'static str) -> Result<Bytes, ApiError> {
    let timeout = Duration::from_secs(10);
    api::request(bus, Call { endpoint, payload: payload.into(), timeout, traceparent: None }).await
}

fn refusal(result: Result<Bytes, ApiError>) -> ApiFailure {
    match result {
        Err(ApiError::Refused { failure, .. }) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn operators_ask_everything_but_progress_and_agents_only_what_is_for_them() {
    let broker = TestBroker::start().await;
    let server = serve(&broker).await;
    let operator = broker.bus(role::OPERATOR, "ann").await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    assert_eq!(call(&operator, "status", "f").await.unwrap(), "status operator ann f");
    assert_eq!(call(&builder, "progress", "t").await.unwrap(), "progress builder b1 t");
    assert_eq!(call(&builder, "task", "t").await.unwrap(), "task builder b1 t");
    assert_eq!(call(&builder, "complete", "t").await.unwrap(), "complete builder b1 t");
    assert_eq!(call(&operator, "complete", "t").await.unwrap(), "complete operator ann t");
    assert_eq!(call(&operator, "task", "t").await.unwrap(), "task operator ann t");
    let failure = refusal(call(&operator, "status", "").await);
    assert_eq!(failure, ApiFailure::new(404, "no such flight"));

    // The broker's permissions refuse these before the service sees them.
    let raw = broker.raw_agent(role::BUILDER, "b2").await;
    assert!(raw.refused(&subjects::api("status"), "f").await);
    let raw = broker.raw_agent(role::OPERATOR, "bob").await;
    assert!(raw.refused(&subjects::api("progress"), "t").await);
    server.stop().await;
    let nobody = call(&operator, "status", "f").await.unwrap_err();
    assert!(matches!(nobody, ApiError::NobodyThere { .. } | ApiError::TimedOut { .. }), "{nobody:?}");
}

#[tokio::test]
async fn a_request_without_the_senders_own_jwt_and_signature_is_refused() {
    let broker = TestBroker::start().await;
    let _server = serve(&broker).await;
    let fleet = holdpoint_protocol::streams::fleet_pool();
    let thief = broker.mint(role::OPERATOR, "thief", &fleet);
    let victim = broker.mint(role::OPERATOR, "victim", &fleet);
    let agent = broker.mint(role::BUILDER, "b1", &fleet);
    let raw = broker.raw(&thief).await;
    let subject = subjects::api("status");
    for (jwt, signer, payload, let_in) in [
        (thief.jwt(), thief.signer(), "f", true),
        (victim.jwt(), thief.signer(), "f", false),
        (agent.jwt(), agent.signer(), "f", false),
        (thief.jwt(), thief.signer(), "g", false),
        ("junk", thief.signer(), "f", false),
    ] {
        let mut map = async_nats::HeaderMap::new();
        map.insert(headers::JWT, jwt);
        map.insert(headers::SIGNATURE, signer.sign(&subject, b"f").as_str());
        let answer = raw.ask_with(&subject, payload, map).await;
        assert_eq!(answer.starts_with("status operator thief"), let_in, "{answer}");
    }
    assert_eq!(raw.ask(&subject, "f").await, "");
}

#[tokio::test]
async fn an_answer_goes_to_the_sender_and_not_into_the_journal() {
    let broker = TestBroker::start().await;
    let _server = serve(&broker).await;
    let raw = broker.raw_agent(role::OPERATOR, "ann").await;
    raw.publish_with_reply(&subjects::api("status"), "hp.v1.journal.f.w.decided", "f").await;
    raw.ask(&subjects::api("status"), "f").await;
    tokio::time::timeout(NOTHING_AFTER, std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(broker.count("HP_JOURNAL").await, 0);
}

#[tokio::test]
async fn a_question_that_a_sleeping_orchestrator_has_is_answered_by_another_one() {
    let broker = TestBroker::start().await;
    let users = || KnownUsers::new(broker.roots());
    let asleep = |_| async { std::future::pending::<Result<Bytes, ApiFailure>>().await };
    let awake = |_| async { Ok(Bytes::from_static(b"here")) };
    let sleeper =
        api::serve(&broker.orchestrator, users(), &["status"], api::REQUESTS_PER_MINUTE, asleep).await.unwrap();
    let other = api::serve(&broker.orchestrator, users(), &["status"], api::REQUESTS_PER_MINUTE, awake).await.unwrap();
    // Half of all questions go to the one that sleeps, which has room for as many of each operator as may be in hand.
    for name in 0..8 {
        let operator = broker.bus(role::OPERATOR, &format!("ann-{name}")).await;
        let payload = Bytes::from_static(b"f");
        let call = Call { endpoint: "status", payload, timeout: Duration::from_secs(30), traceparent: None };
        let answer = api::request_hedged(&operator, call, Duration::from_millis(20)).await;
        assert_eq!(answer.unwrap(), "here");
    }
    other.stop().await;
    // It still has questions, and would wait for its answers.
    drop(sleeper);
}

/// Serves `status` and `progress`; a request that says so is never answered.
async fn serve_slowly(broker: &TestBroker) -> ApiServer {
    let users = KnownUsers::new(broker.roots());
    api::serve(&broker.orchestrator, users, &["status", "progress"], api::REQUESTS_PER_MINUTE, |request| async move {
        match &*request.payload {
            b"slow" => std::future::pending().await,
            _ => Ok(Bytes::from_static(b"here")),
        }
    })
    .await
    .unwrap()
}

/// Sends requests that are never answered, without waiting.
async fn hold(broker: &TestBroker, name: &str, role: &'static str, endpoint: &str, requests: usize) {
    let credentials = broker.mint(role, name, &holdpoint_protocol::streams::fleet_pool());
    let raw = broker.raw(&credentials).await;
    let subject = subjects::api(endpoint);
    for _ in 0..requests {
        let mut map = async_nats::HeaderMap::new();
        map.insert(headers::JWT, credentials.jwt());
        map.insert(headers::SIGNATURE, credentials.signer().sign(&subject, b"slow").as_str());
        raw.0.publish_with_reply_and_headers(subject.clone(), "nowhere", map, "slow".into()).await.unwrap();
    }
    raw.0.flush().await.unwrap();
}

#[tokio::test]
async fn a_key_with_too_many_requests_in_hand_is_told_so_and_holds_nobody_up() {
    let broker = TestBroker::start().await;
    let _server = serve_slowly(&broker).await;
    let greedy = broker.bus(role::OPERATOR, "greedy").await;
    hold(&broker, "greedy-2", role::OPERATOR, "status", 1_000).await;
    let other = broker.bus(role::OPERATOR, "ann").await;
    assert_eq!(call(&other, "status", "f").await.unwrap(), "here");

    // Asked over one connection, the last of these comes last.
    let asked = (0..17).map(|n| call(&greedy, "status", if n < 16 { "slow" } else { "f" }));
    let (first, _, _rest) = futures::future::select_all(asked.map(Box::pin)).await;
    let failure = refusal(first);
    assert!(failure.code == 429 && failure.message.contains("16 requests"), "{failure:?}");
    assert!(failure.is_passing());
}

#[tokio::test]
async fn a_key_that_asks_more_often_than_it_may_is_refused_with_the_bound_and_others_are_answered() {
    let broker = TestBroker::start().await;
    let answer = |_| async { Ok(Bytes::from_static(b"here")) };
    let users = KnownUsers::new(broker.roots());
    let _server = api::serve(&broker.orchestrator, users, &["status"], 60, answer).await.unwrap();
    let greedy = broker.bus(role::OPERATOR, "greedy").await;
    let failure = loop {
        match call(&greedy, "status", "f").await {
            Ok(answer) => assert_eq!(answer, "here"),
            refused => break refusal(refused),
        }
    };
    assert!(failure.code == 429 && failure.message.contains("60 requests a minute"), "{failure:?}");
    assert!(failure.message.contains("orchestrator.requests_per_minute") && failure.is_passing(), "{failure:?}");
    let other = broker.bus(role::OPERATOR, "ann").await;
    assert_eq!(call(&other, "status", "f").await.unwrap(), "here");
}

#[tokio::test]
async fn an_agent_that_waits_for_as_many_decisions_as_it_may_is_still_shown_its_turn() {
    let broker = TestBroker::start().await;
    let answer = |request: api::ApiRequest| async move {
        match request.endpoint.as_str() {
            "complete" => std::future::pending().await,
            _ => Ok(Bytes::from_static(b"here")),
        }
    };
    let (users, endpoints) = (KnownUsers::new(broker.roots()), ["complete", "task"]);
    let server = api::serve(&broker.orchestrator, users, &endpoints, api::REQUESTS_PER_MINUTE, answer).await.unwrap();
    let builder = broker.bus(role::BUILDER, "b1").await;
    let asked = (0..5).map(|_| call(&builder, "complete", "t"));
    let (first, _, _rest) = futures::future::select_all(asked.map(Box::pin)).await;
    let failure = refusal(first);
    assert!(failure.code == 429 && failure.message.contains("4 requests in hand that wait"), "{failure:?}");
    assert_eq!(call(&builder, "task", "t").await.unwrap(), "here");
    drop(server);
}

#[tokio::test]
async fn agents_are_answered_while_operators_have_as_many_requests_in_hand_as_there_may_be() {
    let broker = TestBroker::start().await;
    let _server = serve_slowly(&broker).await;
    for name in ["a", "b", "c", "d", "e", "f"] {
        hold(&broker, name, role::OPERATOR, "status", 16).await;
    }
    let builder = broker.bus(role::BUILDER, "b1").await;
    assert_eq!(call(&builder, "progress", "t").await.unwrap(), "here");
}
