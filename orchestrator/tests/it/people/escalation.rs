//! Gates that nobody completes in time (GATE-15), with real time and real keys.

use std::time::Duration;

use holdpoint_protocol::{
    api::SUBMIT,
    artifact::ActCode,
    reason::ReasonCode,
    state::Status,
    time::Millis,
    view::{FlightStatus, FlightView, WaypointView},
    workflow::{GateSpec, WorkflowSpec},
};
use holdpoint_runtime::clock;

use super::{PLAN, W};
use crate::support::{SOON, World};

/// How long the gate waits for its people.
const TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_passes_while_no_orchestrator_runs_escalates_once() {
    let mut world = World::start().await;
    let mut submit = world.submission(PLAN, Some(1)).await;
    submit.plan.workflow = "signed".to_owned();
    let sign = GateSpec {
        require_human: true,
        people: vec!["human-ann".parse().unwrap()],
        timeout: Some(Millis(u64::try_from(TIMEOUT.as_millis()).unwrap())),
        escalate_to: Some("lead".parse().unwrap()),
        escalation_people: vec!["human-bob".parse().unwrap()],
        ..GateSpec::new("sign".parse().unwrap(), "signer".parse().unwrap())
    };
    submit.workflows = vec![WorkflowSpec::new("signed", [sign])];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let (ann, bob) = (world.person("human-ann").await, world.person("human-bob").await);
    let waits_for = |role: &'static str| {
        move |w: &WaypointView| {
            w.status == Status::Waiting && w.turn.as_ref().is_some_and(|turn| turn.role.as_str() == role)
        }
    };
    let opened = world.waypoint_when("the signer's turn", waits_for("signer")).await;
    let deadline = opened.turn.unwrap().deadline;
    world.stop_orchestrator();
    let passed = async {
        while clock::now() <= deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, passed).await.unwrap();
    world.start_orchestrator().await;
    let escalated = world.waypoint_when("the lead's turn", waits_for("lead")).await;
    assert_eq!(escalated.reason_code, Some(ReasonCode::GateTimeout));
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
