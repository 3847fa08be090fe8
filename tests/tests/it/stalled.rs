//! An agent that stands still in its turn: the turn goes to another, and what the first says when it wakes is reported
//! as what it is.

use std::fs;

use holdpoint_faults::{FaultOrder, ORDER, PASSED, STOPPED, Step, When};
use holdpoint_tests::{
    fleet::TestFleet,
    world::{Finished, World, eventually},
};
use nix::sys::signal::Signal;
use serde_json::Value;

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: grep -q done out, red_first: true}]}\n";

/// A fleet with two agents of each role, of which the first that comes to hand off its result stands still.
fn fleet(role: &str) -> TestFleet {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let order = FaultOrder { role: role.to_owned(), step: Step::PublishResult, when: When::Before, nth: 1 };
    world.write(&format!("faults/{ORDER}"), &order.to_string());
    world.write(&format!("faults/{PASSED}"), "");
    let program = world.program("builder.sh", "echo done > out");
    let mut fleet = TestFleet::new(world);
    fleet.orchestrator(1);
    for n in 1..=2 {
        fleet.agent("builder", n, Some(&program));
        fleet.agent("verifier", n, None);
    }
    fleet
}

fn history(fleet: &TestFleet, run: &Finished) -> Vec<Value> {
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let history = fleet.command(&["history", "w", "--flight", &flight, "--json"]).finish();
    history.expect(0);
    history.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_passed_over(role: &str, kind: &str) {
    let fleet = fleet(role);
    let run = fleet.run();
    let victim = eventually("an agent at the step", || {
        let pid = fs::read_to_string(fleet.world.path("faults").join(STOPPED)).ok()?.parse().ok()?;
        fleet.name_of(pid).map(str::to_owned)
    });
    let run = run.finish();
    assert_eq!(run.code, 0, "{run}\n{}", fleet.said());
    assert_eq!(run.waypoint("w")["attempts"], 1, "a silent agent is no attempt");

    fleet.signal(&victim, Signal::SIGCONT);
    let late = eventually("its late handoff", || {
        let all = history(&fleet, &run);
        all.into_iter().find(|line| line["kind"] == kind && line["artifact"]["agent"] == victim.as_str())
    });
    assert_eq!(late["standing"], "conflict");
    let taken: Vec<Value> = history(&fleet, &run).into_iter().filter(|line| line["standing"] == "taken").collect();
    assert!(taken.iter().all(|line| line["artifact"]["agent"] != victim.as_str() || line["kind"] != kind), "{taken:?}");
    assert_eq!(taken.iter().filter(|line| line["kind"] == kind).count(), if kind == "build_artifact" { 1 } else { 2 });
}

#[test]
fn a_builder_that_wakes_late_finds_its_turn_answered_and_is_recorded_as_a_conflict() {
    is_passed_over("builder", "build_artifact");
}

#[test]
fn a_verifier_that_wakes_late_finds_its_turn_answered_and_is_recorded_as_a_conflict() {
    is_passed_over("verifier", "verification_report");
}
