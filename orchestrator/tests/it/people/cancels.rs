//! Waypoints and flights that a person ends.

use std::time::Duration;

use holdpoint_bus::handoffs::ShowJwt;
use holdpoint_protocol::{
    api::{ActStanding, ProgressAnswer},
    artifact::{ActCode, Artifact as _, BuildArtifact, VerificationReport},
    facts::Verdict,
    ids::role,
    state::Status,
    view::{FlightStatus, WaypointView},
};

use holdpoint_runtime::clock;

use super::{PLAN, W, passes, plan_of};
use crate::support::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_waypoint_is_cancelled_stops_and_what_it_came_to_is_refused() {
    let world = World::start().await;
    world.submit(&plan_of(2, "")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    let (build, delivery) = builder.take().await;
    assert!(matches!(builder.ask_progress(&build, None).await.unwrap(), ProgressAnswer::Continue(_)));
    ada.does(&world, Some("w0"), &ada.cancel()).await;
    let stop = builder.ask_progress(&build, None).await.unwrap();
    assert!(matches!(stop, ProgressAnswer::Stop { .. }), "{stop:?}");
    let artifact = builder.built(&build, None);
    builder.hand_off(&build, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("is not open"));
    delivery.ack().await.unwrap();

    builder.builds(&world, &[("a", "2\n")]).await;
    let (verify, _delivery) = verifier.take().await;
    ada.does(&world, Some("w1"), &ada.cancel()).await;
    let stop = verifier.ask_progress(&verify, None).await.unwrap();
    assert!(matches!(stop, ProgressAnswer::Stop { .. }), "{stop:?}");
    let report = verifier.reported(&verify, Verdict::Pass);
    verifier.hand_off(&verify, VerificationReport::KIND, &report).await;
    assert!(verifier.refusal().await.contains("is not open"));
    let view = world.view().await;
    assert!(view.waypoints.iter().all(|w| w.status == Status::Cancelled && w.actions.is_empty()), "{view:?}");
    assert_eq!((view.status, view.landings.len()), (FlightStatus::Incomplete, 0));
    let again = ada.fails(&world, Some("w1"), &ada.cancel()).await;
    assert_eq!(again.code, ActCode::Over);
    world.is_sound().await;
}

/// Long after a flight that is over has left the memory of the orchestrator that refused, and from another one.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_late_why_an_act_was_refused_is_answered() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let ada = world.person("human-ada").await;
    ada.does(&world, W, &ada.cancel()).await;
    world.view_when("the end", |view| view.status == FlightStatus::Incomplete).await;
    let sequence = ada.store(&world, W, &ada.cancel(), ShowJwt::Yes).await;
    let is_over = |standing: &ActStanding| matches!(standing, ActStanding::Refused(why) if why.code == ActCode::Over);
    assert!(is_over(&world.standing(W, sequence).await));
    passes(clock::now().after(Duration::from_secs(3))).await;
    assert!(is_over(&world.standing(W, sequence).await), "its reason is kept for a minute");
    world.start_orchestrator().await;
    let standing = world.standing(W, sequence).await;
    assert!(matches!(&standing, ActStanding::Refused(why) if why.code == ActCode::NothingOpen), "{standing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_work_that_is_cancelled_before_it_lands_does_not_land() {
    let world = World::start().await;
    world.submit_for(&plan_of(3, ""), None).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    for name in ["x", "y", "z"] {
        builder.builds(&world, &[(name, "1\n")]).await;
    }
    // The second is verified behind the first, and waits for it.
    let (first, _delivery) = verifier.take().await;
    let second = verifier.judges(Verdict::Pass).await;
    let is_second = |w: &&WaypointView| w.id == second.waypoint;
    let waits = |w: &WaypointView| w.turn.is_none() && w.gate.is_none() && w.status == Status::Running;
    world.view_when("the second acceptance", |view| view.waypoints.iter().find(is_second).is_some_and(waits)).await;
    ada.does(&world, Some(second.waypoint.as_str()), &ada.cancel()).await;
    let report = verifier.reported(&first, Verdict::Pass);
    verifier.hand_off(&first, VerificationReport::KIND, &report).await;
    let verifying = tokio::spawn(async move {
        loop {
            verifier.judges(Verdict::Pass).await;
        }
    });
    let view = world.view_when("the end", |view| view.status == FlightStatus::Incomplete).await;
    verifying.abort();
    let statuses = |wanted| view.waypoints.iter().filter(|w| w.status == wanted).count();
    assert_eq!((view.landings.len(), statuses(Status::Complete), statuses(Status::Cancelled)), (2, 2, 1));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_that_is_cancelled_ends_with_all_that_has_not_landed() {
    let mut world = World::start().await;
    world.submit(&plan_of(3, "")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    builder.builds(&world, &[("x", "1\n")]).await;
    verifier.judges(Verdict::Pass).await;
    let (turn, _delivery) = builder.take().await;
    ada.does(&world, None, &ada.cancel()).await;
    let stop = builder.ask_progress(&turn, None).await.unwrap();
    assert!(matches!(stop, ProgressAnswer::Stop { .. }), "{stop:?}");
    world.start_orchestrator().await;
    let view = world.view_when("the end", |view| view.status == FlightStatus::Incomplete).await;
    let statuses: Vec<Status> = view.waypoints.iter().map(|w| w.status).collect();
    assert_eq!(statuses, [Status::Complete, Status::Cancelled, Status::Cancelled]);
    let again = ada.fails(&world, None, &ada.cancel()).await;
    assert!(again.code == ActCode::Over && again.message.contains("human-ada"), "{again:?}");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_landed_is_not_cancelled() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    for on in [W, None] {
        assert_eq!(ada.fails(&world, on, &ada.cancel()).await.code, ActCode::Over);
    }
    assert_eq!(ada.fails(&world, W, &ada.retry()).await.code, ActCode::Over);
    assert_eq!(world.view().await.status, FlightStatus::Accepted);
    world.is_sound().await;
}
