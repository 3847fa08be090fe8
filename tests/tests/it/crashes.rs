//! Processes that are killed: the same accepted result, nothing lost, nothing landed twice.

use nix::sys::signal::Signal;

use holdpoint_tests::world::{Finished, World, eventually};

/// The builder says that it has begun and waits for leave; so does the check.
const PLAN: &str = r#"
plan: survive
waypoints:
  - id: w
    title: t
    goal: g
    criteria:
      - {id: c, statement: s, check: "sh wait.sh && grep -q done result", red_first: false}
"#;

/// A builder that leaves a mark in its agent home, and goes on once the plan's folder has the file `go`.
const BUILDER: &str =
    "touch \"$HOME/began\"\nwhile [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\necho done > result";

/// A builder that calls for help and goes on; the next time it does the work.
const CALLER: &str = "if [ -e \"$HOME/began\" ]; then echo done > result; exit; fi
echo '>>>HELP<<<'; touch \"$HOME/began\"; exec sleep 100000";

fn world(wait: &str) -> World {
    let world = World::new(&[("wait.sh", wait)]);
    world.plan(PLAN);
    world
}

/// Whether a file of this name is anywhere below the state folder.
pub(crate) fn marked(world: &World, name: &str) -> Option<()> {
    fn find(dir: &std::path::Path, name: &str) -> bool {
        let Ok(entries) = std::fs::read_dir(dir) else { return false };
        entries
            .flatten()
            .any(|e| e.file_name() == name || (e.file_type().is_ok_and(|t| t.is_dir()) && find(&e.path(), name)))
    }
    find(&world.path("state"), name).then_some(())
}

fn landed_once(world: &World, run: &Finished) {
    run.expect(0);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:result")]), "done\n");
    assert_eq!(world.git(&["rev-list", "--count", &branch]).trim(), "2");
    assert_eq!(run.waypoint("w")["attempts"], 1, "a crash of ours is no attempt");
}

#[test]
fn a_builder_killed_in_its_turn_loses_nothing() {
    let world = world("true\n");
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the builder's program", || marked(&world, "began"));
    running.kill_child(&["agent", "builder"]);
    world.write("plan/go", "");
    landed_once(&world, &running.finish());
}

#[test]
fn a_call_for_help_is_not_lost_with_its_program_and_its_agent() {
    let world = world("true\n");
    let builder = world.program("builder.sh", CALLER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the call", || marked(&world, "began"));
    eventually("that it was heard", || {
        world.holdpoint(&["history", "w", "--json"]).stdout.contains("\"running\":true").then_some(())
    });
    running.kill_child(&["agent", "builder"]);
    let waypoint = running.finish().expect(1).waypoint("w");
    assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"waiting".into(), &"help_requested".into()));
}

#[test]
fn an_orchestrator_killed_between_artifact_and_decision_loses_nothing() {
    let world = world("true\n");
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the builder's program", || marked(&world, "began"));
    // It is gone when the artifact comes, and has to find it when it is back.
    running.kill_child(&["orchestrator"]);
    world.write("plan/go", "");
    landed_once(&world, &running.finish());
}

#[test]
fn a_verifier_killed_in_its_turn_loses_nothing() {
    let world = world("echo > \"$TMPDIR/checking\"; n=0; while [ $n -lt 80 ]; do n=$((n+1)); sleep 0.1; done\n");
    let builder = world.program("builder.sh", "echo done > result");
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the check", || marked(&world, "checking"));
    running.kill_child(&["agent", "verifier"]);
    landed_once(&world, &running.finish());
}

#[test]
fn a_broker_killed_in_a_flight_loses_nothing() {
    let world = world("true\n");
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the builder's program", || marked(&world, "began"));
    world.broker().unwrap().kill().unwrap();
    world.write("plan/go", "");
    landed_once(&world, &running.finish());
}

#[test]
fn an_interrupted_flight_is_resumed_where_it_was() {
    let world = world("true\n");
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the builder's program", || marked(&world, "began"));
    running.signal(Signal::SIGINT);
    let stopped = running.finish();
    stopped.expect(130);
    assert!(stopped.stderr.contains("waiting for builder-1, 5 s at most"), "{}", stopped.stderr);
    let hint =
        stopped.stderr.lines().find(|l| l.contains("run --resume")).unwrap_or_else(|| panic!("{}", stopped.stderr));
    let flight = hint.split_whitespace().skip_while(|w| *w != "--resume").nth(1).unwrap();
    let mut logs = world.start(&["logs", "w", "--flight", flight, "--follow"]);
    logs.until_said("not stored");
    logs.signal(Signal::SIGINT);
    logs.finish().expect(130);
    assert_eq!(world.broker(), None, "it takes the broker that it started with it");
    let mut watch = world.start(&["watch", flight]);
    watch.until_said("interrupted: nobody flies it at the moment");
    world.write("plan/go", "");
    landed_once(&world, &world.holdpoint(&["run", "--resume", flight, "--repo", ".", "--json"]));
    watch.finish().expect(0);
}

#[test]
fn a_flight_whose_command_was_killed_is_resumed() {
    let world = world("true\n");
    let builder = world.program("builder.sh", BUILDER);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    eventually("the builder's program", || marked(&world, "began"));
    running.signal(Signal::SIGKILL);
    running.finish();
    world.write("plan/go", "");
    let flights = world.holdpoint(&["status", "--json"]);
    let flight = flights.expect(0).json()[0]["flight"].as_str().unwrap().to_owned();
    landed_once(&world, &world.holdpoint(&["run", "--resume", &flight, "--json"]));
}

#[test]
fn a_flight_whose_program_is_not_there_goes_on_with_the_one_that_is_named_when_it_is_resumed() {
    let world = World::new(&[]);
    world.plan("plan: p\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: grep -q done result}]}\n");
    let broken = world.program("broken.sh", "there-is-no-such-program");
    let held = world.holdpoint(&world.run_args(&["--builder", &broken]));
    let waypoint = held.expect(1).waypoint("w");
    assert_eq!(waypoint["reason_code"], "not_executable");
    let remediation = waypoint["remediation"].as_str().unwrap();
    assert!(remediation.contains("fix its command") && !remediation.contains('\n'), "{remediation}");
    let flight = held.json()["flight"].as_str().unwrap().to_owned();
    world.holdpoint(&["retry", "w"]).expect(0);
    let right = world.program("right.sh", "echo done > result");
    world.holdpoint(&["run", "--resume", &flight, "--builder", &right, "--json"]).expect(0);
    let again = world.holdpoint(&["run", "--resume", &flight, "--judge", "true"]);
    assert!(again.expect(2).stderr.contains("cannot be used with"), "{again}");
}
