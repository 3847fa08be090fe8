//! Files of attempts that handed nothing off: they can be had, and the next attempt goes on from them.

use std::path::Path;

use holdpoint_tests::world::{RunningProcess, World, eventually};
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
