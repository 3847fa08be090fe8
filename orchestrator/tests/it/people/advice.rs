//! Advisors: a call for help asks them before a person, over the broker.

use holdpoint_protocol::{
    api::{InboxKind, SUBMIT},
    artifact::Failure,
    facts::Verdict,
    ids::{RoleId, role},
    reason::ReasonCode,
    state::Status,
    turn::{Turn, TurnRequest},
    view::FlightView,
};

use super::{PLAN, W};
use crate::support::{Agent, World};

const ADVICE: &str = "canary-77c1: read the header first";

/// A flight whose builder has called for help, in a fleet with one advisor.
async fn called() -> (World, Agent, Agent) {
    let advisor: RoleId = role::id(role::ADVISOR);
    let world = World::with_role(&advisor).await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.fleet.advisors = 1;
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    builder.call_for_help(&turn, ">>>HELP<<<").await;
    delivery.ack().await.unwrap();
    let advisor = world.agent(role::ADVISOR, "advisor-1").await;
    (world, builder, advisor)
}

fn given(turn: &Turn) -> (u32, usize) {
    let TurnRequest::Complete(request) = &turn.request else { panic!("no advisor's turn: {turn:?}") };
    let advice = request.advice.as_ref().expect("advice is wanted");
    assert_eq!(advice.question, ">>>HELP<<<");
    (advice.round, advice.given.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_advisors_words_reach_whoever_called_and_no_verifier_also_after_a_restart() {
    let (mut world, mut builder, mut advisor) = Box::pin(called()).await;
    // The next decider has nothing but the journal.
    world.start_orchestrator().await;
    let asked = advisor.completes(|completion| completion.summary = ADVICE.to_owned()).await;
    assert_eq!(given(&asked), (1, 0));
    let again = builder.builds(&world, &[("a", "2\n")]).await;
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    let clarified = &request.feedback.as_ref().unwrap().clarifications[0];
    assert_eq!((clarified.text.as_deref(), clarified.by.as_str()), (Some(ADVICE), "advisor-1"));
    assert_eq!(again.attempt, 1, "it is the same attempt");
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let verify = verifier.judges(Verdict::Pass).await;
    assert!(!serde_json::to_string(&verify).unwrap().contains(ADVICE));
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_when_no_advisor_could_help_in_three_rounds() {
    let (mut world, mut builder, mut advisor) = Box::pin(called()).await;
    for round in 1..=3 {
        let failure = Failure { reason: ReasonCode::AgentFailed, detail: "it does not know".to_owned() };
        let asked = advisor.completes(|completion| completion.failure = Some(failure)).await;
        assert_eq!(given(&asked), (round, round as usize - 1));
        world.start_orchestrator().await;
    }
    world.waypoint_when("the call", |w| w.status == Status::Waiting).await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.question.as_deref()), (InboxKind::Help, Some(">>>HELP<<<")));
    let ada = world.person("human-ada").await;
    let mut answer = ada.answer("");
    (answer.option, answer.text) = (None, Some("go left".to_owned()));
    ada.does(&world, W, &answer).await;
    let (turn, _) = builder.take().await;
    let TurnRequest::Build(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!(request.feedback.as_ref().unwrap().clarifications[0].by, "human-ada");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_at_once_where_no_key_of_the_fleet_has_the_role() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.fleet.advisors = 1;
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    builder.call_for_help(&turn, ">>>HELP<<<").await;
    delivery.ack().await.unwrap();
    let waiting = world.waypoint_when("the call", |w| w.status == Status::Waiting).await;
    assert_eq!(waiting.reason_code, Some(ReasonCode::HelpRequested));
    world.is_sound().await;
}
