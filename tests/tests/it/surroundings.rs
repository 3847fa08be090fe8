//! A fleet that stays (`up`), and what is around a flight.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use holdpoint_sandbox::ProcessId;
use nix::sys::signal::Signal;

use holdpoint_tests::{
    external::up,
    world::{World, eventually},
};

const PLAN: &str =
    "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e b'}]}\n";

#[test]
fn a_fleet_that_is_up_flies_what_is_submitted_to_it() {
    let world = World::new(&[("a", "1\n")]);
    world.plan("plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e b', red_first: true}]}\n");
    let builder = world.program("builder.sh", "touch b");
    let mut fleet = world.start(&["up", "--builder", &builder]);
    fleet.until_said("serves");
    let submit = || world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]).expect(0).stdout.trim().to_owned();
    let flights = [submit(), submit()];
    for flight in &flights {
        world.holdpoint(&["watch", flight]).expect(0);
        let status = world.holdpoint(&["status", flight, "--json"]);
        assert_eq!(status.expect(0).json()["status"], "accepted");
        world.holdpoint(&["fetch", flight]).expect(0);
        assert_eq!(world.git(&["ls-tree", "--name-only", &format!("holdpoint/{flight}")]), "a\nb\n");
    }
    fleet.signal(Signal::SIGTERM);
    fleet.finish().expect(0);
}

#[test]
fn a_local_fleet_whose_store_is_gone_says_so_and_makes_nothing_in_its_place() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "touch b");
    let flight = world.fly(&builder, &[]).expect(0).json()["flight"].as_str().unwrap().to_owned();
    let state = world.state_folder().unwrap();
    let store = state.join("broker/store");
    let kept = world.path("kept");
    std::fs::rename(&store, &kept).unwrap();
    for args in [vec!["status"], world.run_args(&["--builder", &builder])] {
        let said = world.holdpoint(&args);
        assert!(said.expect(3).stderr.contains("of 1 flight that was begun here"), "{said}");
    }
    assert!(!store.exists());
    std::fs::rename(&kept, &store).unwrap();
    world.holdpoint(&["audit", &flight]).expect(0);

    // One that may be forgotten.
    for folder in ["broker/store", "flights", "orchestrator"] {
        std::fs::remove_dir_all(state.join(folder)).unwrap();
    }
    assert_eq!(world.fly(&builder, &[]).expect(0).json()["status"], "accepted");
}

#[test]
fn a_fleet_that_comes_up_after_other_flights_begins_none_of_their_turns_again() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    // No two programs write one file.
    let builder = world.program("builder.sh", "mktemp \"$HOME/began-XXXXXX\"; touch b");
    for _ in 0..2 {
        assert_eq!(world.fly(&builder, &[]).expect(0).json()["status"], "accepted");
    }
    let before = began(&world.path("state"));
    let mut fleet = world.start(&["up", "--builder", &builder]);
    fleet.until_said("serves");
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]);
    let flight = submitted.expect(0).stdout.trim().to_owned();
    world.holdpoint(&["watch", &flight]).expect(0);
    let new: Vec<PathBuf> = began(&world.path("state")).difference(&before).cloned().collect();
    assert_eq!(new.len(), 1, "the program runs for the turn that is open: {new:?}");
    fleet.signal(Signal::SIGTERM);
    fleet.finish().expect(0);
}

#[test]
fn a_fleet_leaves_an_interrupted_flights_open_turn_to_its_own_agents() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    let script =
        "touch \"$HOME/began-own\"\nwhile [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\necho own > b";
    let own = world.program("own.sh", script);
    let mut command = world.command(&world.run_args(&["--builder", &own]));
    // The turn of the killed builder comes again soon.
    command.env("HOLDPOINT__AGENT__ACK_WAIT", "5s");
    let running = world.start_with(command);
    eventually("the builder's program", || (!began(&world.path("state")).is_empty()).then_some(()));
    running.signal(Signal::SIGKILL);
    running.finish();
    let flights = world.holdpoint(&["status", "--json"]);
    let flight = flights.expect(0).json()[0]["flight"].as_str().unwrap().to_owned();
    let before = began(&world.path("state"));

    let builder = world.program("builder.sh", "mktemp \"$HOME/began-XXXXXX\"; echo fleet > b");
    let fleet = up(&world, &["--builder", &builder, "--builders", "1"], &[]);
    // Its turn is after the open one in the journal.
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]);
    world.holdpoint(&["watch", submitted.expect(0).stdout.trim()]).expect(0);
    let new: Vec<PathBuf> = began(&world.path("state")).difference(&before).cloned().collect();
    assert_eq!(new.len(), 1, "the fleet's program runs for the fleet's flight only: {new:?}");

    world.write("plan/go", "");
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).waypoint("w")["attempts"], 1);
    assert_eq!(world.git(&["show", &format!("holdpoint/{flight}:b")]), "own\n");
    fleet.running.signal(Signal::SIGTERM);
    fleet.running.finish().expect(0);
}

/// The files that programs leave in their home folders when they begin.
fn began(dir: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        if entry.file_type().is_ok_and(|file| file.is_dir()) {
            return began(&entry.path());
        }
        let is_mark = entry.file_name().as_encoded_bytes().starts_with(b"began-");
        is_mark.then(|| entry.path()).into_iter().collect()
    };
    entries.flat_map(of).collect()
}

#[test]
fn of_two_fleets_the_one_that_stays_is_found() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", "touch b");
    let first = up(&world, &["--builder", &builder], &[]);
    let second = up(&world, &["--builder", &builder], &[]);
    second.running.signal(Signal::SIGTERM);
    second.running.finish().expect(0);
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]);
    world.holdpoint(&["watch", submitted.expect(0).stdout.trim()]).expect(0);

    first.running.signal(Signal::SIGKILL);
    first.running.finish();
    world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", "."]).expect(3);
}

#[test]
fn however_a_command_ends_its_broker_its_processes_and_their_programs_are_gone() {
    let world = World::new(&[("a", "1\n")]);
    world.plan(PLAN);
    // The world's path is an argument of everything that runs in it.
    let own = world.program("own.sh", "touch \"$HOME/began-own\"; exec sleep 600.25");
    for signal in [Signal::SIGKILL, Signal::SIGHUP] {
        let running = world.start(&world.run_args(&["--builder", &own]));
        eventually("the builder's program", || (!began(&world.path("state")).is_empty()).then_some(()));
        running.signal(signal);
        assert_eq!(running.finish().code, -1);
        eventually("the broker's end", || world.broker().is_none().then_some(()));
        let sleeping = || !ProcessId::all_with_argument(OsStr::new("600.25")).is_empty();
        eventually("the program's end", || (!sleeping()).then_some(()));
        let keeps = || !ProcessId::all_with_argument(world.state_folder().unwrap().as_os_str()).is_empty();
        eventually("the keeper's end", || (!keeps()).then_some(()));
        std::fs::remove_dir_all(world.path("state")).unwrap();
    }
}

#[test]
fn a_state_folder_inside_the_repository_is_refused() {
    let world = World::new(&[("a", "1\n")]);
    let mut command = world.command(&["status", "--repo", "."]);
    command.env("HOLDPOINT_STATE_DIR", "state");
    let refused = world.start_with(command).finish();
    assert!(refused.expect(2).stderr.contains("inside the repository"), "{refused}");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn doctor_names_what_enforces_each_property() {
    let world = World::new(&[("a", "1\n")]);
    let doctor = world.holdpoint(&["doctor", "--json"]);
    let report = doctor.expect(0).json();
    for part in ["broker", "git", "sandbox", "clock"] {
        assert!(report.get(part).is_some(), "{part} in {report}");
    }
}
