//! Flights that are not in memory: found again when something concerns them.

use holdpoint_bus::topology;
use holdpoint_orchestrator::OrchestratorError;
use holdpoint_protocol::{
    api::{FLIGHTS, Flights},
    artifact::{Artifact, BuildArtifact, VerificationReport},
    facts::Verdict,
    ids::role,
    journal::Sequence,
    state::{Phase, Status},
    streams,
    view::FlightStatus,
};

use crate::support::{SOON, World, log};

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_that_only_waits_at_a_start_goes_on_with_the_next_handoff_and_is_found_when_it_is_over() {
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    world.start_orchestrator().await;

    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (turn, _delivery) = verifier.take().await;
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    world.waypoint_when("the end", |w| w.status == Status::Complete).await;

    world.start_orchestrator().await;
    let listed: Flights = world.call(FLIGHTS, &serde_json::json!({})).await.unwrap();
    assert_eq!((listed.flights.len(), listed.flights[0].status), (1, FlightStatus::Accepted));
    assert_eq!(world.view().await.status, FlightStatus::Accepted);
    // Messages for a flight that is over are answered from its journals.
    let mut late = verifier.reported(&turn, Verdict::Fail);
    late.turn = turn.turn_id.clone();
    verifier.hand_off(&turn, VerificationReport::KIND, &late).await;
    assert!(verifier.refusal().await.contains("is not open"));
    assert_eq!(world.view().await.waypoints[0].status, Status::Complete);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_that_was_over_and_was_reopened_is_running_after_a_restart() {
    let mut world = World::of_a_fleet().await;
    world.start_quick_orchestrator().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    builder.dies_of_a_turn(4).await;
    world.waypoint_when("the turn is given up", |w| w.status == Status::Blocked).await;
    let ada = world.person("human-ada").await;
    ada.does(&world, Some("w"), &ada.retry()).await;

    world.start_orchestrator().await;
    let listed: Flights = world.call(FLIGHTS, &serde_json::json!({})).await.unwrap();
    let statuses: Vec<_> = listed.flights.iter().map(|line| line.status).collect();
    assert_eq!(statuses, [FlightStatus::Running]);
}

/// Waits until the orchestrator has written down that these flights are not over, and where each was submitted.
async fn checkpoint(world: &World, open: serde_json::Value) {
    let file = world.path("orchestrator/open-flights.json");
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        let text = std::fs::read(&file).unwrap_or_default();
        let kept: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        if kept["checkpoint"]["open"] == open {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {open}: {kept}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_knows_from_the_last_one_which_flights_are_over_and_finds_those_that_were_reopened_since() {
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (open, none) = (serde_json::json!({ world.flight.as_str(): 1 }), serde_json::json!({}));
    world.start_quick_orchestrator().await;
    checkpoint(&world, open.clone()).await;

    builder.dies_of_a_turn(4).await;
    world.waypoint_when("the turn is given up", |w| w.status == Status::Blocked).await;
    world.start_orchestrator().await;
    checkpoint(&world, none).await;

    let ada = world.person("human-ada").await;
    ada.does(&world, Some("w"), &ada.retry()).await;
    world.start_orchestrator().await;
    checkpoint(&world, open).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_lost_the_journals_gets_no_new_ones() {
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    world.start_orchestrator().await;
    checkpoint(&world, serde_json::json!({ world.flight.as_str(): 1 })).await;

    let said = Box::pin(world.journals_are_lost()).await;
    let file = world.path("orchestrator/open-flights.json");
    assert!(matches!(&said, Some(OrchestratorError::StoreGone { file: named, .. }) if *named == file), "{said:?}");
    let bus = world.local.connect(&world.local.orchestrator).await.unwrap();
    assert_eq!(topology::last(&bus, streams::JOURNAL).await.unwrap(), None, "nothing was made");

    std::fs::remove_file(file).unwrap();
    world.start_orchestrator().await;
    assert_eq!(topology::last(&bus, streams::JOURNAL).await.unwrap(), Some(Sequence(0)), "it was said to be meant");
}

#[tokio::test(flavor = "multi_thread")]
async fn journals_that_end_before_what_was_seen_are_told_of_and_flown_on() {
    log::keep();
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    world.start_orchestrator().await;
    checkpoint(&world, serde_json::json!({ world.flight.as_str(): 1 })).await;
    let file = world.path("orchestrator/open-flights.json");
    let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    kept["checkpoint"]["until"] = 712_345.into();
    world.crash_orchestrator();
    std::fs::write(&file, kept.to_string()).unwrap();

    world.start_orchestrator().await;
    log::line_with(&["journals end before", "712345"]).await;
    assert_eq!(world.view().await.status, FlightStatus::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_appended_since_the_scan_of_a_start_is_in_the_first_answer() {
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    world.start_orchestrator().await;
    checkpoint(&world, serde_json::json!({ world.flight.as_str(): 1 })).await;
    // By another orchestrator: this one does not hear of it.
    world.forge_decision(&turn.waypoint, |state| state.phase = Phase::Cancelled).await;
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, view.status), (Status::Cancelled, FlightStatus::Incomplete));
}
