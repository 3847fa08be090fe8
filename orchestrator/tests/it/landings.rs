//! Landings, over real journals and a real repository: several works at once, crashes, and orchestrators that race.

use holdpoint_protocol::{
    artifact::{Artifact, BuildArtifact, VerificationPurpose, VerificationReport},
    facts::Verdict,
    ids::role,
    turn::{Turn, TurnRequest},
    view::{FlightStatus, FlightView},
};
use holdpoint_workspace::HANDOFF_REF;

use crate::support::{Agent, SOON, World, git};

fn plan(waypoints: usize) -> String {
    let waypoint =
        |n| format!("  - {{id: w{n}, title: t, goal: g, criteria: [{{id: c, statement: s, check: 'true'}}]}}\n");
    format!("plan: p\nwaypoints:\n{}", (0..waypoints).map(waypoint).collect::<String>())
}

/// Every waypoint is built on the flight's base: a file of its own name.
async fn build_all(world: &World, count: usize) {
    let mut builder = world.agent(role::BUILDER, "b1").await;
    for _ in 0..count {
        let (turn, delivery) = builder.take().await;
        let work = world.commit(&builder, world.base.as_str(), &[(turn.waypoint.as_str(), "x\n")]).await;
        let artifact = builder.built(&turn, Some(work));
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
    }
}

async fn pass(verifier: &mut Agent, turn: &Turn) {
    let report = verifier.reported(turn, Verdict::Pass);
    verifier.hand_off(turn, VerificationReport::KIND, &report).await;
}

fn is_merge(turn: &Turn) -> bool {
    matches!(&turn.request, TurnRequest::Verify(request) if request.purpose == VerificationPurpose::Merge)
}

async fn accepted(world: &World) -> FlightView {
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        let view = world.view().await;
        if view.status == FlightStatus::Accepted {
            return view;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for the landings: {view:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The flight's branch, fetched as a user does: a line of one commit a waypoint, that has all of their files.
async fn a_line_of_all(world: &World, view: &FlightView, count: usize) {
    let repo = world.path("repo");
    for landing in &view.landings {
        let bundle = world.path("landing.bundle");
        std::fs::write(&bundle, world.bytes(&landing.blob).await).unwrap();
        git(&repo, &["fetch", "--quiet", bundle.to_str().unwrap(), &format!("+{HANDOFF_REF}:refs/heads/flight")]);
    }
    let line = git(&repo, &["log", "--reverse", "--format=%H", &format!("{}..flight", world.base)]);
    let tips: Vec<String> = view.landings.iter().map(|landing| landing.tip.to_string()).collect();
    assert_eq!((line.lines().collect::<Vec<_>>(), tips.len()), (tips.iter().map(String::as_str).collect(), count));
    assert_eq!(tips.last(), Some(&view.head.to_string()));
    let names = git(&repo, &["ls-tree", "--name-only", "flight"]);
    for n in 0..count {
        assert!(names.lines().any(|name| name == format!("w{n}")), "w{n} was undone: {names}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orchestrators_that_race_land_every_work_once_and_undo_none() {
    const COUNT: usize = 6;
    let world = World::start().await;
    let _second = world.second_orchestrator().await;
    world.submit_for(&plan(COUNT), None).await;
    build_all(&world, COUNT).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let verifying = tokio::spawn(async move {
        loop {
            let (turn, delivery) = verifier.take().await;
            pass(&mut verifier, &turn).await;
            delivery.ack().await.unwrap();
        }
    });
    let view = accepted(&world).await;
    verifying.abort();
    a_line_of_all(&world, &view, COUNT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orchestrator_that_crashes_between_merge_and_landing_lands_the_merge() {
    let mut world = World::start().await;
    world.submit_for(&plan(3), None).await;
    build_all(&world, 3).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (mut merges, mut verified) = (0, 0);
    while merges < 2 {
        let (turn, delivery) = verifier.take().await;
        verified += 1;
        if is_merge(&turn) {
            merges += 1;
            // Whoever comes back finds the report and what is due.
            world.crash_orchestrator();
            pass(&mut verifier, &turn).await;
            world.start_orchestrator().await;
        } else {
            pass(&mut verifier, &turn).await;
        }
        delivery.ack().await.unwrap();
    }
    let view = accepted(&world).await;
    assert_eq!(verified, 5, "three works, and each merge once");
    a_line_of_all(&world, &view, 3).await;
}
