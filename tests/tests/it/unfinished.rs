//! Files of attempts that handed nothing off: they can be had, and the next attempt goes on from them.

use std::path::Path;

use holdpoint_tests::{
    fleet::TestFleet,
    world::{RunningProcess, World, eventually},
};
use nix::sys::signal::Signal;

const PLAN: &str = r#"
plan: parts
policy: {max_reworks: 1}
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "test -s one && test -s two && test -s three"}]}
"#;

/// Makes one part more in each attempt, and fails until all are there.
const PART_BY_PART: &str = "
for part in one two; do [ -s $part ] || { echo $part > $part; echo 'no room for more' >&2; exit 7; }; done
echo three > three";

/// Makes a part and goes on for ever; with that part there it makes the others.
const HALF: &str = "
if [ -e one ]; then echo two > two; echo three > three; exit; fi
echo one > one; touch \"$HOME/began\"; exec sleep 100000";

fn world() -> World {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    world
}

fn is_there(dir: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut entries = entries.map(|entry| (entry.file_name(), entry.path()));
    entries.any(|(file, path)| file == name || (path.is_dir() && is_there(&path, name)))
}

/// A run whose program has made its half, and the id of its flight.
fn half_way(world: &World) -> (RunningProcess, String) {
    let builder = world.program("builder.sh", HALF);
    let running = world.start(&world.run_args(&["--builder", &builder]));
    let named = || running.said().lines().find_map(|line| Some(line.strip_prefix("flight ")?.trim().to_owned()));
    let flight = eventually("the flight's name", named);
    eventually("the program", || is_there(&world.path("state"), "began").then_some(()));
    (running, flight)
}

#[test]
fn the_files_of_failed_attempts_are_listed_shown_fetched_and_gone_on_from() {
    let world = world();
    let builder = world.program("builder.sh", PART_BY_PART);
    let run = world.fly(&builder, &[]);
    let waypoint = run.expect(1).waypoint("w");
    assert_eq!((&waypoint["reason_code"], &waypoint["attempts"]), (&"attempts_exhausted".into(), &2.into()));
    assert!(run.stderr.contains("its last work is kept: `holdpoint diff w"), "{run}");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    assert!(world.holdpoint(&["inbox"]).expect(0).stdout.contains("`holdpoint fetch w --flight"));

    let history = world.holdpoint(&["history", "w"]);
    let kept = history.expect(0).stdout.lines().filter(|line| line.contains("its files are kept")).count();
    assert_eq!(kept, 2, "{history}");
    let first = world.holdpoint(&["diff", "w", "--attempt", "1"]);
    assert!(first.expect(0).stdout.contains("\n+one\n") && !first.stdout.contains("\n+two\n"), "{first}");
    assert!(first.stderr.contains("attempt 1 handed nothing off (agent_failed)"), "{first}");
    let last = world.holdpoint(&["diff", "w"]);
    assert!(last.expect(0).stdout.contains("\n+one\n") && last.stdout.contains("\n+two\n"), "{last}");
    let none = world.holdpoint(&["fetch", "w", "--attempt", "3"]);
    assert!(none.expect(2).stderr.contains("there is work of attempt 1, 2"), "{none}");

    let fetched = world.holdpoint(&["fetch", "w", "--attempt", "2", "--json"]);
    let branch = format!("holdpoint/{flight}-w-attempt-2");
    assert_eq!(fetched.expect(0).json()["branch"], branch);
    assert_eq!(world.git(&["ls-tree", "--name-only", &branch]), "one\nreadme\ntwo\n");
    assert_eq!(world.git(&["rev-parse", &format!("{branch}^")]), world.git(&["rev-parse", "HEAD"]));

    world.holdpoint(&["retry", "w"]).expect(0);
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).waypoint("w")["attempts"], 3);
    let landed = format!("holdpoint/{flight}");
    assert_eq!(world.git(&["ls-tree", "--name-only", &landed]), "one\nreadme\nthree\ntwo\n");
    assert_eq!(world.git(&["rev-list", "--count", &format!("HEAD..{landed}")]).trim(), "1", "the work is one commit");
}

#[test]
fn an_interrupted_flight_goes_on_from_the_files_that_its_program_had_made() {
    let world = world();
    let (running, flight) = half_way(&world);
    running.signal(Signal::SIGINT);
    running.finish().expect(130);
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).waypoint("w")["attempts"], 1, "{resumed}");
}

#[test]
fn what_an_agent_had_made_that_died_can_be_had_when_it_is_up_again_though_another_did_its_turn() {
    let world = world();
    let half = world.program("half.sh", HALF);
    let whole = world.program("whole.sh", "for part in one two three; do echo whole > $part; done");
    let mut fleet = TestFleet::new(world);
    fleet.orchestrator(1);
    fleet.agent("verifier", 1, None);
    fleet.agent("builder", 1, Some(&half));
    let run = fleet.run();
    eventually("the program", || is_there(&fleet.world.path("builder-1.state"), "began").then_some(()));
    fleet.kill("builder-1");
    fleet.agent("builder", 2, Some(&whole));
    let run = run.finish();
    let flight = run.expect(0).json()["flight"].as_str().unwrap().to_owned();
    assert_eq!(run.waypoint("w")["attempts"], 1, "a death is no attempt: {run}");
    fleet.again("builder-1");
    let named = "builder-1  not taken  agent_failed";
    let history = |fleet: &TestFleet| fleet.command(&["history", "w"]).finish().expect(0).stdout.clone();
    eventually("what the dead agent left", || history(&fleet).contains(named).then_some(()));
    let diff = fleet.command(&["diff", "w", "--attempt", "1@builder-1"]).finish();
    assert!(diff.expect(0).stdout.contains("\n+one\n") && !diff.stdout.contains("+whole"), "{diff}");
    let landed = fleet.command(&["diff", "w"]).finish();
    assert!(landed.expect(0).stdout.contains("\n+whole\n"), "{landed}");
    fleet.command(&["fetch", "w", "--attempt", "1@builder-1"]).finish().expect(0);
    assert_eq!(fleet.world.git(&["show", &format!("holdpoint/{flight}-w-attempt-1-builder-1:one")]), "one\n");
    // It is handed over once.
    fleet.end("builder-1");
    fleet.again("builder-1");
    let is_ready = |said: String| said.split("--- ").any(|one| one.starts_with("builder-1\n") && one.contains("ready"));
    eventually("that it is ready", || is_ready(fleet.said()).then_some(()));
    assert_eq!(history(&fleet).matches(named).count(), 1);
}

#[test]
fn who_takes_a_turn_over_can_have_what_its_agent_had_made_by_then() {
    let world = world();
    let (running, flight) = half_way(&world);
    let taken = world.holdpoint(&["take", "w"]);
    let command = format!("holdpoint diff w --flight {flight} --attempt 1@builder-1");
    assert!(taken.expect(0).stderr.contains(&command), "{taken}");
    running.finish().expect(1);
    let diff = world.holdpoint(&["diff", "w", "--flight", &flight, "--attempt", "1@builder-1"]);
    assert!(diff.expect(0).stdout.contains("\n+one\n"), "{diff}");
}

#[test]
fn what_was_there_when_a_flight_was_cancelled_can_be_had() {
    let world = world();
    let (running, flight) = half_way(&world);
    world.holdpoint(&["cancel", &flight]).expect(0);
    running.finish().expect(1);
    let diff = world.holdpoint(&["diff", "w", "--attempt", "1"]);
    assert!(diff.expect(0).stdout.contains("\n+one\n"), "{diff}");
    assert!(diff.stderr.contains("which builder-1 handed over in attempt 1"), "{diff}");
    let history = world.holdpoint(&["history", "w"]);
    assert!(history.expect(0).stdout.contains("builder-1  not taken  agent_failed"), "{history}");
    world.holdpoint(&["fetch", "w", "--attempt", "latest"]).expect(0);
    assert_eq!(world.git(&["show", &format!("holdpoint/{flight}-w-attempt-1:one")]), "one\n");
}
