//! Taking flights in, once.

use holdpoint_bus::api::ApiError;
use holdpoint_protocol::{api::SUBMIT, ids::role, view::FlightView};

use crate::support::World;

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_same_submission_is_taken_once_and_another_under_its_flight_is_refused() {
    let mut world = World::start().await;
    let first = world.submission(PLAN, Some(1)).await;
    let begun: FlightView = world.call(SUBMIT, &first).await.unwrap();
    let again: FlightView = world.call(SUBMIT, &first).await.unwrap();
    assert_eq!((&again.flight, &again.base), (&begun.flight, &begun.base));

    let other = world.submission(&PLAN.replace("goal: g", "goal: another"), Some(1)).await;
    let refused = world.call::<_, FlightView>(SUBMIT, &other).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 409), "{refused:?}");

    // Also by an orchestrator that did not take the first.
    world.start_orchestrator().await;
    let again: FlightView = world.call(SUBMIT, &first).await.unwrap();
    assert_eq!(again.waypoints.len(), 1);
    let refused = world.call::<_, FlightView>(SUBMIT, &other).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 409), "{refused:?}");
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    assert_eq!(turn.flight, begun.flight);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_wants_a_network_is_refused_where_verifiers_have_none() {
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_without_network().await;
    let wants = world.submission(&PLAN.replace("plan: p\n", "plan: p\nprepare: make fetch\n"), None).await;
    let refused = world.call::<_, FlightView>(SUBMIT, &wants).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 400);
    assert!(failure.message.contains("prepare") && failure.message.contains("egress"), "{}", failure.message);

    let plain = world.submission(PLAN, None).await;
    let begun: FlightView = world.call(SUBMIT, &plain).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1, "what was refused took nothing up");
}
