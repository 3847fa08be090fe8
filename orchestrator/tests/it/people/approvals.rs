//! Gates that people complete.

use holdpoint_bus::api::ApiError;
use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    api::{InboxKind, SUBMIT},
    artifact::{ActCode, Verb, VerificationPurpose},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::{Purpose, Status},
    turn::TurnRequest,
    view::{FlightStatus, FlightView, WaypointView},
    workflow::{GateOrFork, GateSpec},
};

use super::{PLAN, W, plan_of, plan_with};
use crate::support::{Agent, LINES, Person, World, lines};

const APPROVED: &str = "workflow: fly-approved";

fn is_open(waypoint: &WaypointView) -> bool {
    (waypoint.status, waypoint.reason_code) == (Status::Waiting, Some(ReasonCode::ApprovalOpen))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_what_was_verified_or_sends_it_back_with_what_has_to_change() {
    let world = World::start().await;
    world.submit(&plan_with(APPROVED)).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (ada, robot) = (world.person("human-ada").await, world.person("robot").await);
    assert_eq!(ada.fails(&world, W, &ada.approve()).await.code, ActCode::NothingOpen);
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    let waiting = world.waypoint_when("the approval", is_open).await;
    let turn = waiting.turn.unwrap();
    assert_eq!((turn.role.as_str(), turn.purpose), ("approver", Purpose::Complete));
    assert_eq!(world.view().await.status, FlightStatus::Waiting);
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.reference), (InboxKind::Approval, turn.turn.to_string()));
    assert!(!item.evidence.is_empty(), "a person can look at what the verdicts rest on");

    assert_eq!(robot.fails(&world, W, &robot.approve()).await.code, ActCode::HumanRequired);
    assert_eq!(ada.fails(&world, W, &ada.reject(" ")).await.code, ActCode::Invalid);
    ada.does(&world, W, &ada.reject("say why in the README")).await;
    let again = builder.builds(&world, &[("a", "3\n")]).await;
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    let feedback = request.feedback.as_ref().unwrap();
    assert_eq!((feedback.reason_code, feedback.notes.len()), (ReasonCode::ApprovalRejected, 1));
    assert_eq!(feedback.notes[0], "say why in the README");
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the next approval", is_open).await;
    let mut stale = ada.approve();
    stale.on = Some(turn.turn.to_string());
    assert_eq!(ada.fails(&world, W, &stale).await.code, ActCode::AnswerLate, "it was another work that she saw");
    ada.does(&world, W, &ada.approve()).await;
    let landed = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!((landed.attempts, landed.sent_back), (2, 1));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_sees_what_the_verification_doubts_of_this_work() {
    let mut world = World::start().await;
    world.submit(&plan_with(APPROVED)).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    for (text, doubts) in [("2\n", ["no test notices a", "the names"]), ("3\n", ["no test notices b", "the words"])] {
        builder.builds(&world, &[("a", text)]).await;
        verifier.passes_doubting(&doubts).await;
        world.waypoint_when("the approval", is_open).await;
        let item = world.inbox().await.pop().unwrap();
        assert_eq!((item.kind, item.doubts), (InboxKind::Approval, doubts.map(str::to_owned).to_vec()));
        assert_eq!(world.inbox().await.pop().unwrap().doubts, doubts);
        world.start_orchestrator().await;
        assert_eq!(world.inbox().await.pop().unwrap().doubts, doubts, "another one reads them, too");
        ada.does(&world, W, &ada.reject("again")).await;
    }
    builder.builds(&world, &[("a", "4\n")]).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the approval", is_open).await;
    assert_eq!(world.inbox().await.pop().unwrap().doubts, [""; 0]);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_names_people_is_completed_by_them_only() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed-off".to_owned();
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 400), "{refused:?}");
    let mut workflow = workflows::built_in("fly-approved").unwrap();
    workflow.name = "signed-off".to_owned();
    let Some(GateOrFork::Gate(approve)) = workflow.gates.last_mut() else { panic!("fly-approved ends in a gate") };
    approve.people = vec!["human-bob".parse().unwrap()];
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the approval", is_open).await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    let refused = ada.fails(&world, W, &ada.approve()).await;
    assert!(refused.code == ActCode::NotAllowed && refused.message.contains("human-bob"), "{refused:?}");
    bob.does(&world, W, &bob.approve()).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    world.is_sound().await;
}

/// Two works, both built and verified on the base; the first is approved and lands, so that the second is merged.
async fn approve_two(world: &World, files: [(&str, String); 2]) -> (Agent, Person) {
    world.submit_for(&plan_of(2, APPROVED), None).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    for (name, text) in &files {
        builder.builds(world, &[(name, text)]).await;
        verifier.judges(Verdict::Pass).await;
    }
    world.view_when("both approvals", |view| view.waypoints.iter().all(is_open)).await;
    let ada = world.person("human-ada").await;
    for waypoint in ["w0", "w1"] {
        ada.does(world, Some(waypoint), &ada.approve()).await;
    }
    let merge = verifier.judges(Verdict::Pass).await;
    let TurnRequest::Verify(request) = &merge.request else { panic!("{merge:?}") };
    assert_eq!(request.purpose, VerificationPurpose::Merge);
    (verifier, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_leaves_the_diff_as_it_was_is_not_approved_again() {
    let world = World::start().await;
    approve_two(&world, [("x", "1\n".to_owned()), ("y", "1\n".to_owned())]).await;
    let view = world.view_when("both landings", |view| view.status == FlightStatus::Accepted).await;
    assert_eq!(view.landings.len(), 2);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_changes_the_diff_is_approved_again() {
    let world = World::start().await;
    let (_verifier, ada) = approve_two(&world, [(LINES, lines("first", "")), (LINES, lines("", "last"))]).await;
    let view = world.view_when("the approval of the merge", |view| view.waypoints.iter().any(is_open)).await;
    assert_eq!((view.landings.len(), view.status), (1, FlightStatus::Waiting));
    let merged = view.waypoints.iter().find(|waypoint| is_open(waypoint)).unwrap();
    ada.does(&world, Some(merged.id.as_str()), &ada.approve()).await;
    let view = world.view_when("both landings", |view| view.status == FlightStatus::Accepted).await;
    assert_eq!(view.landings.len(), 2);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_a_rework_and_the_last_one_holds_the_work() {
    let world = World::start().await;
    world.submit(&plan_with(&format!("{APPROVED}\npolicy: {{max_reworks: 0}}"))).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let ada = world.person("human-ada").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the approval", is_open).await;
    ada.does(&world, W, &ada.reject("not like this")).await;
    let failed = world.waypoint_when("the failure", |w| w.status == Status::Failed).await;
    assert_eq!(
        (failed.reason_code, failed.actions),
        (Some(ReasonCode::AttemptsExhausted), vec![Verb::Retry, Verb::Cancel])
    );
    ada.does(&world, W, &ada.retry()).await;
    let again = builder.builds(&world, &[("a", "3\n")]).await;
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    assert_eq!(request.feedback.as_ref().unwrap().notes, ["not like this"]);
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the next approval", is_open).await;
    ada.does(&world, W, &ada.approve()).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_of_people_alone_needs_no_agents_and_lands_nothing() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    let mut workflow = workflows::built_in("fly-approved").unwrap();
    workflow.name = "signed-off".to_owned();
    let Some(GateOrFork::Gate(approve)) = workflow.gates.pop() else { panic!("fly-approved ends in a gate") };
    let draft = GateSpec { id: "draft".parse().unwrap(), can_reject: false, ..approve.clone() };
    let sign = GateSpec { id: "sign".parse().unwrap(), ..approve };
    workflow.gates = vec![draft.into(), sign.into()];
    submit.plan.workflow = workflow.name.clone();
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let ada = world.person("human-ada").await;
    let in_gate = |gate: &'static str| {
        move |w: &WaypointView| w.status == Status::Waiting && w.gate.as_ref().unwrap().as_str() == gate
    };
    world.waypoint_when("the draft", in_gate("draft")).await;
    assert_eq!(ada.fails(&world, W, &ada.reject("no")).await.code, ActCode::RejectNotAllowed);
    ada.does(&world, W, &ada.approve()).await;
    world.waypoint_when("the signature", in_gate("sign")).await;
    ada.does(&world, W, &ada.reject("a better title")).await;
    let again = world.waypoint_when("the next draft", in_gate("draft")).await;
    assert_eq!(again.reason_code, Some(ReasonCode::ApprovalRejected));
    assert!(again.remediation.is_some_and(|text| text.contains("approve") && !text.contains("reject`")));
    ada.does(&world, W, &ada.approve()).await;
    world.waypoint_when("the next signature", in_gate("sign")).await;
    ada.does(&world, W, &ada.approve()).await;
    let view = world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    assert_eq!((view.landings.len(), &view.head), (0, &world.base));
    world.is_sound().await;
}
