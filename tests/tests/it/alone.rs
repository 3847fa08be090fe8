//! One agent alone (FLY-36), through real processes.

use holdpoint_tests::world::{World, eventually};
use serde_json::Value;

use crate::crashes::marked;

/// The check says that it has begun and takes its time.
const PLAN: &str = r#"
plan: alone
policy:
  mode: single
waypoints:
  - id: w
    goal: g
    criteria:
      - id: c
        check: sh wait.sh && grep -q done result
"#;

const WAIT: &str = "echo > \"$TMPDIR/checking\"; n=0; while [ $n -lt 80 ]; do n=$((n+1)); sleep 0.1; done\n";

const BUILDER: &str = "echo done > result";

fn history(world: &World, flight: &str) -> Vec<Value> {
    let history = world.holdpoint(&["history", "w", "--flight", flight, "--json"]);
    history.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_agent_alone_that_is_killed_while_its_work_is_checked_lands_it_once_and_self_checked() {
    let world = World::new(&[("wait.sh", WAIT)]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the check", || marked(&world, "checking"));
    assert!(running.child(&["agent", "verifier"]).is_none(), "nobody else is there to judge");
    running.kill_child(&["agent", "solo"]);
    let run = running.finish();
    let waypoint = run.expect(0).waypoint("w");
    assert_eq!((&waypoint["attempts"], &waypoint["self_checked"]), (&1.into(), &true.into()), "{waypoint}");
    let (flight, branch) = (run.json()["flight"].clone(), run.json()["branch"].clone());
    let (flight, branch) = (flight.as_str().unwrap(), branch.as_str().unwrap());
    assert_eq!(world.git(&["rev-list", "--count", branch]).trim(), "2");

    // It is said wherever somebody looks, and nowhere that it was verified.
    let message = world.git(&["log", "-1", "--format=%B", branch]);
    assert!(message.contains("\nHoldpoint-Checked: self-checked\n"), "{message}");
    let status = world.holdpoint(&["status", flight]);
    let told = world.holdpoint(&["history", "w", "--flight", flight]);
    let attested = world.holdpoint(&["attest", flight, "w"]);
    let payload =
        data_encoding::BASE64.decode(attested.expect(0).json()["payload"].as_str().unwrap().as_bytes()).unwrap();
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(statement["predicate"]["verifiedLevels"], serde_json::json!(["HOLDPOINT_SELF_CHECKED"]));
    for said in [&status.expect(0).stdout, &told.expect(0).stdout, &message] {
        assert!(said.contains("self-checked") && !said.contains("verified"), "{said}");
    }
    let lines = history(&world, flight);
    let reports: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "verification_report").collect();
    assert_eq!(reports.len(), 1, "{reports:#?}");
    let report = &reports[0]["artifact"];
    assert_eq!((&report["self_checked"], &report["receipt"]["foreign"]), (&true.into(), &false.into()));
    let built = lines.iter().find(|line| line["kind"] == "build_artifact").unwrap();
    assert_eq!(built["artifact"]["commit"], report["commit"], "our harness hands off the very commit that is judged");
    assert!(lines.iter().filter_map(|line| line["artifact"]["agent"].as_str()).all(|agent| agent == "solo-1"));
    world.holdpoint(&["export", flight, "--out", "../flight.jsonl", "--with-evidence"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

#[test]
fn a_plan_of_one_agent_alone_is_refused_at_the_line_of_a_criterion_without_a_check() {
    let world = World::new(&[]);
    world.plan(&PLAN.replace("        check: sh wait.sh && grep -q done result", "        statement: it reads well"));
    let refused = world.holdpoint(&world.run_args(&["--builder", "true"]));
    let error = refused.expect(2).json()["errors"][0].clone();
    assert_eq!(error["line"], 9, "{error}");
    assert!(error["message"].as_str().unwrap().contains("`mode: single`"), "{error}");
}
