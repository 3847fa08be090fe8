//! What agents say of how far they are (GATE-20a).

use holdpoint_protocol::{
    api::{HISTORY, History, HistoryQuery},
    artifact::{Artifact as _, BuildArtifact, Origin, StatusUpdate, StatusUpdateBody},
    ids::role,
    state::Status,
    streams,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::{clock, fresh};

use super::{PLAN, measured, scrape, until, value};
use crate::support::{Agent, World};

const COUNTED: &str =
    "holdpoint_status_updates_total{project=\"p\",workflow=\"fly-approved\",gate=\"build\",role=\"builder\"}";

async fn say(agent: &mut Agent, turn: &Turn, percent: u8) {
    let origin = Origin {
        artifact_id: fresh::artifact(),
        waypoint_id: turn.waypoint.clone(),
        produced_by_role: role::id(role::BUILDER),
        produced_at: clock::now(),
        source_refs: Vec::new(),
    };
    let body = StatusUpdateBody {
        turn: turn.turn_id.clone(),
        delivery: 1,
        agent: agent.name.clone(),
        summary: "the tests are written".to_owned(),
        percent: Some(percent),
    };
    agent.hand_off(turn, StatusUpdate::KIND, &StatusUpdate::new(origin, body)).await;
}

/// How many entries the waypoint's journal has.
async fn entries(world: &World, turn: &Turn) -> usize {
    let query = HistoryQuery { flight: world.flight.clone(), waypoint: turn.waypoint.clone() };
    let history: History = world.call(HISTORY, &query).await.unwrap();
    history.lines.iter().filter(|line| line.reference.starts_with(streams::JOURNAL)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_update_is_counted_and_changes_no_state() {
    let mut world = World::start().await;
    world.start_orchestrator_with(measured).await;
    let address = world.orchestrator().metrics().unwrap();
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    let (before, view) = (entries(&world, &turn).await, world.view().await);
    for percent in [40, 80] {
        say(&mut builder, &turn, percent).await;
    }
    until(address, COUNTED, 2.0).await;
    assert_eq!((entries(&world, &turn).await, world.view().await.waypoints), (before, view.waypoints));

    // The turn is as open as before, and says nothing more once it is over.
    let TurnRequest::Build(request) = &turn.request else { panic!("no build turn: {turn:?}") };
    let work = world.commit(&builder, request.base.as_str(), &[("a", "1\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    delivery.ack().await.unwrap();
    world.waypoint_when("the verification", |w| w.gate.as_ref().is_some_and(|gate| gate.as_str() == "verify")).await;
    say(&mut builder, &turn, 100).await;
    say(&mut builder, &turn, 101).await;
    let refusal = builder.refusal().await;
    assert!(refusal.contains("no turn is more than 100 percent done"), "{refusal}");
    assert_eq!(value(&scrape(address).await, COUNTED), Some(2.0));
    assert_eq!(world.view().await.waypoints[0].status, Status::Running);
}
