//! People take over agents' turns, hand work in, and give turns back.

use holdpoint_protocol::{
    api::{InboxKind, ProgressAnswer},
    artifact::{ActCode, Artifact as _, BuildArtifact, Verb},
    facts::{Oid, Verdict},
    ids::role,
    refusal::RefusalCode,
    state::{Purpose, Status},
    turn::{Turn, TurnRequest},
    view::WaypointView,
};

use super::{PLAN, W, plan_with};
use crate::support::World;

fn base(turn: &Turn) -> &Oid {
    let TurnRequest::Build(request) = &turn.request else { panic!("no build turn: {turn:?}") };
    &request.base
}

fn is_taken(waypoint: &WaypointView) -> bool {
    let holder = waypoint.turn.as_ref().and_then(|turn| turn.agent.as_ref());
    waypoint.status == Status::Waiting && holder.is_some_and(|agent| agent.as_str() == "human-ada")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_takes_a_builders_turn_over_and_what_is_handed_in_is_verified_and_lands() {
    let mut world = World::start().await;
    world.submit(&plan_with("workflow: fly-approved")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (ada, bob, robot) =
        (world.person("human-ada").await, world.person("human-bob").await, world.person("robot").await);
    let (turn, delivery) = builder.take().await;
    assert_eq!(robot.fails(&world, W, &robot.take()).await.code, ActCode::HumanRequired);
    let take = ada.take();
    ada.does(&world, W, &take).await;
    ada.does(&world, W, &take).await;
    let late = bob.fails(&world, W, &bob.take()).await;
    assert!(late.code == ActCode::AnswerLate && late.message.contains("human-ada"), "{late:?}");
    world.waypoint_when("her turn", is_taken).await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.taken_by), (InboxKind::Taken, Some(ada.name.clone())));
    assert_eq!(item.actions, [Verb::HandIn, Verb::Release, Verb::Cancel]);

    let progress = builder.ask_progress(&turn, None).await;
    assert!(matches!(progress, Ok(ProgressAnswer::Stop { .. })), "{progress:?}");
    let work = world.commit(&builder, base(&turn).as_str(), &[("a", "agent\n")]).await;
    let (agents_commit, agents_bundle) = (work.0.clone(), work.2.clone());
    builder.hand_off(&turn, BuildArtifact::KIND, &builder.built(&turn, Some(work))).await;
    assert_eq!(builder.refused().await.code, RefusalCode::TurnNotOpen);
    delivery.ack().await.unwrap();
    assert!(!builder.is_offered_anything().await, "no agent pulls what a person has");

    world.start_orchestrator().await;
    let foreign = ada.fails(&world, W, &ada.hands_in(agents_commit, agents_bundle)).await;
    assert!(foreign.code == ActCode::Invalid && foreign.message.contains("blobs of people"), "{foreign:?}");
    let head = world.commit_by((&ada.bus, &role::id(role::OPERATOR)), base(&turn).as_str(), &[("a", "0\n")]).await;
    let stacked = ada.fails(&world, W, &ada.hand_in(&world, head.0.as_str(), &[("a", "1\n")]).await).await;
    assert!(stacked.code == ActCode::Invalid && stacked.message.contains("exactly one parent"), "{stacked:?}");
    let stranger = bob.hand_in(&world, base(&turn).as_str(), &[("a", "bob\n")]).await;
    assert_eq!(bob.fails(&world, W, &stranger).await.code, ActCode::NotAllowed);
    let handed = ada.hand_in(&world, base(&turn).as_str(), &[("a", "2\n")]).await;
    ada.does(&world, W, &handed).await;
    ada.does(&world, W, &handed).await;
    verifier.judges(Verdict::Pass).await;
    let is_open = |w: &WaypointView| w.turn.as_ref().is_some_and(|turn| turn.purpose == Purpose::Complete);
    world.waypoint_when("the approval", is_open).await;
    let own = ada.fails(&world, W, &ada.approve()).await;
    assert!(own.code == ActCode::NotAllowed && own.message.contains("made the work"), "{own:?}");
    bob.does(&world, W, &bob.approve()).await;
    let landed = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!((landed.attempts, landed.sent_back), (1, 0));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_its_person_gives_back_is_offered_to_agents_again() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    let (turn, delivery) = builder.take().await;
    delivery.ack().await.unwrap();
    ada.does(&world, W, &ada.take()).await;
    assert_eq!(bob.fails(&world, W, &bob.release()).await.code, ActCode::NotAllowed);
    ada.does(&world, W, &ada.release()).await;
    let again = builder.builds(&world, &[("a", "2\n")]).await;
    assert_eq!(again.request, turn.request, "it asks the same");
    assert_ne!(again.turn_id, turn.turn_id);
    let is_verified = |w: &WaypointView| w.turn.as_ref().is_some_and(|turn| matches!(turn.purpose, Purpose::Verify(_)));
    world.waypoint_when("the verification", is_verified).await;
    let verification = ada.fails(&world, W, &ada.take()).await;
    assert!(verification.message.contains("every criterion has a check"), "{verification:?}");
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_its_person_never_stored_is_refused_and_the_turn_stays_theirs() {
    let mut world = World::start().await;
    world.start_orchestrator_with(|config| config.orchestrator.blob_wait = "1s".parse().unwrap()).await;
    world.submit(PLAN).await;
    let ada = world.person("human-ada").await;
    world.waypoint_when("the turn", |w| w.status == Status::Running).await;
    ada.does(&world, W, &ada.take()).await;
    let base = world.base.clone();
    let (commit, _, mut bundle) =
        world.commit_by((&ada.bus, &role::id(role::OPERATOR)), base.as_str(), &[("a", "2\n")]).await;
    let stored = bundle.clone();
    bundle.blob.digest = holdpoint_protocol::Digest::of(b"nothing");
    let lost = ada.fails(&world, W, &ada.hands_in(commit.clone(), bundle)).await;
    assert!(lost.code == ActCode::Invalid && lost.message.contains("not stored"), "{lost:?}");
    world.waypoint_when("her turn", is_taken).await;
    ada.does(&world, W, &ada.hands_in(commit, stored)).await;
    world.is_sound().await;
}
