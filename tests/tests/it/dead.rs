//! A turn whose agent is killed every time: given up after a bound, held for a person, and tried again when one says
//! so.

use holdpoint_tests::{account::SoakAccount, checker, world::World};
use serde_json::Value;

const PLAN: &str = r#"
plan: poison
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Says that it has begun, and does not end while the plan's folder has no file `cured`.
const BUILDER: &str = r#"
echo x >> "$HOME/began"
while [ ! -e "$(dirname "$0")/cured" ]; do sleep 0.05; done
echo done > result"#;

/// How often the program has begun.
fn begun(world: &World) -> usize {
    fn find(dir: &std::path::Path) -> Option<String> {
        let entries = std::fs::read_dir(dir).ok()?.flatten();
        entries
            .filter_map(|e| {
                if e.path().is_dir() {
                    find(&e.path())
                } else {
                    (e.file_name() == "began").then(|| std::fs::read_to_string(e.path()).unwrap_or_default())
                }
            })
            .next()
    }
    find(&world.path("state")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_turn_that_kills_its_agent_every_time_is_dead_until_somebody_has_it_tried_again() {
    let world = World::new(&[]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", BUILDER);
    let mut command = world.command(&world.run_args(&["--builder", &builder]));
    command.env("HOLDPOINT__AGENT__ACK_WAIT", "2s");
    let mut running = world.start_with(command);
    for death in 1..=3 {
        running.until("the builder's program", || (begun(&world) >= death).then_some(()));
        running.kill_child(&["agent", "builder"]);
    }
    // The fourth agent takes it, has to stop, and the flight is over.
    let finished = running.finish();
    finished.expect(1);
    let waypoint = finished.waypoint("w");
    assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"blocked".into(), &"turn_poisoned".into()));
    assert_eq!(waypoint["attempts"], 0, "a death is no attempt");
    let flight = finished.json()["flight"].as_str().unwrap().to_owned();

    let listed = world.holdpoint(&["dead", "list", "--json"]);
    let listed: Value = listed.expect(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed[0]["flight"], &listed[0]["waypoint"]), (&Value::from(flight.clone()), &"w".into()));
    assert_eq!((&listed[0]["role"], &listed[0]["overdue"]), (&"builder".into(), &0.into()));
    let deaths = listed[0]["deaths"].as_array().unwrap();
    assert_eq!(deaths.iter().map(|death| death["delivery"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    let words = world.holdpoint(&["dead", "list", &flight]);
    assert!(words.expect(0).stdout.contains("died of it: builder-1"), "{words}");
    let history = world.holdpoint(&["history", "w", "--json"]);
    assert!(history.expect(0).stdout.contains(r#""kind":"dead""#), "{history}");

    // Nobody else's waypoint, and once.
    let unknown = world.holdpoint(&["dead", "retry", &flight, "other"]);
    unknown.expect(2);
    assert!(unknown.stderr.contains("no waypoint other"), "{unknown}");
    let retried = world.holdpoint(&["dead", "retry", &flight, "w", "--json"]);
    retried.expect(0);
    assert_eq!(retried.waypoint("w")["status"], "running");
    let again = world.holdpoint(&["dead", "retry", &flight, "w"]);
    again.expect(1);
    assert!(again.stderr.contains("did `retry` on w"), "{again}");
    assert_eq!(world.holdpoint(&["dead", "list", "--json"]).expect(0).json(), serde_json::json!([]));

    world.write("plan/cured", "");
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    resumed.expect(0);
    assert_eq!(resumed.waypoint("w")["attempts"], 1);
    assert_eq!(checker::findings(&SoakAccount::of(&world)), Vec::<String>::new());
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn nothing_is_dead_where_nothing_was_flown() {
    let world = World::new(&[]);
    assert_eq!(world.holdpoint(&["dead", "list", "--json"]).expect(0).json(), serde_json::json!([]));
    world.holdpoint(&["dead", "retry", "some-flight", "w"]).expect(2);
}
