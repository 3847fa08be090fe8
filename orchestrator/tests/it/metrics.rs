//! What Prometheus reads of orchestrators.

mod status_updates;

use std::net::SocketAddr;

use holdpoint_protocol::{
    artifact::{ActCode, Artifact as _, BuildArtifact, Completion},
    facts::Verdict,
    ids::role,
    state::{Outcome, Status},
    unsound::{CONFIG_INVALID, ConfigInvalid, ConfigInvalidNoted},
};
use holdpoint_runtime::config::Config;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Duration, Instant, sleep},
};

use crate::support::{SOON, World};

const PLAN: &str = "plan: p\nworkflow: fly-approved\nwaypoints:\n  \
                    - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

fn measured(config: &mut Config) {
    config.metrics.listen = Some("127.0.0.1:0".parse().unwrap());
}

async fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// The value of a series; `None` if it is not there.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Waits until a series of an orchestrator has this value.
async fn until(address: SocketAddr, series: &str, expected: f64) {
    let deadline = Instant::now() + SOON;
    loop {
        let text = scrape(address).await;
        if value(&text, series).is_some_and(|found| (found - expected).abs() < 1e-9) {
            return;
        }
        assert!(Instant::now() < deadline, "{series} is not {expected}: {text}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_entry_is_counted_once_by_whoever_appended_it_and_every_orchestrator_knows_where_work_is() {
    let mut world = World::start().await;
    world.start_orchestrator_with(measured).await;
    let second = world.second_orchestrator_with(measured).await;
    let all = [world.orchestrator().metrics().unwrap(), second.metrics().unwrap()];
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    for address in all {
        until(address, "holdpoint_gate_active_waypoints{project=\"p\",workflow=\"fly-approved\",gate=\"build\"}", 1.0)
            .await;
        until(address, "holdpoint_queue_depth{role=\"builder\"}", 1.0).await;
        // An empty queue is there too: autoscalers ask for it by name.
        until(address, "holdpoint_queue_depth{role=\"repair\"}", 0.0).await;
    }

    let first = builder.builds(&world, &[("a", "1\n")]).await;
    let turn = verifier.judges(Verdict::Fail).await;
    builder.builds(&world, &[("a", "2\n")]).await;
    let late = builder.built(&first, None);
    builder.hand_off(&first, BuildArtifact::KIND, &late).await;
    assert!(builder.refusal().await.contains("not open"));
    let (mut open, _delivery) = verifier.take().await;
    let subject = open.handoff_subject.replace(role::VERIFIER, role::BUILDER);
    assert_ne!((&open.turn_id, &subject), (&turn.turn_id, &open.handoff_subject));
    open.handoff_subject = subject;
    let foreign = builder.built(&open, None);
    builder.hand_off(&open, BuildArtifact::KIND, &foreign).await;
    builder.refusal().await;
    open.handoff_subject = open.handoff_subject.replace(role::BUILDER, role::VERIFIER);
    let report = verifier.reported(&open, Verdict::Pass);
    verifier.hand_off(&open, holdpoint_protocol::artifact::VerificationReport::KIND, &report).await;
    world.waypoint_when("the approval", |w| w.status == Status::Waiting).await;
    for address in all {
        let waits = "holdpoint_gate_waiting_waypoints{project=\"p\",workflow=\"fly-approved\",gate=\"approve\",kind=\"person\"}";
        until(address, waits, 1.0).await;
        let text = scrape(address).await;
        assert!(!text.contains("gate=\"build\",kind="), "it is there no more: {text}");
        let oldest = "holdpoint_gate_oldest_age_seconds{project=\"p\",workflow=\"fly-approved\",gate=\"approve\"}";
        assert!(value(&text, oldest).is_some_and(|age| age < SOON.as_secs_f64()), "{text}");
    }
    let person = world.person("human-ada").await;
    let refused = Completion { outcome: Some(Outcome::Complete), ..person.approve() };
    person.does(&world, Some("w"), &refused).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;

    // The view is any orchestrator's; the one that appended the entry counts it a moment later.
    let over = "holdpoint_gate_transitions_total{project=\"p\",workflow=\"fly-approved\",from_gate=\"approve\",to_gate=\"\",\
                outcome=\"complete\"}";
    tokio::select! {
        () = until(all[0], over, 1.0) => {}
        () = until(all[1], over, 1.0) => {}
    }
    let texts = [scrape(all[0]).await, scrape(all[1]).await];
    let sum = |series: &str| texts.iter().filter_map(|text| value(text, series)).sum::<f64>();
    let by_gate = |name: &str, gate: &str| {
        sum(&format!("holdpoint_{name}{{project=\"p\",workflow=\"fly-approved\",gate=\"{gate}\"}}"))
    };
    let moved = |from: &str, to: &str, outcome: &str| {
        let labels = format!("from_gate=\"{from}\",to_gate=\"{to}\",outcome=\"{outcome}\"");
        sum(&format!("holdpoint_gate_transitions_total{{project=\"p\",workflow=\"fly-approved\",{labels}}}"))
    };
    assert_eq!((moved("", "build", ""), moved("build", "verify", "complete")), (1.0, 2.0), "{texts:?}");
    assert_eq!((moved("verify", "build", "needs_review"), moved("approve", "", "complete")), (1.0, 1.0));
    assert_eq!((by_gate("gate_rejections_total", "verify"), by_gate("gate_conflicts_total", "build")), (1.0, 1.0));
    let of_role = "gate=\"verify\",role=\"verifier\"";
    let wrong = format!("holdpoint_gate_assignment_errors_total{{project=\"p\",workflow=\"fly-approved\",{of_role}}}");
    assert_eq!(sum(&wrong), 1.0, "{texts:?}");
    let of_plan = "{project=\"p\",workflow=\"fly-approved\"}";
    assert_eq!(sum(&format!("holdpoint_landings_total{of_plan}")), 1.0);
    assert_eq!(sum(&format!("holdpoint_waypoint_passes_sum{of_plan}")), 2.0);
    let durations = "{project=\"p\",workflow=\"fly-approved\",gate=\"verify\",outcome=\"needs_review\"}";
    assert_eq!(sum(&format!("holdpoint_gate_duration_seconds_count{durations}")), 1.0);
    for text in &texts {
        let flight = world.flight.as_str();
        let names = [flight, "b1", "v1", "human-ada", "waypoint=", "flight=", "agent="];
        assert_eq!(
            names.into_iter().find(|name| text.contains(name)),
            None,
            "no label names a flight, an agent or a person"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_address_nothing_is_served_and_unsound_workflows_are_counted_with_one() {
    let mut world = World::start().await;
    assert_eq!(world.orchestrator().metrics(), None);
    world.start_orchestrator_with(measured).await;
    let address = world.orchestrator().metrics().unwrap();
    let mut submit = world.submission(&PLAN.replace("fly-approved", "fly"), None).await;
    let unsound = holdpoint_protocol::workflow::WorkflowSpec::new("own", []);
    submit.plan.workflow = "own".to_owned();
    submit.workflows = vec![unsound];
    let refused: Result<holdpoint_protocol::view::FlightView, _> =
        world.call(holdpoint_protocol::api::SUBMIT, &submit).await;
    assert!(refused.is_err());
    until(address, "holdpoint_workflow_config_invalid_total", 1.0).await;

    world.submit(&PLAN.replace("fly-approved", "fly")).await;
    let ada = world.person("human-ada").await;
    let twice = holdpoint_protocol::workflow::WorkflowSpec::new("fly", []);
    let refused = ada.fails(&world, None, &ada.reload(&[twice])).await;
    assert_eq!(refused.code, ActCode::Invalid);
    until(address, "holdpoint_workflow_config_invalid_total", 2.0).await;

    // A fleet that refuses its files itself sends none of them.
    let said = ConfigInvalid { message: "project.yaml:1: no workflow".to_owned() };
    let noted: ConfigInvalidNoted = world.call(CONFIG_INVALID, &said).await.unwrap();
    assert!(noted.counted);
    until(address, "holdpoint_workflow_config_invalid_total", 3.0).await;
}
