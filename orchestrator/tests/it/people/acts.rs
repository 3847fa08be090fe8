//! Whose acts count, and that each counts once.

use holdpoint_bus::handoffs::ShowJwt;
use holdpoint_protocol::{api::ActStanding, artifact::ActCode, facts::Verdict, ids::role, state::Status};

use super::{PLAN, W, plan_with};
use crate::support::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_is_not_its_persons_own_is_refused_and_changes_nothing() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    let disguised = bob.fails(&world, W, &ada.cancel()).await;
    assert!(disguised.code == ActCode::NotAllowed && disguised.message.contains("human-bob"), "{disguised:?}");
    let unnamed = ada.store(&world, W, &ada.cancel(), ShowJwt::No).await;
    let ActStanding::Refused(unnamed) = world.standing(W, unnamed).await else { panic!("without a JWT") };
    assert!(unnamed.code == ActCode::NotAllowed && unnamed.message.contains("Hp-Jwt"), "{unnamed:?}");
    assert_eq!(bob.fails(&world, None, &ada.pause()).await.code, ActCode::NotAllowed);
    assert_eq!(ada.fails(&world, Some("v"), &ada.cancel()).await.code, ActCode::NothingOpen);
    assert_eq!(ada.fails(&world, W, &ada.pause()).await.code, ActCode::Invalid);
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, view.paused), (Status::Running, false));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_comes_again_is_taken_once_whatever_was_done_since() {
    let mut world = World::start().await;
    world.submit(&plan_with("policy: {max_reworks: 0}")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    let mut retries = Vec::new();
    for text in ["2\n", "3\n", "4\n"] {
        builder.builds(&world, &[("a", text)]).await;
        verifier.judges(Verdict::Fail).await;
        world.waypoint_when("the failure", |w| w.status == Status::Failed).await;
        if retries.len() < 2 {
            let retry = ada.retry();
            ada.does(&world, W, &retry).await;
            retries.push(retry);
        }
    }
    let (pause, resume) = (ada.pause(), ada.resume());
    ada.does(&world, None, &pause).await;
    ada.does(&world, None, &resume).await;
    world.start_orchestrator().await;
    // The same signed bytes, published again.
    for retry in &retries {
        ada.does(&world, W, retry).await;
    }
    ada.does(&world, None, &pause).await;
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, view.waypoints[0].attempts, view.paused), (Status::Failed, 3, false));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_came_while_no_orchestrator_ran_is_taken_by_the_next() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    world.crash_orchestrator();
    let ada = world.person("human-ada").await;
    let cancel = ada.store(&world, W, &ada.cancel(), ShowJwt::Yes).await;
    world.start_orchestrator().await;
    assert_eq!(world.standing(W, cancel).await, ActStanding::Taken);
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, &view.waypoints[0].turn), (Status::Cancelled, &None));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_orchestrators_know_what_became_of_each_others_acts() {
    let world = World::start().await;
    let _second = world.second_orchestrator().await;
    world.submit(PLAN).await;
    let ada = world.person("human-ada").await;
    for _ in 0..4 {
        assert_eq!(ada.fails(&world, None, &ada.resume()).await.code, ActCode::NothingOpen);
        ada.does(&world, None, &ada.pause()).await;
        assert_eq!(ada.fails(&world, W, &ada.retry()).await.code, ActCode::Invalid);
        ada.does(&world, None, &ada.resume()).await;
        assert_eq!(ada.fails(&world, W, &ada.approve()).await.code, ActCode::NothingOpen);
    }
    ada.does(&world, W, &ada.cancel()).await;
    assert_eq!(ada.fails(&world, W, &ada.cancel()).await.code, ActCode::Over);
    world.is_sound().await;
}
