//! Whose acts count, and that each counts once.

use holdpoint_bus::handoffs::ShowJwt;
use holdpoint_protocol::{
    api::ActStanding, artifact::ActCode, facts::Verdict, ids::role, reason::ReasonCode, state::Status,
};

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
async fn an_act_that_was_refused_stays_refused_when_it_is_delivered_again_and_could_be_taken() {
    let mut world = World::start().await;
    world.submit(&plan_with("policy: {max_reworks: 0}")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    // Nothing is held, and nothing is paused.
    let early = ada.store(&world, W, &ada.retry(), ShowJwt::Yes).await;
    let resume = ada.store(&world, None, &ada.resume(), ShowJwt::Yes).await;
    for (waypoint, act) in [(W, early), (None, resume)] {
        assert!(matches!(world.standing(waypoint, act).await, ActStanding::Refused(_)));
    }
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Fail).await;
    world.waypoint_when("the failure", |w| w.status == Status::Failed).await;
    ada.does(&world, None, &ada.pause()).await;
    let paused = ada.store(&world, W, &ada.retry(), ShowJwt::Yes).await;
    assert!(matches!(world.standing(W, paused).await, ActStanding::Refused(_)));
    ada.does(&world, None, &ada.resume()).await;

    Box::pin(world.acts_come_again()).await;
    for act in [early, paused] {
        let ActStanding::Refused(refused) = world.standing(W, act).await else { panic!("taken: {act:?}") };
        assert_eq!(refused.code, ActCode::AnswerLate, "{refused:?}");
    }
    ada.does(&world, None, &ada.pause()).await;
    Box::pin(world.acts_come_again()).await;
    assert!(matches!(world.standing(None, resume).await, ActStanding::Refused(_)));
    let view = world.view().await;
    assert_eq!((view.waypoints[0].status, view.waypoints[0].attempts, view.paused), (Status::Failed, 1, true));
    ada.does(&world, None, &ada.resume()).await;
    ada.does(&world, W, &ada.retry()).await;
    world.waypoint_when("the next attempt", |w| w.status == Status::Running).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_was_refused_stays_refused_when_its_bytes_are_published_again_and_could_be_taken() {
    let mut world = World::start().await;
    world.submit(&plan_with("workflow: fly-approved")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    let (approve, resume) = (ada.approve(), ada.resume());
    assert_eq!(ada.fails(&world, W, &approve).await.code, ActCode::NothingOpen);
    assert_eq!(ada.fails(&world, None, &resume).await.code, ActCode::NothingOpen);
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the approval", |w| w.reason_code == Some(ReasonCode::ApprovalOpen)).await;
    assert_eq!(ada.fails(&world, W, &approve).await.code, ActCode::NothingOpen, "the first copy was too early");
    world.start_orchestrator().await;
    assert_eq!(ada.fails(&world, W, &approve).await.code, ActCode::NothingOpen, "another one knows it, too");
    ada.does(&world, None, &ada.pause()).await;
    assert_eq!(ada.fails(&world, None, &resume).await.code, ActCode::NothingOpen);
    assert!(world.view().await.paused);
    ada.does(&world, None, &ada.resume()).await;
    assert_eq!(world.view().await.waypoints[0].reason_code, Some(ReasonCode::ApprovalOpen));
    ada.does(&world, W, &ada.approve()).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
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
