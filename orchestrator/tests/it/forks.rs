//! Votes in a fork, by an agent that tries to have two of them (GATE-29).

use std::time::Duration;

use holdpoint_protocol::{
    api::{ProgressAnswer, SUBMIT},
    artifact::{Artifact as _, Completion},
    completing::CompleteAnswer,
    ids::RoleId,
    refusal::{RefusalAction, RefusalCode},
    state::Outcome,
    view::{BranchStatus, FlightStatus, FlightView, WaypointView},
    workflow::{ForkKind, ForkSpec, GateOrFork, GateSpec, JoinStrategy, WorkflowSpec},
};

use crate::support::{Agent, World};

const PLAN: &str = r#"
plan: judged
waypoints:
  - {id: w, goal: write it, criteria: [{id: c, check: "true"}]}
"#;

/// A flight whose one waypoint is in a fork of two branches of the same role; an agent of it wrote the draft.
async fn in_a_fork() -> (World, Agent) {
    let writer: RoleId = "writer".parse().unwrap();
    let world = World::with_role(&writer).await;
    let gate = |id: &str, can_reject| GateSpec { can_reject, ..GateSpec::new(id.parse().unwrap(), writer.clone()) };
    let panel = ForkSpec {
        id: "panel".parse().unwrap(),
        kind: ForkKind::Fork,
        description: None,
        branches: vec![gate("first", true), gate("second", true)],
        join_strategy: JoinStrategy::All,
        when: None,
        metadata: [].into(),
    };
    let mut workflow = WorkflowSpec::new("judged", [gate("draft", false)]);
    workflow.gates.push(GateOrFork::Fork(panel));
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow.clone_from(&workflow.name);
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut author = world.agent("writer", "author").await;
    assert_eq!(author.completes(|_| {}).await.gate.as_str(), "draft");
    (world, author)
}

/// Who voted in the fork, and for what.
async fn votes(world: &World) -> Vec<(String, Outcome)> {
    let view = world.waypoint_when("the fork", |view| view.gate.as_ref().is_some_and(|gate| gate.as_str() == "panel"));
    let votes = view.await.branches.into_iter().filter_map(|branch| Some((branch.by?.to_string(), branch.outcome?)));
    votes.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_has_the_turns_of_two_branches_votes_once_and_the_fork_waits_for_another() {
    let (world, mut author) = Box::pin(in_a_fork()).await;
    let mut greedy = world.agent("writer", "greedy").await;
    let ((first, delivery), (second, kept)) = (greedy.take().await, greedy.take().await);
    let mut gates = [first.gate.as_str(), second.gate.as_str()];
    gates.sort_unstable();
    assert_eq!(gates, ["first", "second"], "it has both");

    greedy.hand_off(&first, Completion::KIND, &greedy.completed(&first, Some(Outcome::Complete))).await;
    delivery.ack().await.unwrap();
    let voted = |view: &WaypointView| view.branches.iter().any(|branch| branch.standing == BranchStatus::Voted);
    let before = world.waypoint_when("the first vote", voted).await;
    let again = greedy.completed(&second, Some(Outcome::Complete));
    greedy.hand_off(&second, Completion::KIND, &again).await;
    let refused = greedy.refused().await;
    assert_eq!((refused.code, refused.action), (RefusalCode::AlreadyVoted, RefusalAction::Drop), "{refused:?}");
    assert!(refused.error.contains("greedy voted in this fork already"), "{}", refused.error);
    let after = world.waypoint_when("the same", |_| true).await;
    assert_eq!((&after.branches, &after.gate), (&before.branches, &before.gate), "nothing moved");
    assert_eq!(votes(&world).await, [("greedy".to_owned(), Outcome::Complete)]);

    let asked = greedy.ask_progress(&second, None).await.unwrap();
    let ProgressAnswer::Stop { reason, give_back: true } = asked else { panic!("{asked:?}") };
    assert!(reason.contains("you voted in this fork already"), "{reason}");
    kept.pass_on(Duration::ZERO).await.unwrap();
    assert_eq!(author.completes(|_| {}).await.turn_id, second.turn_id);
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_words_for_two_branches_are_one_vote_by_message_and_by_request() {
    let (world, mut author) = Box::pin(in_a_fork()).await;
    let mut greedy = world.agent("writer", "greedy").await;
    let ((first, delivery), (second, kept)) = (greedy.take().await, greedy.take().await);
    let vote = greedy.completed(&first, Some(Outcome::Complete));
    let taken = greedy.complete_by_request(&first, &vote).await.unwrap();
    assert!(matches!(taken, CompleteAnswer::Taken(_)), "{taken:?}");
    delivery.ack().await.unwrap();

    // Stored once more: it is known, and counts for no other branch.
    greedy.hand_off(&first, Completion::KIND, &vote).await;
    let moved = Completion { turn: Some(second.turn_id.clone()), ..vote };
    greedy.hand_off(&second, Completion::KIND, &moved).await;
    let refused = greedy.refused().await;
    assert_eq!(refused.code, RefusalCode::AlreadyVoted, "{refused:?}");
    let refused = greedy.complete_by_request(&second, &moved).await.unwrap();
    assert!(
        matches!(&refused, CompleteAnswer::Refused(refused) if refused.code == RefusalCode::AlreadyVoted.as_str()),
        "{refused:?}"
    );
    assert_eq!(votes(&world).await, [("greedy".to_owned(), Outcome::Complete)]);

    kept.pass_on(Duration::ZERO).await.unwrap();
    assert_eq!(author.completes(|_| {}).await.turn_id, second.turn_id);
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}
