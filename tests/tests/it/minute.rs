//! The first minute with Holdpoint: what is said before, while and after something is flown.

use holdpoint_sandbox::ProcessId;
use holdpoint_tests::world::World;
use nix::sys::signal::Signal;

const ADD: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "import unittest\nfrom client import add\n\n\nclass Adds(unittest.TestCase):\n    def test_small(self):\n        \
                     self.assertEqual(add(1, 2), 3)\n\n    def test_negative(self):\n        self.assertEqual(add(-1, 2), 1)\n";
const PLAN: &str = "plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  - {id: w, title: t, goal: g, criteria: [{id: unit, check: python3 -m unittest}]}\n";

fn world() -> World {
    World::new(&[("client.py", ADD), ("tests/__init__.py", ""), ("tests/test_add.py", TESTS)])
}

#[test]
fn a_weakened_test_is_told_in_words_with_the_line_that_says_so_and_the_attempt_stays_in_sight() {
    let world = world();
    world.plan(PLAN);
    let cheat = "echo 'def add(a, b): return 3' > client.py; sed -i 's/(-1, 2), 1/(-1, 2), 3/' tests/test_add.py";
    let builder = world.program("builder.sh", cheat);
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--builder", &builder]);
    run.expect(1);
    for said in [
        "✗ unit: it is not green with the tests as on the base (exit 1",
        "$ python3 -m unittest",
        "| FAIL: test_negative",
        "File \"tests/test_add.py\"",
        "name them in `changed_tests`",
    ] {
        assert!(run.stderr.contains(said), "{said} in {}", run.stderr);
    }
    for printed in
        ["✗ unit: green, but not with the tests as on the base", "0 of 1 landed in ", "next:  holdpoint history w"]
    {
        assert!(run.stdout.contains(printed), "{printed} in {}", run.stdout);
    }
    let history = world.holdpoint(&["history", "w"]);
    let first = history.expect(0).stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("attempt 1 ") && first.contains("✗ unit: it is not green"), "{}", history.stdout);
    let patch = world.holdpoint(&["diff", "w", "--attempt", "1"]);
    assert!(patch.expect(0).stdout.contains("+        self.assertEqual(add(-1, 2), 3)"), "{}", patch.stdout);
    let absent = world.holdpoint(&["diff", "w", "--attempt", "2"]);
    assert!(absent.expect(2).stderr.contains("hint: there is work of attempt 1;"), "{absent}");

    let flights = world.holdpoint(&["status", "--json"]);
    let flight = flights.expect(0).json()[0]["flight"].as_str().unwrap().to_owned();
    for command in ["logs", "diff", "history"] {
        let unknown = world.holdpoint(&[command, "nobody", "--flight", &flight]);
        assert!(unknown.expect(2).stderr.contains("error: there is no waypoint nobody"), "{unknown}");
        assert!(!unknown.stderr.contains("live lines"), "{unknown}");
        assert!(unknown.stderr.contains("hint: there are: w"), "{unknown}");
    }
    let mistyped = format!("{}x", flight.get(..flight.len() - 1).unwrap());
    let unknown = world.holdpoint(&["status", &mistyped]);
    assert!(unknown.expect(2).stderr.contains(&format!("did you mean `{flight}`?")), "{}", unknown.stderr);
    world.holdpoint(&["forget", &flight]).expect(0);
    assert_eq!(world.holdpoint(&["status", "--json"]).json(), serde_json::json!([]));
    assert!(world.holdpoint(&["status", "--all"]).stdout.contains(&flight), "nothing was deleted");
}

#[test]
fn what_landed_is_a_commit_of_the_repository_when_it_is_told_and_the_end_says_how_to_take_it() {
    let world = world();
    world.plan(PLAN);
    let builder = world.program("builder.sh", "echo 'def sub(a, b): return a - b' >> client.py");
    world.write("repo/notes.txt", "not committed\n");
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--builder", &builder]);
    run.expect(0);
    assert!(run.stderr.contains("1 path is not committed"), "{}", run.stderr);
    let landed =
        run.stderr.lines().find_map(|line| line.split_once("landed as ")).map(|(_, oid)| oid.trim().to_owned());
    world.git(&["cat-file", "-e", &format!("{}^{{commit}}", landed.expect("it is told"))]);
    let merge =
        run.stdout.lines().find_map(|line| line.trim().strip_prefix("git ").filter(|rest| rest.starts_with("merge")));
    let args: Vec<&str> = merge.unwrap_or_else(|| panic!("{}", run.stdout)).split(' ').collect();
    world.git(&args);
    assert!(run.stdout.contains("1 of 1 landed in "), "{}", run.stdout);
}

#[test]
fn scripts_get_what_happens_as_lines_of_json_that_end_with_the_result() {
    let world = world();
    world.plan(PLAN);
    let builder = world.program("builder.sh", "echo 'def sub(a, b): return a - b' >> client.py");
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--builder", &builder, "--json-events"]);
    let lines = run.expect(0).stdout.lines();
    let events: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let landed = events.iter().find(|event| event["text"].as_str().is_some_and(|text| text.starts_with("landed as")));
    assert_eq!(landed.unwrap_or_else(|| panic!("{run}"))["status"], "complete");
    let (end, result) = (&events.last().unwrap()["event"], &events.last().unwrap()["result"]);
    assert_eq!((end.as_str(), result["status"].as_str()), (Some("end"), Some("accepted")), "{run}");
}

#[test]
fn a_check_of_a_plan_tries_its_guards_and_shows_the_first_error_once() {
    let world = world();
    let plan = |guard: &str, criterion: &str| {
        world.plan(&format!(
            "plan: p\nguards:\n  - {{id: suite, check: {guard}}}\nwaypoints:\n  - {{id: a, goal: g, criteria: [{criterion}]}}\n  \
             - {{id: b, goal: g, criteria: [{{id: c, check: 'true'}}]}}\n"
        ));
        world.holdpoint(&["check", "../plan/plan.yaml", "--builder", "true"])
    };
    let green = plan("python3 -m unittest", "{id: new, check: grep -q sub client.py, red_first: true}");
    green.expect(0);

    world.write("repo/missing.py", "");
    let red =
        plan("'test -e missing.py || { echo Error: missing.py is not there >&2; exit 1; }'", "{id: c, check: 'true'}");
    red.expect(2);
    assert_eq!(red.stderr.matches("guard suite is red on").count(), 1, "{}", red.stderr);
    for said in ["| Error: missing.py is not there", "committed files only", "1 path is not committed"] {
        assert!(red.stderr.contains(said), "{said} in {}", red.stderr);
    }

    let early = plan("'true'", "{id: old, check: grep -q add client.py, red_first: true}");
    assert!(early.expect(2).stderr.contains("criterion old of waypoint a is green on"), "{}", early.stderr);
    let missing = plan("nosuch-runner -q", "{id: c, check: 'true'}");
    let said = &missing.expect(2).stderr;
    assert!(
        said.contains("plan.yaml:3:24: the check of guard suite cannot be run: nosuch-runner is not in PATH"),
        "{said}"
    );
}

#[test]
fn commands_that_look_leave_no_broker_behind_and_lose_nothing_by_ending_it_at_once() {
    let world = world();
    world.plan("plan: p\nwaypoints: [{id: w, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}]\n");
    let builder = world.program("builder.sh", "echo x > x");
    let known = || {
        let file = std::fs::read(world.state_folder().unwrap().join("broker.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&file).unwrap()
    };
    world.holdpoint(&["run", "../plan/plan.yaml", "--builder", &builder]).expect(0);
    let ended: ProcessId = serde_json::from_value(known()["process"].clone()).unwrap();
    assert!(!ended.alive(), "nothing of a flight is left when `run` ends");
    for _ in 0..3 {
        let seen = world.holdpoint(&["status"]);
        assert!(seen.expect(0).stdout.contains("accepted"), "{seen}");
        let ended: ProcessId = serde_json::from_value(known()["process"].clone()).unwrap();
        assert!(!ended.alive() && world.broker().is_none(), "it has ended when the command has");
    }
    let flown = world.holdpoint(&["run", "../plan/plan.yaml", "--builder", &builder]);
    assert!(flown.expect(0).stdout.contains("1 of 1 landed"), "{flown}");
}

#[test]
fn what_wants_a_network_that_the_fleet_does_not_have_is_refused_at_its_line_before_anything_starts() {
    let world = world();
    world.write("plan/fleet.toml", "[orchestrator]\nverifier_network = false\n");
    world.plan("plan: p\nwaypoints: [{id: a, goal: g, criteria: [{id: c, check: 'true', network: true}]}]\n");
    for command in ["check", "run"] {
        let flags = ["../plan/plan.yaml", "--builder", "true", "--config", "../plan/fleet.toml"];
        let said = world.holdpoint(&[&[command][..], &flags].concat()).expect(2).stderr.clone();
        assert!(said.contains("plan.yaml:2:73: the check of criterion c of waypoint a runs with a network"), "{said}");
        assert!(!said.contains("flight p-"), "{said}");
    }
}

#[test]
fn a_plan_is_written_for_the_repository_at_hand_and_can_be_checked_once_it_says_what_is_wanted() {
    let world = world();
    world.write("repo/setup.py", "");
    world.holdpoint(&["init"]).expect(0);
    world.holdpoint(&["init"]).expect(2);
    let unfilled = world.holdpoint(&["check", "plan.yaml", "--builder", "true"]);
    assert!(unfilled.expect(2).stderr.contains("`goal` is still a placeholder"), "{unfilled}");
    let filled = std::fs::read_to_string(world.path("repo/plan.yaml")).unwrap();
    let filled = filled.replace("<a command that", "test -e result # a command that").replace(['<', '>'], "");
    world.write("repo/plan.yaml", &filled);
    let checked = world.holdpoint(&["check", "plan.yaml", "--builder", "true"]);
    assert!(checked.expect(0).stdout.contains("guards 1"), "{}", checked.stdout);
    let schema = world.holdpoint(&["schema", "plan"]);
    assert_eq!(schema.expect(0).json()["required"], serde_json::json!(["plan", "waypoints"]));
}

#[test]
fn a_second_fleet_of_a_repository_is_warned_of_and_an_export_is_written_over_only_where_that_is_said() {
    let world = world();
    world.plan("plan: p\nwaypoints: [{id: w, goal: g, criteria: [{id: c, statement: s, check: 'true'}]}]\n");
    let builder = world.program("builder.sh", "echo x > x");
    let mut first = world.start(&["up", "--builder", &builder]);
    first.until_said("until Ctrl-C");
    let mut second = world.start(&["up", "--builder", &builder]);
    second.until_said("another `holdpoint up` serves this repository already");
    second.until_said("until Ctrl-C");
    second.signal(Signal::SIGINT);
    second.finish().expect(0);
    assert!(first.is_running(), "the other one goes on");

    let flight = world.holdpoint(&["submit", "../plan/plan.yaml"]).expect(0).stdout.trim().to_owned();
    world.holdpoint(&["watch", &flight]).expect(0);
    first.until_said(&format!("{flight}: accepted"));
    let export = |more: &[&str]| world.holdpoint(&[&["export", &flight, "--out", "flight.jsonl"], more].concat());
    export(&[]).expect(0);
    world.write("repo/flight.jsonl", "mine");
    let refused = export(&[]);
    assert!(refused.expect(2).stderr.contains("--force writes over it"), "{refused}");
    assert_eq!(std::fs::read_to_string(world.path("repo/flight.jsonl")).unwrap(), "mine");
    export(&["--force"]).expect(0);
    assert!(std::fs::read_to_string(world.path("repo/flight.jsonl")).unwrap().contains(&flight));
}
