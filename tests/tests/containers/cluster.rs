//! Three brokers that keep every message three times: any one of them may die or be cut off.

use crate::{
    engine::Engine,
    fleet::{Fleet, Size},
    flight::{Shape, Site, is_sound},
};

const CLUSTER: Size = Size { brokers: 3, orchestrators: 2, builders: 2, verifiers: 1 };
/// All networks that the others reach a broker by.
const NETWORKS: [&str; 3] = ["control", "judging", "building"];

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_loses_nothing_when_any_broker_dies_or_is_cut_off() {
    let Some(_engine) = Engine::take() else { return };
    let site = Site::new();
    let fleet = Fleet::start(CLUSTER, &site).await;
    let waypoints = ["a", "b", "c", "cut"];
    let mut flight = site.begin(&fleet.door, Shape::OneAfterAnother, &waypoints);
    // The first last: the host's own command is connected to it.
    for (waypoint, broker) in [("a", "nats-2"), ("b", "nats-3"), ("c", "nats-1")] {
        flight.until_held(waypoint);
        fleet.kill(broker);
        flight.open(waypoint);
        if broker != "nats-1" {
            flight.until_complete(waypoint);
        }
        fleet.revive(broker).await;
        flight.until_complete(waypoint);
    }

    flight.until_held("cut");
    NETWORKS.iter().for_each(|network| fleet.cut(network, "nats-2"));
    flight.open("cut");
    flight.until_complete("cut");
    NETWORKS.iter().for_each(|network| fleet.heal(network, "nats-2"));
    fleet.until_healthy("nats-2");

    flight.lands_as_if_nothing_had_happened(&waypoints);
    is_sound(&fleet.account(&site).await);
}
