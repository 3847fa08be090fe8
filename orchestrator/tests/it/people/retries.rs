//! Held work that a person has tried again.

use holdpoint_protocol::{
    Digest,
    api::InboxKind,
    artifact::{ActCode, Artifact as _, CriterionReport, VerificationPurpose, VerificationReport},
    facts::{CriterionResult, Verdict},
    ids::role,
    reason::ReasonCode,
    state::Status,
    turn::TurnRequest,
};

use super::{PLAN, W, plan_with};
use crate::support::{Agent, World};

#[tokio::test(flavor = "multi_thread")]
async fn failed_work_goes_on_with_what_was_wrong_and_with_the_reworks_that_a_person_grants() {
    let world = World::start().await;
    world.submit(&plan_with("policy: {max_reworks: 0}")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Fail).await;
    let failed = world.waypoint_when("the failure", |w| w.status == Status::Failed).await;
    assert_eq!(failed.reason_code, Some(ReasonCode::AttemptsExhausted));
    let item = world.inbox().await.pop().unwrap();
    assert_eq!(item.kind, InboxKind::Failed);
    let mut retry = ada.retry();
    (retry.reworks, retry.note) = (1, Some("mind the gap".to_owned()));
    let mut stale = retry.clone();
    stale.on = Some("another decision".to_owned());
    assert_eq!(ada.fails(&world, W, &stale).await.code, ActCode::AnswerLate);
    assert_eq!(world.view().await.waypoints[0].status, Status::Failed);
    retry.on = Some(item.reference);
    ada.does(&world, W, &retry).await;

    let again = builder.builds(&world, &[("a", "3\n")]).await;
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    let feedback = request.feedback.as_ref().unwrap();
    assert_eq!((feedback.failing.len(), feedback.notes.last().unwrap().as_str()), (1, "mind the gap"));
    let verify = verifier.judges(Verdict::Fail).await;
    assert!(!serde_json::to_string(&verify).unwrap().contains("mind the gap"), "the note is the builder's");
    builder.builds(&world, &[("a", "4\n")]).await;
    verifier.judges(Verdict::Pass).await;
    let landed = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!((landed.attempts, landed.sent_back), (3, 1));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_work_that_nothing_was_done_about_is_blocked_again() {
    let world = World::start().await;
    world.submit(&PLAN.replace(", check: 'true'", "")).await;
    let ada = world.person("human-ada").await;
    let blocked = world.waypoint_when("the missing judge", |w| w.status == Status::Blocked).await;
    assert_eq!(blocked.reason_code, Some(ReasonCode::JudgeMissing));
    let before = world.inbox().await.pop().unwrap();
    ada.does(&world, W, &ada.retry()).await;
    let after = world.inbox().await.pop().unwrap();
    assert_eq!((before.kind, after.reason_code), (InboxKind::Held, Some(ReasonCode::JudgeMissing)));
    assert_ne!(before.reference, after.reference, "it was tried");
    world.is_sound().await;
}

/// Takes a verification of the base and reports this of its guard.
async fn judges_guard(verifier: &mut Agent, verdict: Verdict) {
    let (turn, delivery) = verifier.take().await;
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!(request.purpose, VerificationPurpose::Baseline);
    let guard = CriterionReport {
        result: CriterionResult {
            id: request.guards[0].id.clone(),
            verdict,
            reason: None,
            evidence: vec![Digest::of(b"output")],
        },
        command: None,
        exit_code: None,
        output_tail: String::new(),
        note: None,
    };
    let mut report = verifier.reported(&turn, Verdict::Fail);
    report.guards = vec![guard];
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    delivery.ack().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_whose_guard_was_red_is_looked_at_again() {
    let world = World::start().await;
    world.submit(&plan_with("guards: [{id: g, check: 'true'}]")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    judges_guard(&mut verifier, Verdict::Fail).await;
    let blocked = world.waypoint_when("the red guard", |w| w.status == Status::Blocked).await;
    assert_eq!(blocked.reason_code, Some(ReasonCode::GuardRed));
    ada.does(&world, W, &ada.retry()).await;
    judges_guard(&mut verifier, Verdict::Pass).await;
    let (turn, _delivery) = builder.take().await;
    assert!(matches!(turn.request, TurnRequest::Build(_)));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_whose_landing_always_fails_is_held_until_a_person_has_it_landed() {
    let mut world = World::start().await;
    world.start_orchestrator_with_landing_attempts(2).await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    let (turn, _delivery) = verifier.take().await;
    // Reports need no repository; landings do.
    let (mirrors, aside) = (world.path("orchestrator/mirrors"), world.path("aside"));
    std::fs::rename(&mirrors, &aside).unwrap();
    std::fs::write(&mirrors, "no folder").unwrap();
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    let held = world.waypoint_when("the landing is given up", |w| w.status == Status::Blocked).await;
    assert_eq!(held.reason_code, Some(ReasonCode::LandingHeld));
    std::fs::remove_file(&mirrors).unwrap();
    std::fs::rename(&aside, &mirrors).unwrap();
    let ada = world.person("human-ada").await;
    ada.does(&world, W, &ada.retry()).await;
    let landed = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!((landed.attempts, world.view().await.landings.len()), (1, 1));
    world.is_sound().await;
}
