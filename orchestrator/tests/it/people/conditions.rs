//! Conditions of gates, evaluated by the real helper while a flight is under way.

use holdpoint_protocol::{
    api::SUBMIT,
    reason::ReasonCode,
    state::Status,
    time::Millis,
    view::{FlightStatus, FlightView},
    workflow::{GateSpec, WorkflowSpec},
};

use super::{PLAN, W};
use crate::{landings, support::World};

fn people(id: &str, when: Option<&str>) -> GateSpec {
    GateSpec {
        require_human: true,
        timeout: Some(Millis(600_000)),
        when: when.map(str::to_owned),
        ..GateSpec::new(id.parse().unwrap(), "approver".parse().unwrap())
    }
}

async fn submit(world: &World, gates: impl IntoIterator<Item = GateSpec>) {
    let mut submit = world.submission(PLAN, Some(1)).await;
    let waypoint = &mut submit.plan.waypoints[0];
    waypoint.tags = vec!["legal".to_owned()];
    waypoint.metadata = [("dealSize".to_owned(), 80_000.into())].into();
    submit.plan.workflow = "sales".to_owned();
    submit.workflows = vec![WorkflowSpec::new("sales", gates)];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_passes_over_gates_by_their_conditions_and_the_account_stays_sound() {
    let mut world = World::start().await;
    let gates = [
        people("small", Some("metadata.dealSize < 50000")),
        people("draft", Some("metadata.dealSize >= 50000")),
        people("news", Some("tags.includes('news')")),
        people(
            "legal",
            Some("tags.includes('legal') && gateHistory.some(v => v.gate === 'news' && v.outcome === 'skip')"),
        ),
    ];
    submit(&world, gates).await;
    let ada = world.person("human-ada").await;
    for gate in ["draft", "legal"] {
        let there = |w: &holdpoint_protocol::view::WaypointView| {
            w.status == Status::Waiting && w.gate.as_ref().is_some_and(|at| at.as_str() == gate)
        };
        world.waypoint_when(gate, there).await;
        // Another orchestrator decides by what was recorded.
        world.start_orchestrator().await;
        ada.does(&world, W, &ada.approve()).await;
    }
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_never_ends_holds_a_gate_for_people_and_harms_nobody_else() {
    let world = World::start().await;
    let gates = [people("draft", None), people("sign", Some("(() => { for (;;) {} })()"))];
    submit(&world, gates).await;
    let ada = world.person("human-ada").await;
    world.waypoint_when("the draft", |w| w.status == Status::Waiting).await;
    ada.does(&world, W, &ada.approve()).await;
    let held = world.waypoint_when("the hold", |w| w.status == Status::Blocked).await;
    assert_eq!(held.reason_code, Some(ReasonCode::ConditionFailed));
    assert!(held.remediation.is_some_and(|text| text.contains("100 ms") && text.contains("gate sign")));
    ada.does(&world, W, &ada.retry()).await;
    world.waypoint_when("the signature", |w| w.status == Status::Waiting).await;
    ada.does(&world, W, &ada.approve()).await;
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_no_condition_lets_in_is_blocked() {
    let world = World::start().await;
    submit(&world, [people("news", Some("tags.includes('news')")), people("odd", Some("metadata.no.such.thing"))])
        .await;
    // A condition of a gate for people that throws holds the work there.
    let held = world.waypoint_when("the hold", |w| w.status == Status::Blocked).await;
    assert_eq!(held.reason_code, Some(ReasonCode::ConditionFailed));
    let world = World::start().await;
    submit(&world, [people("news", Some("tags.includes('news')"))]).await;
    let held = world.waypoint_when("the hold", |w| w.status == Status::Blocked).await;
    assert_eq!(held.reason_code, Some(ReasonCode::GatesSkipped));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_whose_condition_cannot_be_evaluated_now_holds_up_no_other_work_of_its_flight() {
    let mut world = World::start().await;
    world.start_orchestrator_without_helper().await;
    let mut submit = world.submission(&landings::plan(2), None).await;
    submit.plan.workflow = "conditional".to_owned();
    submit.plan.waypoints[1].workflow = Some("plain".to_owned());
    submit.workflows = vec![
        WorkflowSpec::new("conditional", [people("sign", Some("tags.includes('legal')"))]),
        WorkflowSpec::new("plain", [people("sign", None)]),
    ];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let opened = |view: &FlightView| view.waypoints[1].status == Status::Waiting && !view.trouble.is_empty();
    let view = world.view_when("the other work", opened).await;
    assert_eq!(view.waypoints[0].status, Status::Pending);
    let [trouble] = &view.trouble[..] else { panic!("{:?}", view.trouble) };
    assert_eq!(trouble.waypoint, Some(view.waypoints[0].id.clone()));
    assert!(trouble.message.contains("the condition of gate sign"), "{trouble:?}");
    world.start_orchestrator().await;
    world.view_when("the end of the trouble", |view| view.waypoints[0].status != Status::Pending).await;
}
