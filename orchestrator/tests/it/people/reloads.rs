//! Flights that go on by other workflows than they were submitted with (GATE-12).

use holdpoint_bus::handoffs::ShowJwt;
use holdpoint_protocol::{
    api::{ActStanding, SUBMIT},
    artifact::ActCode,
    ids::role,
    reason::ReasonCode,
    state::Status,
    time::Millis,
    view::{FlightStatus, FlightView, WaypointView},
    workflow::{GateSpec, WorkflowSpec},
};

use super::{PLAN, W};
use crate::support::World;

/// A gate that a person completes.
fn gate(name: &str, role: &str) -> GateSpec {
    let gate = GateSpec::new(name.parse().unwrap(), role.parse().unwrap());
    GateSpec { require_human: true, timeout: Some(Millis(3_600_000)), ..gate }
}

fn declared(gates: impl IntoIterator<Item = GateSpec>) -> WorkflowSpec {
    WorkflowSpec::new("signed", gates)
}

async fn submit(world: &World, workflow: WorkflowSpec) {
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
}

fn stands_in(gate: &'static str, role: &'static str) -> impl Fn(&WaypointView) -> bool {
    move |w: &WaypointView| {
        w.status == Status::Waiting
            && w.gate.as_ref().is_some_and(|there| there.as_str() == gate)
            && w.turn.as_ref().is_some_and(|turn| turn.role.as_str() == role)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_moves_running_work_and_survives_a_crash() {
    let mut world = World::start().await;
    submit(&world, declared([gate("read", "lead"), gate("sign", "lead")])).await;
    let ada = world.person("human-ada").await;
    world.waypoint_when("the first gate", stands_in("read", "lead")).await;
    ada.does(&world, W, &ada.approve()).await;
    world.waypoint_when("the second gate", stands_in("sign", "lead")).await;

    ada.does(&world, None, &ada.reload(&[declared([gate("read", "lead"), gate("sign", "po")])])).await;
    let rerouted = world.waypoint_when("the other role", stands_in("sign", "po")).await;
    assert_eq!(rerouted.reason_code, Some(ReasonCode::Reconfigured));
    assert!(rerouted.remediation.unwrap().contains("holdpoint approve w"));

    world.crash_orchestrator();
    world.start_orchestrator().await;
    let later = declared([gate("first", "lead"), gate("read", "lead")]);
    ada.does(&world, None, &ada.reload(&[later])).await;
    world.waypoint_when("the gate before it", stands_in("read", "lead")).await;
    ada.does(&world, W, &ada.approve()).await;
    let view = world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    let gates: Vec<&str> = view.workflows[0].gates.iter().map(|gate| gate.gate.as_str()).collect();
    assert_eq!(gates, ["first", "read"], "the work passed over the gate that was added");
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsound_reload_and_one_of_a_script_that_takes_a_guard_away_change_nothing() {
    let world = World::start().await;
    submit(&world, declared([gate("read", "lead"), gate("sign", "lead")])).await;
    let (ada, script) = (world.person("human-ada").await, world.person("script-1").await);
    world.waypoint_when("the first gate", stands_in("read", "lead")).await;
    let digest = world.view().await.workflows[0].digest;

    let agents = GateSpec::new("read".parse().unwrap(), "nobody".parse().unwrap());
    let unsound = [declared([]), declared([gate("read", role::BUILDER)]), declared([agents, gate("sign", "lead")])];
    for workflow in unsound {
        let refused = ada.fails(&world, None, &ada.reload(&[workflow])).await;
        assert_eq!(refused.code, ActCode::Invalid, "{refused:?}");
    }
    let refused = script.fails(&world, None, &script.reload(&[declared([gate("read", "lead")])])).await;
    assert_eq!(refused.code, ActCode::HumanRequired);
    assert!(refused.message.contains("removes gate sign"), "{}", refused.message);
    let refused = ada.fails(&world, W, &ada.reload(&[declared([gate("read", "lead")])])).await;
    assert_eq!(refused.code, ActCode::Invalid, "a waypoint is not reloaded");
    assert_eq!(world.view().await.workflows[0].digest, digest);

    let more = declared([gate("read", "lead"), gate("sign", "lead"), gate("file", "lead")]);
    script.does(&world, None, &script.reload(&[more])).await;
    assert_ne!(world.view().await.workflows[0].digest, digest);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_was_refused_before_a_reload_stays_refused_when_it_comes_again_and_could_be_taken() {
    let by = |person: &str| GateSpec { people: vec![person.parse().unwrap()], ..gate("read", "lead") };
    let mut world = World::start().await;
    submit(&world, declared([by("human-ada"), gate("sign", "lead")])).await;
    let (ada, bob) = (world.person("human-ada").await, world.person("human-bob").await);
    world.waypoint_when("the first gate", stands_in("read", "lead")).await;
    let early = bob.store(&world, W, &bob.approve(), ShowJwt::Yes).await;
    assert!(matches!(world.standing(W, early).await, ActStanding::Refused(_)));
    ada.does(&world, None, &ada.reload(&[declared([by("human-bob"), gate("sign", "lead")])])).await;

    Box::pin(world.acts_come_again()).await;
    let ActStanding::Refused(refused) = world.standing(W, early).await else { panic!("it was taken") };
    assert_eq!(refused.code, ActCode::AnswerLate, "{refused:?}");
    bob.does(&world, W, &bob.approve()).await;
    world.waypoint_when("the second gate", stands_in("sign", "lead")).await;
    world.is_sound().await;
}
