//! Flights that a person pauses.

use holdpoint_protocol::{
    api::ProgressAnswer,
    artifact::{ActCode, Artifact as _, BuildArtifact, Verb},
    facts::Verdict,
    ids::role,
    state::Status,
    view::FlightStatus,
};

use super::{PLAN, W, plan_of};
use crate::support::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_flight_opens_no_turn_and_takes_what_was_handed_off_once_it_goes_on() {
    let mut world = World::start().await;
    world.submit(&plan_of(2, "")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    assert_eq!(ada.fails(&world, None, &ada.resume()).await.code, ActCode::NothingOpen);
    let (turn, delivery) = builder.take().await;
    ada.does(&world, None, &ada.pause()).await;
    assert_eq!(ada.fails(&world, None, &ada.pause()).await.code, ActCode::AnswerLate);
    let go_on = builder.ask_progress(&turn, None).await.unwrap();
    assert!(matches!(go_on, ProgressAnswer::Continue(_)), "what is under way may be finished: {go_on:?}");
    let work = world.commit(&builder, world.base.as_str(), &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    delivery.ack().await.unwrap();
    world.start_orchestrator().await;
    // Room for another one: nothing opens all the same.
    ada.does(&world, Some("w1"), &ada.cancel()).await;
    let view = world.view().await;
    let open = view.waypoints[0].turn.as_ref().map(|open| &open.turn);
    assert_eq!((view.paused, open), (true, Some(&turn.turn_id)));

    ada.does(&world, None, &ada.resume()).await;
    verifier.judges(Verdict::Pass).await;
    let view = world.view_when("the end", |view| view.status == FlightStatus::Incomplete).await;
    assert_eq!((view.paused, view.waypoints[0].status), (false, Status::Complete));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_open_a_turn_of_a_paused_flight_is_refused_until_it_goes_on() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let ada = world.person("human-ada").await;
    builder.asks("left?", &["yes", "no"], None).await;
    world.waypoint_when("the question", |w| w.status == Status::Waiting).await;
    ada.does(&world, None, &ada.pause()).await;
    let refused = ada.fails(&world, W, &ada.answer("yes")).await;
    assert!(refused.code == ActCode::Invalid && refused.message.contains("paused"), "{refused:?}");
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, &view.waypoints[0].actions[..]), (Status::Waiting, &[Verb::Cancel][..]));
    ada.does(&world, None, &ada.resume()).await;
    ada.does(&world, W, &ada.answer("yes")).await;
    let (turn, _delivery) = builder.take().await;
    assert_eq!(turn.waypoint.as_str(), "w");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_off_in_a_paused_flight_is_refused_once_that_is_cancelled() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let ada = world.person("human-ada").await;
    let (turn, _delivery) = builder.take().await;
    ada.does(&world, None, &ada.pause()).await;
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    ada.does(&world, None, &ada.cancel()).await;
    assert!(builder.refusal().await.contains("is not open"));
    let view = world.view().await;
    assert_eq!((view.paused, view.waypoints[0].status), (false, Status::Cancelled));
    world.is_sound().await;
}
