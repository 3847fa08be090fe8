//! Taking flights in, once.

use holdpoint_bus::api::ApiError;
use holdpoint_core::workflows;
use holdpoint_protocol::{api::SUBMIT, ids::role, view::FlightView};

use crate::support::World;

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_same_submission_is_taken_once_and_another_under_its_flight_is_refused() {
    let mut world = World::start().await;
    let first = world.submission(PLAN, Some(1)).await;
    let begun: FlightView = world.call(SUBMIT, &first).await.unwrap();
    let again: FlightView = world.call(SUBMIT, &first).await.unwrap();
    assert_eq!((&again.flight, &again.base), (&begun.flight, &begun.base));

    let other = world.submission(&PLAN.replace("goal: g", "goal: another"), Some(1)).await;
    let refused = world.call::<_, FlightView>(SUBMIT, &other).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 409), "{refused:?}");

    // Also by an orchestrator that did not take the first.
    world.start_orchestrator().await;
    let again: FlightView = world.call(SUBMIT, &first).await.unwrap();
    assert_eq!(again.waypoints.len(), 1);
    let refused = world.call::<_, FlightView>(SUBMIT, &other).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 409), "{refused:?}");
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    assert_eq!(turn.flight, begun.flight);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_wants_a_network_is_refused_where_verifiers_have_none() {
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_without_network().await;
    let wants = world.submission(&PLAN.replace("plan: p\n", "plan: p\nprepare: make fetch\n"), None).await;
    let refused = world.call::<_, FlightView>(SUBMIT, &wants).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 400);
    assert!(failure.message.contains("prepare") && failure.message.contains("egress"), "{}", failure.message);

    let plain = world.submission(PLAN, None).await;
    let begun: FlightView = world.call(SUBMIT, &plain).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1, "what was refused took nothing up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_breaks_a_rule_is_refused_with_all_its_problems_whatever_sent_it() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, None).await;
    let plan = &mut submit.plan;
    let mut second = plan.waypoints[0].clone();
    second.id = "v".parse().unwrap();
    second.depends_on = vec!["w".parse().unwrap()];
    second.scope = vec!["../x".to_owned()];
    second.criteria[0].check.as_mut().unwrap().expect = Some("(".to_owned());
    plan.waypoints[0].depends_on = vec!["v".parse().unwrap(), "none".parse().unwrap()];
    plan.waypoints.extend([second.clone(), second]);
    plan.budget.cost_usd = Some(20.0);
    plan.workflow = "flyy".to_owned();
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 400);
    for problem in [
        "workflow: unknown workflow `flyy` (did you mean `fly`?)",
        "budget/cost_usd: `cost_usd` is not enforced yet",
        "waypoints/0/depends_on/0: waypoints wait for each other in a circle: w → v → w",
        "waypoints/0/depends_on/1: waypoint `w` depends on `none`",
        "waypoints/1/scope/0: `../x` in `scope` is not a glob",
        "waypoints/1/criteria/0/expect: `expect` is not a regular expression",
        "waypoints/2/id: there are two waypoints with the id `v`",
    ] {
        assert!(failure.message.contains(problem), "{problem} in {}", failure.message);
    }

    let plain = world.submission(PLAN, None).await;
    let begun: FlightView = world.call(SUBMIT, &plain).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1, "what was refused took nothing up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_sent_along_has_a_name_of_its_own() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, None).await;
    let mut workflow = workflows::built_in("fly-approved").unwrap();
    submit.workflows = vec![workflow.clone()];
    workflow.name = "mine".to_owned();
    for workflows in [submit.workflows.clone(), vec![workflow.clone(), workflow.clone()]] {
        submit.workflows = workflows;
        let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
        let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
        assert!(failure.code == 400 && failure.message.contains("another name"), "{failure:?}");
    }
    submit.workflows = vec![workflow];
    let begun: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1);
}
