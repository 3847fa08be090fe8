//! Roles that the org chart binds to the agents whom it names (GATE-2, GATE-13).

use holdpoint_protocol::{
    api::{ProgressAnswer, SUBMIT},
    artifact::{Artifact as _, Completion},
    ids::RoleId,
    refusal::{RefusalAction, RefusalCode},
    state::Outcome,
    view::{FlightStatus, FlightView},
    workflow::{GateSpec, WorkflowSpec},
};

use crate::support::World;

const PLAN: &str = r#"
plan: bound
waypoints:
  - {id: w, goal: write it, criteria: [{id: c, check: "true"}]}
"#;

/// A writer drafts: one of these.
fn drafted_by(agents: &[&str]) -> WorkflowSpec {
    let writer: RoleId = "writer".parse().unwrap();
    let gates = ["draft", "proof"].map(|id| GateSpec::new(id.parse().unwrap(), writer.clone()));
    let listed = [(writer, agents.iter().map(|name| name.parse().unwrap()).collect())].into();
    WorkflowSpec { listed, ..WorkflowSpec::new("bound", gates) }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_listed_gives_its_turn_back_and_is_refused_until_a_reload_names_it() {
    let world = World::with_role(&"writer".parse().unwrap()).await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "bound".to_owned();
    submit.workflows = vec![drafted_by(&["writer-1"])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();

    let mut stray = world.agent("writer", "stray").await;
    let (turn, delivery) = stray.take().await;
    let asked = stray.ask_progress(&turn, None).await.unwrap();
    let ProgressAnswer::Stop { reason, give_back: true } = asked else { panic!("{asked:?}") };
    assert!(
        reason.contains("names writer-1 for role writer, and not stray") && reason.contains("org reload"),
        "{reason}"
    );
    let draft = stray.completed(&turn, Some(Outcome::Complete));
    stray.hand_off(&turn, Completion::KIND, &draft).await;
    let refused = stray.refused().await;
    assert_eq!((refused.code, refused.action), (RefusalCode::NotListed, RefusalAction::Drop), "{refused:?}");
    assert!(refused.error.contains("role writer") && refused.error.contains("org.yaml"), "{}", refused.error);

    let ada = world.person("human-ada").await;
    ada.does(&world, None, &ada.reload(&[drafted_by(&["stray"])])).await;
    let asked = stray.ask_progress(&turn, None).await.unwrap();
    assert!(matches!(asked, ProgressAnswer::Continue(_)), "the turn is open, and it is named now: {asked:?}");
    stray.hand_off(&turn, Completion::KIND, &draft).await;
    delivery.ack().await.unwrap();

    // The next turn is by the new chart alone.
    let mut first = world.agent("writer", "writer-1").await;
    let (turn, delivery) = first.take().await;
    assert_eq!(turn.gate.as_str(), "proof");
    let asked = first.ask_progress(&turn, None).await.unwrap();
    assert!(matches!(asked, ProgressAnswer::Stop { give_back: true, .. }), "{asked:?}");
    delivery.pass_on(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(stray.completes(|_| {}).await.gate.as_str(), "proof");
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_an_unlisted_key_keeps_is_a_listed_agents_once_a_person_takes_it_away() {
    let world = World::with_role(&"writer".parse().unwrap()).await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "bound".to_owned();
    submit.workflows = vec![drafted_by(&["writer-1"])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();

    // It takes the turn off the queue for good: the broker never delivers it again.
    let mut thief = world.agent("writer", "thief").await;
    let (kept, delivery) = thief.take().await;
    delivery.ack().await.unwrap();
    let mut first = world.agent("writer", "writer-1").await;
    assert!(!first.is_offered_anything().await);

    let ada = world.person("human-ada").await;
    ada.does(&world, Some("w"), &ada.take()).await;
    ada.does(&world, Some("w"), &ada.release()).await;
    let (turn, delivery) = first.take().await;
    assert_ne!(turn.turn_id, kept.turn_id, "it is open again under another id");
    first.hand_off(&turn, Completion::KIND, &first.completed(&turn, Some(Outcome::Complete))).await;
    delivery.ack().await.unwrap();
    thief.hand_off(&kept, Completion::KIND, &thief.completed(&kept, Some(Outcome::Complete))).await;
    assert_eq!(thief.refused().await.code, RefusalCode::TurnNotOpen);

    assert_eq!(first.completes(|_| {}).await.gate.as_str(), "proof");
    let view = world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    let waypoint = view.waypoints.first().unwrap();
    assert_eq!((waypoint.attempts, waypoint.sent_back), (0, 0), "{waypoint:?}");
    world.is_sound().await;
}
