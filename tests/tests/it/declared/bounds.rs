//! What keeps work from going round for ever or waiting for ever: entries into a gate, conditions that never end, time limits
//! that pass while nothing runs.

use holdpoint_faults::CLOCK;
use serde_json::Value;

use super::{DOES, Desk, flight_of};

const CHART: &str = r#"
roles:
  writer: {agents: [writer-1]}
  editor: {agents: [editor-1]}
  owner: {agents: [human-ann]}
  director: {agents: [human-eve]}
"#;

/// The editor is never content, and the gate between has a condition that never ends.
const ROUNDS: &str = r#"
workflow:
  name: rounds
  gates:
    - {id: draft, role: writer}
    - {id: odd, role: editor, when: "(() => { while (true) {} })()"}
    - {id: edit, role: editor, canReject: true}
"#;
const NEVER: &str = r#"cat > /dev/null
echo '{"outcome": "needs_review", "summary": "Not yet.", "blockers": ["the tone of the second paragraph"]}'"#;

/// Nobody signs while the fleet is stopped.
const SIGNED: &str = r#"
workflow:
  name: signed
  gates:
    - {id: draft, role: writer}
    - {id: sign, role: owner, timeout: 1h, escalateTo: director}
"#;
/// More than the gate's time, and less than twice as much.
const LATER_MS: i64 = 90 * 60_000;

fn events(desk: &Desk, flight: &str, kind: &str) -> Vec<Value> {
    let told = desk.holdpoint(&["events", flight, "--type", kind]);
    told.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn work_that_goes_round_is_held_at_its_sixth_entry_and_a_condition_that_never_ends_stops_nobody() {
    let plan = "plan: rounds\nworkflow: rounds\npolicy: {max_reworks: 9}\nwaypoints:\n  - {id: w, goal: Write it.}\n";
    let desk = Desk::with(ROUNDS, CHART, plan, &[("writer", DOES), ("editor", NEVER)]);
    let run = desk.fly();
    let waypoint = run.expect(1).waypoint("w");
    assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"blocked".into(), &"gate_loop".into()), "{run}");
    let flight = flight_of(&run);
    let rejections = events(&desk, &flight, "gate_rejection");
    assert_eq!(rejections.len(), 5, "{rejections:#?}");
    let loops = events(&desk, &flight, "gate_circular_loop");
    assert_eq!((loops.len(), &loops[0]["gate"], &loops[0]["loopCount"]), (1, &"draft".into(), &6.into()), "{loops:#?}");
    let errors = events(&desk, &flight, "gate_condition_error");
    assert_eq!((errors.len(), &errors[0]["gate"]), (5, &"odd".into()), "once for each coming: {errors:#?}");
    desk.is_sound(&flight);
}

#[test]
fn a_time_limit_that_passes_while_the_whole_fleet_is_stopped_escalates_once_when_it_is_back() {
    let plan = "plan: signed\nworkflow: signed\nwaypoints:\n  - {id: w, goal: Write it.}\n";
    let desk = Desk::with(SIGNED, CHART, plan, &[("writer", DOES)]);
    desk.world.write(&format!("faults/{CLOCK}"), "0");
    let run = desk.fly();
    assert_eq!(run.expect(1).waypoint("w")["gate"], "sign");
    let flight = flight_of(&run);
    assert_eq!(events(&desk, &flight, "gate_timeout").len(), 0);
    desk.world.write(&format!("faults/{CLOCK}"), &LATER_MS.to_string());
    for _ in 0..2 {
        assert_eq!(desk.go_on(&flight).expect(1).json()["status"], "waiting");
    }
    let timeouts = events(&desk, &flight, "gate_timeout");
    assert_eq!((timeouts.len(), &timeouts[0]["escalateTo"]), (1, &"director".into()), "{timeouts:#?}");
    let refused = desk.act("approve", "human-ann", &["--json"]);
    assert_eq!(refused.expect(1).json()["error"]["code"], "not_allowed", "{refused}");
    desk.act("approve", "human-eve", &[]).expect(0);
    assert_eq!(desk.go_on(&flight).expect(0).json()["status"], "accepted");
    desk.is_sound(&flight);
}
