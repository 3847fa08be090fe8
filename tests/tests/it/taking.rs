//! A person takes over a turn from an agent at work, and hands it in or gives it back.

use std::fs;

use holdpoint_tests::world::{RunningProcess, World, eventually};
use serde_json::Value;

const PLAN: &str = r#"
plan: taken
workflow: fly-approved
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Fails its first attempt, and never ends its second.
const STUCK: &str = "[ ! -e result ] || while :; do sleep 0.05; done\necho wrong > result; echo kept > other";

/// A flight whose agent is stuck in its second attempt, and the flight's id.
fn stuck(world: &World) -> (RunningProcess, String) {
    world.plan(PLAN);
    let builder = world.program("builder.sh", STUCK);
    let mut running = world.start(&world.run_args(&["--builder", &builder]));
    running.until_said("building");
    let flights = world.holdpoint(&["status", "--json"]).expect(0).json();
    let flight = flights[0]["flight"].as_str().unwrap().to_owned();
    eventually("the second attempt", || {
        let waypoint = waypoint(world, &flight);
        (waypoint["attempts"] == 1 && waypoint["turn"]["purpose"] == "build").then_some(())
    });
    (running, flight)
}

fn waypoint(world: &World, flight: &str) -> Value {
    world.holdpoint(&["status", flight, "--json"]).expect(0).waypoint("w")
}

#[track_caller]
fn refused(world: &World, args: &[&str], exit: i32) -> String {
    let refused = world.holdpoint(&[args, &["--json"]].concat());
    refused.expect(exit).json()["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_takes_a_stuck_builders_turn_and_the_work_is_verified_approved_by_another_and_lands() {
    let world = World::new(&[("readme", "x\n")]);
    let (running, flight) = stuck(&world);
    let taken = world.holdpoint(&["take", "w", "--as", "human-ann"]);
    assert!(taken.expect(0).stdout.starts_with("taken over; w is waiting"), "{taken}");
    assert!(taken.stderr.contains(&format!("> holdpoint hand-in w --flight {flight}")), "{taken}");
    assert_eq!(running.finish().expect(1).json()["status"], "waiting");

    let inbox = world.holdpoint(&["inbox", "--json"]).expect(0).json();
    let item = &inbox["items"][0];
    assert_eq!((&item["kind"], &item["taken_by"]), (&"taken".into(), &"human-ann".into()));
    let shown = world.holdpoint(&["inbox"]);
    assert!(shown.expect(0).stdout.contains("holdpoint release w --flight"), "{shown}");
    assert_eq!(refused(&world, &["take", "w", "--as", "human-bob", "--into", "../bobs"], 1), "answer_late");
    assert!(!world.path("bobs").exists());
    assert_eq!(refused(&world, &["take", "w", "--as", "human-ann", "--into", "mine"], 2), "clone_folder");
    assert!(!world.path("repo/mine").exists(), "the working tree is its user's");
    assert_eq!(refused(&world, &["hand-in", "w", "--as", "human-bob"], 1), "not_allowed");
    fs::create_dir(world.path("other")).unwrap();
    fs::write(world.path("other/readme"), "y\n").unwrap();
    let other = ["hand-in", "w", "--as", "human-ann", "--from", "../other"];
    assert_eq!(refused(&world, &other, 2), "clone_folder", "a folder is no clone");

    let clone = world.path("repo-w");
    assert_eq!(fs::read_to_string(clone.join("other")).unwrap(), "kept\n", "the work so far is there");
    let brief = fs::read_to_string(world.path("repo-w.md")).unwrap();
    assert!(brief.contains("What was wrong with the last attempt") && brief.contains("holdpoint hand-in w"), "{brief}");
    assert_eq!(refused(&world, &["take", "w", "--as", "human-ann"], 2), "clone_folder");
    world.holdpoint(&["take", "w", "--as", "human-ann", "--into", "../again"]).expect(0);
    assert_eq!(fs::read_to_string(world.path("again/other")).unwrap(), "kept\n");

    fs::write(clone.join("result"), "done\n").unwrap();
    fs::create_dir(clone.join("nested")).unwrap();
    let nested = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(clone.join("nested")).status();
    assert!(nested.unwrap().success());
    assert_eq!(refused(&world, &["hand-in", "w", "--as", "human-ann"], 2), "work_unusable");
    fs::remove_dir_all(clone.join("nested")).unwrap();
    // Inside of the clone it is known what is handed in, where to and by whom.
    let mut inside = world.command(&["hand-in"]);
    inside.current_dir(clone.join("."));
    let handed = world.start_with(inside).finish();
    assert!(handed.expect(0).stdout.starts_with("handed in; w "), "{handed}");
    assert!(!clone.exists() && !world.path("repo-w.md").exists(), "the work is in the flight");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the user's working tree is as it was");

    assert_eq!(world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(1).json()["status"], "waiting");
    assert_eq!(refused(&world, &["approve", "w", "--as", "human-ann"], 1), "not_allowed");
    world.holdpoint(&["approve", "w", "--as", "human-bob"]).expect(0);
    let landed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(landed.expect(0).waypoint("w")["attempts"], 2);
    let branch = landed.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:result")]), "done\n");
    let message = world.git(&["log", "-1", "--format=%B", &branch]);
    assert!(message.contains("human-ann"), "{message}");
    let history = world.holdpoint(&["history", "w", "--json"]);
    let kinds = [r#""kind":"take""#, r#""kind":"hand_in""#];
    assert!(kinds.iter().all(|kind| history.expect(0).stdout.contains(kind)), "{history}");
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn a_turn_that_is_given_back_is_an_agents_again() {
    let world = World::new(&[("readme", "x\n")]);
    let (running, flight) = stuck(&world);
    world.holdpoint(&["take", "w", "--into", "../mine"]).expect(0);
    running.finish().expect(1);
    assert_eq!(refused(&world, &["hand-in", "w"], 2), "clone_folder", "no clone is where it would be made");
    let released = world.holdpoint(&["release", "w"]);
    assert!(released.expect(0).stdout.starts_with("given back; w builds"), "{released}");
    assert_eq!(refused(&world, &["hand-in", "w", "--from", "../mine"], 1), "nothing_open");
    world.program("builder.sh", "echo done > result");
    assert_eq!(world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(1).json()["status"], "waiting");
    assert_eq!(waypoint(&world, &flight)["turn"]["purpose"], "complete", "an agent built it");
    world.holdpoint(&["audit", &flight]).expect(0);
}

/// A criterion that only a reader can judge, and one with a check.
const READ: &str = r#"
plan: read
waypoints:
  - id: w
    goal: g
    criteria:
      - {id: c, check: "grep -q done result"}
      - {id: readable, statement: It can be read}
"#;

/// A flight whose judge never says anything, and the flight's id.
fn undecided(world: &World) -> (RunningProcess, String) {
    world.plan(READ);
    let builder = world.program("builder.sh", "echo done > result");
    let judge = world.program("judge.sh", "while :; do sleep 0.05; done");
    let mut running = world.start(&world.run_args(&["--builder", &builder, "--judge", &judge]));
    running.until_said("verifying");
    let flights = world.holdpoint(&["status", "--json"]).expect(0).json();
    (running, flights[0]["flight"].as_str().unwrap().to_owned())
}

#[test]
fn a_person_judges_what_has_no_check_in_place_of_a_judge_and_the_checks_are_run() {
    let world = World::new(&[("readme", "x\n")]);
    let (running, flight) = undecided(&world);
    world.holdpoint(&["take", "w", "--as", "human-ann"]).expect(0);
    running.finish().expect(1);
    let brief = fs::read_to_string(world.path("repo-w.md")).unwrap();
    assert!(brief.contains("- `readable`: It can be read") && !brief.contains("grep"), "{brief}");
    assert_eq!(fs::read_to_string(world.path("repo-w/result")).unwrap(), "done\n", "the work is there to be read");
    let judge = |verdict: &str| vec!["hand-in".to_owned(), "w".to_owned(), "--verdict".to_owned(), verdict.to_owned()];
    let judged = |verdict: &str, by: &str, exit: i32| {
        let mut args = judge(verdict);
        args.extend(["--note", "read every line", "--as", by].map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        refused(&world, &args, exit)
    };
    assert_eq!(judged("c=pass", "human-ann", 1), "invalid", "a check decides");
    assert_eq!(judged("readable=pass", "human-bob", 1), "not_allowed");
    assert_eq!(refused(&world, &["hand-in", "w", "--as", "human-ann"], 1), "invalid", "no verdict");
    let note = ["--note", "read every line", "--as", "human-ann"];
    let handed = world.holdpoint(&[&["hand-in", "w", "--verdict", "readable=pass"][..], &note].concat());
    assert!(handed.expect(0).stdout.starts_with("handed in; w goes to a verifier"), "{handed}");
    let landed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(landed.expect(0).json()["status"], "accepted");
    let criteria = landed.waypoint("w")["criteria"].clone();
    let readable = criteria.as_array().unwrap().iter().find(|c| c["id"] == "readable").unwrap().clone();
    let evidence = world.holdpoint(&["artifact", readable["evidence"][0].as_str().unwrap()]);
    assert_eq!(evidence.expect(0).stdout, "human-ann said pass: read every line\n");
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn purge_removes_the_clones_of_taken_turns_and_names_those_with_work_that_is_nowhere_else() {
    let world = World::new(&[("readme", "x\n")]);
    let (running, flight) = stuck(&world);
    for into in ["../touched", "../untouched", "../gone"] {
        world.holdpoint(&["take", "w", "--as", "human-ann", "--into", into]).expect(0);
    }
    running.finish().expect(1);
    fs::write(world.path("touched/result"), "done\n").unwrap();
    fs::remove_dir_all(world.path("gone")).unwrap();
    fs::write(world.path("gone.md"), "my notes\n").unwrap();

    let listed = world.holdpoint(&["purge", "--dry-run"]);
    let hand_in = format!("`holdpoint hand-in w --flight {flight} --from {}`", world.path("touched").display());
    let lines: Vec<&str> = listed.expect(0).stdout.lines().collect();
    let line = |name: &str| lines.iter().find(|line| line.contains(&format!("/{name}"))).copied().unwrap_or_default();
    assert!(line("untouched").starts_with("would remove the clone of w"), "{listed}");
    assert!(listed.stdout.contains("with 1 changed path; hand its work in first"), "{listed}");
    assert!(listed.stdout.contains(&hand_in), "{listed}");
    assert!(line("gone").is_empty(), "of that there is nothing but its person's notes: {listed}");
    assert!(world.path("untouched/readme").exists(), "nothing is removed yet");

    let clones = |args: &[&str]| world.holdpoint(&[args, &["--json"]].concat()).expect(0).json()["clones"].clone();
    let removed = clones(&["purge"]);
    let stays = |clones: &Value, name: &str| {
        let of = |clone: &&Value| clone["clone"].as_str().is_some_and(|path| path.ends_with(&format!("/{name}")));
        clones.as_array().unwrap().iter().find(of).map(|clone| clone["stays"].clone())
    };
    assert_eq!(stays(&removed, "untouched"), Some(Value::Null));
    assert_eq!(stays(&removed, "touched"), Some("1 changed path".into()));
    assert!(!world.path("untouched").exists() && !world.path("untouched.md").exists());
    assert_eq!(fs::read_to_string(world.path("touched/result")).unwrap(), "done\n");
    assert_eq!(fs::read_to_string(world.path("gone.md")).unwrap(), "my notes\n", "its person wrote in it");

    assert_eq!(stays(&clones(&["purge", "--dry-run"]), "touched"), Some("1 changed path".into()), "it is still known");
    fs::remove_file(world.path("touched/result")).unwrap();
    fs::write(world.path("touched/result"), "wrong\n").unwrap();
    assert_eq!(stays(&clones(&["purge"]), "touched"), Some(Value::Null), "it is as it was made");
    assert!(!world.path("touched").exists());
    assert_eq!(clones(&["purge", "--dry-run"]).as_array().map(Vec::len), Some(0));
}
