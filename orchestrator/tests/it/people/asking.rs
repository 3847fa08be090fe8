//! Questions that wait in their turn, with a broker: who hears of the answer, and what becomes of the turn.

use std::time::Duration;

use holdpoint_protocol::{
    api::{Going, InboxKind},
    artifact::ActCode,
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::Status,
    turn::{Turn, TurnRequest},
};

use super::{PLAN, W, constraints, plan_with};
use crate::support::{Agent, SOON, World};

/// Waits until the question is open in its turn.
async fn asked(world: &World) {
    let is_open = |reason: Option<ReasonCode>| reason == Some(ReasonCode::ClarificationOpen);
    world.waypoint_when("the question", |w| w.status == Status::Running && is_open(w.reason_code)).await;
}

/// What an agent hears once there is an answer.
async fn heard(agent: &Agent, turn: &Turn) -> Going {
    let listening = async {
        loop {
            let going = agent.going(turn, 0).await;
            if !going.answers.is_empty() {
                return going;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, listening).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_the_turn_hears_the_answer_and_hands_off_in_the_same_turn() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, delivery) = builder.take().await;
    assert_eq!(builder.going(&turn, 0).await.questions_left, Some(2));
    let question = builder.ask_in_turn(&turn, "tabs or spaces?", &["tabs", "spaces"]).await;
    asked(&world).await;
    assert!(builder.going(&turn, 0).await.answers.is_empty(), "nobody answered");
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, item.round, item.waits_until), (InboxKind::Question, Some(1), question.waits_until));
    assert_eq!(item.question.as_deref(), Some("tabs or spaces?"));

    // Another orchestrator takes the answer, after the one that took the question is gone.
    world.start_orchestrator().await;
    let _second = world.second_orchestrator().await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    assert_eq!(ada.fails(&world, W, &ada.answer("neither")).await.code, ActCode::Invalid);
    let mut answer = ada.answer("spaces");
    answer.request = Some(question.artifact_id.clone());
    answer.updated_constraints = vec!["indent with spaces".to_owned()];
    ada.does(&world, W, &answer).await;
    assert_eq!(bob.fails(&world, W, &bob.answer("tabs")).await.code, ActCode::AnswerLate);

    let going = builder.going(&turn, 0).await;
    let [given] = going.answers.as_slice() else { panic!("{going:?}") };
    assert_eq!((given.words, given.answer.option.as_deref()), (question.words(), Some("spaces")));
    assert_eq!((given.answer.by.as_str(), going.questions_left), ("human-ada", Some(1)));
    assert!(builder.going(&turn, 1).await.answers.is_empty(), "it has it");
    assert!(world.inbox().await.is_empty());

    let TurnRequest::Build(request) = &turn.request else { panic!("{turn:?}") };
    let work = world.commit(&builder, request.base.as_str(), &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, "build_artifact", &artifact).await;
    delivery.ack().await.unwrap();
    let verify = verifier.judges(Verdict::Pass).await;
    assert!(constraints(&verify).contains(&"indent with spaces".to_owned()));
    assert!(!serde_json::to_string(&verify).unwrap().contains("tabs or spaces"), "a builder's words");
    let done = world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
    assert_eq!(done.attempts, 1);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_waited_in_vain_ends_its_turn_and_the_answer_opens_it_again() {
    let world = World::start().await;
    let policy = "policy: {max_clarifications: 2}\nanswers: [{match: indent, option: spaces, rationale: house style}]";
    world.submit(&plan_with(policy)).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    let by_policy = builder.ask_in_turn(&turn, "how to indent?", &["tabs", "spaces"]).await;
    let going = heard(&builder, &turn).await;
    assert_eq!((going.answers[0].words, going.answers[0].answer.by.as_str()), (by_policy.words(), "policy"));

    let question = builder.ask_in_turn(&turn, "left?", &["yes", "no"]).await;
    asked(&world).await;
    builder.end_waiting(&turn, &question).await;
    delivery.ack().await.unwrap();
    world.waypoint_when("the end of the turn", |w| w.status == Status::Waiting).await;
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.round, item.waits_until), (Some(2), None), "one question, counted once");
    let ada = world.person("human-ada").await;
    let mut answer = ada.answer("yes");
    answer.request = Some(question.artifact_id);
    ada.does(&world, W, &answer).await;
    let (again, _) = builder.take().await;
    assert_ne!(again.turn_id, turn.turn_id);
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    let options: Vec<_> =
        request.feedback.as_ref().unwrap().clarifications.iter().filter_map(|one| one.option.clone()).collect();
    assert_eq!(options, ["spaces", "yes"], "what was answered in the turn before, too");

    // A third question is one too many: it cannot wait, and would end the turn.
    assert_eq!(builder.going(&again, 0).await.questions_left, Some(0));
    builder.ask_in_turn(&again, "right?", &[]).await;
    assert!(builder.refusal().await.contains("as the turn's result"));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_withdraws_the_question_that_waits_in_its_turn() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    let question = builder.ask_in_turn(&turn, "left?", &["yes", "no"]).await;
    asked(&world).await;
    let TurnRequest::Build(request) = &turn.request else { panic!("{turn:?}") };
    let work = world.commit(&builder, request.base.as_str(), &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, "build_artifact", &artifact).await;
    delivery.ack().await.unwrap();
    world.waypoint_when("the verification", |w| w.gate.as_ref().is_some_and(|gate| gate.as_str() == "verify")).await;
    assert!(world.inbox().await.is_empty());
    let ada = world.person("human-ada").await;
    let mut late = ada.answer("yes");
    late.request = Some(question.artifact_id);
    let late = ada.fails(&world, W, &late).await;
    assert!(late.code == ActCode::AnswerLate && late.message.contains("withdrawn"), "{late:?}");
    world.is_sound().await;
}
