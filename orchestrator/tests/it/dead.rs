//! Turns whose agents die: counted over a real broker from what agents say, and by its clock.

use std::time::{Duration, Instant};

use holdpoint_protocol::{
    api::{DEAD, DeadQuery, DeadTurns},
    artifact::{ActCode, Artifact as _, BuildArtifact, GivenBack, GivenBackBody, Origin},
    ids::role,
    journal::{Death, Sequence},
    reason::ReasonCode,
    state::{Purpose, Status},
    turn::Turn,
    view::WaypointView,
};
use holdpoint_runtime::{clock, fresh};

use crate::support::{Agent, World};

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";

async fn give_back(agent: &mut Agent, turn: &Turn, delivery: u32) {
    let origin = Origin {
        artifact_id: fresh::artifact(),
        waypoint_id: turn.waypoint.clone(),
        produced_by_role: role::id(role::BUILDER),
        produced_at: clock::now(),
        source_refs: vec![],
    };
    let given_back = GivenBack::new(
        origin,
        GivenBackBody { turn: turn.turn_id.clone(), delivery, agent: agent.name.clone(), reason: "stops".to_owned() },
    );
    agent.hand_off(turn, GivenBack::KIND, &given_back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_dead_when_three_agents_took_it_and_neither_answered_nor_gave_it_back() {
    let mut world = World::start().await;
    world.start_quick_orchestrator().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    // One that is given back is no death, and a second plan for one delivery no second one.
    let (_, second) = builder.take_again().await;
    give_back(&mut builder, &turn, 2).await;
    second.nak(Duration::ZERO).await.unwrap();
    let (_, third) = builder.take_again().await;
    builder.plan(&turn, third.number).await;
    for delivery in 4..=5 {
        assert_eq!(builder.take_again().await.1.number, delivery);
    }
    let dead = world.waypoint_when("the dead turn", |w| w.status == Status::Blocked).await;
    assert_eq!((dead.reason_code, dead.attempts), (Some(ReasonCode::TurnPoisoned), 0));
    let page = |after| DeadQuery { flight: Some(world.flight.clone()), after };
    let behind: DeadTurns = world.call(DEAD, &page(Some(Sequence(u64::MAX)))).await.unwrap();
    assert_eq!((behind.turns, behind.next), (vec![], None), "a page goes on behind a place");
    let listed: DeadTurns = world.call(DEAD, &page(None)).await.unwrap();
    assert_eq!(listed.next, None);
    // By the fourth delivery there were two; the fifth counts it, too.
    let deaths = [1, 3, 4].map(|delivery| Death { delivery, agent: builder.name.clone() });
    assert_eq!((&listed.turns[0].turn, &listed.turns[0].deaths), (&turn.turn_id, &deaths.to_vec()));
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("is not open"), "whoever answers after all is too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_turn_opens_again_once_a_person_asks_and_is_refused_where_none_is() {
    let mut world = World::start().await;
    world.start_quick_orchestrator().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let ada = world.person("human-ada").await;
    assert_eq!(ada.fails(&world, Some("w"), &ada.retry()).await.code, ActCode::NothingOpen);
    for delivery in 2..=4 {
        assert_eq!(builder.take_again().await.1.number, delivery);
    }
    world.waypoint_when("the dead turn", |w| w.status == Status::Blocked).await;
    let retry = ada.retry();
    ada.does(&world, Some("w"), &retry).await;
    assert_eq!(world.view().await.waypoints[0].status, Status::Running);
    let again = loop {
        let (again, delivery) = builder.take_again().await;
        if again.turn_id != turn.turn_id {
            break again;
        }
        // The dead one, which nobody acknowledged.
        delivery.ack().await.unwrap();
    };
    assert_eq!(again.request, turn.request);
    assert_eq!(again.record.cause.map(|cause| cause.artifact), Some(retry.artifact_id), "the person's act caused it");
    let listed: DeadTurns = world.call(DEAD, &DeadQuery { flight: None, after: None }).await.unwrap();
    assert_eq!(listed.turns, []);
    world.is_sound().await;
}

fn is_verified(waypoint: &WaypointView) -> bool {
    waypoint.turn.as_ref().is_some_and(|turn| matches!(turn.purpose, Purpose::Verify(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_lives_cannot_have_its_turn_die_by_what_it_says() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut liar = world.agent(role::BUILDER, "b2").await;
    let (turn, _delivery) = builder.take().await;
    for delivery in 2..=9 {
        liar.plan(&turn, delivery).await;
    }
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let waypoint = world.waypoint_when("a decision", |w| is_verified(w) || w.status != Status::Running).await;
    assert!(is_verified(&waypoint), "{waypoint:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_on_which_another_agent_works_does_not_die_however_long_somebody_else_plans_for_it() {
    let mut world = World::start().await;
    world.start_quick_orchestrator().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut liar = world.agent(role::BUILDER, "b2").await;
    let (turn, held) = builder.take().await;
    for delivery in 2..=6 {
        let planned = Instant::now();
        while planned.elapsed() < Duration::from_millis(1_100) {
            held.heartbeat().await.unwrap();
            builder.ask_progress(&turn, None).await.unwrap();
        }
        liar.plan(&turn, delivery).await;
    }
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let waypoint = world.waypoint_when("a decision", |w| is_verified(w) || w.status != Status::Running).await;
    assert!(is_verified(&waypoint), "{waypoint:?}");
}
