//! Phases that fan out (SDLC-1, SDLC-2, SDLC-2a, SDLC-7): the built-in workflow `sdlc`, through real processes.

use holdpoint_tests::{
    visitor::Visitor,
    world::{Finished, World, copy, eventually, root},
};
use nix::sys::signal::Signal;
use serde_json::Value;

const EXAMPLE: &str = "examples/sdlc";

/// A world with the example's repository, plan and programs.
fn world() -> World {
    let world = World::new(&[]);
    let source = root().join(EXAMPLE);
    std::fs::remove_dir_all(world.path("repo")).unwrap();
    copy(&source.join("repo"), &world.path("repo"));
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=begin"]);
    for file in ["plan.yaml", "supervisor.sh", "worker.sh"] {
        std::fs::copy(source.join(file), world.path(&format!("plan/{file}"))).unwrap();
    }
    world
}

/// The two agents, which wait for leave in each phase if they are to.
fn agents(world: &World, wait: bool) -> [String; 2] {
    ["supervisor", "worker"].map(|role| {
        let (folder, program) = (world.path("plan"), world.path(&format!("plan/{role}.sh")));
        let wait = if wait { format!("env SDLC_WAIT={} ", folder.display()) } else { String::new() };
        format!("{role}={wait}{}", program.display())
    })
}

fn waypoints(view: &Value) -> Vec<(String, String)> {
    let all = view["waypoints"].as_array().unwrap().iter();
    all.map(|one| (one["id"].as_str().unwrap().to_owned(), one["status"].as_str().unwrap().to_owned())).collect()
}

fn is_sound(world: &World, flight: &str) {
    world.holdpoint(&["export", flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

fn landed_both(world: &World, run: &Finished) {
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    let all = ["greet", "greet_01", "greet_02"].map(|id| (id.to_owned(), "complete".to_owned()));
    assert_eq!(waypoints(&run.json()), all);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]).trim(), "2");
    assert_eq!(world.git(&["show", &format!("{branch}:greet.sh")]), "echo \"hello $1\"\n");
}

#[test]
fn a_request_becomes_tasks_that_are_flown_judged_and_landed_and_people_see_one_tree() {
    let world = world();
    let [supervisor, worker] = agents(&world, false);
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--json", "--agent", &supervisor, "--agent", &worker]);
    landed_both(&world, &run);
    let [parent, first, second] = ["greet", "greet_01", "greet_02"].map(|id| run.waypoint(id));
    assert_eq!((&parent["commit"], &parent["attempts"]), (&Value::Null, &0.into()), "{parent}");
    assert_eq!((&first["parent"], &first["attempts"]), (&"greet".into(), &2.into()), "{first}");
    assert_eq!((&second["parent"], &second["depends_on"][0]), (&"greet".into(), &"greet_01".into()), "{second}");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let shown = world.holdpoint(&["status", &flight]);
    assert!(shown.expect(0).stdout.contains("\n    ✓ greet_01"), "children stand below their parent:\n{shown}");
    let history = world.holdpoint(&["history", "greet", "--flight", &flight]);
    assert!(history.expect(0).stdout.contains("greet_01, greet_02"), "{history}");
    is_sound(&world, &flight);
}

#[test]
fn one_command_turns_words_into_tasks_that_land_and_the_page_shows_them_as_one_tree() {
    let world = world();
    let [supervisor, worker] = agents(&world, false);
    let mut up = world.start(&["up", "--no-console", "--builder", "true"]);
    up.until_said("serves");
    let request = ["run", "--task", "Greet people", "--workflow", "sdlc"];
    let run = world.holdpoint(&[&request[..], &["--agent", &supervisor, "--agent", &worker]].concat());
    assert!(run.expect(0).stdout.contains("\n2 of 2 landed"), "nothing of the request's own lands: {run}");
    let flights = world.holdpoint(&["status", "--json"]).expect(0).json();
    let flight = flights[0]["flight"].as_str().unwrap();
    let console = world.start(&["console"]);
    let browser = Visitor::enter(|| console.printed());
    let graph = browser.page(&format!("/flight/{flight}"), "greet-people_02");
    assert!(graph.contains("greet-people_01"), "{graph}");
    let request = browser.page(&format!("/flight/{flight}/greet-people"), "Children");
    assert!(request.contains(&format!("/flight/{flight}/greet-people_02\"")), "{request}");
    browser.page(&format!("/flight/{flight}/greet-people_01"), "Part of");
}

#[test]
fn tasks_for_which_the_fleet_has_no_room_wait_until_it_has_and_people_see_why() {
    let world = world();
    let [supervisor, worker] = agents(&world, false);
    let start = |bound: &str| {
        let mut command =
            world.command(&["up", "--no-console", "--builder", "true", "--agent", &supervisor, "--agent", &worker]);
        command.env("HOLDPOINT__ORCHESTRATOR__OPEN_WAYPOINTS", bound);
        let mut up = world.start_with(command);
        up.until_said("serves");
        up
    };
    let small = start("2");
    let flight = world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0).stdout.trim().to_owned();
    let shown = || world.holdpoint(&["status", &flight]).stdout;
    eventually("tasks that wait for room", || {
        let shown = shown();
        (shown.contains("no room") && shown.contains("orchestrator.open_waypoints")).then_some(())
    });
    small.signal(Signal::SIGINT);
    small.finish();
    let _large = start("3");
    eventually("both tasks", || {
        let status = world.holdpoint(&["status", &flight, "--json"]);
        (status.code == 0 && status.json()["status"] == "accepted").then_some(())
    });
    is_sound(&world, &flight);
}

#[test]
fn a_fleet_that_is_killed_in_each_phase_goes_on_where_it_was() {
    let world = world();
    let [supervisor, worker] = agents(&world, true);
    let mut running = world.start(&["run", "../plan/plan.yaml", "--json", "--agent", &supervisor, "--agent", &worker]);
    let flight = eventually("the flight", || {
        let flights = world.holdpoint(&["status", "--json"]);
        (flights.code == 0).then(|| flights.json()[0]["flight"].as_str().map(str::to_owned)).flatten()
    });
    let gate_of = |id: &str| {
        let status = world.holdpoint(&["status", &flight, "--json"]);
        let view = (status.code == 0).then(|| status.json())?;
        let of = view["waypoints"].as_array()?.iter().find(|one| one["id"] == id)?.clone();
        Some(of["gate"].as_str().unwrap_or_default().to_owned())
    };
    for (waypoint, gate) in
        [("greet", "brainstorm"), ("greet", "document"), ("greet", "plan"), ("greet_01", "execute"), ("greet", "track")]
    {
        eventually(gate, || (gate_of(waypoint)? == gate).then_some(()));
        running.signal(Signal::SIGKILL);
        running.finish();
        world.broker().unwrap().kill().unwrap();
        world.write(&format!("plan/go-{gate}"), "");
        running = world.start(&["run", "--resume", &flight, "--json"]);
    }
    landed_both(&world, &running.finish());
    is_sound(&world, &flight);
}
