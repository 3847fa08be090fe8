//! Turns whose agents die: counted over a real broker from what agents say, and by nothing else.

use holdpoint_protocol::{
    api::{DEAD, DeadQuery, DeadTurns},
    artifact::{ActCode, Artifact as _, BuildArtifact, GivenBack, GivenBackBody, Origin},
    ids::role,
    journal::Death,
    reason::ReasonCode,
    state::Status,
    turn::Turn,
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
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    // A second plan for one delivery is no second death; one that is given back is none at all.
    for delivery in [1, 2, 3, 3] {
        builder.plan(&turn, delivery).await;
    }
    give_back(&mut builder, &turn, 2).await;
    builder.plan(&turn, 4).await;
    builder.plan(&turn, 5).await;
    let dead = world.waypoint_when("the dead turn", |w| w.status == Status::Blocked).await;
    assert_eq!((dead.reason_code, dead.attempts), (Some(ReasonCode::TurnPoisoned), 0));
    let listed: DeadTurns = world.call(DEAD, &DeadQuery { flight: Some(world.flight.clone()) }).await.unwrap();
    // By the fourth delivery there were two; the fifth counts it, too.
    let deaths = [1, 3, 4].map(|delivery| Death { delivery, agent: builder.name.clone() });
    assert_eq!((&listed.turns[0].turn, &listed.turns[0].deaths), (&turn.turn_id, &deaths.to_vec()));
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("is not open"), "whoever answers after all is too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_turn_opens_again_once_a_person_asks_and_is_refused_where_none_is() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    let ada = world.person("human-ada").await;
    assert_eq!(ada.fails(&world, Some("w"), &ada.retry()).await.code, ActCode::NothingOpen);
    for delivery in 2..=4 {
        builder.plan(&turn, delivery).await;
    }
    world.waypoint_when("the dead turn", |w| w.status == Status::Blocked).await;
    delivery.ack().await.unwrap();
    let retry = ada.retry();
    ada.does(&world, Some("w"), &retry).await;
    assert_eq!(world.view().await.waypoints[0].status, Status::Running);
    let (again, _delivery) = builder.take().await;
    assert_ne!(again.turn_id, turn.turn_id);
    assert_eq!(again.request, turn.request);
    assert_eq!(again.record.cause.map(|cause| cause.artifact), Some(retry.artifact_id), "the person's act caused it");
    let listed: DeadTurns = world.call(DEAD, &DeadQuery { flight: None }).await.unwrap();
    assert_eq!(listed.turns, []);
    world.is_sound().await;
}
