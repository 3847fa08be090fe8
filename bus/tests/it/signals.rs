//! What is not stored, across the accounts in both directions.

use holdpoint_bus::signals::{self, Signals};
use holdpoint_protocol::{ids::role, subjects};

use crate::support::{SOON, TestBroker};

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
