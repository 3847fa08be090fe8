//! What agents say of how far they are (GATE-20a).

use std::{
    env,
    process::Command,
    sync::{Arc, Mutex},
};

use holdpoint_otlp_sink::{ReceivedSpan, Receiver};
use holdpoint_protocol::{
    api::{HISTORY, History, HistoryQuery},
    artifact::{Artifact as _, BuildArtifact, Origin, StatusUpdate, StatusUpdateBody},
    ids::role,
    state::Status,
    streams,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::{
    clock,
    config::TelemetryConfig,
    fresh,
    telemetry::{self, WaypointTrace},
};
use tokio::time::{Duration, Instant, sleep};

use super::{PLAN, measured, scrape, until, value};
use crate::support::{Agent, SOON, World};

/// Set for the process in which a test runs alone.
const ALONE: &str = "HOLDPOINT_TEST_ALONE";
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
    let query = HistoryQuery { flight: world.flight.clone(), waypoint: turn.waypoint.clone(), after: Vec::new() };
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
    assert!(refusal.contains("at most 100 are taken"), "{refusal}");
    assert_eq!(value(&scrape(address).await, COUNTED), Some(2.0));
    assert_eq!(world.view().await.waypoints[0].status, Status::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_update_is_a_span_below_its_handoff_in_the_waypoints_trace() {
    // Telemetry is set up once in a process, and a test runner may run other tests in this one.
    if env::var_os(ALONE).is_none() {
        let own_name = "metrics::status_updates::a_status_update_is_a_span_below_its_handoff_in_the_waypoints_trace";
        let mut command = Command::new(env::current_exe().unwrap());
        let ended = command.args(["--exact", own_name]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let receiver = Receiver::listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let endpoint = format!("http://{}", receiver.address());
    let spans = Arc::<Mutex<Vec<ReceivedSpan>>>::default();
    let to = spans.clone();
    let take = move |batch: Vec<ReceivedSpan>| {
        to.lock().unwrap().extend(batch);
        Ok(())
    };
    tokio::spawn(receiver.serve(take, |_| Ok(())));
    let config = TelemetryConfig { otlp_endpoint: Some(endpoint), ..TelemetryConfig::default() };
    let _telling = telemetry::init(&config, "holdpoint-orchestrator", "o1").unwrap();

    let mut world = World::start().await;
    world.start_orchestrator_with(measured).await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    say(&mut builder, &turn, 40).await;
    let named = |name: &str| spans.lock().unwrap().iter().find(|span| span.name == name).cloned();
    let deadline = Instant::now() + SOON;
    let (status, process) = loop {
        if let (Some(status), Some(process)) = (named("status"), named("process status_update")) {
            break (status, process);
        }
        assert!(Instant::now() < deadline, "{:?}", spans.lock().unwrap());
        sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(status.trace_id, WaypointTrace::of(&world.flight, &turn.waypoint).root().trace_id());
    assert_eq!(status.parent_span_id.as_ref(), Some(&process.span_id));
    assert_eq!(
        (status.text("holdpoint.status.summary"), status.text("holdpoint.agent")),
        (Some("the tests are written"), Some("b1"))
    );
    assert_eq!(status.attributes["holdpoint.status.percent"], 40);
}
