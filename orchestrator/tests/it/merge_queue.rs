//! The queue to the branch over real journals and a real repository: works verified behind each other at the same time.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    artifact::{Artifact, VerificationReport, VerificationRequest},
    facts::Verdict,
    ids::{WaypointId, role},
    state::Purpose,
    turn::{Turn, TurnRequest},
    view::{FlightStatus, FlightView, WaypointView},
};

use crate::{
    landings::{a_line_of_all, accepted, bring, build_all, plan},
    support::{Agent, World, git},
};
use holdpoint_bus::turns::Delivery;

/// Works that a verifier has and has not judged.
type Held = Vec<(Turn, Delivery)>;

fn request(turn: &Turn) -> &VerificationRequest {
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    request
}

async fn judge(verifier: &mut Agent, (turn, delivery): (Turn, Delivery), verdict: Verdict) {
    let report = verifier.reported(&turn, verdict);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    delivery.ack().await.unwrap();
}

/// Lets a verifier take this many works, without judging them.
async fn taken(verifier: &mut Agent, count: usize) -> Held {
    let mut held = Vec::new();
    while held.len() < count {
        held.push(verifier.take().await);
    }
    held
}

/// A flight of so many works on one base, of which the first has landed and the others wait for their verdicts.
async fn queued(count: usize) -> (World, Agent, Held) {
    let world = World::start().await;
    world.submit_for(&plan(count), None).await;
    build_all(&world, count, |_| "x\n".to_owned()).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let first = verifier.take().await;
    judge(&mut verifier, first, Verdict::Pass).await;
    let held = taken(&mut verifier, count - 1).await;
    (world, verifier, held)
}

/// From now on a verifier passes everything that comes.
fn passing(mut verifier: Agent) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let taken = verifier.take().await;
            judge(&mut verifier, taken, Verdict::Pass).await;
        }
    })
}

fn of<'a>(view: &'a FlightView, id: &WaypointId) -> &'a WaypointView {
    view.waypoints.iter().find(|waypoint| waypoint.id == *id).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn works_are_verified_behind_each_other_and_land_in_order_whichever_is_judged_first() {
    let (world, mut verifier, held) = Box::pin(queued(4)).await;
    for pair in held.windows(2) {
        let (front, behind) = (request(&pair[0].0), request(&pair[1].0));
        assert_ne!(front.base, behind.base);
        assert_ne!(front.tree, behind.tree);
    }
    let order: Vec<WaypointId> = held.iter().map(|(turn, _)| turn.waypoint.clone()).collect();
    let trees: BTreeMap<WaypointId, _> =
        held.iter().map(|(turn, _)| (turn.waypoint.clone(), request(turn).tree.clone())).collect();
    for taken in held.into_iter().rev() {
        judge(&mut verifier, taken, Verdict::Pass).await;
    }
    let view = accepted(&world).await;
    a_line_of_all(&world, &view, 4).await;
    let landed: Vec<WaypointId> = view.landings[1..]
        .iter()
        .map(|landing| view.waypoints.iter().find(|w| w.commit.as_ref() == Some(&landing.tip)).unwrap().id.clone())
        .collect();
    assert_eq!(landed, order);
    for name in &order {
        let commit = of(&view, name).commit.clone().unwrap();
        let tree = git(&world.path("repo"), &["rev-parse", &format!("{commit}^{{tree}}")]);
        assert_eq!(tree.trim(), trees[name].as_str(), "{name} landed as it was verified");
    }
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_goes_on_by_an_orchestrator_that_starts_while_it_is_verified() {
    let (mut world, mut verifier, held) = Box::pin(queued(4)).await;
    world.crash_orchestrator();
    for taken in held.into_iter().rev() {
        judge(&mut verifier, taken, Verdict::Pass).await;
    }
    std::fs::rename(world.path("orchestrator/mirrors"), world.path("aside")).unwrap();
    world.start_orchestrator().await;
    let view = accepted(&world).await;
    a_line_of_all(&world, &view, 4).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_red_behind_others_lets_those_behind_it_go_on_and_is_reworked_once_they_landed() {
    let (world, mut verifier, mut held) = Box::pin(queued(4)).await;
    let red = held.remove(1);
    let name = red.0.waypoint.clone();
    judge(&mut verifier, red, Verdict::Fail).await;
    let kept = |view: &FlightView| of(view, &name).turn.is_none();
    world.view_when("the red report to be kept", kept).await;
    assert_eq!(of(&world.view().await, &name).attempts, 0, "nobody knows whose fault it is");
    // What is behind it is merged again, and its verifier hears that its turn is over.
    let (front, last) = (held.remove(0), held.remove(0));
    let again = taken(&mut verifier, 1).await.remove(0);
    assert_eq!(again.0.waypoint, last.0.waypoint);
    assert_ne!(request(&again.0).tree, request(&last.0).tree);
    last.1.ack().await.unwrap();
    judge(&mut verifier, again, Verdict::Pass).await;
    judge(&mut verifier, front, Verdict::Pass).await;
    let view = world.view_when("the others to land", |view| view.landings.len() == 3).await;
    bring(&world, &view.landings).await;
    let mut builder = world.agent(role::BUILDER, "b2").await;
    let rework = builder.builds(&world, &[(name.as_str(), "again\n")]).await;
    let TurnRequest::Build(request) = &rework.request else { panic!("{rework:?}") };
    assert!(view.landings.iter().any(|landing| landing.tip == request.base), "on what landed before it");
    assert!(request.feedback.as_ref().is_some_and(|feedback| feedback.collision.is_some()));
    let verifying = passing(verifier);
    let view = accepted(&world).await;
    verifying.abort();
    a_line_of_all(&world, &view, 4).await;
    assert_eq!((of(&view, &name).attempts, of(&view, &name).sent_back), (2, 1), "the work's own");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_car_lets_those_behind_it_land_without_it() {
    let (world, verifier, mut held) = Box::pin(queued(4)).await;
    let ada = world.person("human-ada").await;
    let gone = held.remove(0);
    ada.does(&world, Some(gone.0.waypoint.as_str()), &ada.cancel()).await;
    let verifying = passing(verifier);
    let view = world.view_when("the end", |view| view.status == FlightStatus::Incomplete).await;
    verifying.abort();
    assert_eq!(view.landings.len(), 3);
    drop((gone, held));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn works_that_collide_in_the_train_are_made_again_once_the_first_has_landed() {
    let world = World::start().await;
    world.submit_for(&plan(3), None).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    for n in 0..3 {
        // The last two change the same file.
        let name = if n == 0 { "first" } else { "same" };
        builder.builds(&world, &[(name, &format!("{n}\n"))]).await;
    }
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let held = taken(&mut verifier, 2).await;
    let builds = |w: &WaypointView| w.turn.as_ref().is_some_and(|turn| turn.purpose == Purpose::Build);
    world.view_when("all works to wait for their verdicts", |view| !view.waypoints.iter().any(builds)).await;
    for taken in held {
        judge(&mut verifier, taken, Verdict::Pass).await;
    }
    let verifying = passing(verifier);
    let view = world.view_when("two landings", |view| view.landings.len() == 2).await;
    bring(&world, &view.landings).await;
    builder.builds(&world, &[("same", "both\n")]).await;
    let view = accepted(&world).await;
    verifying.abort();
    assert_eq!(view.landings.len(), 3);
    assert_eq!(view.waypoints.iter().map(|w| w.sent_back).sum::<u32>(), 1);
    world.is_sound().await;
}
