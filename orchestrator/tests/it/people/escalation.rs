//! Gates that nobody completes in time (GATE-15), with real time and real keys.

use std::time::Duration;

use holdpoint_bus::handoffs::ShowJwt;
use holdpoint_protocol::{
    api::{ActStanding, InboxKind, SUBMIT},
    artifact::{ActCode, Artifact as _, BuildArtifact, Verb},
    facts::Verdict,
    ids::{RoleId, role},
    journal::Entry,
    reason::ReasonCode,
    state::{Purpose, Status},
    time::Millis,
    view::{FlightStatus, FlightView, TurnView, WaypointView},
    workflow::{Escalation, GateSpec, WorkflowSpec},
};
use holdpoint_runtime::{clock, config::Config};

use super::{PLAN, W, passes};
use crate::{
    floods::hopeless,
    support::{World, log},
};

/// How long each of a gate's people have.
const TIMEOUT: Duration = Duration::from_secs(2);

fn to_people(name: &str, person: &str) -> Escalation {
    let role: RoleId = name.parse().unwrap();
    Escalation { people: vec![person.parse().unwrap()], ..Escalation::from(role) }
}

fn timeout() -> Option<Millis> {
    Some(Millis(u64::try_from(TIMEOUT.as_millis()).unwrap()))
}

fn is_turn_of(role: &'static str) -> impl Fn(&WaypointView) -> bool {
    move |w| w.turn.as_ref().is_some_and(|turn| turn.role.as_str() == role)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_passes_while_no_orchestrator_runs_escalates_once() {
    log::keep();
    let mut world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    let sign = GateSpec {
        require_human: true,
        people: vec!["human-ann".parse().unwrap()],
        timeout: timeout(),
        escalations: vec![to_people("lead", "human-bob")],
        ..GateSpec::new("sign".parse().unwrap(), "signer".parse().unwrap())
    };
    submit.workflows = vec![WorkflowSpec::new("signed", [sign])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let (ann, bob) = (world.person("human-ann").await, world.person("human-bob").await);
    let opened = world.waypoint_when("the signer's turn", is_turn_of("signer")).await;
    let TurnView { turn, deadline, .. } = opened.turn.unwrap();
    world.stop_orchestrator();
    passes(deadline).await;
    world.start_orchestrator().await;
    let escalated = world.waypoint_when("the lead's turn", is_turn_of("lead")).await;
    assert_eq!((escalated.status, escalated.reason_code), (Status::Waiting, Some(ReasonCode::GateTimeout)));
    log::line_with(&["a turn was not answered in time", turn.as_str(), "gate=sign"]).await;
    assert!(
        escalated.remediation.is_some_and(|text| text.contains("nobody of role signer completed gate sign in time"))
    );
    let refused = ann.fails(&world, W, &ann.approve()).await;
    assert_eq!(refused.code, ActCode::NotAllowed);
    assert!(refused.message.contains("human-bob may, because nobody did in time"), "{}", refused.message);
    bob.does(&world, W, &bob.approve()).await;
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_in_time_counts_when_an_orchestrator_looks_after_the_deadline() {
    let mut world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    let sign = GateSpec {
        require_human: true,
        timeout: timeout(),
        ..GateSpec::new("sign".parse().unwrap(), "signer".parse().unwrap())
    };
    submit.workflows = vec![WorkflowSpec::new("signed", [sign])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let ann = world.person("human-ann").await;
    let opened = world.waypoint_when("the signer's turn", is_turn_of("signer")).await;
    let deadline = opened.turn.unwrap().deadline;
    world.stop_orchestrator();
    let sequence = ann.store(&world, W, &ann.approve(), ShowJwt::Yes).await;
    assert!(clock::now() < deadline, "stored in time");
    passes(deadline).await;
    world.start_orchestrator().await;
    assert_eq!(world.standing(W, sequence).await, ActStanding::Taken);
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

/// An answer that lacks a blob is not acknowledged before `blob_wait`, which is minutes.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_can_take_holds_up_its_deadline_for_a_moment_only() {
    let mut world = World::start().await;
    let quick = |config: &mut Config| config.orchestrator.handoff_ack_wait = "2s".parse().unwrap();
    world.start_orchestrator_with(quick).await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, delivery) = builder.take().await;
    delivery.ack().await.unwrap();
    world.stop_orchestrator();
    let deadline = world.forge_deadline(&turn.waypoint, TIMEOUT).await;
    let opened = world.journalled(&turn.waypoint, |entry| matches!(entry, Entry::Turn(_))).await;
    let Entry::Turn(turn) = opened else { panic!("{opened:?}") };
    builder.plan(&turn, 1).await;
    let artifact = hopeless(&builder, &turn);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(clock::now() < deadline, "stored in time");
    passes(deadline).await;
    world.start_orchestrator_with(quick).await;
    let is_next = |entry: &Entry| matches!(entry, Entry::Turn(next) if next.turn_id != turn.turn_id);
    world.journalled(&turn.waypoint, is_next).await;
}

/// As one that a long command starts for itself, next to the fleet's.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_passes_on_time_whichever_orchestrator_opened_the_turn() {
    let world = World::start().await;
    let mut answering = Vec::new();
    for n in 0..3 {
        answering.push(world.orchestrator_for_nobody(n).await);
    }
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    let build = GateSpec::new("build".parse().unwrap(), role::id(role::BUILDER));
    let verify = GateSpec { can_reject: true, ..GateSpec::new("verify".parse().unwrap(), role::id(role::VERIFIER)) };
    let sign = |name: &str| GateSpec {
        require_human: true,
        timeout: timeout(),
        ..GateSpec::new(name.parse().unwrap(), "signer".parse().unwrap())
    };
    submit.workflows = vec![WorkflowSpec::new("signed", [build, verify, sign("sign")])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    verifier.judges(Verdict::Pass).await;
    let w = "w".parse().unwrap();
    world.journalled(&w, |entry| matches!(entry, Entry::Turn(turn) if turn.role.as_str() == "signer")).await;
    let ended = world.journalled(&w, |entry| matches!(entry, Entry::Decided(_))).await;
    assert!(matches!(ended, Entry::Decided(decided) if decided.decision.reason_code == ReasonCode::GateTimeout));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_goes_through_its_roles_as_time_passes_and_ends_with_the_work_held() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    let sign = GateSpec {
        require_human: true,
        timeout: timeout(),
        escalations: vec![to_people("lead", "human-bob"), to_people("director", "human-eve")],
        ..GateSpec::new("sign".parse().unwrap(), "signer".parse().unwrap())
    };
    submit.workflows = vec![WorkflowSpec::new("signed", [sign])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let ann = world.person("human-ann").await;
    for role in ["signer", "lead", "director"] {
        world.waypoint_when(role, is_turn_of(role)).await;
    }
    let held = world.waypoint_when("the end of the chain", |w| w.status == Status::Blocked).await;
    assert_eq!(held.reason_code, Some(ReasonCode::GateTimeout));
    let text = held.remediation.unwrap();
    assert!(text.contains("of the roles signer, lead, director"), "{text}");
    ann.does(&world, W, &ann.retry()).await;
    world.waypoint_when("the signer's turn again", is_turn_of("signer")).await;
    ann.does(&world, W, &ann.cancel()).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_makers_turn_that_nobody_answered_waits_for_the_people_of_its_chain_and_their_work_lands() {
    let mut world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "led".to_owned();
    let gate = |id: &str, role_name: &'static str| GateSpec::new(id.parse().unwrap(), role::id(role_name));
    let build = GateSpec { escalations: vec![to_people("lead", "human-ada")], ..gate("build", role::BUILDER) };
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    let sign = GateSpec { require_human: true, timeout: Some(Millis(3_600_000)), ..gate("sign", "signer") };
    submit.workflows = vec![WorkflowSpec::new("led", [build, verify, sign])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    let (turn, delivery) = builder.take().await;
    delivery.ack().await.unwrap();
    world.stop_orchestrator();
    let deadline = world.forge_deadline(&turn.waypoint, TIMEOUT).await;
    passes(deadline).await;
    world.start_orchestrator().await;
    let open = world.waypoint_when("the lead's turn", is_turn_of("lead")).await;
    assert_eq!((open.status, open.reason_code), (Status::Waiting, Some(ReasonCode::GateTimeout)));
    let item = world.inbox().await.pop().unwrap();
    assert_eq!((item.kind, &item.actions[..]), (InboxKind::Turn, &[Verb::Take, Verb::Cancel][..]));
    let refused = bob.fails(&world, W, &bob.take()).await;
    assert!(refused.code == ActCode::NotAllowed && refused.message.contains("human-ada may"), "{refused:?}");
    ada.does(&world, W, &ada.take()).await;
    let handed = ada.hand_in(&world, world.base.as_str(), &[("a", "ada\n")]).await;
    ada.does(&world, W, &handed).await;
    verifier.judges(Verdict::Pass).await;
    world.waypoint_when("the approval", is_turn_of("signer")).await;
    assert_eq!(ada.fails(&world, W, &ada.approve()).await.code, ActCode::NotAllowed, "who made it cannot approve it");
    bob.does(&world, W, &bob.approve()).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete && w.commit.is_some()).await;
    assert!(matches!(open.turn.unwrap().purpose, Purpose::Build));
}
