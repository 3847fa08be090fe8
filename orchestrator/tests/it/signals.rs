//! What is not stored: who hears of a refusal, and what an orchestrator does not believe of others.

use std::{collections::BTreeSet, time::Duration};

use holdpoint_bus::signals::{self, Signals};
use holdpoint_protocol::{
    ids::{AgentName, FlightId, role},
    subjects,
};
use holdpoint_runtime::fresh;

use crate::support::{SOON, World};

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_that_signed_a_handoff_hears_of_its_refusal_whomever_it_names() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut liar = world.agent(role::BUILDER, "b1").await;
    let mut victim = world.agent(role::BUILDER, "b2").await;
    let (turn, _delivery) = liar.take().await;
    victim.plan(&turn, 2).await;
    let mut stray = liar.built(&turn, None);
    stray.turn = "guessed".parse().unwrap();
    liar.hand_off_as("b2", &turn, &stray).await;
    let told = liar.refused().await;
    assert!(told.message_id.as_ref().is_some_and(|id| id.contains(".b2.")) && !told.claimed, "{told:?}");

    // In every part another's: that agent hears that another one used its name.
    stray.agent = "b2".parse().unwrap();
    liar.hand_off_as("b2", &turn, &stray).await;
    let told = victim.refused().await;
    assert!(told.claimed, "{told:?}");
    let mut own = victim.built(&turn, None);
    own.turn = "guessed".parse().unwrap();
    victim.hand_off_as("b2", &turn, &own).await;
    let told = victim.refused().await;
    assert!(!told.claimed && told.error.contains("guessed"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_no_orchestrator_takes_no_partition_and_sends_none_away() {
    let mut world = World::of_a_fleet().await;
    let _second = world.second_orchestrator().await;
    let orchestrator = world.local.connect(&world.local.orchestrator).await.unwrap();
    let everybody = subjects::presence_of(&role::id(role::ORCHESTRATOR));
    let mut there = Signals::listen(&orchestrator, everybody).await.unwrap();
    let mut members = BTreeSet::new();
    while members.len() < 2 {
        let signal = tokio::time::timeout(SOON, there.next()).await.expect("both are there").unwrap();
        members.insert(signal.subject);
    }
    // Names before and behind theirs, so that each partition would be another orchestrator's; and theirs, unsigned.
    let evil = (0..8).flat_map(|n| [format!("a-evil-{n}"), format!("z-evil-{n}")]).map(|name| {
        let name: AgentName = name.parse().unwrap();
        subjects::presence(&role::id(role::ORCHESTRATOR), &name)
    });
    let said: Vec<(String, &'static str)> =
        evil.map(|subject| (subject, "here")).chain(members.into_iter().map(|subject| (subject, "leaving"))).collect();
    let forger = tokio::spawn(async move {
        loop {
            for (subject, what) in &said {
                signals::tell(&orchestrator, subject.clone(), (*what).into()).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let ada = world.person("human-ada").await;
    for partition in 0..subjects::PARTITIONS {
        let ids = || format!("test-{}", fresh::suffix()).parse::<FlightId>().unwrap();
        world.flight = std::iter::repeat_with(ids).find(|id| subjects::partition(id) == partition).unwrap();
        world.submit(PLAN).await;
        ada.does(&world, None, &ada.cancel()).await;
    }
    assert!(!forger.is_finished());
    forger.abort();
}
