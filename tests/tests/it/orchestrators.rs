//! Several orchestrators at once, of which some are killed: another one goes on, nothing is lost and nothing done twice.

use std::fs;

use holdpoint_faults::{FaultOrder, ORDER, PASSED, STOPPED, Step, When};
use holdpoint_tests::{
    checker,
    fleet::TestFleet,
    world::{Finished, World, eventually},
};
use nix::sys::signal::Signal;

/// Writes its waypoint's name into a file of its own.
const BUILDER: &str = "echo done > \"out-$HOLDPOINT_WAYPOINT\"";

fn plan(waypoints: usize) -> String {
    let mut text = "plan: many\nwaypoints:\n".to_owned();
    for n in 1..=waypoints {
        text.push_str(&format!(
            "  - {{id: w{n}, goal: g, criteria: [{{id: c, check: grep -q done out-w{n}, red_first: true}}]}}\n"
        ));
    }
    text
}

fn fleet(orchestrators: u32, builders: u32, waypoints: usize) -> TestFleet {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(&plan(waypoints));
    let program = world.program("builder.sh", BUILDER);
    let mut fleet = TestFleet::new(world);
    for n in 1..=orchestrators {
        fleet.orchestrator(n);
    }
    for n in 1..=builders {
        fleet.agent("builder", n, Some(&program));
    }
    for n in 1..=2 {
        fleet.agent("verifier", n, None);
    }
    fleet
}

fn assert_sound(fleet: &TestFleet, run: &Finished, waypoints: usize) {
    assert_eq!(run.code, 0, "{run}\n{}", fleet.said());
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    let commits: usize = fleet.world.git(&["rev-list", "--count", &branch]).trim().parse().unwrap();
    assert_eq!(commits, waypoints + 1, "a commit each, beside the base");
    assert_eq!(checker::findings(&fleet.account()), Vec::<String>::new());
}

/// The process that is stopped at the step of an order.
fn stopped(fleet: &TestFleet) -> String {
    eventually("an orchestrator at the step", || {
        let pid = fs::read_to_string(fleet.world.path("faults").join(STOPPED)).ok()?.parse().ok()?;
        fleet.name_of(pid).map(str::to_owned)
    })
}

/// A fleet of two orchestrators, of which the one that looks after the flight stands still before this step.
fn standing_before(step: Step) -> TestFleet {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(&plan(1));
    let order = FaultOrder { role: "orchestrator".to_owned(), step, when: When::Before, nth: 1 };
    world.write(&format!("faults/{ORDER}"), &order.to_string());
    world.write(&format!("faults/{PASSED}"), "");
    let program = world.program("builder.sh", BUILDER);
    let mut fleet = TestFleet::new(world);
    fleet.orchestrator(1);
    fleet.orchestrator(2);
    fleet.agent("builder", 1, Some(&program));
    fleet.agent("verifier", 1, None);
    fleet
}

#[test]
fn what_a_killed_orchestrator_accepted_and_did_not_land_is_landed_by_another() {
    let mut fleet = standing_before(Step::AppendLanded);
    let run = fleet.run();
    let victim = stopped(&fleet);
    fleet.kill(&victim);
    assert_sound(&fleet, &run.finish(), 1);
}

#[test]
fn an_orchestrator_that_wakes_after_another_took_over_changes_nothing() {
    let fleet = standing_before(Step::AppendLanded);
    let run = fleet.run();
    let victim = stopped(&fleet);
    let run = run.finish();
    assert_sound(&fleet, &run, 1);
    fleet.signal(&victim, Signal::SIGCONT);
    let passed = format!("{victim} {} {}", When::After.name(), Step::AppendLanded.name());
    eventually("the end of its append", || {
        let all = fs::read_to_string(fleet.world.path("faults").join(PASSED)).ok()?;
        all.contains(&passed).then_some(())
    });
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    fleet.command(&["fetch", run.json()["flight"].as_str().unwrap()]).finish().expect(0);
    assert_eq!(fleet.world.git(&["rev-parse", &branch]).trim(), run.json()["head"]);
    assert_eq!(checker::findings(&fleet.account()), Vec::<String>::new());
}

#[test]
fn of_three_orchestrators_two_are_killed_under_load_and_the_third_finishes() {
    const WAYPOINTS: usize = 9;
    let mut fleet = fleet(3, 3, WAYPOINTS);
    let mut run = fleet.run();
    for victim in 1..=2 {
        run.until("landings", || (fleet.account().landings() >= victim * 2).then_some(()));
        fleet.kill(&format!("orchestrator-{victim}"));
    }
    assert_sound(&fleet, &run.finish(), WAYPOINTS);
}

#[test]
fn an_orchestrator_that_ends_in_order_hands_over_at_once() {
    const WAYPOINTS: usize = 6;
    let mut fleet = fleet(2, 2, WAYPOINTS);
    let mut run = fleet.run();
    run.until("a landing", || (fleet.account().landings() >= 1).then_some(()));
    fleet.end("orchestrator-1");
    assert_sound(&fleet, &run.finish(), WAYPOINTS);
}

#[test]
fn a_rolling_restart_of_everybody_under_load_loses_nothing() {
    const WAYPOINTS: usize = 8;
    let mut fleet = fleet(2, 2, WAYPOINTS);
    let mut run = fleet.run();
    run.until("a landing", || (fleet.account().landings() >= 1).then_some(()));
    for name in fleet.names() {
        let ended = fleet.end(&name);
        assert_eq!(ended.code, 0, "{name}: {ended}");
        fleet.again(&name);
    }
    assert_sound(&fleet, &run.finish(), WAYPOINTS);
}
