//! Containers that die, are replaced and are cut off while a flight is under way: it lands as if nothing had happened.

use crate::{
    engine::Engine,
    fleet::{Fleet, Size},
    flight::{Shape, Site, is_sound},
};

const ONE_OF_EACH: Size = Size { brokers: 1, orchestrators: 1, builders: 1, verifiers: 1 };
const TWO_OF_EACH: Size = Size { brokers: 1, orchestrators: 2, builders: 2, verifiers: 2 };

#[tokio::test(flavor = "multi_thread")]
async fn killing_each_container_in_turn_changes_nothing_but_time() {
    let Some(_engine) = Engine::take() else { return };
    let site = Site::new();
    let fleet = Fleet::start(ONE_OF_EACH, &site).await;
    let steps = [("a", "builder-1"), ("b", "orchestrator-1"), ("c", "verifier-1"), ("d", "nats-1")];
    let waypoints = steps.map(|(waypoint, _)| waypoint);
    let mut flight = site.begin(&fleet.door, Shape::OneAfterAnother, &waypoints);
    for (waypoint, victim) in steps {
        flight.until_held(waypoint);
        flight.open(waypoint);
        fleet.kill(victim);
        fleet.revive(victim).await;
        flight.until_complete(waypoint);
    }
    flight.lands_as_if_nothing_had_happened(&waypoints);
    is_sound(&fleet.account(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_of_every_service_under_load_loses_nothing() {
    let Some(_engine) = Engine::take() else { return };
    let site = Site::new();
    let fleet = Fleet::start(TWO_OF_EACH, &site).await;
    let steps = [
        ("a", "nats-1"),
        ("b", "orchestrator-1"),
        ("c", "orchestrator-2"),
        ("d", "verifier-1"),
        ("e", "verifier-2"),
        ("f", "builder-1"),
        ("g", "builder-2"),
    ];
    let waypoints = steps.map(|(waypoint, _)| waypoint);
    let mut flight = site.begin(&fleet.door, Shape::OneAfterAnother, &waypoints);
    for (waypoint, member) in steps {
        flight.until_held(waypoint);
        flight.open(waypoint);
        fleet.restart(member).await;
        flight.until_complete(waypoint);
    }
    flight.lands_as_if_nothing_had_happened(&waypoints);
    is_sound(&fleet.account(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_builder_and_an_orchestrator_that_are_cut_off_change_nothing_but_time() {
    let Some(_engine) = Engine::take() else { return };
    let site = Site::new();
    let fleet = Fleet::start(TWO_OF_EACH, &site).await;
    let waypoints = ["a", "b", "c"];
    let mut flight = site.begin(&fleet.door, Shape::OneAfterAnother, &waypoints);

    // It works on, cut off, and would hand off when another has done its work and it is back.
    let builder = fleet.member_named("builder", &flight.until_held("a"));
    fleet.cut("building", &builder);
    flight.open("a");
    flight.until_complete("a");
    fleet.heal("building", &builder);
    fleet.until_healthy(&builder);

    for (orchestrator, waypoint) in [("orchestrator-1", "b"), ("orchestrator-2", "c")] {
        flight.until_held(waypoint);
        fleet.cut("control", orchestrator);
        flight.open(waypoint);
        flight.until_complete(waypoint);
        fleet.heal("control", orchestrator);
        fleet.until_healthy(orchestrator);
    }
    flight.lands_as_if_nothing_had_happened(&waypoints);
    is_sound(&fleet.account(&site).await);
}
