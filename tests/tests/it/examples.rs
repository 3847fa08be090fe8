//! The examples are real: their own repositories, plans and programs.

use holdpoint_tests::world::{World, copy, root};

fn fly(example: &str, builders: &str) -> (World, holdpoint_tests::world::Finished) {
    let world = World::new(&[]);
    let source = root().join("examples").join(example);
    std::fs::remove_dir_all(world.path("repo")).unwrap();
    copy(&source.join("repo"), &world.path("repo"));
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=begin"]);
    let program = |name: &str| source.join(name).canonicalize().unwrap().to_str().unwrap().to_owned();
    let (plan, builder) = (program("plan.yaml"), program("builder.sh"));
    let mut args = vec!["run", &plan, "--repo", ".", "--builder", &builder, "--builders", builders, "--json"];
    let repair = source.join("repair.sh").exists().then(|| program("repair.sh"));
    if let Some(repair) = &repair {
        args.extend(["--repair", repair]);
    }
    let run = world.holdpoint(&args);
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

/// A service whose first version answers one test with a wrong status.
#[track_caller]
fn is_reworked(example: &str, waypoint: &str, (file, right): (&str, &str)) {
    let (world, run) = fly(example, "1");
    run.expect(0);
    let waypoint = run.waypoint(waypoint);
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &2.into()), "{waypoint}");
    let criteria: Vec<_> = waypoint["criteria"].as_array().unwrap().iter().map(|c| c["id"].clone()).collect();
    assert_eq!(criteria, ["test-1", "test-2", "test-3"]);
    let routes = world.git(&["show", &format!("{}:{file}", waypoint["commit"].as_str().unwrap())]);
    assert!(routes.contains(right), "{routes}");
}

#[test]
fn a_wrong_status_is_reworked_from_its_evidence_and_lands() {
    is_reworked("over-http", "bookings", ("api/routes.py", "return 401, \"the token is expired\""));
}

#[test]
fn a_wrong_status_of_a_node_service_is_reworked_from_its_evidence_and_lands() {
    is_reworked("over-http/node", "orders", ("routes.js", "return [422, \"count is no whole number above zero\"]"));
}

#[test]
fn a_wrong_status_of_a_rust_service_is_reworked_from_its_evidence_and_lands() {
    is_reworked("over-http/rust", "celsius", ("src/routes.rs", "(422, \"below absolute zero\".to_owned())"));
}

#[test]
fn one_agent_alone_is_reworked_by_its_own_red_check_and_lands_self_checked() {
    let (world, run) = fly("alone", "1");
    let waypoint = run.expect(0).waypoint("slugs");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &2.into()), "{waypoint}");
    let message = world.git(&["log", "-1", "--format=%B", run.json()["branch"].as_str().unwrap()]);
    assert!(message.contains("\nHoldpoint-Checked: self-checked\n"), "{message}");
}

#[test]
fn a_score_below_the_threshold_is_reworked_and_explained_line_by_line() {
    let (world, run) = fly("twelve-checks", "1");
    run.expect(0);
    let waypoint = run.waypoint("day-ticket");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"complete".into(), &2.into()), "{waypoint:#}");
    let audit = &waypoint["checkpoints"][0];
    assert_eq!((&audit["gate"], &audit["score"]), (&"audit".into(), &100.into()), "{audit:#}");
    let of = |status: &str| -> Vec<&str> {
        let all = audit["checkpoints"].as_array().unwrap().iter().filter(|one| one["status"] == status);
        all.map(|one| one["name"].as_str().unwrap()).collect()
    };
    let pass = ["syntax", "tests", "lint", "build", "perf", "docs", "commit"];
    assert!(pass.iter().all(|name| of("pass").contains(name)), "{audit:#}");
    assert_eq!((of("fail"), of("pass").len() + of("skip").len()), (vec![], 12), "{audit:#}");
    // What is not installed here is named; nothing else is skipped.
    for one in audit["checkpoints"].as_array().unwrap().iter().filter(|one| one["status"] == "skip") {
        let message = one["message"].as_str().unwrap();
        assert!(message.contains("is missing") || one["name"] == "review", "{one}");
    }
    let history = world.holdpoint(&["history", "day-ticket", "--flight", run.json()["flight"].as_str().unwrap()]);
    let history = history.expect(0).stdout.clone();
    assert!(history.contains("rework (checkpoints_unmet)") && history.contains("fail lint"), "{history}");
    assert!(history.contains("score 100 at gate audit"), "{history}");
}

#[test]
fn of_false_done_only_the_honest_one_is_accepted() {
    let (_world, run) = fly("false-done", "2");
    run.expect(1);
    let found: Vec<(&str, &str, &str)> = vec![
        ("says-so", "attempts_exhausted", "exit_code"),
        ("deletes-the-test", "attempts_exhausted", "fewer_tests"),
        ("skips-the-test", "attempts_exhausted", "fewer_tests"),
        ("bends-the-test", "attempts_exhausted", "tests_weakened"),
        ("ends-the-runner", "attempts_exhausted", "fewer_tests"),
        ("empties-the-check", "protected_changed", ""),
        ("shadows-the-library", "protected_changed", ""),
    ];
    for (id, code, reason) in &found {
        let waypoint = run.waypoint(id);
        assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"failed".into(), &(*code).into()), "{waypoint}");
        let said = waypoint["criteria"][0]["reason"].as_str().unwrap_or_default();
        assert!(reason.is_empty() || said == *reason, "{waypoint}");
    }
    let readme = std::fs::read_to_string(root().join("examples/false-done/README.md")).unwrap();
    assert!(found.iter().all(|(id, ..)| readme.contains(&format!("| `{id}` |"))), "the read-me names them all");
    assert_eq!(run.waypoint("honest")["status"], "complete");
    assert_eq!(run.json()["waypoints"].as_array().unwrap().len(), found.len() + 1);
}
