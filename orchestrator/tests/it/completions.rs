//! Gates that agents of a declared role complete.

use holdpoint_protocol::{
    api::SUBMIT,
    artifact::{Artifact as _, Completion, Failure},
    ids::RoleId,
    reason::ReasonCode,
    refusal::{RefusalAction, RefusalCode},
    state::Outcome,
    turn::{Feedback, Turn, TurnRequest},
    view::{FlightStatus, FlightView},
    workflow::{GateSpec, WorkflowSpec},
};
use serde_json::json;

use crate::support::{Agent, World};

const PLAN: &str = r#"
plan: written
waypoints:
  - {id: w, goal: write it, criteria: [{id: c, check: "true"}]}
"#;

/// A flight in which a writer drafts and another turn of its role looks at the draft.
pub(crate) async fn drafting() -> (World, Agent) {
    Box::pin(drafting_of(PLAN)).await
}

/// The same for each waypoint of this plan.
pub(crate) async fn drafting_of(plan: &str) -> (World, Agent) {
    let writer: RoleId = "writer".parse().unwrap();
    let world = World::with_role(&writer).await;
    let mut submit = world.submission(plan, Some(1)).await;
    let gate = |id: &str, can_reject| GateSpec { can_reject, ..GateSpec::new(id.parse().unwrap(), writer.clone()) };
    let workflow = WorkflowSpec::new("drafts", [gate("draft", false), gate("look", true)]);
    submit.plan.workflow = workflow.name.clone();
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let agent = world.agent("writer", "writer-1").await;
    (world, agent)
}

fn feedback(turn: &Turn) -> Feedback {
    match &turn.request {
        TurnRequest::Complete(request) => request.feedback.clone().expect("a reason for another turn"),
        other => panic!("not a turn that is completed: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_complete_gates_send_work_back_and_fail_without_an_outcome() {
    let (world, mut writer) = Box::pin(drafting()).await;
    assert_eq!(writer.completes(|_| {}).await.gate.as_str(), "draft");
    let looked = writer
        .completes(|completion| {
            completion.outcome = Some(Outcome::NeedsReview);
            completion.blockers = vec!["name the source".to_owned()];
        })
        .await;
    assert_eq!(looked.gate.as_str(), "look");
    let failure = Failure { reason: ReasonCode::AgentTimeout, detail: "it slept".to_owned() };
    let again = writer.completes(|completion| completion.failure = Some(failure)).await;
    let back = feedback(&again);
    assert_eq!((again.gate.as_str(), &back.notes[..]), ("draft", &["name the source".to_owned()][..]));
    assert_eq!(back.review.unwrap().from_gate.as_str(), "look");
    let after_failure = writer.completes(|_| {}).await;
    assert_eq!(
        (after_failure.gate.as_str(), &feedback(&after_failure).notes[..]),
        ("draft", &["name the source".to_owned(), "it slept".to_owned()][..])
    );
    writer.completes(|_| {}).await;
    let view = world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    assert_eq!((view.landings.len(), &view.head), (0, &world.base));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_join_and_leave_a_role_that_the_fleet_got_while_it_runs() {
    let (world, mut first) = Box::pin(drafting()).await;
    let (turn, delivery) = first.take().await;
    // Another one joins: what the first has in hand stays its own.
    let mut second = world.agent("writer", "writer-2").await;
    assert!(!second.is_offered_anything().await);
    first.hand_off(&turn, Completion::KIND, &first.completed(&turn, Some(Outcome::Complete))).await;
    delivery.ack().await.unwrap();
    drop(first);
    assert_eq!(second.completes(|_| {}).await.gate.as_str(), "look");
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_completion_teaches_its_sender_and_the_corrected_one_is_taken() {
    let (world, mut writer) = Box::pin(drafting()).await;
    let (turn, delivery) = writer.take().await;
    let right = serde_json::to_value(writer.completed(&turn, Some(Outcome::Complete))).unwrap();
    for (key, value, error) in [
        ("outcome", json!("done"), "invalid_outcome"),
        ("outcome", json!("skip"), "invalid_outcome"),
        ("outcome", json!("needs_review"), "reject_not_allowed"),
        ("outcome", json!("blocked"), "empty_blockers"),
        ("summary", json!(""), "missing_summary"),
        ("waypoint_id", json!("v"), "wrong_task"),
    ] {
        let mut wrong = right.clone();
        wrong[key] = value;
        writer.hand_off(&turn, Completion::KIND, &wrong).await;
        let refused = writer.refused().await;
        let details = refused.details.expect("what is wrong, for programs");
        assert_eq!((refused.code, &details["error"]), (RefusalCode::CompletionInvalid, &json!(error)));
        assert_eq!(refused.action, RefusalAction::Correct);
        assert!(details["message"].as_str().unwrap().contains("Example:"), "{details}");
    }
    writer.hand_off(&turn, Completion::KIND, &right).await;
    delivery.ack().await.unwrap();
    assert_eq!(writer.completes(|_| {}).await.gate.as_str(), "look");
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
}
