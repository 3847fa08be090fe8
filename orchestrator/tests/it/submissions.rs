//! Taking flights in, once.

use holdpoint_bus::api::ApiError;
use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    Digest,
    api::{STATUS, SUBMIT, StatusQuery},
    ids::role,
    pages,
    view::FlightView,
    workflow::GateOrFork,
};

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
async fn a_snapshot_that_cannot_be_looked_at_now_is_nobodys_fault_and_is_taken_later() {
    let world = World::start().await;
    let submit = world.submission(PLAN, None).await;
    let mirrors = world.path("orchestrator/mirrors");
    std::fs::create_dir_all(mirrors.parent().unwrap()).unwrap();
    std::fs::write(&mirrors, "in the way").unwrap();
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert!(failure.code == 503 && failure.message.contains("submit it again"), "{failure:?}");
    std::fs::remove_file(&mirrors).unwrap();
    let begun: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_is_not_stored_is_refused() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, None).await;
    submit.snapshot.blob.digest = Digest::of(b"nothing");
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert!(failure.code == 400 && failure.message.contains("no blob"), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_wants_a_network_is_refused_where_verifiers_have_none() {
    let mut world = World::of_a_fleet().await;
    world.start_orchestrator_without_network().await;
    let wants = world
        .submission(&PLAN.replace("plan: p\n", "plan: p\nenvironment: {setup: make fetch, inputs: [Makefile]}\n"), None)
        .await;
    let refused = world.call::<_, FlightView>(SUBMIT, &wants).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 400);
    assert!(failure.message.contains("environment") && failure.message.contains("egress"), "{}", failure.message);

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
    second.title = "x\n\nHoldpoint-Report: sha256:00".to_owned();
    second.scope = vec!["../x".to_owned()];
    second.criteria[0].check.as_mut().unwrap().expect = Some("(".to_owned());
    plan.waypoints[0].depends_on = vec!["v".parse().unwrap(), "none".parse().unwrap()];
    plan.waypoints.extend([second.clone(), second]);
    plan.budget.cost_usd = Some(0.0);
    plan.workflow = "flyy".to_owned();
    submit.covenant = "../AGENTS.md".to_owned();
    submit.fleet.parallel = Some(1 << 31);
    submit.fleet.build_wall.0 = 1 << 60;
    let mut spoken = workflows::built_in("fly-approved").unwrap();
    spoken.name = "spoken".to_owned();
    spoken.description = Some("x".repeat(5 << 10));
    submit.workflows = vec![spoken];
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 400);
    for problem in [
        "workflows/0/description: `description` is longer than 4 KiB",
        "covenant: `../AGENTS.md` is not a path inside the repository",
        "fleet/parallel: `parallel: 2147483648` is not",
        "fleet/build_wall: `build_wall: 1152921504606846976ms` is not a duration",
        "workflow: unknown workflow `flyy` (did you mean `fly`?)",
        "budget/cost_usd: `cost_usd: 0` is not an amount above zero",
        "waypoints/0/depends_on/0: waypoints wait for each other in a circle: w → v → w",
        "waypoints/0/depends_on/1: waypoint `w` depends on `none`",
        "waypoints/1/title: `title` has a character that cannot be seen: `\\n`",
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
    let twice = vec![workflow.clone(), workflow.clone()];
    for (workflows, hint) in [(submit.workflows.clone(), "another name"), (twice, "its own name")] {
        submit.workflows = workflows;
        let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
        let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
        assert!(failure.code == 400 && failure.message.contains(hint), "{failure:?}");
    }
    submit.workflows = vec![workflow];
    let begun: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    assert_eq!(begun.waypoints.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_cannot_be_flown_is_refused_by_name() {
    let world = World::start().await;
    let mut submit = world.submission(PLAN, None).await;
    let mut workflow = workflows::built_in("fly-approved").unwrap();
    workflow.name = "mine".to_owned();
    let Some(GateOrFork::Gate(verify)) = workflow.gates.get_mut(1) else { panic!("its second gate verifies") };
    verify.escalations = vec![role::id(role::REPAIR).into()];
    submit.plan.workflow = "mine".to_owned();
    submit.workflows = vec![workflow];
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    let ApiError::Refused { failure, .. } = &refused else { panic!("{refused:?}") };
    let named =
        "workflow mine cannot be flown: gate verify judges work, and escalates to people only: role repair has none";
    assert!(failure.code == 400 && failure.message == named, "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_a_plan_of_thousands_with_long_texts_comes_whole_in_pages() {
    const WAYPOINTS: usize = 3_000;
    let world = World::start().await;
    let mut plan = "plan: p\nwaypoints:\n".to_owned();
    for n in 0..WAYPOINTS {
        // A quotation mark is two bytes in JSON.
        let title = "\"".repeat(500) + &"t".repeat(400);
        plan.push_str(&format!(
            "  - {{id: w{n}, title: '{title}', goal: g, criteria: [{{id: c, statement: s, check: 'true'}}]}}\n"
        ));
    }
    let submit = world.submission(&plan, Some(1)).await;
    let begun: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let short = |page: &FlightView| serde_json::to_vec(page).unwrap().len() <= pages::PAGE_LEN;
    assert!(short(&begun) && begun.next.is_some(), "{} waypoints in the first answer", begun.waypoints.len());

    let pages = world.view_pages().await;
    assert!(pages.len() > 4 && pages.iter().all(short), "{} pages", pages.len());
    let ids: Vec<String> = pages.iter().flat_map(|page| &page.waypoints).map(|w| w.id.to_string()).collect();
    assert_eq!(ids, (0..WAYPOINTS).map(|n| format!("w{n}")).collect::<Vec<_>>());
    let again: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    assert_eq!(again.next, begun.next, "what was taken earlier is answered with its first page, too");

    let query = StatusQuery { after: Some("none".parse().unwrap()), ..StatusQuery::first(world.flight.clone()) };
    let refused = world.call::<_, FlightView>(STATUS, &query).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 404), "{refused:?}");
}
