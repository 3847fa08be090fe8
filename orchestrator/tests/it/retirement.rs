//! A flight that leaves the broker: who may record that, of which flight, and what everybody hears afterwards.

use std::time::Duration;

use holdpoint_bus::{
    Bus,
    api::{self, ApiError, ApiFailure, Call},
    archivist::Archivist,
    journal::Journal,
};
use holdpoint_protocol::{
    Digest,
    api::{EXPORT, FLIGHTS, Flights, FlightsQuery, STATUS, SUBMIT, StatusQuery},
    artifact::{Artifact as _, BuildArtifact},
    codec::{self, Encoding},
    export::{Cut, CutQuery, ExportCut},
    facts::Verdict,
    ids::role,
    refusal::RefusalCode,
    retire::{RETIRE, RetireAnswer, RetireQuery},
    subjects,
    turn::Turn,
    view::{FlightStatus, FlightView},
};

use crate::support::{Agent, World};

/// How long an answer that must not come is waited for.
const NOTHING_AFTER: Duration = Duration::from_millis(700);
const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

async fn archivist(world: &World) -> Bus {
    let credentials = world.local.authority.mint_archivist(&"archivist-1".parse().unwrap(), None).unwrap();
    world.local.connect(&credentials).await.unwrap()
}

/// The flight lands; its builder, and the turn that it had.
async fn landed(world: &World) -> (Agent, Turn) {
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let turn = builder.builds(world, &[("a", "new\n")]).await;
    world.agent(role::VERIFIER, "v1").await.judges(Verdict::Pass).await;
    world.view_when("the flight to be accepted", |view| view.status == FlightStatus::Accepted).await;
    (builder, turn)
}

async fn exported(world: &World) -> RetireQuery {
    let cut: ExportCut = world.call(EXPORT, &CutQuery { flight: world.flight.clone() }).await.unwrap();
    RetireQuery { flight: world.flight.clone(), seal: cut.seal, export: Digest::of(b"an export") }
}

async fn refused(world: &World, by: &Bus, query: &RetireQuery) -> ApiFailure {
    match world.call_as::<_, RetireAnswer>(by, RETIRE, query).await {
        Err(ApiError::Refused { failure, .. }) => failure,
        other => panic!("{other:?}"),
    }
}

async fn status(world: &World) -> Result<FlightView, ApiError> {
    world.call(STATUS, &StatusQuery::first(world.flight.clone())).await
}

#[track_caller]
fn is_gone<T: std::fmt::Debug>(answer: Result<T, ApiError>) {
    let Err(ApiError::Refused { failure, .. }) = answer else { panic!("{answer:?}") };
    assert!(failure.code == 410 && failure.message.contains("was archived on"), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_archivists_key_retires_a_flight_and_only_one_that_is_over_and_exported_as_it_stands() {
    let world = World::start().await;
    let own = archivist(&world).await;
    world.submit(PLAN).await;
    let early = exported(&world).await;
    let failure = refused(&world, &own, &early).await;
    assert!(failure.code == 409 && failure.message.contains("is not over: w can still go on"), "{failure:?}");

    let mut builder = world.agent(role::BUILDER, "b1").await;
    builder.builds(&world, &[("a", "new\n")]).await;
    world.agent(role::VERIFIER, "v1").await.judges(Verdict::Pass).await;
    world.view_when("the flight to be accepted", |view| view.status == FlightStatus::Accepted).await;
    let failure = refused(&world, &own, &early).await;
    assert!(failure.code == 409 && failure.message.contains("went on after it was exported"), "{failure:?}");

    let query = exported(&world).await;
    // The broker lets no operator send it.
    let payload = codec::encode(&query, Encoding::Json).unwrap().into();
    let call = Call { endpoint: RETIRE, payload, timeout: NOTHING_AFTER, traceparent: None };
    assert!(api::request(&world.operator, call).await.is_err());
    let mut forged = query.clone();
    let mut cut: Cut = serde_json::from_slice(&forged.seal.payload).unwrap();
    cut.handoffs.clear();
    forged.seal.payload = serde_json::to_vec(&cut).unwrap();
    let failure = refused(&world, &own, &forged).await;
    assert!(failure.code == 400 && failure.message.contains("not signed by an orchestrator"), "{failure:?}");
    let other = RetireQuery { flight: "another".parse().unwrap(), ..query.clone() };
    assert_eq!(refused(&world, &own, &other).await.code, 400);
    assert_eq!(status(&world).await.unwrap().status, FlightStatus::Accepted);
    world.is_sound().await;

    let answer: RetireAnswer = world.call_as(&own, RETIRE, &query).await.unwrap();
    let again: RetireAnswer = world.call_as(&own, RETIRE, &query).await.unwrap();
    assert_eq!(again, answer, "the same request again");
    let failure = refused(&world, &own, &RetireQuery { export: Digest::of(b"another"), ..query }).await;
    assert_eq!(failure.code, 410, "{failure:?}");
    world.is_sound().await;
}

/// The orchestrator remembers what it found out about a snapshot, also after the last flight from it left.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_left_with_its_flight_is_looked_at_again_and_has_to_be_stored() {
    let world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut builder = world.fleet_agent(role::BUILDER, "b1").await;
    builder.builds(&world, &[("a", "new\n")]).await;
    world.fleet_agent(role::VERIFIER, "v1").await.judges(Verdict::Pass).await;
    world.view_when("the flight to be accepted", |view| view.status == FlightStatus::Accepted).await;
    let mut next = world.submission(PLAN, None).await;
    next.flight = "next".parse().unwrap();
    let streams = Archivist::open(&archivist(&world).await).await.unwrap();
    for blob in streams.blobs().await.unwrap() {
        streams.delete_blob(&blob).await.unwrap();
    }
    let refused = world.call::<_, FlightView>(SUBMIT, &next).await;
    assert!(
        matches!(&refused, Err(ApiError::Refused { failure, .. }) if failure.message.contains("snapshot")),
        "{refused:?}"
    );
    // Stores it.
    world.submission(PLAN, None).await;
    let _: FlightView = world.call(SUBMIT, &next).await.unwrap();
    let turn = builder.builds(&world, &[("a", "newer\n")]).await;
    assert_eq!(turn.flight, next.flight);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retired_flight_is_gone_for_everybody_before_and_after_its_messages_are_deleted() {
    let mut world = World::start().await;
    let own = archivist(&world).await;
    let (mut builder, turn) = landed(&world).await;
    // One that has the flight in its memory, and did not record that it left.
    let _second = world.second_orchestrator().await;
    let submitted = world.submission(PLAN, Some(1)).await;
    let query = exported(&world).await;
    let RetireAnswer { entry, handoffs } = world.call_as(&own, RETIRE, &query).await.unwrap();
    let streams = Archivist::open(&own).await.unwrap();
    for deletes in [false, true] {
        if deletes {
            let deleted = streams.delete_flight(&world.flight, entry, &handoffs).await.unwrap();
            assert!(deleted > 5, "{deleted}");
        }
        for _ in 0..4 {
            is_gone(status(&world).await);
        }
        is_gone(world.call::<_, ExportCut>(EXPORT, &CutQuery { flight: world.flight.clone() }).await);
        let listed: Flights = world.call(FLIGHTS, &FlightsQuery::default()).await.unwrap();
        assert_eq!(listed.flights, []);
        let again = world.call::<_, FlightView>(SUBMIT, &submitted).await;
        let Err(ApiError::Refused { failure, .. }) = again else { panic!("{again:?}") };
        assert!(failure.message.contains("was archived on"), "{failure:?}");
        let late = builder.built(&turn, None);
        builder.hand_off(&turn, BuildArtifact::KIND, &late).await;
        // An orchestrator that does not remember whose key it is would read it from the plans, which are deleted.
        let code = builder.refused().await.code;
        assert!([RefusalCode::NoSuchWaypoint, RefusalCode::PlanMissing].contains(&code), "{code}");
        Box::pin(world.start_orchestrator()).await;
    }
    let left = Journal::new(&world.local.connect(&world.local.orchestrator).await.unwrap());
    let mut left = left.replay(&subjects::journal_of_flight(&world.flight)).await.unwrap();
    assert_eq!(left.next().await.unwrap().unwrap().sequence, entry);
    assert_eq!(left.next().await.unwrap(), None);
}
