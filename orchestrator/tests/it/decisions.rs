//! From handoffs to decisions, over real journals.

use holdpoint_protocol::{
    api::{FLIGHTS, Flights},
    artifact::{Artifact, BuildArtifact, BuildStatus, Disposition, Failure, VerificationReport},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::Status,
    turn::TurnRequest,
    view::FlightStatus,
};

use crate::support::World;

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn verified_work_lands_on_the_base_it_was_verified_on() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;

    let (turn, delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work.clone()));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    delivery.ack().await.unwrap();

    let (turn, delivery) = verifier.take().await;
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((&request.tree, &request.base), (&work.1, &world.base));
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    delivery.ack().await.unwrap();

    let waypoint = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(waypoint.disposition, Some(Disposition::Accept));
    let view = world.view().await;
    assert_eq!(view.status, FlightStatus::Accepted);
    assert_eq!(Some(&view.head), waypoint.commit.as_ref());
    assert_eq!(view.landings.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_verifier_found_is_told_again_after_a_turn_that_failed() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Fail).await;

    let (rejected, delivery) = builder.take().await;
    let failure = Failure { reason: ReasonCode::AgentFailed, detail: "it ran out of memory".to_owned() };
    let failed =
        BuildArtifact { status: BuildStatus::Failed, failure: Some(failure), ..builder.built(&rejected, None) };
    builder.hand_off(&rejected, BuildArtifact::KIND, &failed).await;
    delivery.ack().await.unwrap();

    let (again, _delivery) = builder.take().await;
    let (told, now) = (rejected.told().unwrap(), again.told().unwrap());
    assert_eq!((now.reason_code, &now.failing), (ReasonCode::AgentFailed, &told.failing));
    assert!(!now.failing.is_empty() && now.notes.contains(&"it ran out of memory".to_owned()), "{now:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_failed_turn_are_looked_at_and_the_next_turn_starts_from_sound_ones() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (parent, ..) = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let unsound = world.commit(&builder, parent.as_str(), &[("a", "3\n")]).await;
    let sound = world.commit(&builder, "HEAD", &[("a", "4\n")]).await;
    let (mut turn, mut delivery) = builder.take().await;
    for (attempt, left, start) in [(1, unsound, &world.base), (2, sound.clone(), &sound.0)] {
        assert_eq!(turn.attempt, attempt);
        let failure = Failure { reason: ReasonCode::AgentTimeout, detail: "its time was up".to_owned() };
        let built = builder.built(&turn, Some(left));
        let failed = BuildArtifact { status: BuildStatus::Failed, failure: Some(failure), tree: None, ..built };
        builder.hand_off(&turn, BuildArtifact::KIND, &failed).await;
        delivery.ack().await.unwrap();
        let next = world.waypoint_when("the next turn", |w| w.attempts == attempt).await;
        assert_eq!((next.status, next.reason_code), (Status::Running, Some(ReasonCode::AgentTimeout)));
        (turn, delivery) = builder.take().await;
        let TurnRequest::Build(request) = &turn.request else { panic!("{turn:?}") };
        assert_eq!((&request.base, &request.start), (&world.base, start));
    }
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orchestrator_that_crashed_decides_on_what_came_meanwhile_and_only_once() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, delivery) = builder.take().await;
    world.crash_orchestrator();
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    // The same again, as after a lost acknowledgement, under another message id.
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    delivery.ack().await.unwrap();
    world.start_orchestrator().await;

    let (turn, _delivery) = verifier.take().await;
    world.crash_orchestrator();
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    world.start_orchestrator().await;
    let waypoint = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(waypoint.attempts, 1);
    assert_eq!(world.view().await.landings.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_orchestrators_share_a_flight_and_neither_refuses_what_the_other_asked_for() {
    let world = World::start().await;
    let _second = world.second_orchestrator().await;
    world.submit(&PLAN.replace("plan: p\n", "plan: p\npolicy: {max_reworks: 9}\n")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    // Each handoff goes to either of them: one that knows an older state has to read on before it refuses.
    for attempt in 1..=8 {
        let (turn, delivery) = builder.take().await;
        assert_eq!(turn.attempt, attempt);
        if attempt % 2 == 0 {
            // The broker hands them out in turns: now the other one gets the artifact.
            builder.plan(&turn, 1).await;
        }
        let work = world.commit(&builder, world.base.as_str(), &[("a", &format!("try {attempt}\n"))]).await;
        let artifact = builder.built(&turn, Some(work));
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
        let (turn, delivery) = verifier.take().await;
        let verdict = if attempt == 8 { Verdict::Pass } else { Verdict::Fail };
        let report = verifier.reported(&turn, verdict);
        verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
        delivery.ack().await.unwrap();
    }
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(world.view().await.landings.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_is_sent_twice_is_one_flight() {
    let world = World::start().await;
    let first = world.submit(PLAN).await;
    let second = world.submit(PLAN).await;
    assert_eq!(first.flight, second.flight);
    let flights: Flights = world.call(FLIGHTS, &serde_json::json!({})).await.unwrap();
    assert_eq!(flights.flights.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_verdicts_use_up_the_reworks_and_then_a_person_is_asked() {
    let world = World::start().await;
    world.submit(&PLAN.replace("plan: p\n", "plan: p\npolicy: {max_reworks: 1}\n")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    for attempt in 1..=2 {
        let (turn, delivery) = builder.take().await;
        assert_eq!(turn.attempt, attempt);
        let work = world.commit(&builder, world.base.as_str(), &[("a", &format!("try {attempt}\n"))]).await;
        let artifact = builder.built(&turn, Some(work));
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
        let (turn, delivery) = verifier.take().await;
        let report = verifier.reported(&turn, Verdict::Fail);
        verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
        delivery.ack().await.unwrap();
    }
    let waypoint = world.waypoint_when("the end", |w| w.status == Status::Failed).await;
    assert_eq!(waypoint.reason_code, Some(ReasonCode::AttemptsExhausted));
    assert_eq!(waypoint.attempts, 2);
    assert!(waypoint.remediation.is_some());
}
