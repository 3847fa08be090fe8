//! The examples are real: their own repositories, plans and programs.

use crate::support::{World, copy, root};

fn fly(example: &str, builders: &str) -> (World, crate::support::Finished) {
    let world = World::new(&[]);
    let source = root().join("examples").join(example);
    std::fs::remove_dir_all(world.path("repo")).unwrap();
    copy(&source.join("repo"), &world.path("repo"));
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=begin"]);
    let program = |name: &str| source.join(name).canonicalize().unwrap().to_str().unwrap().to_owned();
    let (plan, builder, repair) = (program("plan.yaml"), program("builder.sh"), program("repair.sh"));
    let run = world.holdpoint(&[
        "run",
        &plan,
        "--repo",
        ".",
        "--builder",
        &builder,
        "--repair",
        &repair,
        "--builders",
        builders,
        "--json",
    ]);
    (world, run)
}

#[test]
fn first_flight_is_mended_and_accepted() {
    let (world, run) = fly("first-flight", "1");
    run.expect(0);
    let waypoints = run.json()["waypoints"].as_array().unwrap().clone();
    assert!(waypoints.iter().all(|w| w["status"] == "complete"), "{waypoints:?}");
    assert!(waypoints.iter().any(|w| w["attempts"] == 2), "one first attempt is wrong: {waypoints:?}");
    world.git(&["rev-parse", run.json()["branch"].as_str().unwrap()]);
}

#[test]
fn codemod_fleet_is_accepted_crate_by_crate() {
    let (world, run) = fly("codemod-fleet", "2");
    run.expect(0);
    let waypoints = run.json()["waypoints"].as_array().unwrap().clone();
    assert!(waypoints.len() >= 4 && waypoints.iter().all(|w| w["status"] == "complete"), "{waypoints:?}");
    assert!(waypoints.iter().any(|w| w["attempts"] == 2), "one crate needs more than the automatic fix: {waypoints:?}");
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]).trim(), waypoints.len().to_string());
}
