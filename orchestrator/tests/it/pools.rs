//! Whose turns are whose: a fleet's agents and those of a local flight on one broker.

use std::time::Duration;

use holdpoint_protocol::{
    api::SUBMIT,
    facts::Verdict,
    ids::{FlightId, role},
    state::Status,
    streams,
    view::FlightView,
};
use holdpoint_runtime::fresh;

use crate::support::World;

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_is_never_offered_the_open_turn_of_an_interrupted_local_flight() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (open, delivery) = builder.take().await;
    // As a command that is interrupted: the turn is given back, its agents and its orchestrator are gone.
    delivery.nak(Duration::ZERO).await.unwrap();
    drop(builder);
    world.crash_orchestrator();

    let _fleet = world.fleet_orchestrator().await;
    let mut builder = world.fleet_agent(role::BUILDER, "builder-1").await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.flight = FlightId::try_new(format!("fleet-{}", fresh::suffix())).unwrap();
    submit.fleet.pool = streams::fleet_pool();
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    // The open turn is before it in the journal.
    let (turn, delivery) = builder.take().await;
    assert_eq!(turn.flight, submit.flight);
    delivery.ack().await.unwrap();
    assert!(!builder.is_offered_anything().await);

    world.start_orchestrator().await;
    let mut builder = world.agent(role::BUILDER, "b2").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    assert_eq!(builder.builds(&world, &[("a", "2\n")]).await.turn_id, open.turn_id);
    verifier.judges(Verdict::Pass).await;
    let waypoint = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(waypoint.attempts, 1);
}
