//! A flight's budget, with orchestrators that are killed (FLY-32).

use holdpoint_protocol::{
    artifact::{Artifact as _, BuildArtifact, BuildStatus, Failure, Metered},
    ids::role,
    reason::ReasonCode,
    state::Status,
    turn::Turn,
    view::{FlightView, WaypointView},
};

use crate::support::{Agent, World};

const DOLLAR: u64 = 1_000_000;
const BUILDERS: u64 = 4;

/// A plan of waypoints that do not wait for each other, under one budget of four dollars.
fn plan() -> String {
    let waypoint = |n: u64| {
        format!(
            "  - {{id: w{n}, title: t, goal: g, scope: [a{n}], criteria: [{{id: c, statement: s, check: 'true'}}]}}\n"
        )
    };
    let waypoints: String = (1..=BUILDERS).map(waypoint).collect();
    format!("plan: p\npolicy: {{max_reworks: 5}}\nbudget: {{cost_usd: 4}}\nwaypoints:\n{waypoints}")
}

fn allowed(turn: &Turn) -> u64 {
    turn.allowance.and_then(|allowance| allowance.limits.cost_micro_usd).expect("a limit on the cost")
}

/// Its program failed, and says that it used up so much.
fn failed(agent: &Agent, turn: &Turn, micro: u64) -> BuildArtifact {
    let metered = Metered { cost_micro_usd: Some(micro), ..Metered::default() };
    let failure = Some(Failure { reason: ReasonCode::AgentFailed, detail: "exit code 1".to_owned() });
    BuildArtifact { status: BuildStatus::Failed, failure, metered, ..agent.built(turn, None) }
}

fn is_held(waypoint: &WaypointView) -> bool {
    waypoint.status == Status::Blocked && waypoint.reason_code == Some(ReasonCode::BudgetExhausted)
}

#[tokio::test(flavor = "multi_thread")]
async fn four_builders_under_one_budget_get_what_is_left_of_it_and_no_more_whichever_orchestrator_is_killed() {
    let mut world = World::start().await;
    let _second = world.second_orchestrator().await;
    world.submit_for(&plan(), None).await;
    let mut builders = Vec::new();
    for n in 1..=BUILDERS {
        builders.push(world.agent(role::BUILDER, &format!("b{n}")).await);
    }
    let mut held = Vec::new();
    for builder in &mut builders {
        held.push(builder.take().await);
    }
    let first: u64 = held.iter().map(|(turn, _)| allowed(turn)).sum();
    assert_eq!(first, 4 * DOLLAR);
    // Each uses up a half of what it may, and an orchestrator is killed while the handoff is on its way.
    for (builder, (turn, delivery)) in builders.iter_mut().zip(held) {
        let artifact = failed(builder, &turn, allowed(&turn) / 2);
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
        world.crash_orchestrator();
        Box::pin(world.start_orchestrator()).await;
    }
    let mut held = Vec::new();
    for builder in &mut builders {
        held.push(builder.take().await);
    }
    let second: u64 = held.iter().map(|(turn, _)| allowed(turn)).sum();
    assert_eq!(second, 2 * DOLLAR, "what was not used up is there for the next turns, and no more");
    for (builder, (turn, delivery)) in builders.iter_mut().zip(held) {
        let artifact = failed(builder, &turn, allowed(&turn));
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
    }
    let all_held = |view: &FlightView| view.waypoints.iter().all(is_held);
    world.view_when("the end of the budget", all_held).await;
    let ann = world.person("human-ann").await;
    ann.does(&world, None, &ann.raises(DOLLAR)).await;
    ann.does(&world, Some("w1"), &ann.retry()).await;
    let (turn, _) = builders[0].take().await;
    assert_eq!((turn.waypoint.as_str(), allowed(&turn)), ("w1", DOLLAR));
    world.is_sound().await;
}
