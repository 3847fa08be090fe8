//! What one agent's key cannot do to the others of its role: fill the room that they store their work in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use holdpoint_bus::{auth::Credentials, blobs, handoffs::ShowJwt, topology};
use holdpoint_protocol::{
    api::ActStanding,
    artifact::{Artifact as _, BuildArtifact},
    ids::role,
    refusal::RefusalCode,
    state::Purpose,
    streams,
    view::WaypointView,
};
use holdpoint_runtime::fresh;

use crate::support::{SOON, World, log};

const PLAN: &str = "plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

/// What a flood stores at a time, and how often it does: some 2 MiB a second.
const PIECE_LEN: usize = 200 << 10;
const PIECE_EVERY: Duration = Duration::from_millis(100);

fn is_verified(waypoint: &WaypointView) -> bool {
    waypoint.turn.as_ref().is_some_and(|turn| matches!(turn.purpose, Purpose::Verify(_)))
}

/// Stores blobs of its own for ever, with a new connection whenever one was ended; counts what was acknowledged.
async fn flood(world: &World, key: Credentials, stored: Arc<AtomicU64>) -> tokio::task::JoinHandle<()> {
    let mut bus = world.local.connect(&key).await.unwrap();
    let (url, role) = (world.local.broker.url(), role::id(role::BUILDER));
    tokio::spawn(async move {
        let mut pace = tokio::time::interval(PIECE_EVERY);
        for n in 0_u64.. {
            pace.tick().await;
            let mut piece = vec![0; PIECE_LEN];
            piece[..8].copy_from_slice(&n.to_le_bytes());
            piece[8..][..key.public_key().len()].copy_from_slice(key.public_key().as_bytes());
            let put = blobs::put(&bus, &role, piece.into());
            match tokio::time::timeout(Duration::from_secs(1), put).await {
                Ok(Ok(_)) => {
                    stored.fetch_add(1, Ordering::Relaxed);
                }
                _ => {
                    let args = holdpoint_bus::ConnectArgs::new(url.clone(), key.clone());
                    if let Ok(another) = holdpoint_bus::Bus::connect(args).await {
                        bus = another;
                    }
                }
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_flood_their_roles_room_together_are_cut_off_and_another_of_the_role_stores_its_work_and_hands_off() {
    log::keep();
    let mut world = World::of_a_fleet().await;
    // Blobs of builders may take 46 MiB, and one key a half of what the others leave of it.
    world.start_orchestrator_with(|config| config.orchestrator.broker_disk = "256MiB".parse().unwrap()).await;
    world.submit(PLAN).await;
    let builder = role::id(role::BUILDER);
    let mut honest = world.agent(role::BUILDER, "b1").await;
    let stored = Arc::new(AtomicU64::new(0));
    let mut floods = Vec::new();
    for _ in 0..2 {
        let name = format!("flood-{}", fresh::suffix());
        let key = &world.local.authority;
        let key = key.mint_agent(&builder, &name.parse().unwrap(), &streams::fleet_pool(), None).unwrap();
        let public = key.public_key().to_owned();
        floods.push((name, public, flood(&world, key, stored.clone()).await));
    }
    for (name, public, _) in &floods {
        let line = log::line_with(&["a key stored more in an hour", public]).await;
        for part in [name, "HP_BLOB_BUILDER", "orchestrator.room_per_key", "holdpoint keys revoke", "bound=bytes"] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    // They go on trying while another builder works.
    honest.builds(&world, &[("a", "2\n")]).await;
    world.waypoint_when("the verification", is_verified).await;
    let owner = world.local.connect(&world.local.orchestrator).await.unwrap();
    let room = topology::room(&owner, &streams::blob(&builder)).await.unwrap();
    for (.., flooding) in floods {
        assert!(!flooding.is_finished());
        flooding.abort();
    }
    let (bytes, most) = (room.bytes, room.bytes_max.unwrap());
    assert!(bytes > most / 2, "{bytes} of {most}: they were cut off for nothing");
    // Each may store a half of what the other leaves, and some of it is stored before an orchestrator sees it.
    assert!(bytes < most, "{bytes} of {most}, {} pieces", stored.load(Ordering::Relaxed));
    assert!(honest.bus.is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hands_off_too_often_is_refused_with_the_bound_and_then_cut_off() {
    log::keep();
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_with(|config| config.orchestrator.handoffs_per_hour = 60).await;
    world.submit(PLAN).await;
    let name = format!("flood-{}", fresh::suffix());
    let mut flooder = world.agent(role::BUILDER, &name).await;
    let (turn, _delivery) = flooder.take().await;
    let mut artifact = flooder.built(&turn, None);
    artifact.turn = "guessed".parse().unwrap();
    // With its plan one more than twice as many as it may.
    for _ in 0..120 {
        flooder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    }
    let refused = loop {
        let refused = flooder.refused().await;
        if refused.code == RefusalCode::TooMany {
            break refused;
        }
    };
    for part in ["orchestrator.handoffs_per_hour", "may 60 times"] {
        assert!(refused.error.contains(part), "{part} in {}", refused.error);
    }
    let line = log::line_with(&["a key goes on handing off", &name]).await;
    assert!(line.contains("holdpoint keys revoke") && line.contains(flooder.bus.public_key()), "{line}");
    let ended = async {
        while flooder.bus.is_connected() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.expect("its connection is ended");
    let honest = world.agent(role::BUILDER, "b1").await;
    assert!(honest.bus.is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_acts_without_end_is_cut_off_and_another_ones_acts_are_taken() {
    log::keep();
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_with(|config| config.orchestrator.handoffs_per_hour = 60).await;
    world.submit(PLAN).await;
    let name = format!("human-flood-{}", fresh::suffix());
    let (flooder, ada) = (world.person(&name).await, world.person("human-ada").await);
    for _ in 0..121 {
        flooder.store(&world, None, &flooder.resume(), ShowJwt::Yes).await;
    }
    let line = log::line_with(&["a key goes on handing off", &name]).await;
    assert!(line.contains(flooder.bus.public_key()) && line.contains("orchestrator.handoffs_per_hour"), "{line}");
    let ended = async {
        while flooder.bus.is_connected() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.expect("its connection is ended");
    let pause = ada.store(&world, None, &ada.pause(), ShowJwt::Yes).await;
    assert_eq!(world.standing(None, pause).await, ActStanding::Taken);
}
