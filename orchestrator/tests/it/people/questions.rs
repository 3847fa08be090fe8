//! Questions of agents: who answers them, and what their next turn says.

use std::time::Duration;

use holdpoint_protocol::{
    api::{InboxKind, ProgressAnswer},
    artifact::{ActCode, WorkInProgress},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::Status,
    turn::{BuildRequest, Turn, TurnRequest},
    view::FlightStatus,
};

use super::{PLAN, W, constraints, plan_with};
use crate::support::World;

fn request(turn: &Turn) -> &BuildRequest {
    let TurnRequest::Build(request) = &turn.request else { panic!("no build turn: {turn:?}") };
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_without_an_agent_until_a_person_answers_it() {
    const CANARY: &str = "canary-5f1d";
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (first, asked) = builder.asks(&format!("{CANARY}: tabs or spaces?"), &["tabs", "spaces"], None).await;
    let waiting = world.waypoint_when("the question", |w| w.status == Status::Waiting).await;
    assert_eq!((waiting.turn, waiting.reason_code), (None, Some(ReasonCode::ClarificationOpen)));
    let stop = builder.ask_progress(&first, None).await.unwrap();
    assert!(matches!(stop, ProgressAnswer::Stop { .. }), "nobody holds anything meanwhile: {stop:?}");

    world.start_orchestrator().await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.options.len(), item.round), (InboxKind::Question, 2, Some(1)));
    assert!(item.question.unwrap().contains(CANARY));
    assert_eq!(world.view().await.status, FlightStatus::Waiting);
    let ada = world.person("human-ada").await;
    assert_eq!(ada.fails(&world, W, &ada.answer("neither")).await.code, ActCode::Invalid);
    let mut answer = ada.answer("spaces");
    answer.request = Some(asked.artifact_id);
    answer.updated_constraints = vec!["indent with spaces".to_owned()];
    ada.does(&world, W, &answer).await;

    assert_eq!(world.view().await.waypoints[0].remediation, None, "nobody has to answer any more");
    let again = builder.builds(&world, &[("a", "2\n")]).await;
    assert_ne!(again.turn_id, first.turn_id);
    let clarified = &request(&again).feedback.as_ref().unwrap().clarifications[0];
    assert_eq!((clarified.option.as_deref(), clarified.by.as_str()), (Some("spaces"), "human-ada"));
    assert!(clarified.question.contains(CANARY));
    let mut as_before = again.clone();
    let TurnRequest::Build(request) = &mut as_before.request else { unreachable!() };
    request.feedback = None;
    assert_eq!((as_before.request, again.attempt), (first.request, 1), "it is the same turn, and no attempt");
    let verify = verifier.judges(Verdict::Pass).await;
    assert!(constraints(&verify).contains(&"indent with spaces".to_owned()));
    let whole = serde_json::to_string(&verify).unwrap();
    assert!(!whole.contains(CANARY), "a builder's words: {whole}");
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_or_late_answer_is_refused_and_names_who_was_first() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    let (_, first) = builder.asks("left?", &["yes", "no"], None).await;
    world.waypoint_when("the question", |w| w.status == Status::Waiting).await;
    ada.does(&world, W, &ada.answer("yes")).await;
    let second = bob.fails(&world, W, &bob.answer("no")).await;
    assert_eq!((second.code, &second.details["by"]), (ActCode::AnswerLate, &"human-ada".into()));
    assert!(second.message.contains("human-ada did `answer`"), "{second:?}");

    builder.asks("right?", &["yes", "no"], None).await;
    world.waypoint_when("the next question", |w| w.status == Status::Waiting).await;
    let mut late = bob.answer("no");
    late.request = Some(first.artifact_id);
    let late = bob.fails(&world, W, &late).await;
    assert_eq!((late.code, &late.details["by"]), (ActCode::AnswerLate, &"human-ada".into()));
    assert_eq!(world.view().await.waypoints[0].status, Status::Waiting, "the other question is still open");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_answers_what_it_can_and_endless_questions_are_held() {
    let world = World::start().await;
    let policy = "policy: {max_clarifications: 2}\nanswers: [{match: indent, option: spaces, rationale: house style}]";
    world.submit(&plan_with(policy)).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (mut turn, mut delivery) = builder.take().await;
    for round in 1..=2 {
        let asked = builder.ask(&turn, "how to indent?", &["tabs", "spaces"], None).await;
        delivery.ack().await.unwrap();
        let (again, next) = builder.take().await;
        let answered = &request(&again).feedback.as_ref().unwrap().clarifications;
        assert_eq!((answered.len(), answered[0].by.as_str()), (round, "policy"));
        assert_eq!(answered[0].option.as_deref(), Some("spaces"));
        let cause = again.record.cause.as_ref().map(|cause| &cause.artifact);
        assert_eq!(cause, Some(&asked.artifact_id), "question, answer and turn are one entry");
        (turn, delivery) = (again, next);
    }
    builder.ask(&turn, "how to indent?", &["tabs", "spaces"], None).await;
    delivery.ack().await.unwrap();
    let held = world.waypoint_when("the end", |w| w.status == Status::Blocked).await;
    assert_eq!((held.reason_code, held.attempts), (Some(ReasonCode::ClarificationExhausted), 0));
    let ada = world.person("human-ada").await;
    let mut retry = ada.retry();
    retry.note = Some("with spaces, as ever".to_owned());
    ada.does(&world, W, &retry).await;
    let (again, _delivery) = builder.take().await;
    assert_eq!(request(&again).feedback.as_ref().unwrap().notes, ["with spaces, as ever"]);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_starts_from_work_in_progress_that_is_sound() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let ada = world.person("human-ada").await;
    let (parent, ..) = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let (grandchild, _, bundle) = world.commit(&builder, parent.as_str(), &[("a", "3\n")]).await;
    builder.asks("go on?", &["yes"], Some(WorkInProgress { commit: grandchild, bundle })).await;
    world.waypoint_when("the question", |w| w.status == Status::Waiting).await;
    ada.does(&world, W, &ada.answer("yes")).await;

    let (commit, _, bundle) = world.commit(&builder, "HEAD", &[("a", "4\n")]).await;
    let work = WorkInProgress { commit: commit.clone(), bundle: bundle.clone() };
    let (turn, _) = builder.asks("and on?", &["yes"], Some(work)).await;
    assert_eq!(request(&turn).start, world.base, "two commits are no work in progress, and no obstacle");
    world.waypoint_when("the next question", |w| w.status == Status::Waiting).await;
    ada.does(&world, W, &ada.answer("yes")).await;
    let (turn, _delivery) = builder.take().await;
    assert_eq!((&request(&turn).start, &request(&turn).base), (&commit, &world.base));
    assert_eq!(request(&turn).bundles.last(), Some(&bundle));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_for_help_is_not_lost_with_the_agent_that_heard_it() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (first, delivery) = builder.take().await;
    builder.hears_help(&first, ">>>HELP<<<").await;
    let going = builder.ask_progress(&first, None).await.unwrap();
    assert!(matches!(going, ProgressAnswer::Continue(_)), "its result follows: {going:?}");
    // It dies: nothing more is heard of it, and who decides knows nothing of it either.
    world.start_orchestrator().await;
    delivery.nak(Duration::ZERO).await.unwrap();
    let (again, _delivery) = builder.take_again().await;
    assert_eq!(again.turn_id, first.turn_id);
    world.waypoint_when("the call", |w| w.status == Status::Waiting).await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.question.as_deref()), (InboxKind::Help, Some(">>>HELP<<<")));
    let stop = builder.ask_progress(&again, None).await.unwrap();
    assert!(matches!(stop, ProgressAnswer::Stop { .. }), "{stop:?}");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verifier_that_calls_for_help_goes_on_with_what_a_person_says() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    let (first, delivery) = verifier.take().await;
    verifier.call_for_help(&first, "HELP: no disk").await;
    delivery.ack().await.unwrap();
    world.waypoint_when("the call", |w| w.status == Status::Waiting).await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.question.as_deref()), (InboxKind::Help, Some("HELP: no disk")));
    let ada = world.person("human-ada").await;
    let mut answer = ada.answer("yes");
    assert_eq!(ada.fails(&world, W, &answer).await.code, ActCode::Invalid, "a call has no options");
    (answer.option, answer.text) = (None, Some("there is one now".to_owned()));
    ada.does(&world, W, &answer).await;
    let again = verifier.judges(Verdict::Pass).await;
    let TurnRequest::Verify(request) = &again.request else { panic!("{again:?}") };
    assert_eq!(request.clarifications[0].text.as_deref(), Some("there is one now"));
    let landed = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(landed.attempts, 1);
    world.is_sound().await;
}
