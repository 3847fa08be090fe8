//! A failure for a reason that is not the work's is shown, and the flight goes on once the cause is fixed.

use bytes::Bytes;
use holdpoint_bus::{api::ApiError, blobs};
use holdpoint_protocol::{
    Digest,
    api::{ProgressAnswer, STATUS, SUBMIT, StatusQuery},
    artifact::{Artifact, BuildArtifact, VerificationReport},
    facts::Verdict,
    ids::role,
    state::{Phase, Status, Verified, WaypointState},
    view::{FlightView, Trouble},
};
use holdpoint_runtime::clock;

use crate::support::{SOON, World, log};

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

/// The one trouble there is, once there is one.
async fn trouble(world: &World) -> Trouble {
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        if let Some(trouble) = world.view().await.trouble.pop() {
            return trouble;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for trouble");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bundle_is_shown_and_the_work_is_taken_once_it_is_there() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let (commit, tree, mut bundle) = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let roles = [builder.role.clone()];
    let bytes = blobs::get(&builder.bus, bundle.blob.digest, &roles, 1 << 20).await.unwrap();
    // The same bundle and a line after it: git reads up to the pack's end, but nobody stored it.
    let mut late = bytes.to_vec();
    late.push(b'\n');
    bundle.blob.digest = Digest::of(&late);
    bundle.blob.bytes = late.len() as u64;
    let artifact = builder.built(&turn, Some((commit, tree, bundle)));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;

    let shown = trouble(&world).await;
    assert_eq!(shown.waypoint, Some(turn.waypoint.clone()));
    assert!(shown.message.contains("cannot take a handoff") && shown.message.contains("no blob"), "{shown:?}");
    assert!(builder.refusal().await.contains("cannot fetch the handed-off work yet"));

    blobs::put(&builder.bus, &builder.role, Bytes::from(late)).await.unwrap();
    let decided = world
        .waypoint_when("a decision", |w| w.attempts == 1 || w.gate.as_ref().is_some_and(|g| g.as_str() == "verify"))
        .await;
    assert_eq!(decided.status, Status::Running);
    assert_eq!(world.view().await.trouble, []);
    drop(verifier.take());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_once_its_evidence_is_stored() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (turn, _delivery) = verifier.take().await;
    let mut report = verifier.reported(&turn, Verdict::Pass);
    report.criteria[0].result.evidence.push(Digest::of(b"more output"));
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;

    let shown = trouble(&world).await;
    assert!(shown.message.contains(&Digest::of(b"more output").to_string()), "{shown:?}");
    assert!(verifier.refusal().await.contains("is not stored"));
    assert_eq!(world.view().await.waypoints[0].status, Status::Running);

    blobs::put(&verifier.bus, &verifier.role, Bytes::from_static(b"more output")).await.unwrap();
    world.waypoint_when("the end", |w| w.status == Status::Complete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_failure_is_shown_while_its_turn_is_open() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    builder.say_trouble(&turn, "the disk is full").await;
    let shown = trouble(&world).await;
    assert_eq!((shown.message.as_str(), shown.failures), ("b1: the disk is full", 1));
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    drop(verifier.take().await);
    assert_eq!(world.view().await.trouble, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_work_that_nothing_brings_is_shown_and_holds_up_nothing_else() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (turn, _delivery) = verifier.take().await;
    let report = verifier.reported(&turn, Verdict::Pass);
    world.crash_orchestrator();
    let forged = |state: &mut WaypointState| {
        let verified = Digest::of(b"report");
        let tree = state.work.as_ref().unwrap().tree.clone();
        state.phase = Phase::Accepted { at: clock::now() };
        state.verified =
            Some(Verified { report: verified, tree, base: state.base.clone().unwrap(), suspicious: false });
        state.criteria = report.criteria.iter().map(|criterion| criterion.result.clone()).collect();
        state.work.as_mut().unwrap().bundle = None;
    };
    world.forge_decision(&turn.waypoint, forged).await;
    world.start_orchestrator().await;

    let shown = trouble(&world).await;
    assert_eq!(shown.waypoint, Some(turn.waypoint.clone()));
    assert!(shown.message.contains("cannot land: the journal does not say"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_asks_hears_whether_its_turn_is_open() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let heard = builder.plan_and_ask(&turn, "secret").await;
    assert_eq!((&heard.turn, heard.nonce.as_str()), (&turn.turn_id, "secret"));
    assert!(matches!(heard.answer, ProgressAnswer::Continue(_)), "{heard:?}");
    let ada = world.person("human-ada").await;
    ada.does(&world, Some(turn.waypoint.as_str()), &ada.cancel()).await;
    let heard = builder.plan_and_ask(&turn, "another").await;
    assert!(matches!(heard.answer, ProgressAnswer::Stop { .. }) && heard.nonce == "another", "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_turn_is_open_is_not_guessed_of_a_flight_that_cannot_be_read() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (mut turn, _delivery) = builder.take().await;
    assert!(matches!(builder.ask_progress(&turn, None).await.unwrap(), ProgressAnswer::Continue(_)));
    turn.flight = "unknown".parse().unwrap();
    let refused = builder.ask_progress(&turn, None).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 404), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_this_build_cannot_read_leaves_its_flight_alone_and_holds_up_no_other() {
    log::keep();
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    world.crash_orchestrator();
    let later = world.forge_of_a_later_version(&turn.waypoint).await;
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    world.start_orchestrator().await;

    let flight = world.flight.to_string();
    let line = log::line_with(&["cannot read entry", &later.0.to_string(), &flight]).await;
    assert!(line.starts_with("ERROR") || line.starts_with("WARN"), "{line}");
    let query = StatusQuery::first(world.flight.clone());
    let refused = world.call::<_, FlightView>(STATUS, &query).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused}") };
    assert!(failure.message.contains("cannot read entry"), "{failure:?}");

    let mut other = world.submission(PLAN, Some(1)).await;
    other.flight = "another".parse().unwrap();
    let _: FlightView = world.call(SUBMIT, &other).await.unwrap();
    let (turn_of_other, _delivery) = world.agent(role::BUILDER, "b2").await.take().await;
    assert_eq!(turn_of_other.flight, other.flight);
    assert_eq!(world.end_of_journal(&turn.waypoint).await, later, "nothing is decided behind what was not read");
}
